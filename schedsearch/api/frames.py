"""DataFrames of a store. Every call reads the store as it is now, also while a run writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from schedsearch.core.closeable import Closeable
from schedsearch.core.records import Outcome
from schedsearch.present import format as fmt
from schedsearch.present.extras import pandas
from schedsearch.search.setup.run_summary import RunSummary
from schedsearch.store.database import Store
from schedsearch.store.views import Run, Scope, StoredCandidate, Table

if TYPE_CHECKING:
    import pandas as pd

PLACE = ("procedure", "sizes", "target")
"""The first columns of every frame: the procedure with its sizes, and the target."""

NOT_MEASURED = "not_measured"

CATEGORIES = (*PLACE, "transform", "kind", "duplicate_level", "stage", "strategy")

RUN = (
    "run",
    "strategy",
    "seed",
    "status",
    "started_at",
    "finished_at",
    "elapsed_s",
    "budget_s",
    "measured",
    "expanded",
    "speedup",
    "stop",
    "settings",
    "environment",
)


class Frames(Closeable):
    """A tuning store as DataFrames.

    Nothing is kept between calls: the next one sees what a run wrote meanwhile. The file is
    released by `close`, or at the end of `with`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def scopes(self) -> pd.DataFrame:
        """One row per procedure and target: runs, candidates, how many of them were verified and
        timed, the best speed-up over the procedure as written and the id that has it."""
        rows = []
        for scope in self._store.scopes():
            counts = self._store.outcomes(scope)
            best = next(iter(self._store.best(scope, 1)), None)
            runs, candidates = len(self._store.runs(scope)), sum(counts.values())
            measured = counts.get(Outcome.CORRECT, 0)
            found = (best.record.speedup, best.id) if best else (None, None)
            rows.append((*_place(self._store, scope), runs, candidates, measured, *found))
        names = ("runs", "candidates", "measured", "speedup", "best")
        return _frame((*PLACE, *names), rows, {"best": "Int64"})

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run, by id: how it was started and what it ended with. Times are in UTC,
        `elapsed_s` and `budget_s` in seconds, `speedup` is the best seen while it searched."""
        rows = [
            (*_place(self._store, scope), *_run(run))
            for scope in self._store.scopes()
            for run in self._store.runs(scope)
        ]
        return _frame((*PLACE, *RUN), rows).set_index("run").sort_index()

    @property
    def candidates(self) -> pd.DataFrame:
        """One row per candidate, by id, the rejected ones too: its last rewrite, its outcome
        (`not_measured`: legal so far) and why, its identities, and its speed-up over the
        procedure as written with interval; `candidate_ns` is nanoseconds per call, `predicted`
        the log speed-up over its parent that the cost estimate promised."""
        return _candidates(_of_scopes(self._store, self._store.candidate_table, "id"))

    @property
    def measurements(self) -> pd.DataFrame:
        """One row per timing, by id; `candidate_ns` is nanoseconds per call."""
        return _of_scopes(self._store, self._store.measurement_table, "id")

    @property
    def stages(self) -> pd.DataFrame:
        """Seconds by run and stage; `count` is how many pieces of work they were spent on."""
        return _of_scopes(self._store, self._store.stage_table, None)

    @property
    def tree(self) -> pd.DataFrame:
        """The search tree, one row per candidate, by id, which is larger than its parent's.

        `children` and `size` count direct and all descendants (`size` with itself), `best_below`
        is the highest speed-up among itself and them, and `on_best_path` says whether the fastest
        of its procedure and target is one of them.
        """
        pd = pandas()
        frame = self.candidates
        keep = [*PLACE, "parent_id", "depth", "transform", "rewrite", "outcome", "message"]
        frame = frame[[*keep, "speedup", "predicted", "expanded"]].copy()
        parents = dict(zip(frame.index, frame["parent_id"].fillna(0), strict=True))
        children, size = dict.fromkeys(parents, 0), dict.fromkeys(parents, 1)
        best = {key: (value, key) for key, value in frame["speedup"].fillna(0.0).items()}
        for key in reversed(frame.index):  # children before their parents
            if parent := parents[key]:
                children[parent] += 1
                size[parent] += size[key]
                best[parent] = max(best[parent], best[key])
        fastest = {best[key][1] for key, parent in parents.items() if not parent}
        frame["children"] = pd.Series(children)
        frame["size"] = pd.Series(size)
        frame["best_below"] = pd.Series({key: value or None for key, (value, _) in best.items()})
        frame["on_best_path"] = [best[key][1] in fastest for key in frame.index]
        return frame

    def close(self) -> None:
        """Close the store; frames that were made stay."""
        self._store.close()


def children(store: Store, parent: StoredCandidate) -> pd.DataFrame:
    """Those rows of `candidates` that are children of one, also in a search begun earlier."""
    read = partial(store.candidate_table, parent_id=parent.id)
    return _candidates(_of_scopes(store, read, "id", [parent.scope]))


def history(store: Store, scope: Scope, run_id: int) -> pd.DataFrame:
    """One row per timing of a verified candidate in one run, the oldest first: `seconds` since
    the run began, the speed-up over the procedure as written, the best until then, and
    nanoseconds per call."""
    [run] = [each for each in store.runs(scope) if each.id == run_id]
    timings = [timed for timed in store.timeline(scope) if timed.run_id == run_id]
    rows = [
        ((t.at - run.started_at).total_seconds(), t.candidate_id, t.kind, t.speedup, t.candidate_ns)
        for t in timings
    ]
    frame = _frame(("seconds", "candidate_id", "kind", "speedup", "candidate_ns"), rows)
    frame.insert(4, "best_so_far", frame["speedup"].cummax())
    return frame


def _run(run: Run) -> tuple[Any, ...]:
    summary = RunSummary.of(run)
    elapsed = (run.finished_at - run.started_at).total_seconds() if run.finished_at else None
    return (
        run.id,
        run.strategy,
        run.seed,
        run.status.value,
        run.started_at,
        run.finished_at,
        elapsed,
        run.settings.get("budget_s"),
        summary.measured,
        summary.expanded,
        summary.curve[-1][1] if summary.curve else None,
        summary.stop,
        dict(run.settings),
        dict(run.environment),
    )


def _candidates(frame: pd.DataFrame) -> pd.DataFrame:
    # None where all are, NaN where pandas takes the others for text.
    frame["outcome"] = frame["outcome"].astype(object).fillna(NOT_MEASURED)
    types = dict.fromkeys(("parent_id", "duplicate_of"), "Int64")
    types |= dict.fromkeys(("speedup", "low", "high", "candidate_ns", "predicted"), "float64")
    return frame.astype(types | {"outcome": "category"})


def _of_scopes(
    store: Store,
    read: Callable[[Scope], Table],
    index: str | None,
    scopes: Sequence[Scope] | None = None,
) -> pd.DataFrame:
    rows: list[tuple[Any, ...]] = []
    columns: tuple[str, ...] = ()
    for scope in store.scopes() if scopes is None else scopes:
        place, table = _place(store, scope), read(scope)
        columns = table.columns
        rows += [(*place, *row) for row in table.rows]
    frame = _frame((*PLACE, *columns), rows)
    return frame.astype({index: "int64"}).set_index(index).sort_index() if index else frame


def _frame(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], types: dict[str, str] | None = None
) -> pd.DataFrame:
    frame = pandas().DataFrame(list(rows), columns=list(columns))
    categories = {name: "category" for name in columns if name in CATEGORIES}
    return frame.astype(categories | (types or {}))


def _place(store: Store, scope: Scope) -> tuple[str, str, str]:
    """Values of `PLACE`."""
    workload, target = store.workload(scope), store.target(scope)
    return workload.proc, fmt.sizes(workload.sizes, workload.specialized), fmt.target(target)

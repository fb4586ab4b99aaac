"""Statistics of a search, as frames; `api/pictures.py` draws them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from schedsearch.api.frames import history
from schedsearch.api.tree import said
from schedsearch.core.records import Outcome
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.present.extras import pandas
from schedsearch.search.lookup import stored_roof
from schedsearch.store.database import Store
from schedsearch.store.views import Run, Scope

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Statistics:
    """Of a run, and of the search tree that it and the other runs of its kind have grown. `file`
    is where the procedure is now, if it has moved; `tell` hears what is waited for."""

    store: Store
    run: Run
    file: Path | None = None
    tell: Callable[[str], None] = field(default=lambda text: None, repr=False, compare=False)

    @property
    def scope(self) -> Scope:
        return self.run.scope

    @cached_property
    def roof(self) -> Roof | None:
        return stored_roof(self.store, self.scope)

    def convergence(self) -> pd.DataFrame:
        """One row per timing of a verified candidate: `run`, the number of the `candidate` in that
        run, `seconds` since it began, and the best speed-up of the run until then."""
        frames = []
        for run in self.store.runs(self.scope):
            frame = history(self.store, self.scope, run.id)
            first = ~frame["candidate_id"].duplicated()
            frame.insert(0, "run", run.id)
            frame.insert(1, "candidate", first.cumsum())
            frames.append(frame[["run", "candidate", "seconds", "speedup", "best_so_far"]])
        return pandas().concat(frames, ignore_index=True) if frames else pandas().DataFrame()

    def outcomes(self) -> pd.DataFrame:
        """Numbers of candidates by transform and outcome."""
        frame = self._candidates()
        counted = frame.groupby(["transform", "outcome"]).size()
        return counted.rename("candidates").reset_index()

    def stage_times(self) -> pd.DataFrame:
        """Seconds by stage, the longest first. Stages run side by side: their sum is more than
        the time of the runs."""
        rows = sorted(self.store.stage_seconds(self.scope).items(), key=lambda row: -row[1])
        return pandas().DataFrame(rows, columns=["stage", "seconds"])

    def gains(self) -> pd.DataFrame:
        """One row per candidate that was measured as its parent was: its `transform`, its last
        `rewrite`, and the `gain`, its speed over its parent's."""
        frame = self._candidates()
        parents = frame["parent_id"].map(frame["speedup"])
        own = frame.assign(gain=frame["speedup"] / parents)
        return own[own["gain"].notna()][["transform", "rewrite", "gain"]]

    def arguments(self) -> pd.DataFrame:
        """One row per number in a rewrite of a verified and timed schedule: the `transform`, the
        `argument`, its `value`, the rewrite's place in the schedule, and the schedule's speed."""
        rows = []
        for candidate in self.store.walk(self.scope):
            record = candidate.record
            if record.outcome is not Outcome.CORRECT or record.speedup is None:
                continue
            for number, step in enumerate(record.trace.steps):
                place = candidate.id, number, step.transform
                for name, value in step.args:
                    if isinstance(value, int) and not isinstance(value, bool):
                        rows.append((*place, name, value, record.speedup))
        columns = ["candidate", "step", "transform", "argument", "value", "speedup"]
        return pandas().DataFrame(rows, columns=columns)

    def roofline(self) -> pd.DataFrame | None:
        """One row per verified and timed candidate: `intensity`, operations per byte that the
        procedure has to move, and `rate`, 1e9 operations a second; None without a roofline,
        arithmetic or traffic."""
        roof = self.roof
        if roof is None or not roof.compute_s or not roof.memory_s:
            return None
        operations = roof.compute_s * roof.peak
        frame = self._candidates()
        frame = frame[frame["speedup"].notna()]
        return frame[["id", "rewrite", "speedup"]].assign(
            intensity=operations / (roof.memory_s * roof.bandwidth),
            rate=operations / (frame["candidate_ns"].astype(float) * 1e-9),
        )

    def _candidates(self) -> pd.DataFrame:
        """By id, with outcomes in words."""
        table = self.store.candidate_table(self.scope)
        frame = pandas().DataFrame(table.rows, columns=list(table.columns))
        place = table.columns.index("outcome"), table.columns.index("duplicate_level")
        outcome = [said(*(row[number] for number in place)) for row in table.rows]
        named = frame["transform"].replace("", "as written")
        numbers = dict.fromkeys(("speedup", "candidate_ns"), "float64")
        frame = frame.astype(numbers).assign(transform=named, outcome=outcome)
        return frame.set_index("id", drop=False)


@dataclass(frozen=True)
class Grid:
    """Best speed-up by numbers of a transform: a row per value of `first`, a column per value
    of `second` (one column if that is empty)."""

    transform: str
    first: str
    second: str
    best: pd.DataFrame


def grids(frame: pd.DataFrame) -> list[Grid]:
    """Of `arguments`: for each transform the two numbers with most different pairs of values,
    or the only one that varies; the transform with most pairs first."""
    found = []
    for transform, own in frame.groupby("transform"):
        wide = own.pivot(index=["candidate", "step"], columns="argument", values="value")
        wide["speedup"] = own.groupby(["candidate", "step"])["speedup"].first()
        wide[""] = 0
        names = [name for name in wide.columns[:-2] if wide[name].nunique() > 1]
        pairs = list(combinations(names, 2)) or [(name, "") for name in names]
        if pairs:
            first, second = max(pairs, key=lambda pair: len(wide[[*pair]].drop_duplicates()))
            best = wide.pivot_table(index=first, columns=second, values="speedup", aggfunc="max")
            found.append(Grid(str(transform), first, second, best))
    return sorted(found, key=lambda grid: -int(grid.best.notna().sum().sum()))

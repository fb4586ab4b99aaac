"""The progress of a search that another process runs, from what it has committed."""

from __future__ import annotations

from datetime import datetime, timedelta

from schedsearch.core.fields import Fields
from schedsearch.core.records import RunStatus, TimingKind
from schedsearch.core.trace import Trace
from schedsearch.search.engine.progress import Best, Progress
from schedsearch.search.setup.run_summary import NEST_OF, RunEnvironment
from schedsearch.store.database import Store
from schedsearch.store.views import Run, Timed

# What a run measures last says what it is doing.
_PHASES = {TimingKind.RACE: "racing", TimingKind.CONFIRM: "confirming"}


def running(store: Store) -> Run | None:
    """The latest run whose process lives, that of a nest only if there is no other; None if there
    is none."""
    alive = [run for run in store.runs() if run.status is RunStatus.RUNNING]
    return max(alive, key=lambda run: (NEST_OF not in run.settings, run.id), default=None)


def latest(store: Store, run_id: int) -> Run:
    """The run as it is now."""
    return next(run for run in store.runs() if run.id == run_id)


def progress_of(store: Store, run: Run, now: datetime) -> Progress:
    """What `run` itself would show, but for its cost model; it is behind by what is under way.

    What it measures tells how far its end is. Raises UserError for a run that says other things
    than numbers of its budget.
    """
    budget_s = Fields({"budget_s": 0.0, **run.settings}, "the run").number("budget_s", zero=True)
    environment = RunEnvironment.of(run)
    before_s = environment.before_s
    search_s = budget_s if environment.search_s is None else environment.search_s
    recorded_s = max((run.finished_at or now) - run.started_at, timedelta()).total_seconds()
    elapsed_s = before_s + recorded_s
    timeline = store.timeline(run.scope)
    own = [timed for timed in timeline if timed.run_id == run.id]
    phase = _PHASES.get(own[-1].kind, "searching") if own else "searching"
    if phase == "searching" and elapsed_s > search_s:
        phase = "finishing"
    top = store.best(run.scope, 1)
    best = None
    if top and top[0].record.measurement and top[0].record.trace.steps:
        best = Best(top[0].trace_key, top[0].record.trace, top[0].record.measurement)
    return Progress(
        phase,
        elapsed_s,
        budget_s,
        store.outcomes(run.scope),
        sum(timed.kind == TimingKind.SCREEN for timed in own),
        store.expanded(run.id),
        best,
        curve(own, run.started_at),
        search_s,
        baseline_s=_baseline_s(store, run),
    )


def _baseline_s(store: Store, run: Run) -> float:
    """As the store has it: of the first run."""
    root = store.find(run.scope, [Trace().key])
    timed = root[0].record.measurement if root else None
    return timed.candidate_ns * 1e-9 if timed else 0.0


def curve(timeline: list[Timed], start: datetime) -> tuple[tuple[float, float], ...]:
    """Seconds since `start`, and the best speed-up from then on, at every improvement."""
    points: list[tuple[float, float]] = []
    for timed in timeline:
        if timed.kind != TimingKind.BASELINE and (not points or timed.speedup > points[-1][1]):
            points.append(((timed.at - start).total_seconds(), timed.speedup))
    return tuple(points)

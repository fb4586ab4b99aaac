"""A cold run of `schedsearch run`, and what its store says about the way to its result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.suite.case import Case
from benchmarks.suite.folders import Folder
from benchmarks.suite.stores import searched
from benchmarks.suite.tune import tune
from schedsearch.core.errors import UserError
from schedsearch.core.records import TimingKind
from schedsearch.store.database import Store
from schedsearch.store.views import Timed


@dataclass(frozen=True)
class Point:
    """The best so far: `at_s` seconds after the command started, after `measured`
    candidates; `seconds` per call, `speedup` over the procedure as written."""

    at_s: float
    measured: int
    speedup: float
    seconds: float


@dataclass(frozen=True)
class Course:
    """One run: its improvements, what was confirmed at its end (None: nothing), and where
    the time went, by stage; stages of several workers add up to more than the wall clock.

    `search_s` is when the search began, after start-up and the baseline.
    """

    kernel: str
    search_s: float
    wall_s: float
    measured: int
    candidates: int
    curve: tuple[Point, ...]
    confirmed: Point | None
    stage_s: dict[str, float]


def watch(case: Case, place: Folder, budget_s: float, options: Sequence[str] = ()) -> Course:
    """Tune `case` into a folder, whose store may know other kernels already.

    Raises UserError if the run fails.
    """
    place.path.mkdir(parents=True, exist_ok=True)
    others_s, _ = searched(place.store)
    began = time.time()
    ended = tune(case, place, others_s + budget_s, options=options)
    wall_s = time.time() - began
    if ended != "done":
        raise UserError(f"{case.name}: {ended}")
    with Store.open(place.store, create=False) as store:
        run = store.runs()[-1]
        timed = [item for item in store.timeline(run.scope) if item.run_id == run.id]
        curve, confirmed = course(timed, began)
        return Course(
            case.name,
            run.started_at.timestamp() - began,
            wall_s,
            len({item.candidate_id for item in timed if item.kind == TimingKind.SCREEN}),
            sum(store.outcomes(run.scope).values()) - 1,
            curve,
            confirmed,
            store.stage_seconds(run.scope),
        )


def course(timed: Sequence[Timed], began: float) -> tuple[tuple[Point, ...], Point | None]:
    """The improvements, and the best confirmed, of a run that began at a POSIX time."""
    seen: set[int] = set()
    curve: list[Point] = []
    confirmed: Point | None = None
    for item in timed:
        if item.kind not in (TimingKind.SCREEN, TimingKind.CONFIRM):
            continue
        seen.add(item.candidate_id)
        point = Point(
            item.at.timestamp() - began, len(seen), item.speedup, item.candidate_ns * 1e-9
        )
        if item.kind == TimingKind.CONFIRM:
            if confirmed is None or point.speedup > confirmed.speedup:
                confirmed = point
        elif point.speedup > (curve[-1].speedup if curve else 1.0):
            curve.append(point)
    return tuple(curve), confirmed


def passed(curve: Sequence[Point], seconds: float) -> Point | None:
    """The first of the best so far that needs at most `seconds` per call."""
    return next((point for point in curve if point.seconds <= seconds), None)

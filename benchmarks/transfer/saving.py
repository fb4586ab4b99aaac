"""One kernel tuned twice: from an empty store, and from one that knows another kernel."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.efficiency.curve import Course, Point, watch
from benchmarks.suite.case import Case
from benchmarks.suite.folders import Folder

CLOSE = 0.95
"""The share of the cold run's best that both have to reach."""


@dataclass(frozen=True)
class Saving:
    """`cold` and `warm` are runs of the same kernel; the store of `warm` had a run of `source`."""

    source: str
    cold: Course
    warm: Course

    @property
    def wanted(self) -> float:
        """Speed-up over the procedure as written."""
        best = self.cold.curve[-1].speedup if self.cold.curve else 1.0
        return CLOSE * best

    @property
    def cold_reached(self) -> Point | None:
        return reached(self.cold, self.wanted)

    @property
    def warm_reached(self) -> Point | None:
        return reached(self.warm, self.wanted)


def reached(course: Course, speedup: float) -> Point | None:
    return next((point for point in course.curve if point.speedup >= speedup), None)


def learn(source: Case, base: Path, budget_s: float) -> Folder:
    """A folder whose store knows `source`."""
    place = Folder(base / source.name)
    watch(source, place, budget_s)
    return place


def save(source: str, known: Folder, case: Case, base: Path, budget_s: float) -> Saving:
    """Tune `case` from nothing and from a copy of the store in `known`.

    Raises UserError if a run fails.
    """
    cold, warm = Folder(base / f"{case.name}-cold"), Folder(base / f"{case.name}-warm")
    warm.path.mkdir(parents=True)
    shutil.copyfile(known.store, warm.store)
    return Saving(source, watch(case, cold, budget_s), watch(case, warm, budget_s))

"""What throughput should be, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.throughput.expansion import Explored
from benchmarks.throughput.overhead import Overhead
from benchmarks.throughput.replaying import Replayed, Step
from benchmarks.throughput.scaling import Scaling


@dataclass(frozen=True)
class Goal:
    """`value` should be at least `bound` (`at_most`: at most)."""

    what: str
    value: float
    bound: float
    unit: str
    at_most: bool = False

    @property
    def met(self) -> bool:
        return self.value <= self.bound if self.at_most else self.value >= self.bound


def of_expansion(rows: Sequence[Explored]) -> list[Goal]:
    return [
        Goal(
            f"{row.kernel}: distinct candidates a second and core, primitive rewrites",
            row.distinct / row.seconds,
            30.0,
            "/s",
        )
        for row in rows
        if row.alphabet == "primitive"
    ]


def of_replay(replayed: Sequence[Replayed], steps: Sequence[Step]) -> list[Goal]:
    first = median(item.first_s for item in replayed)
    one = median(step.apply_s for step in steps)
    return [
        Goal("matrix product, from the root", first, 0.7, " s", at_most=True),
        Goal("one more rewrite, parent cached (median)", one, 0.1, " s", at_most=True),
    ]


def of_overhead(row: Overhead) -> list[Goal]:
    return [
        Goal("CPU time outside Exo, compiler, benchmark", 100 * row.engine, 5.0, " %", True),
        Goal("expansion workers between jobs", 100 * row.between, 5.0, " %", True),
    ]


def of_scaling(row: Scaling) -> list[Goal]:
    return [Goal("two expansion workers over one", row.ratio, 1.7, "x")]

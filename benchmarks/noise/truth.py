"""Is a kernel that does 5 % more work 5 % slower? Asked before anything disturbs the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.noise.pairs import Pair
from schedsearch.core.records import TimingKind
from schedsearch.core.stats import median_with_interval
from schedsearch.evaluate.run.timing import TimingPlan

ROUNDS = 40
PLAN = TimingPlan(TimingKind.NOISE, ROUNDS, ROUNDS)

TOLERANCE = 0.003
"""By more than this a kernel's times must not be shown to be off what its work says."""

UNSEEN = 0.04
"""Up to here an error of a kernel must have been excluded, or the rounds were too noisy to tell."""


@dataclass(frozen=True)
class Check:
    """By how much the measured ratio of times is off the ratio of work, relative, with its 99 %
    interval."""

    kernel: str
    slowdown: float
    off: float
    low: float
    high: float

    @property
    def passed(self) -> bool:
        """Not shown to be off, by rounds that would have shown much."""
        right = self.low <= TOLERANCE and self.high >= -TOLERANCE
        return right and self.low > -UNSEEN and self.high < UNSEEN


def check(pair: Pair) -> Check:
    """Time both kernels of a pair in the same rounds. Raises UserError if that fails."""
    measurement, _ = pair.time(PLAN, swapped=False)
    work = 1.0 + pair.slowdown
    ratios = [1.0 / (each.speedup * work) for each in measurement.rounds]
    seen = median_with_interval(ratios, 0.99)
    return Check(pair.kernel, pair.slowdown, seen.value - 1.0, seen.low - 1.0, seen.high - 1.0)


def fit(checks: Sequence[Check]) -> frozenset[str]:
    """Kernels all of whose slowdowns are what they are said to be. Only of these are trials
    made: what another one's trials say is not known."""
    unfit = {each.kernel for each in checks if not each.passed}
    return frozenset(each.kernel for each in checks) - unfit

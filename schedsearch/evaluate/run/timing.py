"""How long to time, and when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from schedsearch.core.decision import Decision, decide
from schedsearch.core.errors import UserError
from schedsearch.core.records import Round, TimingKind
from schedsearch.core.stats import median_with_interval
from schedsearch.core.suggest import unknown


class Cache(StrEnum):
    """Contents of the caches when a call begins. `warm`: as the kernel's last call left them;
    `cold`: none of its operands."""

    WARM = "warm"
    COLD = "cold"

    @classmethod
    def _missing_(cls, value: object) -> Cache:
        raise UserError(unknown("--cache", value, cls))


@dataclass(frozen=True)
class Sampling:
    """Samples of a round, and calls of a sample of candidate and anchor: what calibration
    found."""

    samples: int
    calls: tuple[int, int]


_ENOUGH_FOR_INTERVAL = 5
# The fastest of hundreds after three rounds is mostly a lucky one.
_ROUNDS_OF_LEADERS = 8
# A lucky round is one of few calls that take less.
_SLOW_NS = 5e7


@dataclass(frozen=True)
class TimingPlan:
    """Interleaved rounds of candidate and anchor.

    `kind` is recorded. A round has up to `samples` samples of each (15 at most), and every sample
    lasts at least `sample_ns` nanoseconds. After `min_rounds`, timing ends early once the whole
    interval is below `give_up_below` (a speed-up over the baseline), or is narrower than `narrow`
    (relative) and, if the plan is to `decide`, it is clear whether candidate or anchor is faster;
    otherwise after `max_rounds`. A candidate that is then ahead of `give_up_below` has to stay so
    for some rounds more.

    `fresh`: each round has a new process, so that the place of its memory is drawn again. If
    verifying takes longer than a round, a process has as many rounds as take that long.
    """

    kind: TimingKind
    min_rounds: int
    max_rounds: int
    sample_ns: float = 2e6
    samples: int = 15
    give_up_below: float | None = None
    decide: bool = False
    fresh: bool = False
    narrow: float = 0.02

    @property
    def most_rounds(self) -> int:
        """No timing of this plan has more."""
        leaders = 0 if self.give_up_below is None else _ROUNDS_OF_LEADERS
        return max(self.max_rounds, leaders)

    def wants_more(self, rounds: Sequence[Round], anchor_speedup: float) -> bool:
        """Whether another round is worth its time."""
        if len(rounds) < self.min_rounds:
            return True
        slow = min(rounds[0].candidate_ns) > _SLOW_NS
        if len(rounds) >= (self.max_rounds if slow else self.most_rounds):
            return False
        ratios = [r.speedup for r in rounds]
        estimate = median_with_interval(ratios)
        if self.give_up_below is not None:
            hopeless = estimate.high * anchor_speedup < self.give_up_below
            leads = estimate.value * anchor_speedup > self.give_up_below
            if hopeless or (len(rounds) >= self.max_rounds and not leads):
                return False
        if self.decide and decide(ratios) is Decision.INCONCLUSIVE:
            return True
        width = (estimate.high - estimate.low) / estimate.value
        return len(rounds) < _ENOUGH_FOR_INTERVAL or width > self.narrow

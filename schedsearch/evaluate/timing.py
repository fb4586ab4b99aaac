"""How long to time, and when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedsearch.core.records import Round
from schedsearch.core.stats import median_with_interval

_NARROW = 0.02
_ENOUGH_FOR_INTERVAL = 5


@dataclass(frozen=True)
class TimingPlan:
    """Interleaved rounds of candidate and anchor.

    `kind` is recorded (`screen` or `confirm`). Every sample lasts at least
    `sample_ns` nanoseconds. After `min_rounds`, timing ends early once the whole
    interval is below `give_up_below` (a speed-up over the baseline), or is
    narrower than 2 %; else after `max_rounds`.
    """

    kind: str
    min_rounds: int
    max_rounds: int
    sample_ns: float = 10e6
    give_up_below: float | None = None

    def wants_more(self, rounds: Sequence[Round], anchor_speedup: float) -> bool:
        """Whether another round is worth its time."""
        if len(rounds) < self.min_rounds:
            return True
        if len(rounds) >= self.max_rounds:
            return False
        estimate = median_with_interval([r.speedup for r in rounds])
        if self.give_up_below is not None and estimate.high * anchor_speedup < self.give_up_below:
            return False
        width = (estimate.high - estimate.low) / estimate.value
        return len(rounds) < _ENOUGH_FOR_INTERVAL or width > _NARROW

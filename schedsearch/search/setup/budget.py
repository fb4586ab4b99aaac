"""When a search stops."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Stop(StrEnum):
    """Why a search stopped."""

    TIME = "time budget used up"
    TRIALS = "trial budget used up"
    TARGET = "target speed-up reached"
    EXHAUSTED = "search space exhausted"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Budget:
    """Limits of one run: seconds of search, measured candidates, speed-up to reach."""

    seconds: float
    trials: int | None = None
    speedup: float | None = None

    def spent(self, elapsed_s: float, trials: int, best: float) -> Stop | None:
        """The limit that has been reached, None if the search may go on."""
        if elapsed_s >= self.seconds:
            return Stop.TIME
        if self.trials is not None and trials >= self.trials:
            return Stop.TRIALS
        if self.speedup is not None and best >= self.speedup:
            return Stop.TARGET
        return None

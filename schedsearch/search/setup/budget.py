"""When a search stops."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from schedsearch.core.errors import UserError
from schedsearch.core.given import no_time


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

    def check(self) -> None:
        """Raises UserError for a limit that no search can keep, or that it has reached at once."""
        if not (isfinite(self.seconds) and self.seconds > 0):
            raise no_time(f"{self.seconds:g}")
        if self.trials is not None and self.trials < 1:
            raise UserError(f"--trials {self.trials} is no limit; give 1 or more")
        if self.speedup is not None and not self.speedup > 1:
            raise UserError(
                f"--target-speedup {self.speedup:g} is what the procedure has as written; "
                "give a number above 1, for example 4"
            )

    def spent(self, elapsed_s: float, trials: int, best: float) -> Stop | None:
        """The limit that has been reached, None if the search may go on."""
        if elapsed_s >= self.seconds:
            return Stop.TIME
        if self.trials is not None and trials >= self.trials:
            return Stop.TRIALS
        if self.speedup is not None and best >= self.speedup:
            return Stop.TARGET
        return None

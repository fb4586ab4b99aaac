"""What `schedsearch check` finds of locked schedules, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from schedsearch.core.lockfile import LockEntry
from schedsearch.core.records import PeerComparison
from schedsearch.core.stats import Estimate


class Status(StrEnum):
    """What became of one entry of a lock file.

    `passed`: replays, computes what the procedure says, and is as fast as the pinned C, as far as
    was looked. `wrong`: it computes something else, crashes, or hangs. `regression`: slower
    than the pinned C, or the schedule cannot be built any more. `error`: the entry or its source
    is not as needed to check it. `stale`: the procedure is another one than was pinned.
    `inconclusive`: right, but neither times nor instructions say how fast. `skipped`: it does not
    run on this machine.
    """

    PASSED = "passed"
    WRONG = "wrong"
    REGRESSION = "regression"
    ERROR = "error"
    STALE = "stale"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"


EXIT_CODES = {
    Status.WRONG: 4,
    Status.REGRESSION: 1,
    Status.ERROR: 2,
    Status.STALE: 6,
    Status.INCONCLUSIVE: 3,
}
"""The worst first. Others are success, unless nothing runs here."""

NOTHING_HERE = 5


@dataclass(frozen=True)
class Visit:
    """The fastest call of today's C and of the pinned one in one process, in nanoseconds."""

    call_ns: float
    pinned_ns: float

    @property
    def ratio(self) -> float:
        return self.pinned_ns / self.call_ns


@dataclass(frozen=True)
class Timing:
    """How fast today's C is: `ratio` times the pinned one, from `visits` processes of their own;
    `least`: below it is slower than pinned. Times are nanoseconds of one call: lower quartiles."""

    ratio: Estimate
    least: float
    visits: int
    call_ns: float
    pinned_ns: float


@dataclass(frozen=True)
class Instructions:
    """That one call runs, of today's C and of the pinned one."""

    call: int
    pinned: int


@dataclass(frozen=True)
class Checked:
    """What was found of one entry, in one sentence, and what explains it.

    `same`: the machine code is that of the pinned C; else `timing` and, where that does not tell,
    `instructions` compare them, as far as they were. `visits` are what was timed. `line` is where
    the procedure begins in its file, 0 if unknown; `seconds` how long it took. `against`: beside
    what the user asked for; its status does not depend on that.
    """

    entry: LockEntry
    status: Status
    summary: str
    notes: tuple[str, ...] = ()
    same: bool = False
    timing: Timing | None = None
    instructions: Instructions | None = None
    visits: tuple[Visit, ...] = ()
    line: int = 0
    seconds: float = 0.0
    against: tuple[PeerComparison, ...] = ()


def exit_code(results: Iterable[Checked]) -> int:
    """Of the worst status: wrong (4), regression (1), error (2), stale (6), inconclusive (3). 5 if
    nothing runs on this machine, else 0: entries for other machines are no failure beside some
    for this one."""
    found = {result.status for result in results}
    worst = next((code for status, code in EXIT_CODES.items() if status in found), None)
    if worst is not None:
        return worst
    return 0 if Status.PASSED in found else NOTHING_HERE

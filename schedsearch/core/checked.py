"""What `schedsearch check` finds of locked schedules, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from schedsearch.core.lockfile import LockEntry
from schedsearch.core.stats import Estimate


class Status(StrEnum):
    """What became of one entry of a lock file.

    `passed`: replays, computes what the procedure says, and is as fast as locked, as far as
    was looked. `wrong`: it computes something else, crashes, or hangs. `regression`: slower
    than locked, or the schedule cannot be built any more. `error`: the entry or its source
    is not as needed to check it. `inconclusive`: right, but measurements do not say how
    fast. `skipped`: its speed does not compare on this machine.
    """

    PASSED = "passed"
    WRONG = "wrong"
    REGRESSION = "regression"
    ERROR = "error"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"


EXIT_CODES = {
    Status.WRONG: 4,
    Status.REGRESSION: 1,
    Status.ERROR: 2,
    Status.INCONCLUSIVE: 3,
}
"""The worst first. Others are success, unless nothing was comparable."""

NOTHING_COMPARABLE = 5


@dataclass(frozen=True)
class Visit:
    """The fastest call of both in one process, in nanoseconds."""

    call_ns: float
    baseline_ns: float

    @property
    def ratio(self) -> float:
        return self.baseline_ns / self.call_ns


@dataclass(frozen=True)
class Timing:
    """How fast a schedule is today: `ratio` times the procedure as written, from `visits`
    processes of their own; `least`: below it is slower than locked. Times are nanoseconds of
    one call: the schedule's least, the lower quartile of the procedure as written."""

    ratio: Estimate
    least: float
    visits: int
    call_ns: float
    baseline_ns: float


@dataclass(frozen=True)
class Checked:
    """What was found of one entry, in one sentence, and what explains it.

    `line` is where the procedure begins in its file, 0 if unknown; `seconds` how long it took;
    `attempts` what was measured in each, `timing` what the last comes to.
    """

    entry: LockEntry
    status: Status
    summary: str
    notes: tuple[str, ...] = ()
    timing: Timing | None = None
    line: int = 0
    seconds: float = 0.0
    attempts: tuple[tuple[Visit, ...], ...] = ()


def exit_code(results: Iterable[Checked]) -> int:
    """Of the worst status: wrong (4), regression (1), error (2), inconclusive (3). 5 if nothing
    was comparable on this machine, else 0: entries for other machines are no failure beside
    some for this one."""
    found = {result.status for result in results}
    worst = next((code for status, code in EXIT_CODES.items() if status in found), None)
    if worst is not None:
        return worst
    return 0 if Status.PASSED in found else NOTHING_COMPARABLE

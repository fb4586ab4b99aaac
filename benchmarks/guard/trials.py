"""The same lock file checked again and again: as it is, and as if schedules had become slower."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedsearch.core.checked import Status
from schedsearch.core.lockfile import LockEntry
from schedsearch.search.checking import Options, check


@dataclass(frozen=True)
class Trial:
    """One check of one entry of which the schedule is `slower` (relative) than locked.

    `timed`: the verdict is of the measured ratio, not of its being too noisy. `ratio` is
    relative to the locked one.
    """

    kernel: str
    slower: float
    status: str
    timed: bool
    ratio: float | None
    seconds: float


def run_trials(
    entries: Sequence[LockEntry],
    root: Path,
    plan: Sequence[float],
    seconds: float,
    pauses_s: tuple[float, ...],
    done: Callable[[Trial], None],
) -> int:
    """Check all entries once for every slowdown in `plan`, in turn, until time is up; how many
    checks were made."""
    until = time.monotonic() + seconds
    options = Options(root, pauses_s=pauses_s)
    for number, slower in enumerate(plan):
        if time.monotonic() > until:
            return number
        changed = [as_if_slower(entry, slower) for entry in entries]
        for place, found in check(changed, options, lambda text: None):
            entry, timing = changed[place], found.timing
            trial = Trial(
                entry.workload.proc,
                slower,
                str(found.status),
                found.status is Status.REGRESSION or "too noisy" not in found.summary,
                timing.ratio.value / entry.speed.ratio.value if timing else None,
                found.seconds,
            )
            done(trial)
    return len(plan)


def as_if_slower(entry: LockEntry, slower: float) -> LockEntry:
    """The entry of a schedule that was faster when it was locked: measured against it, today's is
    just so much slower, with all the noise that today's has."""
    speed, factor = entry.speed, 1.0 + slower
    before = replace(speed, ratio=speed.ratio.scaled(factor), call_ns=speed.call_ns / factor)
    return replace(entry, speed=before)

"""The same lock file checked again and again: as it is, rebuilt, and with slower kernels."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from schedsearch.core.checked import Status
from schedsearch.core.lockfile import LockEntry
from schedsearch.search.checking import Options, check
from schedsearch.search.locked_kernel import Where


class Kind(StrEnum):
    """`untouched`: everything is as locked; `rebuilt`: by a compiler of another version, to the
    same machine code; `slower`: by one that makes schedules slower."""

    UNTOUCHED = "untouched"
    REBUILT = "rebuilt"
    SLOWER = "slower"


@dataclass(frozen=True)
class Trial:
    """One check of one entry.

    `timed`: the verdict is of the measured ratio, not of its being too noisy. `ratio` is
    relative to the locked one. `attempts` has `[call_ns, baseline_ns]` of every visit.
    """

    kernel: str
    kind: str
    status: str
    timed: bool
    ratio: float | None
    seconds: float
    attempts: Sequence[Any]


def run_trials(
    entries: Sequence[LockEntry],
    root: Path,
    plan: Sequence[tuple[Kind, Where]],
    seconds: float,
    pauses_s: tuple[float, ...],
    done: Callable[[Trial], None],
) -> int:
    """Check all entries once for every item of `plan`, in turn, until time is up; how many
    checks were made."""
    until = time.monotonic() + seconds
    for number, (kind, where) in enumerate(plan):
        if time.monotonic() > until:
            return number
        options = Options(root, where, pauses_s=pauses_s)
        for place, found in check(entries, options, lambda text: None):
            entry, timing = entries[place], found.timing
            trial = Trial(
                entry.workload.proc,
                kind,
                found.status,
                found.status is Status.REGRESSION or "too noisy" not in found.summary,
                timing.ratio.value / entry.speed.ratio.value if timing else None,
                found.seconds,
                [[[v.call_ns, v.baseline_ns] for v in visits] for visits in found.attempts],
            )
            done(trial)
    return len(plan)

"""The same lock file checked again and again: as it is, and with kernels that have other machine
code than was pinned, as fast and slower."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from schedsearch.locks.check import CheckOptions, check
from schedsearch.locks.entry import LockEntry
from schedsearch.locks.kernel import Where
from schedsearch.locks.result import Checked, Status


class Kind(StrEnum):
    """`untouched`: everything is as pinned; `equal`: other machine code, as fast; `slower`."""

    UNTOUCHED = "untouched"
    EQUAL = "equal"
    SLOWER = "slower"


@dataclass(frozen=True)
class Trial:
    """One check of one entry.

    `by` what it was decided: `code`, `time` or `instructions`, empty if by none. `ratio` is the
    speed relative to the pinned C. `visits` has `[call_ns, pinned_ns]` of each.
    """

    kernel: str
    kind: str
    status: str
    by: str
    ratio: float | None
    seconds: float
    visits: Sequence[Any]


def run_trials(
    root: Path,
    plan: Sequence[tuple[Kind, Where, Sequence[LockEntry]]],
    seconds: float,
    done: Callable[[Trial], None],
) -> int:
    """Check the entries of every item of `plan`, in turn, until time is up; how many checks were
    made."""
    until = time.monotonic() + seconds
    for number, (kind, where, entries) in enumerate(plan):
        if time.monotonic() > until:
            return number
        for found in check(entries, CheckOptions(root, where), lambda text: None):
            trial = Trial(
                found.entry.workload.proc,
                kind,
                found.status,
                decided_by(found),
                found.timing.ratio.value if found.timing else None,
                found.seconds,
                [[v.call_ns, v.pinned_ns] for v in found.visits],
            )
            done(trial)
    return len(plan)


def decided_by(found: Checked) -> str:
    if found.same:
        return "code"
    if found.instructions is not None:
        return "instructions"
    return "time" if found.timing and found.status is not Status.INCONCLUSIVE else ""

"""What attempts to time a locked schedule come to, in words."""

from __future__ import annotations

from collections.abc import Sequence

from schedsearch.core.checked import Checked, Status, Timing
from schedsearch.core.lockfile import LockedSpeed
from schedsearch.core.stats import Estimate
from schedsearch.search.guard import Verdict, busy
from schedsearch.search.locked_kernel import LockedKernel


def finding(
    kernel: LockedKernel, timing: Timing | None, verdicts: Sequence[Verdict], line: int
) -> Checked:
    """Slower is what is shown to be in every attempt; as fast, what is in one.

    If neither is shown, and everything that decides the machine code is as locked, it
    passes: the same code is as fast as it was, whatever the machine does just now.
    """
    locked = kernel.entry.speed

    def result(status: Status, summary: str, *more: str) -> Checked:
        return Checked(kernel.entry, status, summary, (*more, *kernel.notes), timing, line)

    if timing is None:
        measured = "it could not be timed: every attempt took too long"
    else:
        measured = f"{times(timing.ratio)}, locked {times(locked.ratio)}"
    if verdicts[-1] is Verdict.HOLDS:
        return result(Status.PASSED, measured)
    if timing is not None and all(each is Verdict.BELOW for each in verdicts):
        slower = 1.0 - timing.ratio.value / locked.ratio.value
        return result(
            Status.REGRESSION,
            f"{slower:.0%} slower than locked: {measured}, at least {timing.least:.3g}x is held; "
            f"in {len(verdicts)} of {len(verdicts)} attempts",
            *_causes(kernel, timing, locked),
        )
    noisy = f"too noisy to tell: {measured}"
    if timing is not None and busy(timing, locked):
        noisy += f"; {_baseline(timing, locked)}: this machine is busy, or a slower one"
    if kernel.as_locked:
        return result(Status.PASSED, f"the machine code is the locked one; {noisy}")
    return result(Status.INCONCLUSIVE, noisy)


def times(ratio: Estimate) -> str:
    """`24.8x [24.1, 25.6]`"""
    return f"{ratio.value:.3g}x [{ratio.low:.3g}, {ratio.high:.3g}]"


def _causes(kernel: LockedKernel, timing: Timing, locked: LockedSpeed) -> list[str]:
    """Which of the two has changed, and whether it can be the code."""
    own = f"one call takes {timing.call_ns / locked.call_ns:.2f} of its locked time"
    causes = [f"{own}; {_baseline(timing, locked)}"]
    if kernel.as_locked:
        causes.append(
            "source, schedule, compiler and flags are as locked: what is slower is this machine "
            "or its settings, or the locked ratio is wrong"
        )
    return causes


def _baseline(timing: Timing, locked: LockedSpeed) -> str:
    share = timing.baseline_ns / (locked.call_ns * locked.ratio.value)
    return f"the procedure as written takes {share:.2f} of its own then"

"""What measurements of today's C and the pinned one come to, in words."""

from __future__ import annotations

from schedsearch.core.checked import Instructions, Status, Timing
from schedsearch.core.stats import Estimate
from schedsearch.search.guard import Verdict

BY_COUNT = "by instructions, as timing is too noisy to tell"


def by_time(timing: Timing, verdict: Verdict) -> tuple[Status, str]:
    """What timing tells; INCONCLUSIVE if nothing."""
    measured = f"{times(timing.ratio)} the speed of the pinned C"
    match verdict:
        case Verdict.HOLDS:
            return Status.PASSED, measured
        case Verdict.BELOW:
            slower = 1.0 / timing.ratio.value - 1.0
            return Status.REGRESSION, (
                f"{slower:.1%} slower than the pinned C: {measured}, at least "
                f"{timing.least:.3g}x is held"
            )
        case _:
            return Status.INCONCLUSIVE, f"too noisy to tell: {measured}"


def by_count(instructions: Instructions, tolerance: float) -> tuple[Status, str]:
    """Where timing does not tell: more instructions than tolerated are a regression."""
    rise = instructions.call / instructions.pinned - 1.0
    status = Status.REGRESSION if rise > tolerance else Status.PASSED
    measured = f"{instructions.call:,} a call, pinned {instructions.pinned:,}, {rise:+.1%}"
    return status, f"{BY_COUNT}: {measured}"


def times(ratio: Estimate) -> str:
    """`1.01x [0.99, 1.02]`"""
    return f"{ratio.value:.3g}x [{ratio.low:.3g}, {ratio.high:.3g}]"

"""Is today's C as fast as the pinned one?

Both are timed interleaved in many *visits*: processes of their own, since a kernel is some
percent faster or slower in each, by where its memory happens to lie. Whatever else the machine
does, and whichever processor it is, meets both. A signed-rank test (`core/decision.py`) of the
visits' ratios tells whether they are above or below the least ratio that counts as held.

`below` is believed only if the lower quartiles of both over all visits say the same:
disturbances only ever cost time. What is not decided either way is `open`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import StrEnum

import numpy as np

from schedsearch.core.decision import chance_of_rise
from schedsearch.core.records import Measurement, TimingKind
from schedsearch.core.stats import Estimate, median_with_interval
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.locks.result import Instructions, Status, Timing, Visit
from schedsearch.search.engine.plans import SLOW_S

TOLERANCE = 0.025
"""The slowdown that passes: halfway to 5 %."""

LOOKS = ((6, 1 / 64), (10, 1 / 150), (15, 1 / 300), (20, 1 / 300), (30, 1 / 300))
"""The test comes after these numbers of visits, with these chances of a false answer for a kernel
at the tolerance; for one as fast as pinned they are far smaller."""

MOST_VISITS = LOOKS[-1][0]
LEAST_VISITS = LOOKS[0][0]
BY_COUNT = "by instructions, as timing is too noisy to tell"

ATTEMPT_S = 60.0
"""After this time no visit begins, except for the first `LEAST_VISITS`."""

_FEW = TimingPlan(TimingKind.GUARD, 1, 1)
_MORE = TimingPlan(TimingKind.GUARD, 3, 3)


class Judgement(StrEnum):
    HOLDS = "holds"
    BELOW = "below"
    OPEN = "open"


def visit_of(measurement: Measurement) -> Visit:
    rounds = measurement.rounds
    return Visit(
        min(ns for each in rounds for ns in each.candidate_ns),
        min(ns for each in rounds for ns in each.reference_ns),
    )


def plan(call_s: float) -> TimingPlan:
    """Three rounds a visit; one of a single sample if calls are slow."""
    return _MORE if call_s < SLOW_S else _FEW


def attempt(
    visit: Callable[[], Visit | None],
    least: float,
    clock: Callable[[], float] = time.monotonic,
) -> list[Visit]:
    """Make visits until they tell, or take too long; one without a result (None) counts, too."""
    begin = clock()
    visits: list[Visit] = []
    for number in range(MOST_VISITS):
        if number >= LEAST_VISITS and clock() - begin > ATTEMPT_S:
            break
        found = visit()
        if found is not None:
            visits.append(found)
        if judge(visits, least) is not Judgement.OPEN:
            break
    return visits


def judge(visits: Sequence[Visit], least: float) -> Judgement:
    """The answer of visits in their order. More visits change it only if it was `open`."""
    logs = np.log([each.ratio for each in visits]) - np.log(least)
    for count, chance in LOOKS:
        if len(visits) < count:
            return Judgement.OPEN
        if chance_of_rise(logs[:count]) <= chance:
            return Judgement.HOLDS
        if chance_of_rise(-logs[:count]) <= chance and _believed(visits[:count], least):
            return Judgement.BELOW
    # Close cases: the test has little power left at its last look.
    ratio = summary(visits, least).ratio
    if ratio.low >= least:
        return Judgement.HOLDS
    return Judgement.BELOW if ratio.high < least and _believed(visits, least) else Judgement.OPEN


def _believed(visits: Sequence[Visit], least: float) -> bool:
    seen = summary(visits, least)
    return seen.pinned_ns / seen.call_ns < least


def summary(visits: Sequence[Visit], least: float) -> Timing:
    return Timing(
        median_with_interval([each.ratio for each in visits]),
        least,
        len(visits),
        _lower([each.call_ns for each in visits]),
        _lower([each.pinned_ns for each in visits]),
    )


def _lower(values: Sequence[float]) -> float:
    return float(np.quantile(values, 0.25))


# -- in words ----------------------------------------------------------------


def by_time(timing: Timing, judgement: Judgement) -> tuple[Status, str]:
    """Status and words for a timing."""
    measured = f"{times(timing.ratio)} the speed of the pinned C"
    match judgement:
        case Judgement.HOLDS:
            return Status.PASSED, measured
        case Judgement.BELOW:
            slower = 1.0 / timing.ratio.value - 1.0
            return Status.REGRESSION, (
                f"{slower:.1%} slower than the pinned C: {measured}, at least "
                f"{timing.least:.3g}x is held"
            )
        case _:
            return Status.INCONCLUSIVE, f"too noisy to tell: {measured}"


def by_count(instructions: Instructions, tolerance: float) -> tuple[Status, str]:
    """Status and words if timing does not tell: too many more instructions are a regression."""
    rise = instructions.call / instructions.pinned - 1.0
    status = Status.REGRESSION if rise > tolerance else Status.PASSED
    measured = f"{instructions.call:,} a call, pinned {instructions.pinned:,}, {rise:+.1%}"
    return status, f"{BY_COUNT}: {measured}"


def times(ratio: Estimate) -> str:
    """`1.01x [0.99, 1.02]`"""
    return f"{ratio.value:.3g}x [{ratio.low:.3g}, {ratio.high:.3g}]"

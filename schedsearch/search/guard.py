"""Is a locked schedule still as fast as it was locked?

The lock says how many times faster than the procedure as written it was, as an interval.
Today's ratio is measured the same way, both interleaved, but in many *visits*: processes of
their own, since a kernel is some percent faster or slower in each, by where its memory
happens to lie. A signed-rank test (`core/decision.py`) of the visits' ratios tells whether
they are above or below the least ratio that counts as held.

On a machine that others use, ratios are not the same for all that: a neighbour on the core
halves what a kernel bound by arithmetic gets, and takes nothing from one that waits for
memory. `below` is therefore believed only if

* the procedure as written is not itself slower than when it was locked: then the machine is
  busy, or another one; and
* the lower quartiles of both, over all visits, say the same: disturbances only ever cost time.
  The same statistic of both: against the one fastest call of hundreds, which is some percent
  better than a visit's usual, a schedule 10 % slower looks half as bad; or
* if the machine code is the locked one, so that only the machine can be the cause: not even
  the schedule's fastest call is within the locked interval.

What is not decided either way is `open`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import StrEnum

import numpy as np

from schedsearch.core.checked import Timing, Visit
from schedsearch.core.decision import chance_of_rise
from schedsearch.core.lockfile import LockedSpeed
from schedsearch.core.records import Measurement
from schedsearch.core.stats import median_with_interval
from schedsearch.evaluate.timing import TimingPlan
from schedsearch.search.plans import SLOW_S

TOLERANCE = 0.04
"""What a ratio may be below the locked interval, relative. Sessions on an idle machine differ by 2
or 3 %; with an interval of 1 % to either side this is halfway to a schedule 10 % slower."""

YARDSTICK = 0.15
"""If the procedure as written is slower than locked by more, a low ratio says nothing."""

LOOKS = ((6, 1 / 64), (10, 1 / 150), (15, 1 / 300), (20, 1 / 300), (30, 1 / 300))
"""After so many visits it is asked, with these chances of a false answer. An alarm has to
repeat (`checking.py`), which makes false ones rarer still."""

MOST_VISITS = LOOKS[-1][0]
LEAST_VISITS = LOOKS[0][0]
ATTEMPT_S = 60.0
"""No visits after so long, but `LEAST_VISITS` in any case: slow baselines take seconds."""

_FEW = TimingPlan("guard", 1, 1)
_MORE = TimingPlan("guard", 3, 3)


class Verdict(StrEnum):
    HOLDS = "holds"
    BELOW = "below"
    OPEN = "open"


def visit_of(measurement: Measurement) -> Visit:
    rounds = measurement.rounds
    return Visit(
        min(ns for each in rounds for ns in each.candidate_ns),
        min(ns for each in rounds for ns in each.reference_ns),
    )


def least_ratio(locked: LockedSpeed, tolerance: float = TOLERANCE) -> float:
    """Below it a schedule is slower than locked."""
    return locked.ratio.low * (1.0 - tolerance)


def plan(baseline_s: float) -> TimingPlan:
    """Three rounds a visit, unless calls of the procedure as written take long: of slow ones
    a round has a single sample."""
    return _MORE if baseline_s < SLOW_S else _FEW


def attempt(
    visit: Callable[[], Visit | None],
    locked: LockedSpeed,
    least: float,
    same_code: bool,
    clock: Callable[[], float] = time.monotonic,
) -> list[Visit]:
    """Visits until they tell, or take too long; one that gives nothing (None) counts as such."""
    begin = clock()
    visits: list[Visit] = []
    for number in range(MOST_VISITS):
        if number >= LEAST_VISITS and clock() - begin > ATTEMPT_S:
            break
        found = visit()
        if found is not None:
            visits.append(found)
        if judge(visits, locked, least, same_code) is not Verdict.OPEN:
            break
    return visits


def judge(visits: Sequence[Visit], locked: LockedSpeed, least: float, same_code: bool) -> Verdict:
    """What visits tell, in their order: more of them only change what is `open`.

    `same_code`: everything that decides the machine code is as locked.
    """
    logs = np.log([each.ratio for each in visits]) - np.log(least)
    for count, chance in LOOKS:
        if len(visits) < count:
            break
        if chance_of_rise(logs[:count]) <= chance:
            return Verdict.HOLDS
        if chance_of_rise(-logs[:count]) <= chance and _believed(
            visits[:count], locked, least, same_code
        ):
            return Verdict.BELOW
    if len(visits) >= MOST_VISITS:
        return _by_interval(visits, locked, least, same_code)
    return Verdict.OPEN


def _by_interval(
    visits: Sequence[Visit], locked: LockedSpeed, least: float, same_code: bool
) -> Verdict:
    """What close cases come to in the end: the test has little power left at its last look."""
    ratio = summary(visits, least).ratio
    if ratio.low >= least:
        return Verdict.HOLDS
    if ratio.high < least and _believed(visits, locked, least, same_code):
        return Verdict.BELOW
    return Verdict.OPEN


def _believed(visits: Sequence[Visit], locked: LockedSpeed, least: float, same_code: bool) -> bool:
    seen = summary(visits, least)
    if busy(seen, locked) or seen.baseline_ns / _lower([v.call_ns for v in visits]) >= least:
        return False
    return not same_code or seen.baseline_ns / seen.call_ns < locked.ratio.low


def busy(timing: Timing, locked: LockedSpeed) -> bool:
    """Whether the procedure as written is itself slower than when it was locked."""
    return timing.baseline_ns > (1.0 + YARDSTICK) * locked.call_ns * locked.ratio.value


def summary(visits: Sequence[Visit], least: float) -> Timing:
    return Timing(
        median_with_interval([each.ratio for each in visits]),
        least,
        len(visits),
        min(each.call_ns for each in visits),
        _lower([each.baseline_ns for each in visits]),
    )


def _lower(values: Sequence[float]) -> float:
    return float(np.quantile(values, 0.25))

"""Times stored schedules against each other on the user's request (`--measure`).

Both are interleaved round by round, each round in a new process, after their results were
verified. Everything is kept in the store, in the search tree of the schedule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.core.errors import UserError
from schedsearch.core.records import Outcome
from schedsearch.core.trace import Trace
from schedsearch.search.engine.minimal import Tell
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options
from schedsearch.store.views import StoredCandidate
from schedsearch.study.compare import (
    ALIKE,
    Ratio,
    over_reference,
    ratio,
    require_comparable,
    same_code,
    settled,
    standing,
    standing_for,
    verified,
)
from schedsearch.study.schedule import Schedule
from schedsearch.study.stepping import NotMeasuredError, Stepper, by_hand

_FINAL = (
    Outcome.INCORRECT,
    Outcome.UNVERIFIED,
    Outcome.CODEGEN_ERROR,
    Outcome.COMPILE_ERROR,
)
"""Trying once more would find the same."""


@dataclass(frozen=True)
class Steps:
    """How many steps of a schedule were timed, and how many were to be."""

    timed: int
    wanted: int
    interrupted: bool = False


def measure_steps(schedule: Schedule, tell: Tell) -> Steps:
    """Time every step of a schedule against the one before, where that is not known.

    Steps that cannot be measured (there is no C for some schedules half way) are left out: the
    next one is timed against the last that was. Ctrl-C ends it, what was measured is kept.
    Raises UserError for what the user can mend.
    """
    wanted = _unknown(schedule)
    if not wanted:
        return Steps(0, 0)
    timed, done = 0, False
    try:
        with by_hand(_options(schedule, schedule.stored), tell) as stepper:
            for _ in _timed(stepper, schedule.trace, tell):
                timed += 1
            done = True
    except KeyboardInterrupt:
        pass
    return Steps(timed, max(wanted, timed), not done)


def _unknown(schedule: Schedule) -> int:
    """How many steps are to be timed, as far as is known before."""
    keys = [prefix.key for prefix in schedule.trace.prefixes]
    known = standing(schedule.store, schedule.scope, keys)
    before, *steps = (known[key] for key in keys)
    count = 0
    for now in steps:
        if now.record.outcome not in _FINAL:
            count += not settled(before, now)
            before = now
    return count


def _timed(stepper: Stepper, trace: Trace, tell: Tell) -> Iterator[None]:
    """Yields after every step that was timed."""
    root, *prefixes = trace.prefixes
    before = stepper.standing(root)
    for number, prefix in enumerate(prefixes, 1):
        name = f"step {number} of {len(trace)}, {prefix.steps[-1].transform}"
        now = stepper.standing(prefix)
        if now.record.outcome in _FINAL:
            continue
        if not settled(before, now):
            tell(f"measuring {name}")
            try:
                stepper.measure(now.record.trace, before)
            except NotMeasuredError as error:
                tell(f"{name}: {error}")
                continue
            now = stepper.standing(prefix)
            if found := ratio(before, now):
                tell(f"{name}: {found}")
            yield
        before = now


def measure_pair(first: Schedule, second: Schedule, tell: Tell) -> Ratio:
    """How many times faster the second is than the first, interleaved now.

    Raises UserError for what the user can mend, NotMeasuredError if one of them cannot be
    measured.
    """
    one, other = standing_for(first), standing_for(second)
    require_comparable(one, other)
    if same_code(one, other):
        return ALIKE
    turned = not other.record.trace.steps or (verified(one) is None and verified(other) is not None)
    reference, timed = (other, one) if turned else (one, other)
    if verified(reference) is None and reference.scope != timed.scope:
        raise UserError(
            f"candidate {reference.id} was not measured, and is of another search than "
            f"{timed.id}: `schedsearch explain {reference.id} --measure` measures it"
        )
    with by_hand(_options(first if turned else second, timed), tell) as stepper:
        found = _interleaved(stepper, reference, timed, tell)
    return found.inverse if turned else found


def _interleaved(
    stepper: Stepper, reference: StoredCandidate, timed: StoredCandidate, tell: Tell
) -> Ratio:
    if verified(reference) is None:
        tell(f"measuring candidate {reference.id}")
        stepper.measure(reference.record.trace)
        reference = stepper.standing(reference.record.trace)
    tell(f"timing candidate {timed.id} against {reference.id}")
    stepper.measure(timed.record.trace, reference)
    timed = stepper.standing(timed.record.trace)
    if same_code(reference, timed):
        return ALIKE
    return over_reference(timed.measurements[-1])


def _options(schedule: Schedule, timed: StoredCandidate) -> Options:
    """Of a run that measures `timed`, the schedule or what it is a duplicate of."""
    record = timed.record
    if record.outcome is Outcome.ILLEGAL:
        raise UserError(
            f"candidate {timed.id} is illegal, there is nothing to measure: {record.message}"
        )
    return schedule.options(Budget(0.0))

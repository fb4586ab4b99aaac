"""Stored schedules, timed against each other because the user asks for it (`--measure`).

Both are interleaved round by round, each round in a new process, after the results of what is
timed were verified. Everything is kept in the store, in the search tree that it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.records import Outcome, RunStatus
from schedsearch.core.trace import Trace
from schedsearch.search.again import options_again
from schedsearch.search.budget import Budget
from schedsearch.search.options import Options
from schedsearch.search.pairs import (
    ALIKE,
    Ratio,
    over_reference,
    ratio,
    same_code,
    settled,
    standing,
    standing_for,
    verified,
)
from schedsearch.search.result import Listener
from schedsearch.search.stepping import NotMeasuredError, Stepper
from schedsearch.search.versus import require_comparable
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

Tell = Callable[[str], None]

_FINAL = (
    Outcome.INCORRECT,
    Outcome.UNVERIFIED,
    Outcome.CODEGEN_ERROR,
    Outcome.COMPILE_ERROR,
)
"""Trying once more would find the same."""


@dataclass(frozen=True)
class Place:
    """A store, and where its users' files are now: those of the procedure, if it has moved, and
    of instructions."""

    store: Path | str
    file: Path | None = None
    instructions: Sequence[Path] = ()


@dataclass(frozen=True)
class Steps:
    """How many steps of a schedule were timed, and how many were to be."""

    timed: int
    wanted: int
    interrupted: bool = False


def measure_steps(place: Place, candidate_id: int, tell: Tell) -> Steps:
    """Time every step of a schedule against the one before, where that is not known.

    Steps that cannot be measured (there is no C for some schedules half way) are left out: the
    next one is timed against the last that was. Ctrl-C ends it, what was measured is kept.
    Raises UserError for whatever the user can mend.
    """
    with Store.open(place.store, create=False) as store:
        candidate = store.candidate(candidate_id)
        trace = candidate.record.trace
        wanted = _unknown(store, candidate)
        if not wanted:
            return Steps(0, 0)
        options = _options(store, place, candidate)
    timed, done = 0, False
    try:
        with _begun(options, tell) as stepper:
            for _ in _timed(stepper, trace, tell):
                timed += 1
            done = True
    except KeyboardInterrupt:
        pass
    return Steps(timed, max(wanted, timed), not done)


def _unknown(store: Store, candidate: StoredCandidate) -> int:
    """How many steps are to be timed, as far as is known before."""
    prefixes = _prefixes(candidate.record.trace)
    known = standing(store, candidate.scope, (prefix.key for prefix in prefixes))
    before, *steps = (known[prefix.key] for prefix in prefixes)
    count = 0
    for now in steps:
        if now.record.outcome not in _FINAL:
            count += not settled(before, now)
            before = now
    return count


def _timed(stepper: Stepper, trace: Trace, tell: Tell) -> Iterator[None]:
    """Yields after every step that was timed."""
    root, *prefixes = _prefixes(trace)
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


def _prefixes(trace: Trace) -> list[Trace]:
    return [Trace(trace.steps[:count]) for count in range(len(trace) + 1)]


def measure_pair(place: Place, first_id: int, second_id: int, tell: Tell) -> Ratio:
    """How many times faster the second candidate is than the first, interleaved now.

    Raises UserError for whatever the user can mend, NotMeasuredError if one of them cannot be
    measured.
    """
    with Store.open(place.store, create=False) as store:
        asked = (store.candidate(each) for each in (first_id, second_id))
        first, second = (standing_for(store, each.scope, each.trace_key) for each in asked)
        require_comparable(first, second)
        if same_code(first, second):
            return ALIKE
        turned = not second.record.trace.steps or (
            verified(first) is None and verified(second) is not None
        )
        reference, timed = (second, first) if turned else (first, second)
        if verified(reference) is None and reference.scope != timed.scope:
            raise UserError(
                f"candidate {reference.id} was not measured, and is of another search than "
                f"{timed.id}: `schedsearch explain {reference.id} --measure` measures it"
            )
        options = _options(store, place, timed)
    with _begun(options, tell) as stepper:
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


def _options(store: Store, place: Place, candidate: StoredCandidate) -> Options:
    record = candidate.record
    if record.outcome is Outcome.ILLEGAL:
        raise UserError(
            f"candidate {candidate.id} is illegal, there is nothing to measure: {record.message}"
        )
    return options_again(
        store, place.store, candidate.scope, Budget(0.0), place.file, place.instructions
    )


@contextmanager
def _begun(options: Options, tell: Tell) -> Iterator[Stepper]:
    """A run by hand, which ends with the context."""
    stepper = Stepper(options, Listener(tell, lambda *_: None, lambda _: None))
    status = RunStatus.FAILED
    try:
        yield stepper
        status = RunStatus.FINISHED
    except KeyboardInterrupt:
        status = RunStatus.INTERRUPTED
        raise
    finally:
        stepper.close(status)

"""Two schedules of one procedure: what they share, and how many times faster one is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from schedsearch.core import numbers
from schedsearch.core.decision import Decision
from schedsearch.core.errors import UserError
from schedsearch.core.outline import changes, outline
from schedsearch.core.records import Measurement, Outcome
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Rewrite
from schedsearch.search.engine.plans import CONFIRM, PAIR
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate
from schedsearch.study.schedule import Schedule

_THOROUGH = (CONFIRM.kind, PAIR.kind)
_EQUAL = Estimate(1.0, 1.0, 1.0)
_OPPOSITE = {Decision.FASTER: Decision.SLOWER, Decision.SLOWER: Decision.FASTER}


class How(StrEnum):
    """`interleaved`: in the same rounds; `apart`: each over a third kernel, or in another session;
    `same code`: their machine code is equal."""

    INTERLEAVED = "interleaved"
    APART = "apart"
    SAME_CODE = "same code"


@dataclass(frozen=True)
class Ratio:
    """Times that one schedule is as fast as another. Schedules measured apart have no interval, and
    no `decision`: there is no test for that. `rounds` are those it was interleaved in."""

    over: Estimate
    how: How
    decision: Decision | None = None
    rounds: int = 0

    def __str__(self) -> str:
        """`3.10x [3.02, 3.15], faster`"""
        return f"{numbers.speedup(self.over)}, {self.decision or self.how}"

    @property
    def inverse(self) -> Ratio:
        """The other schedule over this one."""
        over = Estimate(1.0 / self.over.value)
        if self.over.bounded:
            over = replace(over, low=1.0 / self.over.high, high=1.0 / self.over.low)
        decision = _OPPOSITE.get(self.decision, self.decision) if self.decision else None
        return Ratio(over, self.how, decision, self.rounds)


ALIKE = Ratio(_EQUAL, How.SAME_CODE, Decision.SAME)
"""Of equal code."""


@dataclass(frozen=True)
class Comparison:
    """A pair of candidates as the store has them now: the rewrites they share, then the `own` ones
    of each. `nest` are the lines that change from the first loop nest to the second
    (`core/outline.py`). `ratio` is how many times faster the second is than the first, None if
    that is not known."""

    pair: tuple[StoredCandidate, StoredCandidate]
    shared: tuple[Rewrite, ...]
    own: tuple[tuple[Rewrite, ...], tuple[Rewrite, ...]]
    nest: tuple[str, ...]
    ratio: Ratio | None


def compare(first: Schedule, second: Schedule, measured: Ratio | None = None) -> Comparison:
    """`measured` is a ratio that is known better than from the store.

    Raises UserError if they are of different workloads or targets, or if one does not replay.
    """
    require_comparable(first.stored, second.stored)
    count, steps = 0, (first.trace.steps, second.trace.steps)
    while count < min(map(len, steps)) and steps[0][count] == steps[1][count]:
        count += 1
    before, after = (outline(first.replayed(each.trace).ast) for each in (first, second))
    found = measured or ratio(standing_for(first), standing_for(second))
    own = (steps[0][count:], steps[1][count:])
    now = first.store.candidate(first.id), second.store.candidate(second.id)
    return Comparison(now, steps[0][:count], own, changes(before, after), found)


def require_comparable(first: StoredCandidate, second: StoredCandidate) -> None:
    """Raises UserError if they are of different workloads or targets."""
    if replace(first.scope, tree=second.scope.tree) != second.scope:
        raise UserError(
            f"candidates {first.id} and {second.id} are of different procedures, sizes or "
            "targets; `schedsearch best` lists what belongs together"
        )


def verified(candidate: StoredCandidate) -> Measurement | None:
    """The measurement that ranks a candidate; None if it was not measured, or is wrong."""
    record = candidate.record
    return record.measurement if record.outcome is Outcome.CORRECT else None


def speedup(candidate: StoredCandidate) -> Estimate | None:
    """Over the procedure as written, whose own is 1 by definition; None if not known."""
    measurement = verified(candidate)
    if measurement is None:
        return None
    return measurement.speedup if candidate.record.trace.steps else _EQUAL


def same_code(first: StoredCandidate, second: StoredCandidate) -> bool:
    one, other = first.record.keys, second.record.keys
    if first.id == second.id:
        return True
    if None not in (one.binary, other.binary):
        return one.binary == other.binary
    return one.code is not None and one.code == other.code


def ratio(first: StoredCandidate, second: StoredCandidate) -> Ratio | None:
    """How many times faster `second` is than `first`, both of one procedure and target; None if
    nothing is known."""
    if same_code(first, second):
        return ALIKE
    one, other = speedup(first), speedup(second)
    if one is None or other is None:
        return None
    if found := _interleaved(first, second):
        return found
    return Ratio(Estimate(other.value / one.value), How.APART)


def settled(first: StoredCandidate, second: StoredCandidate) -> bool:
    """Whether timing them against each other once more would tell nothing new."""
    if same_code(first, second):
        return True
    timings = (*_against(second, first), *_against(first, second))
    return None not in (verified(first), verified(second)) and any(
        timed.kind in _THOROUGH for timed in timings
    )


def _interleaved(first: StoredCandidate, second: StoredCandidate) -> Ratio | None:
    """Confirmations and pairs count before screenings, later ones before earlier ones."""
    found = [(timed, False) for timed in _against(first, second)]
    found += [(timed, True) for timed in _against(second, first)]
    if not found:
        return None
    *_, (timed, turned) = sorted(found, key=lambda each: each[0].kind in _THOROUGH)
    return over_reference(timed).inverse if turned else over_reference(timed)


def over_reference(timed: Measurement) -> Ratio:
    """The ratio of a candidate and its reference, interleaved in this measurement."""
    return Ratio(timed.ratio, How.INTERLEAVED, timed.decision(), len(timed.rounds))


def _against(reference: StoredCandidate, candidate: StoredCandidate) -> list[Measurement]:
    """Timings of `candidate` interleaved with `reference`, the oldest first."""
    code = reference.record.keys.code
    return [each for each in candidate.measurements if code and each.reference == code]


def standing(store: Store, scope: Scope, keys: Iterable[str]) -> dict[str, StoredCandidate]:
    """By trace key, the candidate that says how fast a schedule is: itself, or the one that it
    is a duplicate of if it was not measured itself."""
    asked = list(keys)
    known: dict[str, StoredCandidate] = {}
    wanted = set(asked)
    while wanted:
        known |= {each.trace_key: each for each in store.find(scope, sorted(wanted))}
        originals = {each.record.duplicate_of for each in known.values()}
        wanted = {key for key in originals if key is not None} - known.keys()
    found = {}
    for key in asked:
        if key not in known:
            continue
        stands = known[key]
        for _ in known:  # of a duplicate of a duplicate
            original = stands.record.duplicate_of
            if verified(stands) is None and original is not None:
                stands = known[original]
        found[key] = stands
    return found


def standing_for(schedule: Schedule) -> StoredCandidate:
    """The candidate that says how fast it is."""
    key = schedule.trace.key
    return standing(schedule.store, schedule.scope, [key])[key]

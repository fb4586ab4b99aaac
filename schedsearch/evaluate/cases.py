"""The cases of a workload: calls, inputs, and where it is written what outputs may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedsearch.core import ast as q
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.keys import digest_of
from schedsearch.evaluate.agreement import Power
from schedsearch.evaluate.binding import Binding
from schedsearch.evaluate.enclosure import unknown_externs
from schedsearch.evaluate.harness import Case, Placement, layout
from schedsearch.evaluate.oracle import LADDERS, SHARP, Mode, oracle
from schedsearch.evaluate.work import count_work

# The same of those that a candidate asks for, of which there are dozens.
_CALL_FLOPS = 4e6
_CALL_BYTES = 2 << 20
_FIRST_OF_CALLS = 1000  # of the numbers of their cases
# Evaluating takes some 5 ns an operation: beyond, the procedure as written says what is right.
_MOST_EVALUATED = 2e9
# Of the cases of a mode: both ends of every array are guarded in one of them.
_PLACEMENT = {
    Mode.INTEGERS: Placement.GUARDED_END,
    Mode.FLOATS: Placement.GUARDED_START,
    Mode.SPECIALS: Placement.GUARDED_END,
}
# Bytes from where arrays would be aligned to a cache line: as NumPy and malloc place them.
_OFFSETS = (0, 4, 16, 32)


@dataclass(frozen=True)
class Plan:
    """What the cases of a workload are made of: the procedure, where they are kept, a seed, and
    the floating-point contract."""

    proc: q.Proc
    base: Path
    seed: int
    fp: FloatingPoint


def every_mode(bindings: Sequence[Binding], fp: FloatingPoint) -> list[tuple[Binding, Mode]]:
    """Each call on all inputs that the contract covers."""
    modes = [Mode.INTEGERS, Mode.FLOATS]
    if fp is not FloatingPoint.FAST:
        modes.append(Mode.SPECIALS)
    return [(binding, mode) for binding in bindings for mode in modes]


def evaluated(
    enclose: Callable[[Sequence[Case]], Sequence[Mapping[str, Power]]],
    plan: Plan,
    wanted: Sequence[tuple[Binding, Mode]],
    first: int = 0,
) -> tuple[tuple[Case, ...], list[Mapping[str, Power]]]:
    """Cases of calls and inputs, each on the first distribution of its ladder on which enough
    can be told, or else on the best; and what can be told, which `enclose` finds out. `first`:
    the number of cases before."""
    best: dict[int, tuple[float, Case, Mapping[str, Power]]] = {}
    pending, rung = list(range(len(wanted))), 0
    while pending:
        tried = [_case(plan, *wanted[at], rung, first + at) for at in pending]
        left = []
        for at, case, powers in zip(pending, tried, enclose(tried), strict=True):
            share = min((power.share for power in powers.values()), default=1.0)
            if at not in best or share > best[at][0]:
                best[at] = share, case, powers
            last = rung + 1 == len(LADDERS[wanted[at][1]]) or case.as_written
            if best[at][0] < SHARP and not last:
                left.append(at)
        pending, rung = left, rung + 1
    cases = tuple(best[at][1] for at in range(len(wanted)))
    return cases, [best[at][2] for at in range(len(wanted))]


_kept: dict[tuple[Path, Binding], Case] = {}  # what candidates of this process asked for


def cases_of_calls(
    enclose: Callable[[Sequence[Case]], Sequence[Mapping[str, Power]]],
    record: Callable[[Sequence[Case]], None],
    plan: Plan,
    calls: Sequence[Binding],
) -> list[Case]:
    """Small cases of calls that a kernel asks for, each on one kind of inputs, by its sizes;
    evaluated once, and then given to `record`."""
    new = [call for call in calls if (plan.base, call) not in _kept]
    wanted = [(call, Mode.FLOATS if _odd_one(call) else Mode.INTEGERS) for call in new]
    if new:
        cases, _ = evaluated(enclose, plan, wanted, _FIRST_OF_CALLS)
        record(cases)
        _kept.update(((plan.base, call), case) for call, case in zip(new, cases, strict=True))
    return [_kept[plan.base, call] for call in calls]


def is_small(proc: q.Proc, call: Binding) -> bool:
    """Whether a candidate may ask for the call: as written, it takes some milliseconds."""
    work = count_work(proc, call)
    return work.flops <= _CALL_FLOPS and work.bytes <= _CALL_BYTES


def _odd_one(call: Binding) -> bool:
    return sum(value for _, value in call.values) % 3 == 0


def _case(plan: Plan, binding: Binding, mode: Mode, rung: int, number: int) -> Case:
    """A case with its own file: sessions with other sizes may share the directory."""
    seed = plan.seed + number
    judge = oracle(plan.proc, mode, LADDERS[mode][rung])
    own = digest_of([binding.to_json(), mode, rung, seed])
    expected = plan.base.with_name(f"{plan.base.name}-{own}.bin")
    arrays = layout(plan.proc, binding)
    offset = _OFFSETS[number // 2 % len(_OFFSETS)]
    case = Case(binding, judge, arrays, expected, seed, _PLACEMENT[mode], offset)
    return replace(case, as_written=bool(why_not(plan, case)))


def why_not(plan: Plan, case: Case) -> str:
    """Why a case cannot be evaluated; empty if it can."""
    if unknown := unknown_externs(plan.proc):
        return f"the external function {unknown[0]} is not known"
    if count_work(plan.proc, case.binding).flops > _MOST_EVALUATED:
        return f"{str(case.binding) or 'its size'} takes too long to evaluate"
    return ""

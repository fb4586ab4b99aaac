"""The cases of a workload: calls, inputs, and the files with the intervals of their outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path

from schedsearch.analysis.accesses import written_buffers
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.keys import digest_of
from schedsearch.evaluate.arguments.binding import Binding
from schedsearch.evaluate.arguments.layout import Buffer, layout
from schedsearch.evaluate.oracle.agreement import Told, next_rung
from schedsearch.evaluate.oracle.enclosure import unknown_externs
from schedsearch.evaluate.oracle.harness import Case, Placement
from schedsearch.evaluate.oracle.ladders import (
    FIRST_DENSE,
    LADDERS,
    SHARP,
    Mode,
    far_beyond,
    has_extremes,
    has_floats,
    has_integers,
    has_unsigned,
    oracle,
    scale_matters,
    wide_arrays,
)
from schedsearch.evaluate.oracle.sampling import samples
from schedsearch.evaluate.roof.work import count_steps, count_steps_in, stores_run

# A case that is only verified may cost the baseline about 20 ms.
_CASE_STEPS = 2e7
_CASE_BYTES = 8 << 20
# The same of those that a candidate asks for, of which there are dozens.
_CALL_STEPS = 4e6
_CALL_BYTES = 2 << 20
# The same of mixed numbers, of which there are several.
_MIXED_STEPS = 1e5
_MIXED_BYTES = 1 << 20
_WITNESS_BYTES = 64 << 20
_FEW = 1000  # elements
_FIRST_OF_CALLS = 1000  # of the numbers of their cases
# Operations of an evaluation, which takes 3 to 30 ns for each. Beyond `_SAMPLED` only a part of the
# independent iterations is evaluated; beyond `_MOST_EVALUATED` of the others the baseline's outputs
# count as right.
_SAMPLED = 5e7
_TRIED = 2e6  # the same for a look at what inputs tell
# Elements of outputs: from `_LARGE` on, `_EVALUATED` of them are evaluated, each of which may take
# a page of memory. Below, a fast baseline computes all of them.
_LARGE, _EVALUATED = 1 << 25, 1e5
_MOST_EVALUATED = 2e9
# Of the cases of a mode: both ends of every array are guarded in one of them.
_PLACEMENT = {
    Mode.INTEGERS: Placement.GUARDED_END,
    Mode.FLOATS: Placement.GUARDED_START,
    Mode.SMALL: Placement.GUARDED_END,
    Mode.LARGE: Placement.GUARDED_START,
    Mode.POSITIVE: Placement.GUARDED_END,
    Mode.WIDE: Placement.GUARDED_START,
    Mode.ONE_ARRAY: Placement.GUARDED_END,
    Mode.BEYOND: Placement.GUARDED_START,
    Mode.BYTES: Placement.GUARDED_END,
    Mode.MIXED: Placement.GUARDED_START,
    Mode.SPECIALS: Placement.GUARDED_END,
    Mode.NAN: Placement.GUARDED_START,
    Mode.RISING: Placement.GUARDED_END,
    Mode.FALLING: Placement.GUARDED_START,
}
# Callers' arrays are aligned to their elements. The first, so that guards are where arrays end,
# is also that of the call that is timed.
_OFFSETS = (0, 4, 16, 32)


@dataclass(frozen=True)
class Plan:
    """The common parts of a workload's cases: the procedure, the directory, a seed, and the
    floating-point contract. The baseline is not called with `uncalled`, which would take too long.
    """

    proc: q.Proc
    base: Path
    seed: int
    fp: FloatingPoint
    uncalled: Binding | None = None

    @cached_property
    def inlined(self) -> q.Proc:
        return inline_calls(self.proc)

    @cached_property
    def sampled(self) -> frozenset[q.Var]:
        """Loops of which iterations may be left out."""
        return frozenset[q.Var]().union(*(each.loops for each in samples(self.inlined)))

    def steps(self, call: Binding) -> Mapping[int, int]:
        """Of an evaluation, by how many of the sampled loops are around them."""
        return count_steps_in(self.inlined, call, self.sampled)

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        return unknown_externs(self.proc)


@dataclass(frozen=True)
class Inputs:
    """One case: a call; a distribution of its data, by mode and rung of that ladder, times a scale;
    the distance of arrays, in bytes or a small multiple of that, from the memory that guards them;
    and which array is wide, if one is."""

    call: Binding
    mode: Mode
    rung: int = 0
    offset: int = 0
    scale: float = 1.0
    array: int = 0


def first_inputs(
    proc: q.Proc, small: Sequence[Binding], timed: Binding, fp: FloatingPoint
) -> list[Inputs]:
    """The cases that verify every kernel: calls of some sizes, and last the timed call, each on
    integers and on floats; small sizes by turns on floats around 1 and on larger ones. Large
    outputs have floats alone, once: filling arrays takes longer than calling most kernels."""
    modes = [Mode.INTEGERS, Mode.FLOATS]
    if fp is not FloatingPoint.FAST:
        modes.insert(1, Mode.SPECIALS)
        if has_extremes(inline_calls(proc)):
            modes.insert(1, Mode.NAN)
    found = [
        Inputs(call, mode, turn % 2 if mode is Mode.FLOATS else 0, _OFFSETS[turn % len(_OFFSETS)])
        for turn, call in enumerate(small)
        for mode in modes
    ]
    *others, floats = (Inputs(timed, mode) for mode in modes)
    others = [] if _is_large(proc, timed, fp) else others
    return [*found, *others, *_further(proc, small, timed), floats]


def _further(proc: q.Proc, small: Sequence[Binding], timed: Binding) -> list[Inputs]:
    """Other data, of the largest size that is cheap, small numbers also of a small one: what
    takes them for 0 does not show on others. Statements that do not run at that size get the same
    at another. Where the scale of inputs matters, they need not be cheap. If there is but one size
    and outputs are small, few numbers decide."""
    cheap = [call for call in (*small, timed) if is_cheap(proc, call)]
    largest = max(cheap, key=lambda each: count_steps(proc, each), default=timed)
    modes = list[Mode]()
    if scale_matters(inline_calls(proc)):
        modes += [Mode.SMALL, Mode.LARGE]
    elif cheap and has_floats(proc):
        modes += [Mode.SMALL]
    if cheap and not small and _outputs(proc, timed) < _FEW:
        modes += [Mode.INTEGERS, Mode.POSITIVE, Mode.INTEGERS, Mode.FLOATS, Mode.SMALL]
    if has_unsigned(inline_calls(proc)) and Mode.POSITIVE not in modes:
        modes += [Mode.POSITIVE]
    if has_integers(inline_calls(proc)):
        modes += [Mode.WIDE, Mode.BYTES] if has_floats(inline_calls(proc)) else [Mode.WIDE]
    if has_extremes(inline_calls(proc)):
        modes += [Mode.RISING, Mode.FALLING]
    beyond = far_beyond(inline_calls(proc))
    modes += [Mode.BEYOND] if beyond else []
    few = cheap[min(1, len(cheap) - 1)] if cheap else timed
    others = _otherwise(proc, cheap, largest)
    pairs = [(call, mode) for call in (largest, *others) for mode in modes]
    if cheap and Mode.SMALL in modes and few != largest:
        pairs.append((few, Mode.SMALL))
    found = [
        Inputs(call, mode, offset=_OFFSETS[(1 + turn) % len(_OFFSETS)])
        for turn, (call, mode) in enumerate(pairs)
    ]
    found = [replace(x, scale=beyond) if x.mode is Mode.BEYOND else x for x in found]
    if wide := wide_arrays(inline_calls(proc)):
        short = [call for call in cheap if is_small(proc, call)]
        call = max(short, key=lambda each: count_steps(proc, each), default=largest)
        rungs = (0, FIRST_DENSE) if short else (FIRST_DENSE,)
        found += [Inputs(call, Mode.ONE_ARRAY, r, array=a) for a in wide for r in rungs]
    for call in (few, *_otherwise(proc, cheap, few)):
        if cheap and _takes(proc, call, _MIXED_STEPS, _MIXED_BYTES):
            found += [Inputs(call, Mode.MIXED, rung) for rung in range(len(LADDERS[Mode.MIXED]))]
    return found


def _otherwise(proc: q.Proc, calls: Sequence[Binding], call: Binding) -> list[Binding]:
    """Some of `calls` that together execute all statements that any of them executes and `call`
    does not: statements of some remainders, or of small sizes."""
    inlined = inline_calls(proc)
    seen, found = stores_run(inlined, call), list[Binding]()
    for other in calls:
        if run := stores_run(inlined, other) - seen:
            seen |= run
            found.append(other)
    return found


def _outputs(proc: q.Proc, call: Binding) -> int:
    """Elements of the arrays that are written."""
    written = {var.name for var in written_buffers(inline_calls(proc).body)}
    arrays = [each for each in layout(proc, call) if isinstance(each, Buffer)]
    return sum(prod(each.shape) for each in arrays if each.name in written)


def is_cheap(proc: q.Proc, call: Binding) -> bool:
    """Whether a call that is only verified costs little: about 20 ms for the baseline."""
    return _takes(proc, call, _CASE_STEPS, _CASE_BYTES)


def _takes(proc: q.Proc, call: Binding, steps: float, size: int) -> bool:
    """Whether it takes no more than that in the baseline, and has no larger arrays: each is filled
    whole and, if it is written, compared."""
    written = {var.name for var in written_buffers(inline_calls(proc).body)}
    buffers = [item for item in layout(proc, call) if isinstance(item, Buffer)]
    arrays = sum(item.bytes * (1 + (item.name in written)) for item in buffers)
    return arrays <= size and count_steps(proc, call) <= steps


Enclose = Callable[[Sequence[Case]], Sequence[Told]]
"""Evaluates the procedure on cases; returns how much each tells."""


def evaluated(
    enclose: Enclose, plan: Plan, wanted: Sequence[Inputs], first: int = 0
) -> tuple[tuple[Case, ...], list[Told]]:
    """Cases on these inputs, or on the next of their ladder that tells enough, or else on the best,
    if any is of use; and how much they tell. A small sample shows which. `first`: the number of
    cases before."""
    best: dict[int, tuple[float, Inputs, Case, Told]] = {}
    pending = dict(enumerate(wanted))
    while pending:
        tried = [_case(plan, each, first + at, _TRIED) for at, each in pending.items()]
        left = {}
        for (at, inputs), case, told in zip(pending.items(), tried, enclose(tried), strict=True):
            share = _use(plan, case, told)
            if at not in best or share > best[at][0]:
                best[at] = share, inputs, case, told
            following = next_rung(inputs.mode, inputs.rung, told.powers.values())
            if best[at][0] < SHARP and following is not None and not case.as_written:
                left[at] = replace(inputs, rung=following)
        pending = left
    found = {at: (case, told) for at, (_, _, case, told) in best.items()}
    larger = {at: _case(plan, inputs, first + at) for at, (_, inputs, _, _) in best.items()}
    larger = {at: case for at, case in larger.items() if case != found[at][0]}
    heard = enclose(list(larger.values())) if larger else ()
    found |= dict(zip(larger, zip(larger.values(), heard, strict=True), strict=True))
    of_use = [found[at] for at in range(len(wanted)) if _use(plan, *found[at]) > _UNDEFINED]
    return tuple(case for case, _ in of_use), [told for _, told in of_use]


_UNDEFINED = -1.0


def _use(plan: Plan, case: Case, told: Told) -> float:
    """The least share of sharp elements among its outputs. Wide numbers and bytes, and large floats
    that may become integers, are of no use if one element has no defined value: sanitizers find
    that, too."""
    mode = case.oracle.mode
    wide = mode in (Mode.WIDE, Mode.ONE_ARRAY, Mode.BYTES)
    if wide or (mode is Mode.BEYOND and has_integers(plan.inlined)):
        defined = all(power.defined == power.written for power in told.powers.values())
        if not defined or case.as_written:
            return _UNDEFINED
    return 1.0 if wide else told.share


# Of calls that candidates of this process asked for.
_kept: dict[tuple[Path, Binding], list[Case]] = {}


def cases_of_calls(
    enclose: Enclose,
    record: Callable[[Sequence[Case]], Sequence[Case]],
    plan: Plan,
    calls: Sequence[Binding],
) -> list[Case]:
    """Small cases of calls that a kernel asks for, on floats and on integers each; evaluated once,
    and then given to `record`, which says what they are from then on."""
    new = [call for call in calls if (plan.base, call) not in _kept]
    wanted = [
        Inputs(call, mode, offset=_OFFSETS[_sum(call) % len(_OFFSETS)])
        for call in new
        for mode in (Mode.FLOATS, Mode.INTEGERS)
    ]
    if new:
        cases, _ = evaluated(enclose, plan, wanted, _FIRST_OF_CALLS)
        recorded = record(cases)
        for call in new:
            _kept[plan.base, call] = [case for case in recorded if case.binding == call]
    return [case for call in calls for case in _kept[plan.base, call]]


def is_small(proc: q.Proc, call: Binding) -> bool:
    """Whether a candidate may ask for the call: it takes the baseline some milliseconds."""
    return _takes(proc, call, _CALL_STEPS, _CALL_BYTES)


def is_possible(proc: q.Proc, call: Binding) -> bool:
    """Whether a candidate may have the call if it cannot be verified otherwise."""
    return _takes(proc, call, _SAMPLED, _WITNESS_BYTES)


def _sum(call: Binding) -> int:
    """The sum of its sizes. Inputs are derived from it, so they do not change."""
    return sum(value for _, value in call.values)


def _case(plan: Plan, inputs: Inputs, number: int, most: float | None = None) -> Case:
    """A case with its own file, named by all that its contents depend on: it is kept. A look at
    what inputs tell takes about `most` operations: only what is evaluated tells, so the baseline is
    not called beside a sample, unless that takes no time."""
    seed, call, mode = plan.seed + number, inputs.call, inputs.mode
    judge = oracle(plan.proc, mode, LADDERS[mode][inputs.rung].times(inputs.scale), inputs.array)
    share, as_written = _share(plan, call, most or _SAMPLED), bool(why_not(plan, call))
    slow = sum(plan.steps(call).values()) > _CASE_STEPS
    look = most is not None and share < 1 and slow and not as_written
    uncalled = look or (share < 1 and _in_part(plan, call))
    own = digest_of([call.to_json(), repr(judge), seed, share, as_written, uncalled, look])
    expected = plan.base.with_name(f"{plan.base.name}-{own}.bin")
    arrays = layout(plan.proc, call)
    placement = _PLACEMENT[mode]
    offset, sampled = inputs.offset, (share, as_written, uncalled, look)
    return Case(call, judge, arrays, expected, seed, placement, offset, *sampled)


def cost(plan: Plan, case: Case) -> float:
    """Operations of the evaluation of a case, or as many that take as long: filling an array takes
    about a nanosecond a byte."""
    steps = plan.steps(case.binding).items()
    evaluated = sum(count * case.share**depth for depth, count in steps)
    return case.bytes / 10 + (0 if case.as_written else evaluated)


def case_of_timing(plan: Plan, timed: Binding, align: int) -> Case:
    """The call that is timed, with nothing to compare its results with."""
    case = _case(plan, Inputs(timed, Mode.FLOATS), 0)
    return replace(case, placement=Placement.FOR_TIMING, offset=align)


def why_not(plan: Plan, call: Binding) -> str:
    """Why a call cannot be evaluated; empty if it can."""
    if plan.unknown:
        return f"the external function {plan.unknown[0]} is not known"
    if plan.steps(call).get(0, 0) > _MOST_EVALUATED:
        return f"{str(call) or 'its size'} takes too long to evaluate"
    return ""


def _share(plan: Plan, call: Binding, most: float) -> float:
    """The share of iterations to evaluate of each loop that may be sampled, so that those in them
    take `most` operations, and only a part of large outputs is evaluated."""
    steps = {depth: count for depth, count in plan.steps(call).items() if depth}
    if not steps:
        return 1.0
    share = _largest(
        lambda share: sum(count * share**depth for depth, count in steps.items()), most
    )
    if _in_part(plan, call):
        part = min(1.0, _EVALUATED / _outputs(plan.proc, call))
        share = min(share, part ** (1 / max(steps)))
    return share


def _largest(steps: Callable[[float], float], most: float) -> float:
    """The largest share with at most so many steps."""
    low, high = 0.0, 1.0
    while steps(high) > most and high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if steps(middle) <= most else (low, middle)
    return high


def _in_part(plan: Plan, call: Binding) -> bool:
    """Whether only evaluated elements are compared, where those can be a part."""
    return call == plan.uncalled or _is_large(plan.proc, call, plan.fp)


def _is_large(proc: q.Proc, call: Binding, fp: FloatingPoint) -> bool:
    """Whether outputs are too large to keep the bounds of each element; bits are kept anyway."""
    return fp is not FloatingPoint.STRICT and _outputs(proc, call) >= _LARGE

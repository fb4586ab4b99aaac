"""A workload's bench: its harness, its cases, and what they have to compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedsearch.core import ast as q
from schedsearch.core.errors import BaselineError, UserError
from schedsearch.core.keys import digest_of
from schedsearch.core.records import Failure, GeneratedC
from schedsearch.evaluate.agreement import Agreement, Power, next_rung, undefined_sizes, weaknesses
from schedsearch.evaluate.bench import Bench
from schedsearch.evaluate.binding import Binding, verification_bindings
from schedsearch.evaluate.builder import Builder
from schedsearch.evaluate.disk import disk_explained
from schedsearch.evaluate.enclosure import unknown_externs
from schedsearch.evaluate.harness import (
    Case,
    Contract,
    Placement,
    context_fields,
    layout,
    own_sources,
    shared_sources,
)
from schedsearch.evaluate.host import measuring_cores
from schedsearch.evaluate.inline import inline_calls
from schedsearch.evaluate.oracle import LADDERS, SHARP, Mode, has_floats, oracle, scale_matters
from schedsearch.evaluate.runner import was_killed
from schedsearch.evaluate.timing import Cache
from schedsearch.evaluate.work import count_work

_COMPILE_S = 120.0
# A case that is only verified may cost about 20 ms, as written.
_CASE_FLOPS = 2e7
_CASE_BYTES = 8 << 20
# Evaluating takes some 5 ns an operation: beyond, the procedure as written says what is right.
_MOST_EVALUATED = 2e9
# Of the cases of a mode: both ends of every array are guarded in one of them.
_PLACEMENT = {
    Mode.INTEGERS: Placement.GUARDED_END,
    Mode.FLOATS: Placement.GUARDED_START,
    Mode.SMALL: Placement.GUARDED_END,
    Mode.LARGE: Placement.GUARDED_START,
    Mode.POSITIVE: Placement.GUARDED_END,
    Mode.SPECIALS: Placement.GUARDED_END,
}
# Bytes from where arrays would be aligned to a cache line: as NumPy and malloc place them.
_OFFSETS = (0, 4, 16, 32)


@disk_explained()
def prepare(
    proc: q.Proc,
    reference: GeneratedC,
    binding: Binding,
    builder: Builder,
    work_dir: Path,
    seed: int = 0,
    threads: int = 1,
    cache: Cache = Cache.WARM,
    contract: Contract = Contract.FAST,
) -> Bench:
    """Build the harness of a workload and evaluate it in every case, in `work_dir`.

    Cases are the verification bindings (small) and `binding`, each on integers
    and on floats, each with a seed of its own, arrays up against inaccessible memory at
    their ends or at their starts; the last once more, placed as it is timed. Kernels
    get `threads` cores, and as many threads if they are parallel; `cache` is what caches
    hold when they are timed. Raises UserError if the unscheduled procedure does not
    compile, crashes, takes too long, or does not compute what it says.
    """
    work_dir.mkdir(parents=True, exist_ok=True)
    baseline = builder.build(reference, _COMPILE_S)
    if isinstance(baseline, Failure) and was_killed(baseline):
        raise UserError(f"the compiler was {baseline.message}; run again")
    if isinstance(baseline, Failure):
        raise UserError(
            f"the C of {proc.name}, unscheduled, does not compile:\n{baseline.message}\n"
            "Check the compiler's flags, and instructions or externs the procedure uses."
        )
    executable = builder.executable(
        own_sources(proc, reference), _COMPILE_S, shared=shared_sources()
    )
    fields, cores = context_fields(reference.header), measuring_cores(threads)
    base = work_dir / digest_of([builder.key, reference.key, seed, executable.name])
    plan = Plan(proc, base, seed)
    bench = Bench(executable, fields, (), (), baseline, cores, cache, contract=contract)

    sizes = verification_bindings(proc, binding, lambda case: _is_cheap(proc, case))
    bindings = (*sizes, binding)
    cases, powers = evaluated(bench, plan, bindings)
    bench = confirmed(replace(bench, cases=cases), proc.name)
    skipped = tuple((str(case), why) for case in cases if (why := _why_not(plan, case)))
    agreed = tuple(str(case) for case in cases if not case.as_written)
    # Small sizes may tell of sums that grow, or get lost, at the size that is timed.
    told: dict[Binding, list[dict[str, Power]]] = {each: [] for each in bindings}
    for case, own in zip(cases, powers, strict=True):
        told[case.binding].append(own)
    elsewhere = {str(each): told[each] for each in sizes}
    weak = (*weaknesses(told[binding]), *undefined_sizes(elsewhere))
    weak = (*weak, *dict.fromkeys(why for _, why in skipped))
    timed = replace(cases[-1], placement=Placement.FOR_TIMING, offset=0)
    agreement = Agreement(agreed, skipped, weak)
    return replace(bench, cases=(*cases, timed), agreement=agreement)


@dataclass(frozen=True)
class Plan:
    """What the cases of a workload are made of: the procedure, where they are kept, a seed."""

    proc: q.Proc
    base: Path
    seed: int


def evaluated(
    bench: Bench, plan: Plan, bindings: Sequence[Binding], first: int = 0
) -> tuple[tuple[Case, ...], list[dict[str, Power]]]:
    """The cases of `bindings`, each on the first distribution of its ladder on which enough can
    be told, or else on the best; and what can be told. `first`: the number of cases before."""
    modes = [Mode.INTEGERS, Mode.FLOATS]
    if bench.contract is not Contract.FAST:
        modes.append(Mode.SPECIALS)
    wanted = [(binding, mode) for binding in bindings for mode in modes]
    further = [] if first else _further(plan.proc, bindings)
    wanted += further
    best: dict[int, tuple[float, Case, dict[str, Power]]] = {}
    # With the rungs to try: sizes by turns begin with numbers around 1 and larger ones.
    pending = {
        at: int(mode is Mode.FLOATS and wanted[at][0] != bindings[-1] and at // len(modes) % 2)
        for at, (_, mode) in enumerate(wanted)
    }
    while pending:
        tried = [_case(plan, *wanted[at], rung, first + at) for at, rung in pending.items()]
        heard = bench.enclose(tried, plan.proc.name)
        left = {}
        for (at, rung), case, powers in zip(pending.items(), tried, heard.powers, strict=True):
            share = min((power.share for power in powers.values()), default=1.0)
            if at not in best or share > best[at][0]:
                best[at] = share, case, powers
            following = next_rung(wanted[at][1], rung, powers.values())
            if best[at][0] < SHARP and following is not None and not case.as_written:
                left[at] = following
        pending = left
    own, last = len(modes) * (len(bindings) - 1), len(modes) * len(bindings)
    # What is timed comes last.
    order = [*range(own), *range(last, len(wanted)), *range(own, last)]
    return tuple(best[at][1] for at in order), [best[at][2] for at in order]


def _further(proc: q.Proc, bindings: Sequence[Binding]) -> list[tuple[Binding, Mode]]:
    """Cases with other data, of the largest size that is cheap, small numbers also of a small
    one: what takes them for 0 does not show on others. Where the scale of inputs matters, they
    need not be cheap. If there is but one size, few numbers decide what it computes of them."""
    cheap = [binding for binding in bindings if _is_cheap(proc, binding)]
    largest = max(cheap, key=lambda each: count_work(proc, each).flops, default=bindings[-1])
    modes = list[Mode]()
    if scale_matters(inline_calls(proc)):
        modes += [Mode.SMALL, Mode.LARGE]
    elif cheap and has_floats(proc):
        modes += [Mode.SMALL]
    if cheap and len(bindings) == 1:
        modes += [Mode.INTEGERS, Mode.POSITIVE, Mode.INTEGERS, Mode.FLOATS]
    found = [(largest, mode) for mode in modes]
    if cheap and Mode.SMALL in modes:
        found.append((cheap[min(1, len(cheap) - 1)], Mode.SMALL))
    return list(dict.fromkeys(found)) if len(bindings) > 1 else found


def _is_cheap(proc: q.Proc, binding: Binding) -> bool:
    work = count_work(proc, binding)
    return work.flops <= _CASE_FLOPS and work.bytes <= _CASE_BYTES


def confirmed(bench: Bench, name: str) -> Bench:
    """The bench with the times of its cases. Raises UserError if the procedure as written does
    not compute what its evaluation says."""
    verdict, failure = bench.run_baseline(bench.cases)
    if verdict.difference:
        raise BaselineError(
            f"the compiled unscheduled procedure {name} disagrees with its evaluation: "
            f"{verdict.difference}.\nExo's code generator or the C compiler made something else "
            "of it. Nothing can be verified against it: write the procedure differently, or try "
            "another compiler (--cc)."
        )
    if failure is not None:
        cause = verdict.error or failure.message
        raise UserError(
            f"{name} itself, unscheduled, fails while {verdict.stage}: {cause}. "
            "Correct the procedure, or give its asserts what it relies on."
        )
    times = tuple(verdict.call_ns[number] for number in range(len(bench.cases)))
    return replace(bench, call_ns=times, sandbox=verdict.sandbox)


def _case(plan: Plan, binding: Binding, mode: Mode, rung: int, number: int) -> Case:
    """A case with its own file: sessions with other sizes may share the directory."""
    seed = plan.seed + number
    judge = oracle(plan.proc, mode, LADDERS[mode][rung])
    own = digest_of([binding.to_json(), mode, rung, seed])
    expected = plan.base.with_name(f"{plan.base.name}-{own}.bin")
    arrays = layout(plan.proc, binding)
    offset = _OFFSETS[number // 2 % len(_OFFSETS)]
    case = Case(binding, judge, arrays, expected, seed, _PLACEMENT[mode], offset)
    return replace(case, as_written=bool(_why_not(plan, case)))


def _why_not(plan: Plan, case: Case) -> str:
    """Why a case cannot be evaluated; empty if it can."""
    if unknown := unknown_externs(plan.proc):
        return f"the external function {unknown[0]} is not known"
    if count_work(plan.proc, case.binding).flops > _MOST_EVALUATED:
        return f"{str(case.binding) or 'its size'} takes too long to evaluate"
    return ""

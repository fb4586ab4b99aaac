"""A workload's bench: its harness, its cases, and their admissible results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedsearch.core import ast as q
from schedsearch.core.alignment import ALLOCATED
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.keys import digest_of
from schedsearch.core.records import Artifact, Failure, GeneratedC, TimingKind
from schedsearch.evaluate.arguments.binding import Binding, verification_bindings
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.disk import disk_explained
from schedsearch.evaluate.build.host import measuring_cores
from schedsearch.evaluate.oracle.agreed import Agreement
from schedsearch.evaluate.oracle.agreement import (
    Told,
    disagreement,
    unclear_parts,
    undefined_sizes,
    weaknesses,
)
from schedsearch.evaluate.oracle.cases import (
    Plan,
    case_of_timing,
    evaluated,
    first_inputs,
    is_cheap,
    why_not,
)
from schedsearch.evaluate.oracle.harness import (
    Placement,
    context_fields,
    own_sources,
    shared_sources,
)
from schedsearch.evaluate.run.bench import Bench, Part
from schedsearch.evaluate.run.runner import was_killed
from schedsearch.evaluate.run.timing import Cache, TimingPlan

_COMPILE_S = 120.0
_ONCE = TimingPlan(TimingKind.PART, 1, 1, sample_ns=1.0, samples=1)
# A candidate's calls may take this many times `patience_s` in all.
_OF_PATIENCE = 10.0
_UNCALLED = "a call as written takes too long, at that size a part of the results is compared"
_LARGE = "outputs are large, at that size a part of the results is compared"


@dataclass(frozen=True)
class Excerpt:
    """C of a part of the baseline, which does `1 / scale` of its work. It is timed in place of the
    baseline if that would take longer than `patience_s` seconds a call."""

    code: GeneratedC
    scale: float
    patience_s: float


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
    fp: FloatingPoint = FloatingPoint.FAST,
    align: int = ALLOCATED,
    excerpt: Excerpt | None = None,
) -> Bench:
    """Build the harness of a workload and evaluate it in every case, in `work_dir`.

    Cases are the verification bindings (small) and `binding`, each on integers and on floats, each
    with a seed of its own, arrays up against inaccessible memory at their ends or at their starts;
    the last once more, placed as it is timed: `align` bytes past the start of a page. Kernels get
    `threads` cores, and as many threads if they are parallel; `cache` is what caches hold when they
    are timed. If the baseline takes too long, judging by its `excerpt`, that is timed in its place,
    and the baseline is not called with `binding` if that can be evaluated. Raises UserError if the
    baseline does not compile, crashes, takes too long, or computes a wrong result.
    """
    work_dir.mkdir(parents=True, exist_ok=True)
    baseline = builder.build(reference, _COMPILE_S)
    if isinstance(baseline, Failure) and was_killed(baseline):
        raise UserError(f"the compiler was {baseline.message}; run again")
    if isinstance(baseline, Failure):
        raise UserError(
            f"the C of {proc.name} as written does not compile:\n{baseline.message}\n"
            "Check the compiler's flags, and instructions or externs the procedure uses."
        )
    executable = builder.executable(
        own_sources(proc, reference, fp), _COMPILE_S, shared=shared_sources()
    )
    fields, cores = context_fields(reference.header), measuring_cores(threads)
    base = work_dir / digest_of([builder.key, reference.key, seed, executable.name, fp])
    plan = Plan(proc, base, seed, fp)
    bench = Bench(plan, executable, fields, (), (), baseline, cores, cache)
    if fp is FloatingPoint.STRICT:
        bench = replace(bench, exact=_unoptimised(builder, reference))

    whole_ns = 0.0
    if excerpt is not None and fp is not FloatingPoint.STRICT:
        bench, whole_ns = _timed_by(excerpt, bench, builder, binding, align)
        plan = bench.plan

    sizes = verification_bindings(proc, binding, lambda case: is_cheap(proc, case))
    wanted = first_inputs(proc, sizes, binding, fp)
    cases, heard = evaluated(bench.enclose, plan, wanted)
    slow = [case.binding == plan.uncalled for case in cases]
    known = [whole_ns if each else told.call_ns for each, told in zip(slow, heard, strict=True)]
    bench = confirmed(replace(bench, cases=cases), known)
    if bench.exact is not None:
        cases = tuple(bench.record_bits(cases))
        bench = replace(bench, cases=cases)
        bench = confirmed(bench, [None] * len(cases), fp)
    skipped = tuple((str(case), why) for case in cases if (why := why_not(plan, case.binding)))
    partly = _UNCALLED if plan.uncalled else _LARGE
    skipped += tuple((str(case), partly) for case in cases if case.uncalled)
    agreed = tuple(str(case) for case in cases if not (case.as_written or case.uncalled))
    # Small sizes may tell of sums that grow, or get lost, at the size that is timed.
    told = dict[Binding, list[Told]]()
    for case, own in zip(cases, heard, strict=True):
        told.setdefault(case.binding, []).append(own)
    elsewhere = {str(each): [own.powers for own in told[each]] for each in sizes}
    weak = weaknesses([own.powers for own in told[binding]])
    weak = (*weak, *(unclear_parts(told[binding]) if not weak else ()), *undefined_sizes(elsewhere))
    # Smaller sizes that are compared in full make up for it.
    weak = (*weak, *dict.fromkeys(why for _, why in skipped if why != partly or not agreed))
    timed = replace(cases[-1], placement=Placement.FOR_TIMING, offset=align)
    agreement = Agreement(agreed, skipped, weak)
    guarded, _ = bench.run_baseline((), fp)  # no call: just what guards it
    # Filling large arrays takes longer than the calls; but in one case they are guarded.
    cases = (*(cases[:-1] if timed.uncalled and agreed else cases), timed)
    return replace(bench, cases=cases, sandbox=guarded.sandbox, agreement=agreement)


def _timed_by(
    excerpt: Excerpt, bench: Bench, builder: Builder, timed: Binding, align: int
) -> tuple[Bench, float]:
    """The bench as it is, or with the excerpt in place of the baseline; and nanoseconds of a call
    of the excerpt, 0 if the baseline itself is called."""
    built = builder.build(excerpt.code, _COMPILE_S)
    if isinstance(built, Failure):
        return bench, 0.0
    part = Part(built, excerpt.scale, _OF_PATIENCE * excerpt.patience_s)
    here = replace(bench, cases=(case_of_timing(bench.plan, timed, align),))
    found = here.time_part(part, _ONCE).result
    if isinstance(found, Failure) or found.candidate_ns * 1e-9 <= excerpt.patience_s:
        return bench, 0.0
    # Without an evaluation, its results are needed: it is called once for each of the inputs.
    uncalled = None if why_not(bench.plan, timed) else timed
    return replace(
        bench, plan=replace(bench.plan, uncalled=uncalled), part=part
    ), found.candidate_ns


def _unoptimised(builder: Builder, reference: GeneratedC) -> Artifact:
    flags = tuple(flag for flag in builder.flags if not flag.startswith("-O"))
    built = replace(builder, flags=("-O0", *flags)).build(reference, _COMPILE_S)
    if isinstance(built, Failure):
        raise UserError(
            f"the C as written does not compile at -O0: {built.message}; check the compiler "
            "and its flags"
        )
    return built


def confirmed(
    bench: Bench,
    known: Sequence[float | None],
    fp: FloatingPoint = FloatingPoint.REASSOCIATE,
) -> Bench:
    """The bench with the times of its cases: the `known` ones, where evaluation compared the
    baseline already, and otherwise those of a call that is compared. Raises UserError if the
    baseline does not lie within its evaluation, or, under the strict contract, differs in a bit
    from its own build without optimisation."""
    left = [number for number, call_ns in enumerate(known) if call_ns is None]
    times = {number: call_ns for number, call_ns in enumerate(known) if call_ns is not None}
    name = bench.plan.proc.name
    if left:
        verdict, failure = bench.run_baseline([bench.cases[number] for number in left], fp)
        if verdict.difference:
            raise disagreement(name, verdict.difference)
        if failure is not None:
            cause = verdict.error or failure.message
            raise UserError(
                f"{name} as written fails while {verdict.stage}: {cause}. "
                "Correct the procedure, or give its asserts what it relies on."
            )
        times |= {number: verdict.call_ns[at] for at, number in enumerate(left)}
    call_ns = tuple(times[number] for number in range(len(bench.cases)))
    return replace(bench, call_ns=call_ns)

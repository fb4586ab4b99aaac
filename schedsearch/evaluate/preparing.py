"""A workload's bench: its harness, its cases, and what they have to compute."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest_of
from schedsearch.core.records import Failure, GeneratedC
from schedsearch.evaluate.agreement import compare
from schedsearch.evaluate.bench import Bench
from schedsearch.evaluate.binding import Binding, verification_bindings
from schedsearch.evaluate.builder import Builder
from schedsearch.evaluate.disk import disk_explained
from schedsearch.evaluate.harness import (
    Case,
    Placement,
    context_fields,
    layout,
    own_sources,
    shared_sources,
)
from schedsearch.evaluate.host import measuring_cores
from schedsearch.evaluate.oracle import Mode, oracle
from schedsearch.evaluate.runner import was_killed
from schedsearch.evaluate.timing import Cache
from schedsearch.evaluate.work import count_work

_COMPILE_S = 120.0
# A case that is only verified may cost about 20 ms, as written.
_CASE_FLOPS = 2e7
_CASE_BYTES = 8 << 20
# Of the cases of a mode: both ends of every array are guarded in one of them.
_PLACEMENT = {Mode.INTEGERS: Placement.GUARDED_END, Mode.FLOATS: Placement.GUARDED_START}


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
) -> Bench:
    """Build the harness of a workload and record the reference's outputs in `work_dir`.

    Cases are the verification bindings (small) and `binding`, each on integers
    and on floats, each with a seed of its own, arrays up against inaccessible memory at
    their ends or at their starts; the last once more, placed as it is timed. Kernels
    get `threads` cores, and as many threads if they are parallel; `cache` is what caches
    hold when they are timed. Raises UserError if the unscheduled procedure does not
    compile, crashes, takes too long, or does not compute what it says (`agreement.py`).
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
    bench = Bench(executable, fields, (), (), baseline, cores, cache)

    def affordable(case: Binding) -> bool:
        work = count_work(proc, case)
        return work.flops <= _CASE_FLOPS and work.bytes <= _CASE_BYTES

    bindings = (*verification_bindings(proc, binding, affordable), binding)
    key = digest_of([builder.key, reference.key, seed])
    modes = [(bound, mode) for bound in bindings for mode in _PLACEMENT]
    cases = [
        _case(proc, bound, mode, work_dir / key, seed + number, _PLACEMENT[mode])
        for number, (bound, mode) in enumerate(modes)
    ]
    bench = replace(bench, cases=tuple(cases))
    heard = bench.record(cases, proc.name)
    # Away from zero and from negative numbers where there were infinities or NaNs.
    for number, (case, recording) in enumerate(zip(cases, heard.cases, strict=True)):
        if recording.not_finite:
            bound, own_seed, place = case.binding, case.seed, case.placement
            cases[number] = _case(proc, bound, Mode.POSITIVE, work_dir / key, own_seed, place)
    bench = replace(bench, cases=tuple(cases), sandbox=heard.sandbox)
    again = [case for case in cases if case.oracle.mode is Mode.POSITIVE]
    if again:
        bench.record(again, proc.name)
    agreement = compare(proc, cases, fields)
    call_ns = tuple(recording.call_ns for recording in heard.cases)
    timed = replace(cases[-1], placement=Placement.FOR_TIMING)
    return replace(bench, cases=(*cases, timed), call_ns=call_ns, agreement=agreement)


def _case(
    proc: q.Proc, binding: Binding, mode: Mode, base: Path, seed: int, placement: Placement
) -> Case:
    """A case with its own file: sessions with other sizes may share the directory."""
    own = digest_of([binding.to_json(), mode, seed])
    expected = base.with_name(f"{base.name}-{own}.bin")
    judge, arrays = oracle(proc, binding, mode), layout(proc, binding)
    return Case(binding, judge, arrays, expected, seed, placement)

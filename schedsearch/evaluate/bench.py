"""The facade: prepare a workload once, then verify and time its candidates."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest_of
from schedsearch.core.records import Artifact, Failure, GeneratedC, Measurement, Outcome, Round
from schedsearch.evaluate.agreement import NOT_COMPARED, Agreement, compare
from schedsearch.evaluate.binding import Binding, verification_bindings
from schedsearch.evaluate.builder import Builder
from schedsearch.evaluate.disk import disk_explained
from schedsearch.evaluate.harness import (
    Case,
    Field,
    Placement,
    context_fields,
    harness_sources,
    layout,
)
from schedsearch.evaluate.host import measuring_cores
from schedsearch.evaluate.oracle import Mode, oracle
from schedsearch.evaluate.reports import Recordings, Verdict
from schedsearch.evaluate.runner import Limits, run_harness, was_killed
from schedsearch.evaluate.sandbox import NO_SANDBOX, Sandbox
from schedsearch.evaluate.timing import Cache, Sampling, TimingPlan
from schedsearch.evaluate.work import count_work

__all__ = ["Anchor", "Bench", "Cache", "Evaluation", "TimingPlan", "prepare"]

_COMPILE_S = 120.0
_REFERENCE_S = 600.0
# A candidate may be this much slower than the reference before verification
# gives up on it; the constant covers process start and filling arrays.
_PATIENCE = 20.0
_VERIFY_S = 3.0
# While screening: what takes this many times longer than the fastest is not worth it.
_HOPELESS = 5.0
_SCREEN_S = 1.0
# A round takes 60 ms, or two calls; on a machine that is used otherwise, many times that.
_ROUND_S = 10.0
# Address space beyond the arrays: libraries, stacks, the kernel's own buffers.
_SPARE_BYTES = 2 << 30
_SPARE_FILE_BYTES = 1 << 20
# The child's own clocks come first, with the better messages.
_SPARE_S = 2.0
# Beyond those that two OpenMP libraries may start: helpers of such libraries.
_SPARE_THREADS = 32
# A case that is only verified may cost about 20 ms, as written.
_CASE_FLOPS = 2e7
_CASE_BYTES = 8 << 20
# Stack and malloc arena of a thread; verification uses more threads than cores.
_THREAD_BYTES = 160 << 20
# Runs of a kernel with threads per case (`verify_races` of runtime/harness.c).
_RACE_CHECKS = 5
# Of the cases of a mode: both ends of every array are guarded in one of them.
_PLACEMENT = {Mode.INTEGERS: Placement.GUARDED_END, Mode.FLOATS: Placement.GUARDED_START}
# Nothing is timed, and nothing given up early.
_VERIFY = TimingPlan("verify", 0, 0)


@dataclass(frozen=True)
class Anchor:
    """What a candidate is interleaved with, and its own speed-up over the baseline.

    Not always the baseline: a slow one would take the whole budget. `call_s` is
    seconds per call, 0 if not known.
    """

    artifact: Artifact
    code_key: str
    speedup: float = 1.0
    call_s: float = 0.0


@dataclass(frozen=True)
class Evaluation:
    """Verdict and timing of one candidate, and the seconds each took."""

    result: Measurement | Failure
    verify_s: float
    time_s: float


@dataclass(frozen=True)
class Bench:
    """One workload ready for candidates. Picklable; valid on the machine that prepared it.

    `call_ns` is the time of one call of the baseline in each case, `agreement` what its
    outputs were compared with.
    """

    executable: Path
    fields: tuple[Field, ...]
    cases: tuple[Case, ...]
    call_ns: tuple[float, ...]
    baseline: Artifact
    cores: tuple[int, ...]
    cache: Cache = Cache.WARM
    sandbox: Sandbox = NO_SANDBOX
    agreement: Agreement = NOT_COMPARED

    def evaluate(self, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        """Verify `candidate` on every case, then time it against `anchor`, in one child, or
        in as many, one after the other, as the plan says; the later ones verify again what
        they time, arrays as they are there.

        A candidate that is not verified is never timed. Failures: INCORRECT with
        the first difference, CRASH, TIMEOUT; PRUNED if already its verification
        shows that it is far below `plan.give_up_below`.
        """
        verdict = self._verdict(plan, anchor)
        whole = self._evaluate(candidate, anchor, verdict)
        while isinstance(so_far := whole.result, Measurement) and plan.wants_more(
            so_far.rounds, anchor.speedup
        ):
            verdict = self._verdict(plan, anchor, so_far.rounds, verdict.sampling)
            part = self._evaluate(candidate, anchor, verdict)
            later = part.result
            result = so_far.pooled(later) if isinstance(later, Measurement) else later
            whole = Evaluation(result, whole.verify_s + part.verify_s, whole.time_s + part.time_s)
        return whole

    def _evaluate(self, candidate: Artifact, anchor: Anchor, verdict: Verdict) -> Evaluation:
        """What one child says."""
        plan = verdict.plan
        verify_s = self._verify_s(plan)
        # The child itself gives each round as long as verification; this is the
        # backstop. Calibration counts as two more rounds.
        round_s = verify_s + 12e-9 * plan.sample_ns
        wall_s = verify_s + (plan.most_rounds + 2) * round_s
        start = time.perf_counter()
        failure = self._run(candidate, anchor, verdict, self._limits(wall_s, round_s, 0))
        total_s = time.perf_counter() - start
        if failure and failure.outcome is Outcome.TIMEOUT and verify_s < self._verify_s(None):
            failure = Failure(
                Outcome.PRUNED,
                f"too slow to be of use: not verified after {verify_s:.2g} s, while the "
                f"fastest needs less than {verify_s / _HOPELESS:.2g} s",
            )
        verified_s = verdict.verified_at - start if verdict.verified_at else total_s
        return Evaluation(verdict.result(failure), verified_s, total_s - verified_s)

    def verify(self, candidate: Artifact) -> Failure | None:
        """The verification of `evaluate` alone, nothing is timed; None if all cases agree."""
        anchor = Anchor(self.baseline, self.baseline.code_key)
        verdict = self._verdict(_VERIFY, anchor)
        verify_s = self._verify_s(_VERIFY)
        bounds = self._limits(verify_s, verify_s, 0)
        failure = self._run(candidate, anchor, verdict, bounds)
        if failure is None and verdict.verified_at is not None:
            return None
        found = verdict.result(failure)
        assert isinstance(found, Failure), "nothing was timed"
        return found

    def _verdict(
        self,
        plan: TimingPlan,
        anchor: Anchor,
        earlier: Sequence[Round] = (),
        sampling: Sampling | None = None,
    ) -> Verdict:
        cases = self.cases[-1:] if earlier else self.cases
        key, speedup = anchor.code_key, anchor.speedup
        return Verdict(cases, self.fields, plan, key, speedup, self.cache, earlier, sampling)

    def _run(
        self,
        candidate: Artifact,
        anchor: Anchor,
        verdict: Verdict,
        bounds: Limits,
    ) -> Failure | None:
        plan = verdict.plan
        verify_s = self._verify_s(plan)
        how = verdict.sampling or Sampling(plan.samples, (0, 0))

        def job(nonce: str) -> str:
            head = [nonce, "evaluate", candidate.path, anchor.artifact.path]
            limits = self._limits_text(bounds, verify_s)
            seed = int(nonce[:8], 16)  # of the order of samples: another one each time
            cold = int(self.cache is Cache.COLD)
            numbers = f"{limits} {plan.sample_ns!r} {seed} {cold}"
            numbers += f" {how.samples} {how.calls[0]} {how.calls[1]} {plan.most_rounds}"
            cases = [case.job(self.fields) for case in verdict.cases]
            return "\n".join([*head, numbers, f"{len(cases)}", *cases])

        return run_harness(self.executable, job, bounds, verdict.handle)

    def _verify_s(self, plan: TimingPlan | None) -> float:
        """Seconds that verification may take; less while screening, once there is something
        fast to compare with."""
        runs = _RACE_CHECKS if len(self.cores) > 1 else 1
        calls_s = (runs * sum(self.call_ns) + self.call_ns[-1]) * 1e-9
        patient = _VERIFY_S + _PATIENCE * calls_s
        if plan is None or plan.give_up_below is None:
            return patient
        return min(patient, _SCREEN_S + _HOPELESS * calls_s / plan.give_up_below)

    def time_baseline(self, plan: TimingPlan) -> Evaluation:
        """The baseline against itself: its time, and the noise of this machine (A/A)."""
        return self.evaluate(self.baseline, plan, Anchor(self.baseline, self.baseline.code_key))

    def record(self, cases: Sequence[Case], name: str) -> Recordings:
        """Run the baseline on `cases` and keep its outputs. Raises UserError if it cannot."""
        heard = Recordings(cases)
        limits = self._limits(_REFERENCE_S, _REFERENCE_S, sum(case.bytes for case in cases))

        def job(nonce: str) -> str:
            head = [nonce, "record", self.baseline.path, self.baseline.path]
            numbers = f"{self._limits_text(limits, _REFERENCE_S)} 0 0 0 0 0 0 0 {len(cases)}"
            return "\n".join([*head, numbers, *(case.job(self.fields) for case in cases)])

        with tempfile.TemporaryFile(dir=cases[0].expected.parent) as output:
            failure = run_harness(self.executable, job, limits, heard.handle, output)
            output.seek(0)
            for case, recording in zip(cases, heard.cases, strict=False):
                _keep(case.expected, output.read(recording.bytes))
        if failure is not None and was_killed(failure):
            raise UserError(f"the process that runs {name} was {failure.message}; run again")
        if failure is not None or len(heard.cases) != len(cases):
            at = cases[min(len(heard.cases), len(cases) - 1)]
            ended = failure.message if failure else "it ended without reporting"
            cause = heard.error or ended
            raise UserError(
                f"{name} itself, unscheduled, fails when called with {at}: {cause}. "
                "Correct the procedure, or give its asserts what it relies on."
            )
        return heard

    def _limits(self, wall_s: float, silence_s: float, file_bytes: int) -> Limits:
        arrays = max((case.bytes for case in self.cases), default=0)
        threads = (2 * len(self.cores) + 1) * _THREAD_BYTES
        memory = 4 * arrays + threads + _SPARE_BYTES
        return Limits(
            wall_s,
            silence_s + _SPARE_S,
            memory,
            file_bytes + _SPARE_FILE_BYTES,
            _SPARE_THREADS + 2 * (2 * len(self.cores) + 1),
        )

    def _limits_text(self, limits: Limits, verify_s: float) -> str:
        """In the order `set_up_process` and `main` of runtime/harness.c read them."""
        cores = f"{len(self.cores)} {' '.join(map(str, self.cores))}"
        memory, file = limits.address_bytes, limits.file_bytes
        return f"{cores} {memory} {file} {int(verify_s) + 1}"


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
    executable = builder.executable(harness_sources(proc, reference), _COMPILE_S)
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


def _keep(place: Path, outputs: bytes) -> None:
    """Another session may be comparing with the same file."""
    draft = place.with_name(f"{place.name}.{os.getpid()}")
    draft.write_bytes(outputs)
    os.replace(draft, place)


def _case(
    proc: q.Proc, binding: Binding, mode: Mode, base: Path, seed: int, placement: Placement
) -> Case:
    """A case with its own file: sessions with other sizes may share the directory."""
    own = digest_of([binding.to_json(), mode, seed])
    expected = base.with_name(f"{base.name}-{own}.bin")
    judge, arrays = oracle(proc, binding, mode), layout(proc, binding)
    return Case(binding, judge, arrays, expected, seed, placement)

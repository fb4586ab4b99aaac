"""The facade: a workload that is prepared once (`preparing.py`) verifies and times candidates."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Artifact, Failure, Measurement, Outcome, Round, TimingKind
from schedsearch.evaluate.build.disk import refuse_full_disk
from schedsearch.evaluate.build.host import usable_cores
from schedsearch.evaluate.oracle.agreed import NOT_COMPARED, Agreement
from schedsearch.evaluate.oracle.agreement import Told, disagreement
from schedsearch.evaluate.oracle.cases import Plan, cases_of_calls, cost
from schedsearch.evaluate.oracle.harness import CONTRACTS, Case, Field
from schedsearch.evaluate.oracle.kept import keep, kept
from schedsearch.evaluate.run.allowance import HOPELESS, Allowance
from schedsearch.evaluate.run.reports import Enclosures, Verdict
from schedsearch.evaluate.run.runner import Limits, run_harness, was_killed
from schedsearch.evaluate.run.sandbox import NO_SANDBOX, Sandbox
from schedsearch.evaluate.run.side_by_side import batches, side_by_side
from schedsearch.evaluate.run.timing import Cache, Sampling, TimingPlan

_REFERENCE_S = 600.0
_COUNT_S = 130.0  # of each kernel, a little more than the harness gives it itself
# Of an array's bytes: bounds of two sides and a mark, or a place of 8 bytes where only a part is
# evaluated, for i8; what an element is evaluated in, for f32.
_LARGEST_RECORD, _SPARE_RECORD = 10, 1 << 16
_CELL_SHARE = 12
# Operations of evaluations that are shared out to several cores, and batches that each core gets;
# bytes that these evaluations may take together.
_LONG, _BATCHES, _MOST_PLACES = 2e7, 3, 4
_MEMORY = 2e9
EXTRAPOLATED = "extrapolated"
"""In the circumstances of a baseline: what part of its iterations was timed."""

# Nothing is timed, and nothing given up early.
_VERIFY = TimingPlan(TimingKind.VERIFY, 0, 0)
_NOTHING_TIMED = "0 0 0 0 0 0 0"


@dataclass(frozen=True)
class Anchor:
    """The kernel that a candidate is interleaved with, and its own speed-up over the baseline:
    exactly 1 if it is the baseline.

    Not always that: a slow one would take the whole budget. `call_s` is seconds per call, 0 if
    not known. Of a part of a kernel, `scale` calls take as long as the whole: what is recorded is
    the time of that.
    """

    artifact: Artifact
    code_key: str
    speedup: float = 1.0
    call_s: float = 0.0
    scale: float = 1.0

    @staticmethod
    def of(artifact: Artifact, timed: Measurement) -> Anchor:
        """A schedule that was measured."""
        speedup = timed.middle if timed.middle != 1.0 else math.nextafter(1.0, 2.0)
        return Anchor(artifact, artifact.code_key, speedup, timed.candidate_ns * 1e-9)


@dataclass(frozen=True)
class Part:
    """A part of the baseline, which is timed in its place: `scale` times as long. Candidates have
    `most_s` seconds, besides the time that they need anyway, to be verified."""

    artifact: Artifact
    scale: float
    most_s: float


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
    outputs were compared with. `exact` is the baseline without optimisation, whose bits count under
    the strict contract. `part` is timed instead of the baseline if that takes too long.
    """

    plan: Plan
    executable: Path
    fields: tuple[Field, ...]
    cases: tuple[Case, ...]
    call_ns: tuple[float, ...]
    baseline: Artifact
    cores: tuple[int, ...]
    cache: Cache = Cache.WARM
    sandbox: Sandbox = NO_SANDBOX
    agreement: Agreement = NOT_COMPARED
    exact: Artifact | None = None
    part: Part | None = None

    @property
    def standard(self) -> Anchor:
        """The baseline as an anchor, or the part that stands for it."""
        key = self.baseline.code_key
        if self.part is None:
            return Anchor(self.baseline, key)
        return Anchor(self.part.artifact, key, scale=self.part.scale)

    def evaluate(self, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        """Verify `candidate` on every case, then time it against `anchor`, in one child, or
        in as many, one after the other, as the plan says; the later ones verify again what
        they time, arrays as they are there.

        A candidate that is not verified is never timed. Failures: INCORRECT with
        the first difference, CRASH, TIMEOUT; PRUNED if already its verification
        shows that it is far below `plan.give_up_below`.
        """
        verdict = self.for_kernel(candidate)._verdict(plan, anchor)
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
        """The result of one child."""
        plan = verdict.plan
        verify_s = self._allowed.verify_s(plan)
        # The child itself gives each round as long as verification; this is the
        # backstop. Calibration counts as two more rounds.
        round_s = verify_s + 12e-9 * plan.sample_ns
        wall_s = verify_s + (plan.most_rounds + 2) * round_s
        start = time.perf_counter()
        failure = self._run(candidate, anchor, verdict, self._allowed.limits(wall_s, round_s))
        total_s = time.perf_counter() - start
        if failure and failure.outcome is Outcome.TIMEOUT and verify_s < self._allowed.verify_s():
            failure = Failure(
                Outcome.PRUNED,
                f"too slow to be of use: not verified after {verify_s:.2g} s, enough for what is "
                f"{HOPELESS:g} times slower than the fastest",
            )
        verified_s = verdict.verified_at - start if verdict.verified_at else total_s
        return Evaluation(verdict.result(failure), verified_s, total_s - verified_s)

    def verify(self, candidate: Artifact) -> Failure | None:
        """The verification of `evaluate` alone, nothing is timed; None if all cases agree."""
        anchor = Anchor(self.baseline, self.baseline.code_key)
        verdict = self.for_kernel(candidate)._verdict(_VERIFY, anchor)
        verify_s = self._allowed.verify_s(_VERIFY)
        bounds = self._allowed.limits(verify_s, verify_s)
        failure = self._run(candidate, anchor, verdict, bounds)
        if failure is None and verdict.verified_at is not None:
            return None
        found = verdict.result(failure)
        assert isinstance(found, Failure), "nothing was timed"
        return found

    def count(self, candidate: Artifact, anchor: Artifact) -> tuple[int, int] | Failure:
        """Verify `candidate`, then count the instructions that one call of each runs, as they are
        timed. Deterministic, but for kernels of one thread only."""
        if len(self.cores) > 1:
            return Failure(Outcome.PRUNED, "instructions are counted of one thread")
        verdict = self._verdict(_VERIFY, Anchor(anchor, anchor.code_key))
        verify_s = self._allowed.verify_s(_VERIFY)
        bounds = self._allowed.limits(verify_s + 2 * _COUNT_S, verify_s + _COUNT_S)
        failure = self._run(
            candidate, Anchor(anchor, anchor.code_key), verdict, bounds, verify_s, "count"
        )
        if failure is None and len(verdict.instructions) == 2:
            return verdict.instructions[0], verdict.instructions[1]
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
        cases = tuple(case for case in self.cases if case.timed) if earlier else self.cases
        return Verdict(
            cases,
            self.fields,
            plan,
            anchor.code_key,
            anchor.speedup,
            self.cache,
            earlier,
            sampling,
            anchor.scale,
        )

    def _run(
        self,
        candidate: Artifact,
        anchor: Anchor,
        verdict: Verdict,
        bounds: Limits,
        verify_s: float | None = None,
        action: str = "evaluate",
    ) -> Failure | None:
        plan = verdict.plan
        verify_s = verify_s or self._allowed.verify_s(plan)
        how = verdict.sampling or Sampling(plan.samples, (0, 0))

        def job(nonce: str) -> str:
            head = [nonce, action, candidate.path, anchor.artifact.path]
            seed = int(nonce[:8], 16)  # of the order of samples: another one each time
            cold = int(self.cache is Cache.COLD)
            timing = f"{plan.sample_ns!r} {seed} {cold} {how.samples} {how.calls[0]} {how.calls[1]}"
            timing += f" {plan.most_rounds}"
            return self.job(head, bounds, int(verify_s) + 1, verdict.cases, timing)

        files = [Path(each.path) for each in (candidate, anchor.artifact)]
        files += [case.expected for case in verdict.cases if action != "time"]
        return run_harness(self.executable, job, bounds, verdict.handle, files=files)

    def time_baseline(self, plan: TimingPlan) -> Evaluation:
        """The baseline against itself: its time, and the noise of this machine (A/A)."""
        if self.part is None:
            return self.evaluate(self.baseline, plan, self.standard)
        return self.time_part(self.part, plan)

    def time_part(self, part: Part, plan: TimingPlan) -> Evaluation:
        """A part of the baseline against itself, as the time of the whole."""
        only = replace(self, cases=self.cases[-1:], part=part)
        anchor, begin = only.standard, time.perf_counter()
        verdict = only._verdict(replace(plan, fresh=False), anchor)
        bounds = self._allowed.limits(_REFERENCE_S, _REFERENCE_S)
        failure = only._run(part.artifact, anchor, verdict, bounds, _REFERENCE_S, "time")
        found = verdict.result(failure)
        if isinstance(found, Measurement):
            rounds = (
                Round(tuple(part.scale * ns for ns in each.candidate_ns), each.reference_ns)
                for each in found.rounds
            )
            host = (*found.host, (EXTRAPOLATED, f"1/{part.scale:.0f}"))
            found = replace(found, rounds=tuple(rounds), host=tuple(sorted(host)))
        return Evaluation(found, 0.0, time.perf_counter() - begin)

    def time_elsewhere(self, kernel: Artifact, align: int, plan: TimingPlan) -> Evaluation:
        """A kernel on arrays where they are timed, as the candidate, and on those with another
        alignment, as the reference: interleaved, in the same processes."""
        both = replace(self, cases=(*self.cases, replace(self.cases[-1], offset=align)))
        return both.evaluate(kernel, plan, Anchor(kernel, kernel.code_key))

    def for_kernel(self, kernel: Artifact) -> Bench:
        """This bench with the calls that all of this kernel's code needs, before the calls that
        verify every kernel."""
        known = {case.binding for case in self.cases}
        calls = [call for call in kernel.calls if call not in known]
        cases = cases_of_calls(self.enclose, self.record_bits, self.plan, calls)
        return replace(self, cases=(*cases, *self.cases))

    def enclose(self, cases: Sequence[Case]) -> Sequence[Told]:
        """Evaluate the procedure on `cases`, unless an earlier run has, and store the intervals of
        its outputs; returns how much they tell. Raises DisagreementError if the baseline, where it
        takes part, does not lie within, and UserError if the evaluation cannot be done."""
        known = [None if self.exact else kept(case) for case in cases]
        new = [case for case, own in zip(cases, known, strict=True) if own is None]
        found = iter(self._enclosed(new))
        return [own or next(found) for own in known]

    def _enclosed(self, cases: Sequence[Case]) -> Sequence[Told]:
        """Where it takes long, with the cores that nothing is timed on, too: in more batches than
        there are cores, as others may be using them."""
        costs = [cost(self.plan, case) for case in cases]
        places = self._places(cases)
        few = len(places) == 1 or sum(costs) < _LONG
        least = math.inf if few else sum(costs) / (_BATCHES * len(places))
        found = side_by_side(
            lambda batch, cores, given_up: replace(self, cores=cores)._batch(batch, given_up),
            batches(cases, costs, least),
            places,
        )
        return [told for batch in found for told in batch]

    def _places(self, cases: Sequence[Case]) -> list[tuple[int, ...]]:
        """The core of this bench, and others, for as many evaluations as there is memory for."""
        largest = max((case.bytes for case in cases), default=0)
        most = min(_MOST_PLACES, int(_MEMORY / ((_CELL_SHARE + 4) * largest + 1)))
        others = [(core,) for core in usable_cores() if core not in self.cores]
        return [self.cores, *(others[: most - 1] if most > 1 and len(self.cores) == 1 else ())]

    def _batch(self, cases: Sequence[Case], given_up: Event) -> Sequence[Told]:
        heard = Enclosures(cases)
        written = sum(_LARGEST_RECORD * case.bytes + _SPARE_RECORD for case in cases)
        limits = self._allowed.limits(_REFERENCE_S, _REFERENCE_S, written)
        memory = limits.address_bytes + _CELL_SHARE * max(case.bytes for case in cases)
        limits = replace(limits, address_bytes=memory)

        def job(nonce: str) -> str:
            head = [nonce, "enclose", self.baseline.path, self.baseline.path]
            return self.job(head, limits, int(_REFERENCE_S) + 1, cases)

        with tempfile.TemporaryFile(dir=cases[0].expected.parent) as output:
            failure = run_harness(
                self.executable, job, limits, heard.handle, output, given_up=given_up
            )
            self._require_enclosed(cases, heard, failure)
            output.seek(0)
            return [
                keep(case, output, size, Told(heard.powers[number], heard.call_ns.get(number)))
                for number, (case, size) in enumerate(zip(cases, heard.bytes, strict=True))
            ]

    def _require_enclosed(
        self, cases: Sequence[Case], heard: Enclosures, failure: Failure | None
    ) -> None:
        """Raises as `enclose` does."""
        name = self.plan.proc.name
        if heard.difference:
            raise disagreement(name, heard.difference)
        if failure is not None and was_killed(failure):
            raise UserError(f"the process that evaluates {name} was {failure.message}; run again")
        if failure is not None or len(heard.bytes) != len(cases):
            at = cases[min(len(heard.bytes), len(cases) - 1)]
            ended = failure.message if failure else "it ended without reporting"
            cause = heard.error or ended
            refuse_full_disk(cause, str(at.expected.parent))
            raise UserError(
                f"{name} as written cannot be evaluated with {at}: {cause}. "
                "Correct the procedure, or give its asserts what it relies on."
            )

    def record_bits(self, cases: Sequence[Case]) -> Sequence[Case]:
        """Under the strict contract, the cases with files of their own (another session may be at
        the same ones), which have the outputs of the baseline compiled without optimisation, not
        their intervals; otherwise the cases as they are."""
        if self.exact is not None:
            cases = [replace(case, expected=case.expected.with_suffix(".bits")) for case in cases]
            as_written = [replace(case, as_written=True) for case in cases]
            replace(self, baseline=self.exact).enclose(as_written)
        return cases

    def run_baseline(
        self, cases: Sequence[Case], fp: FloatingPoint
    ) -> tuple[Verdict, Failure | None]:
        """Run the baseline on `cases`: its times, and its difference, if there is one."""
        anchor = Anchor(self.baseline, self.baseline.code_key)
        whole = replace(self, cases=tuple(cases), plan=replace(self.plan, fp=fp))
        verdict = whole._verdict(_VERIFY, anchor)
        limits = self._allowed.limits(_REFERENCE_S, _REFERENCE_S)
        failure = whole._run(self.baseline, anchor, verdict, limits, _REFERENCE_S)
        return verdict, failure

    @property
    def _allowed(self) -> Allowance:
        case_bytes = tuple(case.bytes for case in self.cases)
        most_s = self.part.most_s if self.part else math.inf
        return Allowance(self.call_ns, case_bytes, len(self.cores), most_s)

    def job(
        self,
        head: Sequence[str],
        limits: Limits,
        seconds: int,
        cases: Sequence[Case],
        timing: str = _NOTHING_TIMED,
    ) -> str:
        """A job, in the order `set_up_process` and `main` of runtime/harness.c read it. `head` are
        the nonce, the action, candidate and anchor; verification has some `seconds`."""
        numbers = f"{len(self.cores)} {' '.join(map(str, self.cores))}"
        numbers += f" {limits.address_bytes} {limits.file_bytes} {seconds}"
        numbers += f" {timing} {CONTRACTS[self.plan.fp]}"
        texts = [case.job(self.fields) for case in cases]
        return "\n".join([*head, numbers, f"{len(cases)}", *texts])

"""The unscheduled procedure, measured before a search begins."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from schedsearch.core.errors import UserError
from schedsearch.core.records import Failure, Keys, Measurement, Outcome, TimingKind, TuningRecord
from schedsearch.core.trace import Trace
from schedsearch.evaluate.oracle.agreed import NOT_COMPARED, Agreement
from schedsearch.evaluate.roof.roofline import Roof, roof_of
from schedsearch.evaluate.run.bench import EXTRAPOLATED, Bench
from schedsearch.evaluate.run.sandbox import Sandbox
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.setup.subject import Subject
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.transforms.exo.identity import ast_key

MEASURING = "measuring the baseline"
BASELINE = TimingPlan(kind=TimingKind.BASELINE, min_rounds=2, max_rounds=3)


@dataclass(frozen=True)
class Baseline:
    """The unscheduled procedure's own time (A/A), what the machine can do, what guards it, and
    what the procedure's outputs were compared with."""

    measurement: Measurement
    roof: Roof
    sandbox: Sandbox
    agreement: Agreement = NOT_COMPARED

    @property
    def extrapolated(self) -> str:
        """Of what part of its iterations the time is, in words; empty if of all."""
        part = dict(self.measurement.host).get(EXTRAPOLATED)
        return f", extrapolated from {part} of its iterations" if part else ""

    @property
    def call_s(self) -> float:
        """Seconds per call."""
        return self.measurement.candidate_ns * 1e-9


def measure_baseline(
    bench: Bench,
    subject: Subject,
    phase: Callable[[str], None],
    alone: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Baseline:
    """Waits for its turn on this machine, which `phase` is told of, as of the turn that follows.
    While it is timed, in the context `alone`, nothing of this run computes.
    Raises UserError if the procedure cannot be measured."""
    waited = []

    def waiting(text: str) -> None:
        waited.append(text)
        phase(text)

    with measuring_slot(waiting), alone():
        if waited:
            phase(MEASURING)
        evaluation = bench.time_baseline(BASELINE)
        roof = roof_of(subject.builder, subject.target, subject.work)
    if isinstance(evaluation.result, Failure):
        raise UserError(
            f"{subject.name} as written cannot be measured: {evaluation.result.message}"
        )
    return Baseline(evaluation.result, roof, bench.sandbox, bench.agreement)


def root_record(subject: Subject, bench: Bench, baseline: Baseline) -> TuningRecord:
    """The root of the search tree: the empty trace, as measured."""
    keys = Keys(ast_key(subject.ast), subject.code.key, bench.baseline.binary_key)
    return TuningRecord(Trace(), Outcome.CORRECT, keys, measurement=baseline.measurement)

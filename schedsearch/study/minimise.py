"""Shortens a stored schedule, measures the result, and stores it beside the original."""

from __future__ import annotations

from dataclasses import dataclass

from schedsearch.core.errors import UserError
from schedsearch.core.interrupts import noticed_interrupts
from schedsearch.core.records import (
    Artifact,
    Failure,
    GeneratedC,
    Keys,
    Measurement,
    Outcome,
    RunStatus,
    TuningRecord,
)
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.bench import Anchor
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.engine.ending import last_roof, session_noise
from schedsearch.search.engine.minimal import Shortener, Tell, no_slower
from schedsearch.search.engine.plans import CONFIRM, confirm
from schedsearch.search.engine.progress import Best
from schedsearch.search.other_alignment import measure_elsewhere
from schedsearch.search.reloading import require_verified
from schedsearch.search.session import Session
from schedsearch.search.setup.budget import Budget, Stop
from schedsearch.search.setup.run_summary import RunSummary
from schedsearch.search.workers.building import build, reacher_of
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.store.views import StoredCandidate
from schedsearch.study.schedule import Schedule
from schedsearch.study.stepping import Stepper, by_hand


@dataclass(frozen=True)
class Minimised:
    """`shortest` is what the store has now. `against` is its timing against the original, None if
    their C is the same."""

    original: StoredCandidate
    shortest: StoredCandidate
    against: Measurement | None
    interrupted: bool


def minimise(schedule: Schedule, budget_s: float, tell: Tell) -> Minimised:
    """Shorten a verified schedule, on the target it was tuned on.

    `budget_s` is seconds of shortening; confirming comes on top. Ctrl-C ends it with the
    shortest so far. Raises UserError for what the user can mend.
    """
    require_verified(schedule.stored)
    options = schedule.options(Budget(budget_s))
    if len(schedule.trace) < 2:
        return Minimised(schedule.stored, schedule.stored, None, False)
    with by_hand(options, tell) as stepper:
        return _shortened(stepper, schedule.stored, budget_s, tell)


def _shortened(
    stepper: Stepper, candidate: StoredCandidate, budget_s: float, tell: Tell
) -> Minimised:
    session = stepper.session
    subject, bench = session.setting.subject, session.bench
    whole = candidate.record.trace
    tell(f"shortening {len(whole)} rewrites")
    with noticed_interrupts() as interrupted:
        shortener = Shortener(
            whole,
            stepper.replayer,
            subject.target,
            lambda: not interrupted.is_set(),
            tell,
            budget_s,
        )
        original = _build(session, shortener, whole)
        same = whole
        try:
            shortener.same_code()
            same = shortener.trace
            shortener.as_fast(original, bench, subject.builder)
        except KeyboardInterrupt:
            tell("interrupted: keeping the shortest so far")
    shortest, against = shortener.trace, None
    artifact = _build(session, shortener, shortest)
    if artifact.code_key != original.code_key:
        tell(f"comparing {len(shortest)} rewrites with all {len(whole)}, on fresh rounds")
        found = _timed(session, artifact, CONFIRM, Anchor(original, original.code_key), tell)
        if isinstance(found, Measurement) and no_slower(found):
            against = found
        else:
            tell("not as fast after all: what gives the same C is kept")
            shortest, artifact = same, original
    code = shortener.generator.generate(shortest)
    tell("confirming")
    anchor = bench.standard
    call_s = session.setting.baseline.call_s / anchor.scale
    measured = _timed(session, artifact, confirm(call_s), anchor, tell)
    if isinstance(measured, Failure):
        raise UserError(
            f"candidate {candidate.id} could not be measured now: {measured.outcome}: "
            f"{measured.message}; run again"
        )
    stored = _store(stepper, shortest, code, artifact, measured)
    noise = session_noise(bench, subject, code)
    elsewhere = measure_elsewhere(bench, subject, code)
    roof = last_roof(
        subject, session.setting.baseline.roof, Best(stored.trace_key, shortest, measured)
    )
    stopped = interrupted.is_set()
    summary = RunSummary(
        stop=str(Stop.INTERRUPTED) if stopped else "minimised",
        best=stored.trace_key,
        noise=noise,
        elsewhere=elsewhere,
        roof=roof,
        minimal_of=candidate.trace_key,
        against=against,
    )
    stepper.close(RunStatus.INTERRUPTED if stopped else RunStatus.FINISHED, summary)
    return Minimised(candidate, stored, against, stopped)


def _build(session: Session, shortener: Shortener, trace: Trace) -> Artifact:
    code, kernel = shortener.generator.generate(trace), shortener.replayer.state(trace).ast
    built = build(session.setting.subject.builder, code, kernel, reacher_of(session.bench))
    if not isinstance(built, Artifact):
        raise UserError(
            f"this schedule cannot be built any more:\n{built.message}\nTune again with "
            "`schedsearch run`."
        )
    return built


def _timed(
    session: Session, artifact: Artifact, plan: TimingPlan, anchor: Anchor, tell: Tell
) -> Measurement | Failure:
    with measuring_slot(tell):
        return session.bench.evaluate(artifact, plan, anchor).result


def _store(
    stepper: Stepper, trace: Trace, code: GeneratedC, artifact: Artifact, measured: Measurement
) -> StoredCandidate:
    """The trace as a candidate of its own, though it may have the C of others."""
    session = stepper.session
    stepper.add(trace)
    session.store.add_code([code])
    keys = Keys(stepper.stored(trace).record.keys.ast, code.key, artifact.binary_key)
    record = TuningRecord(trace, Outcome.CORRECT, keys, measurement=measured)
    session.store.record(session.setting.scope, session.run_id, record)
    return stepper.stored(trace)

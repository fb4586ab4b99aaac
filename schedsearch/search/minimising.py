"""A stored schedule, shortened, measured, and stored beside the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedsearch.core.errors import UserError
from schedsearch.core.records import (
    Artifact,
    Failure,
    GeneratedC,
    Keys,
    Measurement,
    Outcome,
    TuningRecord,
)
from schedsearch.core.trace import Trace
from schedsearch.evaluate.bench import Anchor
from schedsearch.evaluate.timing import TimingPlan
from schedsearch.search.again import options_again
from schedsearch.search.budget import Budget, Stop
from schedsearch.search.building import build, reacher_of
from schedsearch.search.closing import last_roof, session_noise
from schedsearch.search.elsewhere import measure_elsewhere
from schedsearch.search.interrupts import noticed_interrupts
from schedsearch.search.kept import require_verified
from schedsearch.search.minimal import Shortener, Tell, no_slower
from schedsearch.search.plans import CONFIRM, confirm
from schedsearch.search.progress import Best
from schedsearch.search.result import Listener
from schedsearch.search.session import Session, begun
from schedsearch.search.strategies import make_strategy
from schedsearch.search.turns import measuring_slot
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate
from schedsearch.transforms.expand import Expander
from schedsearch.transforms.registry import select
from schedsearch.transforms.replay import Replayer


@dataclass(frozen=True)
class Minimised:
    """`shortest` is what the store has now. `against` is its timing against the original, None if
    their C is the same."""

    original: StoredCandidate
    shortest: StoredCandidate
    against: Measurement | None
    interrupted: bool


def minimise(
    path: Path | str,
    candidate_id: int,
    budget_s: float,
    tell: Tell,
    file: Path | None = None,
    instructions: Sequence[Path] = (),
) -> Minimised:
    """Shorten a verified candidate of the store at `path`, on the target it was tuned on.

    `budget_s` is seconds of shortening; confirming comes on top. Ctrl-C ends it with the
    shortest so far. Raises UserError for whatever the user can mend.
    """
    with Store.open(path, create=False) as store:
        candidate = store.candidate(candidate_id)
        require_verified(candidate)
        options = options_again(store, path, candidate.scope, Budget(budget_s), file, instructions)
    if len(candidate.record.trace) < 2:
        return Minimised(candidate, candidate, None, False)
    listener = Listener(tell, lambda *_: None, lambda _: None)
    with begun(options, listener) as session:
        status, summary = "failed", dict[str, Any]()
        try:
            found, summary = _shortened(session, candidate, budget_s, tell)
            status = "interrupted" if found.interrupted else "finished"
        finally:
            session.store.finish_run(session.run_id, status, summary)
    return found


def _shortened(
    session: Session, candidate: StoredCandidate, budget_s: float, tell: Tell
) -> tuple[Minimised, dict[str, Any]]:
    subject, bench = session.setting.subject, session.bench
    whole = candidate.record.trace
    replayer = Replayer(subject.procedure, fp=subject.target.fp)
    tell(f"shortening {len(whole)} rewrites")
    with noticed_interrupts() as interrupted:
        shortener = Shortener(
            whole, replayer, subject.target, lambda: not interrupted.is_set(), tell, budget_s
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
        found = _timed(session, artifact, CONFIRM, Anchor(original, original.code_key))
        if isinstance(found, Measurement) and no_slower(found):
            against = found
        else:
            tell("not as fast after all: what gives the same C is kept")
            shortest, artifact = same, original
    code = shortener.generator.generate(shortest)
    tell("confirming")
    anchor = bench.standard
    call_s = session.setting.baseline.call_s / anchor.scale
    measured = _timed(session, artifact, confirm(call_s), anchor)
    if isinstance(measured, Failure):
        raise UserError(
            f"candidate {candidate.id} could not be measured now: {measured.outcome}: "
            f"{measured.message}"
        )
    stored = _store(session, shortest, code, artifact, measured)
    noise = session_noise(bench, subject, code)
    elsewhere = measure_elsewhere(bench, subject, code)
    roof = last_roof(
        subject, session.setting.baseline.roof, Best(stored.trace_key, shortest, measured)
    )
    summary = {
        "stop": str(Stop.INTERRUPTED) if interrupted.is_set() else "minimised",
        "best": stored.trace_key,
        "noise": noise.to_json() if noise else None,
        "elsewhere": elsewhere.to_json() if elsewhere else None,
        "roof": roof.to_json(),
        "minimal_of": candidate.trace_key,
        "against": against.to_json() if against else None,
    }
    return Minimised(candidate, stored, against, interrupted.is_set()), summary


def _build(session: Session, shortener: Shortener, trace: Trace) -> Artifact:
    code, kernel = shortener.generator.generate(trace), shortener.replayer.state(trace).ast
    built = build(session.setting.subject.builder, code, kernel, reacher_of(session.bench))
    if not isinstance(built, Artifact):
        raise UserError(f"this schedule cannot be built any more:\n{built.message}")
    return built


def _timed(
    session: Session, artifact: Artifact, plan: TimingPlan, anchor: Anchor
) -> Measurement | Failure:
    with measuring_slot():
        return session.bench.evaluate(artifact, plan, anchor).result


def _store(
    session: Session, trace: Trace, code: GeneratedC, artifact: Artifact, measured: Measurement
) -> StoredCandidate:
    """The trace as a candidate of its own, though it may have the C of others."""
    subject, store, scope = session.setting.subject, session.store, session.setting.scope
    strategy = make_strategy("random", Trace().key, session.seed)
    ledger = session.search(strategy, Budget(0.0), lambda _: None).ledger
    names = tuple(store.runs(scope)[-1].settings["transforms"])
    expander = Expander(
        Replayer(subject.procedure, fp=subject.target.fp),
        subject.target,
        select(names),
        dict(subject.workload.sizes),
    )
    replay = expander.follow(trace, known=0)
    ledger.replayed(trace.key, replay)
    store.add_code([code])
    keys = Keys(replay.steps[-1].keys.ast, code.key, artifact.binary_key)
    store.record(
        scope, session.run_id, TuningRecord(trace, Outcome.CORRECT, keys, measurement=measured)
    )
    [stored] = store.find(scope, [trace.key])
    return stored

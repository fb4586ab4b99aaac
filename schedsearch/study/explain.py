"""Explains each rewrite of a schedule: its effect on the loop nest, and on the time.

The effect of a step is measured where the store has a measurement of the schedule up to it, or
of one with the same C or machine code. Else it is the static cost estimate of that step alone
(`transforms/estimate/cost.py`), which is right about the direction more often than about the size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp

from schedsearch.core.outline import changes, outline
from schedsearch.core.records import Target, TimingKind
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.store.views import StoredCandidate
from schedsearch.study import compare
from schedsearch.study.compare import Ratio
from schedsearch.study.schedule import Schedule
from schedsearch.transforms.estimate.cost import log_cost
from schedsearch.transforms.replay import State


@dataclass(frozen=True)
class Effect:
    """The schedule after a step, as measured: `speedup` over the procedure as written."""

    speedup: Estimate
    call_ns: float
    kind: TimingKind

    @staticmethod
    def of(candidate: StoredCandidate) -> Effect | None:
        timed, speedup = compare.verified(candidate), compare.speedup(candidate)
        return Effect(speedup, timed.candidate_ns, timed.kind) if timed and speedup else None


@dataclass(frozen=True)
class Step:
    """One rewrite. `change` are lines of the outline's difference (`core/outline.py`);
    `predicted` is the estimated speed-up over the step before. `measured` is None if the
    schedule up to here was not, and `failure` then why not, if that was tried; `gain` is over
    the latest measured schedule before."""

    rewrite: Rewrite
    change: tuple[str, ...]
    predicted: float
    measured: Effect | None
    gain: Ratio | None
    failure: str = ""


@dataclass(frozen=True)
class Explanation:
    """A schedule, rewrite by rewrite. `root` is the procedure as written, None if it was not
    measured; `nest` its outline, `result` the schedule's."""

    trace: Trace
    nest: tuple[str, ...]
    result: tuple[str, ...]
    root: Effect | None
    steps: tuple[Step, ...]


def explain(schedule: Schedule) -> Explanation:
    """Replay it, and look up what is known of every step. Raises UserError if it does not."""
    trace, target, sizes = schedule.trace, schedule.target, dict(schedule.workload.sizes)
    prefixes = trace.prefixes
    known = compare.standing(schedule.store, schedule.scope, (prefix.key for prefix in prefixes))
    state = schedule.replayed(prefixes[0])
    nest = shown = outline(state.ast)
    cost = _cost(state, target, sizes)
    before = known.get(prefixes[0].key)
    root = Effect.of(before) if before else None
    steps = []
    for prefix, rewrite in zip(prefixes[1:], trace.steps, strict=True):
        state = schedule.replayed(prefix)
        now, after = outline(state.ast), _cost(state, target, sizes)
        found = known.get(prefix.key)
        measured = Effect.of(found) if found else None
        gain = compare.ratio(before, found) if before and found and measured else None
        failure = _failure(found) if found and not measured else ""
        promised = exp(cost - after)
        steps.append(Step(rewrite, changes(shown, now), promised, measured, gain, failure))
        shown, cost = now, after
        before = found if measured else before
    return Explanation(trace, nest, shown, root, tuple(steps))


def _cost(state: State, target: Target, sizes: Mapping[str, int]) -> float:
    return log_cost(state.ast, replace(target, build=state.build), sizes)


def _failure(candidate: StoredCandidate) -> str:
    """`codegen error: ...`; nothing if it was not tried."""
    record = candidate.record
    if record.outcome is None:
        return ""
    return f"{record.outcome.value.replace('_', ' ')}: {record.message}"

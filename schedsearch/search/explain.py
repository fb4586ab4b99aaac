"""What each rewrite of a schedule did: to the loop nest, and to the time.

A step's effect is measured where the store has a measurement of the schedule up to it, or
of one with the same C or machine code; else it is what the static cost estimate says of
that step alone (`transforms/cost.py`), which is right about the direction more often than
about the size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp
from typing import Any

from schedsearch.core.outline import changes, outline
from schedsearch.core.records import Measurement, Target, TuningRecord, Workload
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.store.database import Store
from schedsearch.store.views import Scope
from schedsearch.transforms.cost import log_cost
from schedsearch.transforms.replay import Replayer, State


@dataclass(frozen=True)
class Effect:
    """The schedule after a step, as measured: `speedup` over the procedure as written."""

    speedup: Estimate
    call_ns: float
    kind: str

    @staticmethod
    def of(measurement: Measurement) -> Effect:
        return Effect(measurement.speedup, measurement.candidate_ns, measurement.kind)


@dataclass(frozen=True)
class Step:
    """One rewrite. `change` are lines of the outline's difference (`core/outline.py`);
    `predicted` is the estimated speed-up over the step before. `measured` is None if the
    schedule up to here was not."""

    rewrite: Rewrite
    change: tuple[str, ...]
    predicted: float
    measured: Effect | None


@dataclass(frozen=True)
class Explanation:
    """A schedule, rewrite by rewrite. `root` is the procedure as written, None if it was not
    measured; `nest` its outline, `result` the schedule's."""

    trace: Trace
    nest: tuple[str, ...]
    result: tuple[str, ...]
    root: Effect | None
    steps: tuple[Step, ...]

    def before(self, number: int) -> Effect | None:
        """The latest measurement before step `number` (from 0): what its gain is over."""
        known = [self.root, *(step.measured for step in self.steps[:number])]
        return next((effect for effect in reversed(known) if effect is not None), None)

    def gain(self, number: int) -> float | None:
        """Measured speed-up of step `number` over the latest measured schedule before it."""
        now, before = self.steps[number].measured, self.before(number)
        return now.speedup.value / before.speedup.value if now and before else None


def explain(
    store: Store, scope: Scope, workload: Workload, target: Target, procedure: Any, trace: Trace
) -> Explanation:
    """Replay `trace` on `procedure`, and look up what is known of every step.

    Raises ReplayError for a step that does not apply.
    """
    replayer = Replayer(procedure)
    prefixes = [Trace(trace.steps[:count]) for count in range(len(trace) + 1)]
    known = _effects(store, scope, prefixes)
    sizes = dict(workload.sizes)
    state = replayer.state(prefixes[0])
    nest = shown = outline(state.ast)
    cost = _cost(state, target, sizes)
    steps = []
    for prefix, rewrite in zip(prefixes[1:], trace.steps, strict=True):
        state = replayer.state(prefix)
        now, after = outline(state.ast), _cost(state, target, sizes)
        steps.append(Step(rewrite, changes(shown, now), exp(cost - after), known.get(prefix.key)))
        shown, cost = now, after
    return Explanation(trace, nest, shown, known.get(prefixes[0].key), tuple(steps))


def _cost(state: State, target: Target, sizes: Mapping[str, int]) -> float:
    return log_cost(state.ast, replace(target, build=state.build), sizes)


def _effects(store: Store, scope: Scope, prefixes: list[Trace]) -> dict[str, Effect]:
    """By trace key, also of what is a duplicate of something measured."""
    records: dict[str, TuningRecord] = {}
    wanted = {prefix.key for prefix in prefixes}
    while wanted:
        found = {c.trace_key: c.record for c in store.find(scope, sorted(wanted))}
        records |= found
        originals = {record.duplicate_of for record in found.values()}
        wanted = {key for key in originals if key is not None} - records.keys()
    effects = {}
    for key, record in records.items():
        for _ in records:  # of a duplicate of a duplicate
            if record.measurement is None:
                record = records.get(record.duplicate_of or key, record)
        if record.measurement is not None:
            effects[key] = Effect.of(record.measurement)
    if root := effects.get(prefixes[0].key):
        effects[prefixes[0].key] = replace(root, speedup=Estimate(1.0, 1.0, 1.0))  # by definition
    return effects

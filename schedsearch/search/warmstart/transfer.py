"""Warm start: schedules the store has for other sizes, types, targets and similar procedures,
to be fitted to this one and tried first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from schedsearch.core.records import Target, Workload
from schedsearch.core.trace import Trace
from schedsearch.store.database import Store
from schedsearch.store.views import Scope

MOST = 4
"""Schedules tried: each costs a worker about two seconds, and a measurement."""
PER_SCOPE = 3
LEAST = 0.2
"""Similarity below which nothing is taken over. Convolutions and matrix products have 0.25;
what does not fit is found out in milliseconds."""


@dataclass(frozen=True)
class Origin:
    """A schedule of something else in this store, and how fast it was there."""

    workload: Workload
    candidate_id: int
    speedup: float
    trace: Trace


def origins(
    store: Store, own: Scope, workload: Workload, target: Target, unasked: Collection[str] = ()
) -> list[Origin]:
    """At most `MOST` that differ in transforms or arguments: the best of each workload and
    target first, that of the most similar before the others, then the second best. None has
    one of the transforms `unasked`."""
    ranked: list[tuple[int, float, int, float, Origin]] = []
    for scope in store.scopes():
        other = store.workload(scope)
        alike = similarity(workload, other)
        same = (scope.workload_id, scope.target_id) == (own.workload_id, own.target_id)
        if same or alike < LEAST:
            continue
        elsewhere = int(store.target(scope).key != target.key)
        for place, best in enumerate(store.best(scope, PER_SCOPE)):
            speedup = best.record.speedup
            steps = best.record.trace.steps
            if any(step.transform in unasked for step in steps):
                continue
            if speedup is not None and speedup > 1.0 and steps:
                origin = Origin(other, best.id, speedup, best.record.trace)
                ranked.append((place, -alike, elsewhere, -speedup, origin))
    ranked.sort(key=lambda item: item[:-1])
    return _distinct([origin for *_, origin in ranked])[:MOST]


def similarity(one: Workload, other: Workload) -> float:
    """How much of what two workloads compute is the same, 0 to 1 (Jaccard, with multiplicity).

    Stores of earlier versions have no signatures; then only the same procedure is similar.
    """
    if one.proc_key == other.proc_key:
        return 1.0
    a, b = Counter(one.signature), Counter(other.signature)
    return (a & b).total() / max((a | b).total(), 1)


def _distinct(found: Sequence[Origin]) -> list[Origin]:
    by_steps: dict[tuple[object, ...], Origin] = {}
    for origin in found:
        steps = tuple((step.transform, step.args) for step in origin.trace.steps)
        by_steps.setdefault(steps, origin)
    return list(by_steps.values())

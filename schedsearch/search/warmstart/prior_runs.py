"""What the store has of earlier runs when one begins, and whether that fits it.

Warm start: a first run begins with schedules of other sizes, types, targets and similar procedures,
fitted to this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from schedsearch.core.errors import UserError
from schedsearch.core.records import Target, Workload
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.timing import Cache
from schedsearch.search.setup.subject import Subject
from schedsearch.store.database import Store
from schedsearch.store.views import Scope
from schedsearch.transforms.own import definitions
from schedsearch.transforms.registry import Transform

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


def origins(store: Store, own: Scope, workload: Workload, target: Target) -> list[Origin]:
    """At most `MOST` that differ in transforms or arguments: the best of each workload and
    target first, that of the most similar before the others, then the second best."""
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


@dataclass(frozen=True)
class Known:
    """What the store knew before the run: candidates, and how many of them were measured;
    and what else it has that a first run starts from."""

    candidates: int
    measured: int
    origins: tuple[Origin, ...] = ()


def known_before(store: Store, scope: Scope, subject: Subject, warm_start: bool) -> Known:
    """Counts are without the root, which the store has. A first run starts from schedules of
    something else, if `warm_start` allows it."""
    candidates, measured = (count - 1 for count in store.counts(scope))
    first = warm_start and measured == 0
    found = origins(store, scope, subject.workload, subject.target) if first else ()
    return Known(candidates, measured, tuple(found))


def _some(names: set[str]) -> str:
    first, more = sorted(names)[:5], len(names) - 5
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")


def check_earlier_runs(
    store: Store, scope: Scope, transforms: Sequence[Transform], cache: Cache
) -> None:
    """Raises UserError for what a search must not continue: schedules with transforms that it has
    not, those of a user's transform that has changed, and timings with other caches, which do not
    rank with its own, in other trees either."""
    texts, now = definitions(transforms), {transform.name for transform in transforms}
    runs = store.runs(scope)
    if more := {name for run in runs for name in run.settings["transforms"]} - now:
        raise UserError(
            f"{store.name} holds a search of this procedure with transforms that this one has "
            f"not: {_some(more)}; its schedules may use them.\n"
            "Continue with the same --transforms, start over with --fresh, or choose another "
            "--store. Another version of schedsearch may be without them"
        )
    for run in runs:
        before = run.settings.get("own_transforms", {})
        if changed := [name for name, text in texts.items() if before.get(name, text) != text]:
            raise UserError(
                f"{changed[0]} has changed since {store.name} was searched with it, so that its "
                "schedules there would become others. Start over with `fresh`, choose another "
                "store, or give what has changed another name"
            )
    for run in (run for tree in store.trees(scope) for run in store.runs(tree)):
        if (before := run.settings.get("cache", Cache.WARM)) != cache:
            raise UserError(
                f"{store.name} holds this procedure timed with {before} caches, which does not "
                f"compare. Continue with --cache {before}, or choose another --store"
            )


def expand_again(store: Store, scope: Scope, transforms: Sequence[Transform]) -> str | None:
    """Let what earlier runs expanded be expanded again if one had fewer transforms, as those of
    an earlier version have. Returns what to tell the user of it. The children that are there are
    not made again."""
    runs = store.runs(scope)
    new = {each.name for each in transforms} - {*runs[-1].settings["transforms"]} if runs else set()
    if not new:
        return None
    store.reopen(scope)
    return f"expanding again what {store.name} has: new transforms ({_some(new)})"

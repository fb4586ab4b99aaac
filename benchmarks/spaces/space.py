"""Recorded spaces: the part of a search tree in which everything has been measured.

A node of the store belongs to a space if every node above it was expanded and all
children of those have an outcome. In a space, strategies can be compared without a
compiler or noise (`simulate.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from schedsearch.core.errors import UserError
from schedsearch.core.records import Outcome, Target
from schedsearch.core.trace import Rewrite
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

_UNTIMED = frozenset({Outcome.COMPILE_ERROR, Outcome.CODEGEN_ERROR, Outcome.ILLEGAL})
_NOT_EXPANDING = frozenset({"codegen", "build", "verify", "time", "wait"})


@dataclass(frozen=True)
class Point:
    """A node, reached from `parent` by `rewrite` (None: the root).

    `predicted` as in `ChildInfo`; `speedup` over the root, None if it failed; `measure_s`
    seconds in the measuring slot (the mean if it was there more than once). `same` is the
    first node with this machine code, which was measured for all of them.
    """

    parent: str | None
    rewrite: Rewrite | None
    predicted: float
    outcome: Outcome
    speedup: float | None
    measure_s: float
    same: str

    @property
    def timed(self) -> bool:
        """Whether finding its outcome takes the measuring slot."""
        return self.outcome not in _UNTIMED


@dataclass(frozen=True)
class Space:
    """`points` by trace key, parents first. `moves` maps every expanded node's rewrites to
    the nodes they lead to: distinct children, or others that have the same schedule.
    `expand_s` is seconds to expand each. `target` is where it was recorded.
    """

    name: str
    target: Target
    points: Mapping[str, Point]
    moves: Mapping[str, Mapping[Rewrite, str]]
    expand_s: Mapping[str, float]

    @property
    def root(self) -> str:
        return next(iter(self.points))

    @cached_property
    def best(self) -> float:
        """The highest speed-up."""
        return max(point.speedup or 0.0 for point in self.points.values())

    @cached_property
    def candidates(self) -> int:
        """How many schedules take the measuring slot: equal machine code counts once."""
        return sum(p.timed and p.same == key != self.root for key, p in self.points.items())

    def children(self, key: str) -> tuple[str, ...]:
        """The distinct ones; none if the node was not expanded."""
        steps = self.moves.get(key, {}).items()
        return tuple(to for rewrite, to in steps if self.is_child(key, rewrite, to))

    def is_child(self, key: str, rewrite: Rewrite, to: str) -> bool:
        """Whether this move made the node it leads to."""
        point = self.points[to]
        return (point.parent, point.rewrite) == (key, rewrite)


def spaces_in(store: Store) -> list[Space]:
    """What the store holds of each procedure and target. Raises UserError as `space_of`."""
    return [
        space_of(
            store.workload(scope).proc,
            store.target(scope),
            store.load(scope),
            store.stage_seconds(scope),
        )
        for scope in store.scopes()
    ]


def space_of(
    name: str,
    target: Target,
    known: Sequence[StoredCandidate],
    stage_s: Mapping[str, float],
) -> Space:
    """The space within `known`, a scope's whole tree, parents first.

    `stage_s` are seconds per stage of its runs; those of expansions are shared out evenly
    over all candidates, legal or not, since the store does not keep them apart. Raises
    UserError if no expansion was measured completely.
    """
    found = {c.trace_key: c for c in known}
    below: defaultdict[int, list[StoredCandidate]] = defaultdict(list)
    for candidate in known:
        if candidate.parent_id is not None:
            below[candidate.parent_id].append(candidate)
    expanding_s = sum(s for stage, s in stage_s.items() if stage not in _NOT_EXPANDING)
    each_s = expanding_s / max(len(known) - 1, 1)

    points: dict[str, Point] = {}
    moves: dict[str, dict[Rewrite, str]] = {}
    expand_s: dict[str, float] = {}
    first: dict[str, str] = {}
    for node in known:
        key, offspring = node.trace_key, below[node.id]
        if node.parent_id is None:
            points[key] = _point(node, None, found)
        if key not in points:
            continue
        same = first.setdefault(points[key].same, key)
        points[key] = replace(points[key], same=same)
        if not node.expanded or not all(_settled(child, found) for child in offspring):
            continue
        points |= {c.trace_key: _point(c, key, found) for c in offspring if _is_node(c)}
        moves[key] = {
            child.record.trace.steps[-1]: _reached(child)
            for child in offspring
            if _is_node(child) or child.record.duplicate_of is not None
        }
        expand_s[key] = each_s * len(offspring)
    if not moves:
        raise UserError(
            f"{name}: no schedule there has all its children measured; "
            "`schedsearch run FILE --strategy exhaustive` measures them all"
        )
    inside = {
        key: {rewrite: to for rewrite, to in steps.items() if to in points}
        for key, steps in moves.items()
    }
    return Space(name, target, points, inside, expand_s)


def _is_node(candidate: StoredCandidate) -> bool:
    """Whether a strategy was told of it: a legal schedule that was new."""
    record = candidate.record
    return record.keys.ast is not None and record.duplicate_level in (None, "binary")


def _reached(candidate: StoredCandidate) -> str:
    owner = candidate.record.duplicate_of
    return candidate.trace_key if owner is None or _is_node(candidate) else owner


def _settled(candidate: StoredCandidate, found: Mapping[str, StoredCandidate]) -> bool:
    return not _is_node(candidate) or _measured_as(candidate, found).record.outcome is not None


def _measured_as(
    candidate: StoredCandidate, found: Mapping[str, StoredCandidate]
) -> StoredCandidate:
    """What was measured for this node: the first with the same machine code."""
    owner = candidate.record.duplicate_of
    return candidate if owner is None else found[owner]


def _point(
    candidate: StoredCandidate, parent: str | None, found: Mapping[str, StoredCandidate]
) -> Point:
    original = _measured_as(candidate, found)
    record, trace = original.record, candidate.record.trace
    assert record.outcome is not None
    spent = dict(record.stage_s)
    return Point(
        parent,
        trace.steps[-1] if trace.steps else None,
        candidate.record.predicted or 0.0,
        record.outcome,
        record.speedup if record.outcome is Outcome.CORRECT else None,
        (spent.get("verify", 0.0) + spent.get("time", 0.0)) / max(len(original.measurements), 1),
        original.trace_key,
    )

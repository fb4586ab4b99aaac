"""Best-first search, the default strategy.

Two priority queues: nodes to expand, and *groups* of children to measure, a
group being what one transform made of one node. Values are log speed-ups over
the baseline. A group is worth what its node reached, plus `TRUST` times what the
cost estimate promises for its next child, plus by how much the transform has
done better than promised on average (shrunk towards a small optimistic prior, so
that every transform gets its chance), minus a fee for every sibling already
tried, so that no node is drained while others are as good.

Nodes are expanded as fast as the workers can, measured ones and unmeasured ones
in turn, because some rewrites gain nothing and lead to what does (fission before
a register block). With probability `EXPLORE` a choice is random instead: local
optima are the rule in this space. What a replayed trace ended in is measured
before anything else: somebody had a reason to try it.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Generic, TypeVar

from schedsearch.core.trace import Trace
from schedsearch.search.strategy import (
    ChildInfo,
    Event,
    Expanded,
    Measured,
    Predicted,
    Replayed,
)

EXPLORE = 0.15
TRUST = 0.7
"""How much of a predicted log gain is believed."""
OPTIMISM = 0.15
"""Assumed surplus of a transform never tried, with the weight of `PRIOR_TRIALS` trials."""
PRIOR_TRIALS = 3
SIBLING_FEE = 0.04
UNMEASURED_FEE = 0.1
"""What an unmeasured node promises counts less by this."""
DEPTH_FEE = 0.3
"""What looking ahead costs for every step from the root: noise must not lead it astray."""
VARIANT_GAIN = 0.1
"""Log gain from which a variant is expanded: noise must not multiply the space."""
LOOK_FEE = 0.1
"""What looking ahead through a transform costs the next look through it."""


Item = TypeVar("Item")


@dataclass
class _Group:
    """Children of `node` made by `transform` that wait to be measured."""

    node: str
    transform: str
    waiting: deque[str]
    taken: int = 0


@dataclass
class _Surplus:
    """Running mean of a transform's log gain beyond the prediction."""

    total: float = OPTIMISM * PRIOR_TRIALS
    trials: int = PRIOR_TRIALS

    @property
    def mean(self) -> float:
        return self.total / self.trials


class BestFirst:
    """`root` is the key of the unscheduled procedure."""

    def __init__(self, root: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._value: dict[str, float] = {}
        self._origin: dict[str, tuple[str, ChildInfo]] = {}
        self._surplus: dict[str, _Surplus] = {}
        self._measured: set[str] = set()
        self._expanded: set[str] = set()
        self._groups = _Queue(self._group_value, self._random)
        self._nodes = _Queue(self._node_value, self._random)
        self._ahead = _Queue(self._ahead_value, self._random)
        self._replayed: deque[str] = deque()
        self._look_ahead = True
        self._looked: Counter[str] = Counter()
        self._nodes.push(root)

    def ask_measure(self, n: int) -> list[str]:
        keys: list[str] = []
        while len(keys) < n and self._replayed:
            key = self._replayed.popleft()
            if key not in self._measured:
                self._measured.add(key)
                keys.append(key)
        while len(keys) < n and len(self._groups):
            group = self._groups.pop()
            key = group.waiting.popleft()
            if key not in self._measured:
                self._measured.add(key)
                group.taken += 1
                keys.append(key)
            if group.waiting:
                self._groups.push(group)
        return keys

    def ask_expand(self, n: int) -> list[str]:
        keys: list[str] = []
        while len(keys) < n and (key := self._next_node()) is not None:
            if key not in self._expanded:
                self._expanded.add(key)
                keys.append(key)
        return keys

    def _next_node(self) -> str | None:
        """The best measured node, and every other time one that is not measured yet."""
        self._look_ahead = not self._look_ahead
        if len(self._nodes) and not (self._look_ahead and len(self._ahead)):
            return self._nodes.pop()
        if not len(self._ahead):
            return None
        group = self._ahead.pop()
        self._looked[group.transform] += 1
        key = group.waiting.popleft()
        group.taken += 1
        if group.waiting:
            self._ahead.push(group)
        return key

    def ask_replay(self, n: int) -> list[Trace]:
        return []

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                self._expanded.add(event.key)
                self._add_children(event.key, event.children)
            case Replayed():
                for parent, child in event.chain:
                    self._add_children(parent, (child,))
                if event.key is not None:
                    self._replayed.append(event.key)
            case Measured():
                self._measured.add(event.key)
                self._learn(event)
            case Predicted():
                self._predict(event)

    def _predict(self, event: Predicted) -> None:
        for key, value in event.values.items():
            if key in self._origin:
                parent, child = self._origin[key]
                self._origin[key] = parent, replace(child, predicted=value)
        for queue in (self._groups, self._ahead):
            for group in queue.items():
                group.waiting = deque(sorted(group.waiting, key=self._predicted, reverse=True))
            queue.reorder()
        self._nodes.reorder()

    def _add_children(self, node: str, children: Sequence[ChildInfo]) -> None:
        groups: dict[str, list[str]] = {}
        for child in children:
            self._origin[child.key] = (node, child)
            groups.setdefault(child.transform, []).append(child.key)
        for transform, keys in groups.items():
            # Neighbouring proposals are alike: among equal promises, sample evenly.
            self._random.shuffle(keys)
            keys.sort(key=self._predicted, reverse=True)
            self._groups.push(_Group(node, transform, deque(keys)))
            ahead = [key for key in keys if not self._origin[key][1].variant]
            if ahead:
                self._ahead.push(_Group(node, transform, deque(ahead)))

    def _learn(self, event: Measured) -> None:
        if event.speedup is None:
            self._expanded.add(event.key)  # leads nowhere
            return
        self._value[event.key] = log(event.speedup)
        if event.key in self._origin:
            parent, child = self._origin[event.key]
            surplus = self._surplus.setdefault(child.transform, _Surplus())
            promised = self._node_value(parent) + TRUST * child.predicted
            surplus.total += self._value[event.key] - promised
            surplus.trials += 1
        if event.key not in self._expanded and self._opens(event.key):
            self._nodes.push(event.key)

    def _opens(self, key: str) -> bool:
        """Whether a node has children worth looking at. Those of a variant are its
        parent's, built otherwise: only if that gained something clearly."""
        if key not in self._origin:
            return True
        parent, child = self._origin[key]
        gain = self._value[key] - self._node_value(parent)
        return not child.variant or gain > VARIANT_GAIN

    def _node_value(self, key: str) -> float:
        """What a node reached; while it is not measured, what it promises less a fee."""
        value = 0.0
        while key not in self._value and key in self._origin:
            key, child = self._origin[key]
            value += TRUST * child.predicted - UNMEASURED_FEE
        return self._value.get(key, 0.0) + value

    def _group_value(self, group: _Group) -> float:
        surplus = self._surplus.get(group.transform, _Surplus()).mean
        promised = TRUST * self._predicted(group.waiting[0])
        return self._node_value(group.node) + promised + surplus - SIBLING_FEE * group.taken

    def _ahead_value(self, group: _Group) -> float:
        """Near the root first, transforms in turn: which one opens the way does not show."""
        fee = DEPTH_FEE * self._depth(group.node) + LOOK_FEE * self._looked[group.transform]
        return self._group_value(group) - fee

    def _depth(self, key: str) -> int:
        depth = 0
        while key in self._origin:
            key, depth = self._origin[key][0], depth + 1
        return depth

    def _predicted(self, key: str) -> float:
        return self._origin[key][1].predicted


class _Queue(Generic[Item]):
    """Highest value first; values may change while items wait."""

    def __init__(self, value: Callable[[Item], float], rng: random.Random) -> None:
        self._value_of, self._random = value, rng
        self._heap: list[tuple[float, int, Item]] = []
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, item: Item) -> None:
        self._pushed += 1
        heapq.heappush(self._heap, (-self._value_of(item), self._pushed, item))

    def items(self) -> Iterator[Item]:
        return (item for _, _, item in self._heap)

    def reorder(self) -> None:
        """All values may have changed."""
        self._heap = [(-self._value_of(item), pushed, item) for _, pushed, item in self._heap]
        heapq.heapify(self._heap)

    def pop(self) -> Item:
        if self._random.random() < EXPLORE:
            index = self._random.randrange(len(self._heap))
            item = self._heap[index][2]
            self._heap[index] = self._heap[-1]
            self._heap.pop()
            heapq.heapify(self._heap)
            return item
        while True:
            _, _, item = heapq.heappop(self._heap)
            # Trust a value from the time of pushing only if it still leads.
            if not self._heap or -self._value_of(item) <= self._heap[0][0]:
                return item
            self.push(item)

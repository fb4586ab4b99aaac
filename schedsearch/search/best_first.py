"""Best-first search, the default strategy.

One priority queue holds *groups*: either "expand this node", or "measure the
next child of this node made by this transform". The value of a group, in
log-speed-up over the baseline, is what its node reached, plus what the transform
has brought on average so far (shrunk towards a small optimistic prior, so that
every transform gets its chance), minus a fee for every sibling already tried, so
that no node is drained while others are as good. With probability `EXPLORE` a
group is drawn at random instead: local optima are the rule in this space.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from dataclasses import dataclass, field
from math import log

from schedsearch.search.strategy import Action, Event, Expand, Expanded, Measure, Measured

EXPLORE = 0.15
OPTIMISM = 0.15
"""Assumed log gain of a transform never tried, with the weight of `PRIOR_TRIALS` trials."""
PRIOR_TRIALS = 3
SIBLING_FEE = 0.04
UNMEASURED_FEE = 0.5
"""An unmeasured node counts as its parent less this."""


@dataclass
class _Group:
    """Actions of one kind on one node. `transform` is None for "expand it"."""

    node: str
    transform: str | None
    waiting: deque[str]
    taken: int = 0


@dataclass
class _Gain:
    """Running mean of a transform's log gain."""

    total: float = OPTIMISM * PRIOR_TRIALS
    trials: int = PRIOR_TRIALS

    @property
    def mean(self) -> float:
        return self.total / self.trials


@dataclass
class BestFirst:
    """`root` is the key of the unscheduled procedure."""

    root: str
    seed: int = 0
    _value: dict[str, float] = field(default_factory=dict)
    _origin: dict[str, tuple[str, str]] = field(default_factory=dict)
    _gain: dict[str, _Gain] = field(default_factory=dict)
    _queue: list[tuple[float, int, _Group]] = field(default_factory=list)
    _done: set[tuple[type, str]] = field(default_factory=set)
    _pushed: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._add(_Group(self.root, None, deque([self.root])))

    def ask(self, n: int) -> list[Action]:
        actions: list[Action] = []
        while len(actions) < n and (group := self._pop()):
            key = group.waiting.popleft()
            kind = Expand if group.transform is None else Measure
            if (kind, key) not in self._done:
                self._done.add((kind, key))
                group.taken += 1
                actions.append(kind(key))
            if group.waiting:
                self._add(group)
        return actions

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                self._done.add((Expand, event.key))
                self._add_children(event)
            case Measured():
                self._done.add((Measure, event.key))
                self._learn(event)

    def _add_children(self, event: Expanded) -> None:
        groups: dict[str, deque[str]] = {}
        for child in event.children:
            self._origin[child.key] = (event.key, child.transform)
            groups.setdefault(child.transform, deque()).append(child.key)
        for transform, keys in groups.items():
            # Neighbouring proposals are alike; a shuffled order samples them evenly.
            shuffled = list(keys)
            self._random.shuffle(shuffled)
            self._add(_Group(event.key, transform, deque(shuffled)))

    def _learn(self, event: Measured) -> None:
        if event.speedup is None:
            return
        self._value[event.key] = log(event.speedup)
        if event.key in self._origin:
            parent, transform = self._origin[event.key]
            gain = self._gain.setdefault(transform, _Gain())
            gain.total += self._value[event.key] - self._node_value(parent)
            gain.trials += 1
        if (Expand, event.key) not in self._done:
            self._add(_Group(event.key, None, deque([event.key])))

    def _node_value(self, key: str) -> float:
        fee = 0.0
        while key not in self._value:
            if key not in self._origin:
                return -fee
            key = self._origin[key][0]
            fee += UNMEASURED_FEE
        return self._value[key] - fee

    def _priority(self, group: _Group) -> float:
        value = self._node_value(group.node)
        if group.transform is None:
            return value + OPTIMISM
        gain = self._gain.get(group.transform, _Gain())
        return value + gain.mean - SIBLING_FEE * group.taken

    def _add(self, group: _Group) -> None:
        self._pushed += 1
        heapq.heappush(self._queue, (-self._priority(group), self._pushed, group))

    def _pop(self) -> _Group | None:
        if not self._queue:
            return None
        if self._random.random() < EXPLORE:
            index = self._random.randrange(len(self._queue))
            _, _, group = self._queue[index]
            self._queue[index] = self._queue[-1]
            self._queue.pop()
            heapq.heapify(self._queue)
            return group
        while True:
            _, _, group = heapq.heappop(self._queue)
            # Gains move while groups wait: trust a stale priority only if it still leads.
            if not self._queue or -self._priority(group) <= self._queue[0][0]:
                return group
            self._add(group)

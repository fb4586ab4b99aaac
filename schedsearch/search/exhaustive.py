"""Exhaustive search: measures every child of whatever it expands, to record spaces.

Nodes are expanded one after another, the fastest one measured and a random one in
turn, so that what is recorded has both the good regions and the others that a
strategy must not lose time in.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Iterable

from schedsearch.core.trace import Trace
from schedsearch.search.strategy import (
    ChildInfo,
    Event,
    Expanded,
    Measured,
    Predicted,
    Replayed,
)

RESERVE = 30
"""With fewer children waiting the next node is expanded, so that measuring need not wait."""


class Exhaustive:
    """`root` is the key of the unscheduled procedure."""

    def __init__(self, root: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._measurable: deque[str] = deque()
        self._waiting: set[str] = set()
        self._measured: set[str] = set()
        self._expandable = [root]
        self._fastest: list[tuple[float, str]] = []
        self._expanded: set[str] = set()
        self._by_speed = True

    def ask_measure(self, n: int) -> list[str]:
        keys: list[str] = []
        while self._measurable and len(keys) < n:
            key = self._measurable.popleft()
            if key not in self._measured:
                self._measured.add(key)
                self._waiting.discard(key)
                keys.append(key)
        return keys

    def ask_expand(self, n: int) -> list[str]:
        keys: list[str] = []
        while len(self._waiting) < RESERVE and len(keys) < n:
            key = self._next_node()
            if key is None:
                break
            if key not in self._expanded:
                self._expanded.add(key)
                self._by_speed = not self._by_speed
                keys.append(key)
        return keys

    def _next_node(self) -> str | None:
        if self._by_speed and self._fastest:
            return heapq.heappop(self._fastest)[1]
        if not self._expandable:
            return None
        index = self._random.randrange(len(self._expandable))
        last = self._expandable.pop()
        if index == len(self._expandable):
            return last
        key, self._expandable[index] = self._expandable[index], last
        return key

    def ask_replay(self, n: int) -> list[Trace]:
        return []

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                self._expanded.add(event.key)
                self._add(event.children)
            case Replayed():
                self._add(child for _, child in event.chain)
            case Measured():
                self._measured.add(event.key)
                self._waiting.discard(event.key)
                if event.speedup is None:
                    self._expanded.add(event.key)
                else:
                    heapq.heappush(self._fastest, (-event.speedup, event.key))
            case Predicted():
                pass

    def _add(self, children: Iterable[ChildInfo]) -> None:
        for child in children:
            self._measurable.append(child.key)
            self._expandable.append(child.key)
            if child.key not in self._measured:
                self._waiting.add(child.key)

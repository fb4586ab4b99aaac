"""Random search: the baseline every other strategy has to beat.

Measures random children of known nodes, and expands random known nodes, measured
or not, whenever fewer than `RESERVE` children wait.
"""

from __future__ import annotations

import random
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

RESERVE = 100


class RandomSearch:
    """`root` is the key of the unscheduled procedure."""

    def __init__(self, root: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._expandable = [root]
        self._measurable: list[str] = []
        self._waiting: set[str] = set()
        self._expanded: set[str] = set()
        self._measured: set[str] = set()

    def ask_measure(self, n: int) -> list[str]:
        keys = self._draw(self._measurable, self._measured, n)
        self._waiting.difference_update(keys)
        return keys

    def ask_expand(self, n: int) -> list[str]:
        if len(self._waiting) >= RESERVE:
            return []
        return self._draw(self._expandable, self._expanded, n)

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
            case Predicted():
                pass

    def _add(self, children: Iterable[ChildInfo]) -> None:
        for child in children:
            self._measurable.append(child.key)
            self._expandable.append(child.key)
            if child.key not in self._measured:
                self._waiting.add(child.key)

    def _draw(self, keys: list[str], done: set[str], n: int) -> list[str]:
        drawn: list[str] = []
        while keys and len(drawn) < n:
            index = self._random.randrange(len(keys))
            keys[index], keys[-1] = keys[-1], keys[index]
            key = keys.pop()
            if key not in done:
                done.add(key)
                drawn.append(key)
        return drawn

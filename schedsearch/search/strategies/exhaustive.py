"""Exhaustive search: measures every child of each node that it expands, to record spaces.

It expands one node after another, in turn the fastest one and a random one. So the recorded space
has both the good regions and the others, in which a strategy must not lose time.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Sequence

from schedsearch.search.strategies.heap import Bag, Heap
from schedsearch.search.strategies.protocol import Node

RESERVE = 30
"""The next node is expanded if fewer children wait, so that measuring need not wait."""


class Exhaustive:
    """See the module's text."""

    def begin(self, root: Node, rng: random.Random) -> None:
        self._random = rng
        self._to_measure: OrderedDict[Node, None] = OrderedDict()
        self._expandable: Bag[Node] = Bag()
        self._expandable.add(root)
        self._fastest: Heap[Node] = Heap()
        self._by_speed = True

    def measure(self) -> Node | None:
        while self._to_measure:
            node, _ = self._to_measure.popitem(last=False)
            if node.measure:
                return node
        return None

    def expand(self) -> Node | None:
        while len(self._to_measure) < RESERVE and len(self._expandable):
            by_speed = self._by_speed and len(self._fastest)
            node = self._fastest.pop() if by_speed else self._expandable.pick(self._random)
            self._expandable.discard(node)
            if node.expand:
                self._by_speed = not self._by_speed
                return node
        return None

    def found(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self._queue(node)

    def measured(self, node: Node) -> None:
        self._queue(node)

    def _queue(self, node: Node) -> None:
        if node.measure:
            self._to_measure[node] = None
        else:
            self._to_measure.pop(node, None)
        if node.expand:
            self._expandable.add(node)
            if node.value is not None:
                self._fastest.put(node, node.value)

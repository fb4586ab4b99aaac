"""Random search: the control that every other strategy has to beat.

Measures random children of known nodes, and expands random known nodes, measured
or not, whenever fewer than `RESERVE` children wait.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from schedsearch.search.strategies.heap import Bag
from schedsearch.search.strategies.protocol import Node

RESERVE = 100


class RandomSearch:
    """See the module's text."""

    def begin(self, root: Node, rng: random.Random) -> None:
        self._random = rng
        self._waiting: Bag[Node] = Bag()
        self._expandable: Bag[Node] = Bag()
        self._expandable.add(root)

    def measure(self) -> Node | None:
        while len(self._waiting):
            node = self._waiting.pop_random(self._random)
            if node.measure:
                return node
        return None

    def expand(self) -> Node | None:
        while len(self._expandable) and len(self._waiting) < RESERVE:
            node = self._expandable.pop_random(self._random)
            if not node.expanding:
                return node
        return None

    def found(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self._expandable.add(node)
            if node.measure:
                self._waiting.add(node)

    def measured(self, node: Node) -> None:
        self._waiting.discard(node)

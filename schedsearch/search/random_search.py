"""Random search: the baseline every other strategy has to beat.

Measures random children of known nodes, and expands random known nodes, measured
or not, whenever fewer than `RESERVE` children wait.
"""

from __future__ import annotations

import random

from schedsearch.core.trace import Trace
from schedsearch.search.knowledge import Knowledge, News, Node
from schedsearch.search.pool import Bag

RESERVE = 100


class RandomSearch:
    def __init__(self, known: Knowledge, rng: random.Random) -> None:
        self._random = rng
        self._waiting: Bag[Node] = Bag()
        self._expandable: Bag[Node] = Bag()
        self._expandable.add(known.root)

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

    def replay(self) -> Trace | None:
        return None

    def learn(self, news: News) -> None:
        for node in news.children:
            self._expandable.add(node)
            if node.measure:
                self._waiting.add(node)
        if news.measured is not None:
            self._waiting.discard(news.measured)

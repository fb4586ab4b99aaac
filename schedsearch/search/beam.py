"""Beam search: measure every child of the beam, keep the best `WIDTH`, repeat.

The classic of autotuners without a cost model (tinygrad's BEAM, Halide 2019).
"""

from __future__ import annotations

import random
from collections import deque

from schedsearch.core.trace import Trace
from schedsearch.search.knowledge import Knowledge, News, Node

WIDTH = 4


class Beam:
    """`width` nodes survive a level."""

    def __init__(self, known: Knowledge, rng: random.Random, width: int = WIDTH) -> None:
        self.width = width
        self._random = rng
        self._to_expand: deque[Node] = deque()
        self._to_measure: deque[Node] = deque()
        self._enter([known.root])

    def measure(self) -> Node | None:
        self._advance()
        while self._to_measure:
            node = self._to_measure.popleft()
            if node.measure:
                return node
        return None

    def expand(self) -> Node | None:
        self._advance()
        while self._to_expand:
            node = self._to_expand.popleft()
            if node.expand:
                return node
        return None

    def replay(self) -> Trace | None:
        return None

    def learn(self, news: News) -> None:
        if news.expanded is not None and news.expanded in self._unexpanded:
            self._unexpanded.remove(news.expanded)
            self._take_children(news.expanded)
        if news.measured is not None:
            self._unsettled.discard(news.measured)

    def _enter(self, beam: list[Node]) -> None:
        self._beam = beam
        self._unexpanded: set[Node] = set()
        self._unsettled: set[Node] = set()
        for node in beam:
            if node.expanded:
                self._take_children(node)
            else:
                self._unexpanded.add(node)
                self._to_expand.append(node)

    def _take_children(self, node: Node) -> None:
        children = [child for child in node.children if not child.settled]
        self._random.shuffle(children)
        self._unsettled.update(children)
        self._to_measure.extend(children)

    def _advance(self) -> None:
        """Go down as long as the level is complete: one that was resumed may be already."""
        while self._beam and not self._unexpanded and not self._unsettled:
            # Variants of one schedule would fill the beam; the next level has its own.
            good = [
                (child.value, child.key, child)
                for node in self._beam
                for child in node.children
                if child.value is not None and not child.variant
            ]
            good.sort(reverse=True)
            self._enter([child for _, _, child in good[: self.width]])

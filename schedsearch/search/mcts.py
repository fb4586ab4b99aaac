"""Monte Carlo tree search over traces.

Every question descends from the root by upper confidence bounds (UCT; Kocsis and
Szepesvari, "Bandit based Monte-Carlo planning", ECML 2006) to a node to measure or
to expand. A subtree is worth the best found in it, as in a game of one player, by
its share of the best log speed-up so far; one never looked at is worth what the
cost estimate promises. A node shows its children by and by, those of the best
estimates first (progressive widening; Chaslot et al., "Progressive strategies for
Monte-Carlo tree search", 2008). What is asked for counts as a visit at once, so
that workers side by side do not all go the same way ("virtual loss").
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from math import ceil, inf, log, sqrt

from schedsearch.core.trace import Trace
from schedsearch.search.gains import TRUST
from schedsearch.search.knowledge import Knowledge, News, Node

EXPLORATION = 0.1
WIDENING = 1.5
"""A node visited n times shows this times sqrt(n) of its children."""
SCALE = 0.2
"""Shares are of this log speed-up at least: before anything is found, noise is no guide."""


class Mcts:
    """See the module's text."""

    def __init__(self, known: Knowledge, rng: random.Random) -> None:
        self._known, self._random = known, rng
        self._visits: Counter[Node] = Counter()
        self._best: dict[Node, float] = {}
        self._ranked: dict[Node, list[Node]] = {}
        self._asked: set[Node] = set()
        # Subtrees with nothing to ask for at present.
        self._no_measure: set[Node] = set()
        self._no_expand: set[Node] = set()

    def measure(self) -> Node | None:
        node = self._select(lambda node: node.measure, self._no_measure)
        if node is not None:
            self._asked.add(node)
        return node

    def expand(self) -> Node | None:
        return self._select(Node.opens, self._no_expand)

    def replay(self) -> Trace | None:
        return None

    def learn(self, news: News) -> None:
        for node in news.children:
            assert node.parent is not None
            self._ranked.pop(node.parent, None)
            self._reopen(node)
            if node in self._best:  # told before its parent was
                self._reward(node.parent, self._best[node])
        for node in news.repredicted:
            if node.parent is not None:
                self._ranked.pop(node.parent, None)
        if news.measured is not None:
            self._learn_value(news.measured)

    def _learn_value(self, node: Node) -> None:
        if node in self._asked:
            self._asked.remove(node)
        else:
            self._visit(node)
        if node.value is not None:
            self._reward(node, node.value)
            self._reopen(node)

    def _select(self, wanted: Callable[[Node], bool], closed: set[Node]) -> Node | None:
        """Follow the highest bounds; turn back where there is nothing to ask for."""
        node = self._known.root
        while not wanted(node):
            options = self._shown(node, closed)
            if options:
                node = max(options, key=self._bound)
                continue
            closed.add(node)
            if node.parent is None:
                return None
            node = node.parent
        self._visit(node)
        return node

    def _shown(self, node: Node, closed: set[Node]) -> list[Node]:
        ranked = self._ranked.get(node)
        if ranked is None:
            ranked = self._random.sample(node.children, len(node.children))
            ranked.sort(key=lambda child: child.predicted, reverse=True)
            self._ranked[node] = ranked
        limit = ceil(WIDENING * sqrt(self._visits[node] + 1))
        shown: list[Node] = []
        for child in ranked:
            if child not in closed:
                shown.append(child)
                if len(shown) == limit:
                    break
        return shown

    def _bound(self, node: Node) -> float:
        assert node.parent is not None
        value = self._best.get(node)
        if value is None:
            value = node.parent.reached() + TRUST * node.predicted
        share = value / max(self._known.best, SCALE)
        doubt = sqrt(log(1 + self._visits[node.parent]) / (1 + self._visits[node]))
        return min(share, 1.0) + EXPLORATION * doubt

    def _visit(self, node: Node | None) -> None:
        while node is not None:
            self._visits[node] += 1
            node = node.parent

    def _reward(self, node: Node | None, value: float) -> None:
        while node is not None and self._best.get(node, -inf) < value:
            self._best[node] = value
            node = node.parent

    def _reopen(self, node: Node | None) -> None:
        while node is not None:
            self._no_measure.discard(node)
            self._no_expand.discard(node)
            node = node.parent

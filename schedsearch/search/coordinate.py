"""Coordinate descent on arguments around the incumbent.

The incumbent is the best schedule measured. Its neighbours have other arguments in
one of its rewrites, the nearest first, with the later rewrites replayed behind (hill
climbing on one parameter at a time, as autotuners of fixed templates do; Kernel
Tuner's greedy local search, van Werkhoven, FGCS 2019). A better one becomes the
incumbent at once. Its children compete with its neighbours by what the cost estimate
promises; when nothing as good is left, the next best schedule takes its place.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from schedsearch.core.trace import Trace
from schedsearch.search.arguments import behind, chain, distance, same_place
from schedsearch.search.gains import TRUST
from schedsearch.search.knowledge import Knowledge, News, Node
from schedsearch.search.pool import Pool

STEP_FEE = 0.05
"""What a neighbour counts less for each power of two that it is away."""


@dataclass(frozen=True, eq=False)
class _Move:
    """A neighbour: `start` instead of its sibling, and what came after that."""

    start: Node
    rest: list[Node]


class CoordinateDescent:
    """See the module's text."""

    def __init__(self, known: Knowledge, rng: random.Random) -> None:
        self._known, self._random = known, rng
        self._bases: Pool[Node] = Pool()  # measured schedules to move from, one day
        self._bases.put(known.root, 0.0)
        self._around: defaultdict[Node, list[list[Node]]] = defaultdict(list)
        self._to_expand: Pool[Node] = Pool()
        self._to_measure: Pool[Node] = Pool()
        self._moves: Pool[_Move] = Pool()

    def measure(self) -> Node | None:
        return self._next(self._to_measure, lambda node: node.measure)

    def expand(self) -> Node | None:
        return self._next(self._to_expand, lambda node: node.expand)

    def replay(self) -> Trace | None:
        while len(self._moves):
            move = self._moves.pop()
            prefix = self._known.trace(move.start)
            if prefix is None:
                continue
            trace = behind(prefix, move.rest)
            if self._known.claim_replay(trace):
                return trace
        return None

    def learn(self, news: News) -> None:
        for node in self._random.sample(news.children, len(news.children)):
            assert node.parent is not None
            for path in self._around.get(node.parent, ()):
                self._consider(node, path)
        if news.expanded is not None:
            self._around.pop(news.expanded, None)
        for base in (*news.children, news.measured):
            if base is not None and base.value is not None and base.promising():
                self._bases.put(base, base.value)

    def _next(self, pool: Pool[Node], wanted: Callable[[Node], bool]) -> Node | None:
        """The most promising in `pool`, once we move from all schedules better than that."""
        while len(pool) or len(self._bases):
            if len(self._bases) and (not len(pool) or self._bases.best() >= pool.best()):
                self._adopt(self._bases.pop())
            elif len(pool) and wanted(node := pool.pop()):
                return node
        return None

    def _adopt(self, base: Node) -> None:
        path = [self._known.root, *chain(base)]
        for step in path:
            if not step.expanded:
                self._around[step].append(path)
                self._to_expand.put(step, base.value or 0.0)
            for child in step.children:
                self._consider(child, path)

    def _consider(self, node: Node, path: list[Node]) -> None:
        """A child of a node on the `path` to a base."""
        assert node.parent is not None
        assert node.info is not None
        if node.measure and node not in self._to_measure:
            promised = node.parent.reached() + TRUST * node.predicted
            self._to_measure.put(node, promised)
        depth = path.index(node.parent) + 1
        own = path[depth].info if depth < len(path) else None
        if own is None or node is path[depth] or not same_place(own.rewrite, node.info.rewrite):
            return
        base, rest = path[-1], path[depth + 1 :]
        value = (base.value or 0.0) - STEP_FEE * distance(own.rewrite, node.info.rewrite)
        if rest:
            self._moves.put(_Move(node, rest), value)
        elif node.measure:
            self._to_measure.put(node, value)

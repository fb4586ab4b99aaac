"""Evolutionary search over traces.

The population are the best schedules measured. A parent is the best of a few drawn
at random (tournament selection; Goldberg and Deb 1991). Its offspring: a child in
the tree, other arguments in one rewrite, one rewrite left out, or its first part
followed by the last part of another trace. A step that is illegal there is fitted
(`adapt.py`); what cannot be costs no measurement. Ansor (Zheng et al., OSDI 2020) and
MetaSchedule (Shao et al., NeurIPS 2022) evolve tensor programs so, over sketches or
sampling decisions.
"""

from __future__ import annotations

import random
from bisect import insort

from schedsearch.core.trace import Trace
from schedsearch.search.arguments import alternatives, behind, chain
from schedsearch.search.knowledge import Knowledge, News, Node
from schedsearch.search.pool import Bag

POPULATION = 32
TOURNAMENT = 8
ATTEMPTS = 4
"""Operators tried for one answer."""


class Evolution:
    """See the module's text."""

    def __init__(self, known: Knowledge, rng: random.Random) -> None:
        self._known, self._random = known, rng
        self._population: list[tuple[float, str, Node]] = [(0.0, known.root.key, known.root)]
        self._waiting: Bag[Node] = Bag()
        self._expandable: Bag[Node] = Bag()
        self._expandable.add(known.root)

    def measure(self) -> Node | None:
        for _ in range(ATTEMPTS):
            children = [child for child in self._parent().children if child.measure]
            if children:
                drawn = self._random.choices(children, k=TOURNAMENT)
                return max(drawn, key=lambda child: child.predicted)
        while len(self._waiting):
            node = self._waiting.pop_random(self._random)
            if node.measure:
                return node
        return None

    def expand(self) -> Node | None:
        """The best of a few nodes that are not expanded yet."""
        while len(self._expandable):
            drawn = [self._expandable.pick(self._random) for _ in range(TOURNAMENT)]
            node = max(drawn, key=Node.reached)
            self._expandable.discard(node)
            if node.expand:
                return node
        return None

    def replay(self) -> Trace | None:
        for _ in range(ATTEMPTS):
            trace = self._random.choice([self._mutate, self._drop, self._cross])()
            if trace is not None and self._known.claim_replay(trace):
                return trace
        return None

    def learn(self, news: News) -> None:
        for node in (*news.children, news.measured):
            if node is not None:
                self._take_in(node)

    def _take_in(self, node: Node) -> None:
        if node.measure:
            self._waiting.add(node)
        else:
            self._waiting.discard(node)
        if node.value is not None:
            if node.opens():
                self._expandable.add(node)
            insort(self._population, (node.value, node.key, node))
            del self._population[:-POPULATION]

    def _parent(self) -> Node:
        """The winner of a tournament; the population is sorted, the best last."""
        size = len(self._population)
        return self._population[max(self._random.choices(range(size), k=TOURNAMENT))][2]

    # -- operators: each gives a trace, or None if it does not apply -------------------

    def _mutate(self) -> Trace | None:
        path = chain(self._parent())
        if not path:
            return None
        place = self._random.randrange(len(path))
        choices = alternatives(path[place])
        prefix = self._known.trace(self._random.choice(choices)) if choices else None
        return behind(prefix, path[place + 1 :]) if prefix is not None else None

    def _drop(self) -> Trace | None:
        path = chain(self._parent())
        if not path:
            return None
        place = self._random.randrange(len(path))
        del path[place]
        return behind(Trace(), path)

    def _cross(self) -> Trace | None:
        first, second = chain(self._parent()), chain(self._parent())
        if not first or not second:
            return None
        head = first[: self._random.randint(1, len(first))]
        return behind(Trace(), head + second[self._random.randrange(len(second)) :])

"""Strategies against recorded spaces: the driver in miniature, answering from the record.

Time is simulated: one slot measures and one worker expands, at once, and each job takes
the seconds that were recorded. So how many expansions there are per measurement is as
in the run that was recorded, whatever machine simulates. A trial is a candidate that
takes the measuring slot: what does not compile, and what has the machine code of an
earlier trial, costs none, as in a run.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.spaces.space import Space
from schedsearch.search.strategies.frontier import Frontier
from schedsearch.search.strategies.protocol import Node, Strategy


@dataclass(frozen=True)
class Simulation:
    """`best_so_far[n]` is the highest speed-up after trial `n`, at least the root's 1.0, and
    `seconds[n]` the simulated time then."""

    best_so_far: tuple[float, ...]
    seconds: tuple[float, ...]
    expanded: int


def simulate(space: Space, strategy: Strategy, trials: int, seed: int = 0) -> Simulation:
    """Run `strategy` until `trials` are used up, the best of the space is found, nothing is
    left, or as much time has passed as recording took.

    Nodes that were not expanded in the record have no children.
    """
    return _Run(space, strategy, seed).run(trials)


class _Run:
    def __init__(self, space: Space, strategy: Strategy, seed: int) -> None:
        self.space = space
        self.frontier = Frontier(strategy, Node(space.root), seed)
        self.now = 0.0
        self.best_so_far: list[float] = []
        self.seconds: list[float] = []
        self.expanded = 0
        self._measuring = self._expanding = False
        self._jobs: list[tuple[float, int, Callable[[], None]]] = []
        self._submitted = 0
        self._measured: set[str] = set()
        total_s = sum(space.expand_s.values())
        self._expand_s = total_s / len(space.moves)
        self._end_s = total_s + sum(point.measure_s for point in space.points.values())

    def run(self, trials: int) -> Simulation:
        while self._best < self.space.best and len(self.best_so_far) < trials:
            self._ask()
            if not self._jobs or self._jobs[0][0] > self._end_s:
                break
            self.now, _, finish = heapq.heappop(self._jobs)
            finish()
        return Simulation(tuple(self.best_so_far), tuple(self.seconds), self.expanded)

    @property
    def _best(self) -> float:
        return self.best_so_far[-1] if self.best_so_far else 1.0

    def _ask(self) -> None:
        while not self._measuring and (nodes := self.frontier.to_measure(1)):
            self._measure(nodes[0])
        if not self._expanding and (nodes := self.frontier.to_expand(1)):
            self._expand(nodes[0])

    def _after(self, seconds: float, finish: Callable[[], None]) -> None:
        self._submitted += 1
        heapq.heappush(self._jobs, (self.now + seconds, self._submitted, finish))

    def _measure(self, node: Node) -> None:
        point = self.space.points[node.key]
        if not point.timed or point.same in self._measured:
            self.frontier.measured(node, point.speedup)
            return
        self._measuring = True

        def finish() -> None:
            self._measuring = False
            self._measured.add(point.same)
            self.best_so_far.append(max(self._best, point.speedup or 0.0))
            self.seconds.append(self.now)
            self.frontier.measured(node, point.speedup)

        self._after(point.measure_s, finish)

    def _expand(self, node: Node) -> None:
        self._expanding = True
        self.expanded += 1

        def finish() -> None:
            self._expanding = False
            self.frontier.found([self._child(node, key) for key in self.space.children(node.key)])

        self._after(self.space.expand_s.get(node.key, self._expand_s), finish)

    def _child(self, parent: Node, key: str) -> Node:
        point = self.space.points[key]
        assert point.rewrite is not None, "the root is nobody's child"
        return Node(key, (*parent.steps, point.rewrite), parent, point.predicted)

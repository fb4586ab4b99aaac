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
from schedsearch.core.build import COMPILE_WITH
from schedsearch.search.strategies.protocol import (
    ChildInfo,
    Event,
    Expanded,
    Measured,
    Strategy,
)


@dataclass(frozen=True)
class Simulation:
    """`best_so_far[n]` is the highest speed-up after trial `n`, at least the root's 1.0, and
    `seconds[n]` the simulated time then."""

    best_so_far: tuple[float, ...]
    seconds: tuple[float, ...]
    expanded: int


def simulate(space: Space, strategy: Strategy, trials: int) -> Simulation:
    """Run `strategy` until `trials` are used up, the best of the space is found, nothing is
    left, or as much time has passed as recording took.

    Nodes that were not expanded in the record have no children.
    """
    return _Run(space, strategy).run(trials)


class _Run:
    def __init__(self, space: Space, strategy: Strategy) -> None:
        self.space, self.strategy = space, strategy
        self.now = 0.0
        self.best_so_far: list[float] = []
        self.seconds: list[float] = []
        self.expanded = 0
        self._measuring = self._expanding = False
        self._jobs: list[tuple[float, int, Callable[[], Event]]] = []
        self._submitted = 0
        self._measured: set[str] = set()
        total_s = sum(space.expand_s.values())
        self._expand_s = total_s / len(space.moves)
        self._end_s = total_s + sum(point.measure_s for point in space.points.values())

    def run(self, trials: int) -> Simulation:
        self.strategy.tell(Measured(self.space.root, 1.0))
        while self._best < self.space.best and len(self.best_so_far) < trials:
            self._ask()
            if not self._jobs or self._jobs[0][0] > self._end_s:
                break
            self.now, _, finish = heapq.heappop(self._jobs)
            self.strategy.tell(finish())
        return Simulation(tuple(self.best_so_far), tuple(self.seconds), self.expanded)

    @property
    def _best(self) -> float:
        return self.best_so_far[-1] if self.best_so_far else 1.0

    def _ask(self) -> None:
        while not self._measuring and (keys := self.strategy.ask_measure(1)):
            self._measure(keys[0])
        if not self._expanding and (keys := self.strategy.ask_expand(1)):
            self._expand(keys[0])

    def _after(self, seconds: float, finish: Callable[[], Event]) -> None:
        self._submitted += 1
        heapq.heappush(self._jobs, (self.now + seconds, self._submitted, finish))

    def _measure(self, key: str) -> None:
        point = self.space.points[key]
        event = Measured(key, point.speedup)
        if not point.timed or point.same in self._measured:
            self.strategy.tell(event)
            return
        self._measuring = True

        def finish() -> Event:
            self._measuring = False
            self._measured.add(point.same)
            self.best_so_far.append(max(self._best, point.speedup or 0.0))
            self.seconds.append(self.now)
            return event

        self._after(point.measure_s, finish)

    def _expand(self, key: str) -> None:
        self._expanding = True
        self.expanded += 1

        def finish() -> Event:
            self._expanding = False
            return Expanded(key, tuple(map(self._child, self.space.children(key))))

        self._after(self.space.expand_s.get(key, self._expand_s), finish)

    def _child(self, key: str) -> ChildInfo:
        point = self.space.points[key]
        assert point.rewrite is not None, "the root is nobody's child"
        variant = point.rewrite.transform == COMPILE_WITH
        return ChildInfo(key, point.rewrite, point.predicted, variant)

"""Several planners as one strategy.

A *planner* is one way to search. Planners share what is known of the tree; every
question of the driver goes to the planner whose answers earned most.

Measurements are given out by the multi-armed bandit of OpenTuner ("AUC credit";
Ansel et al., "OpenTuner: an extensible framework for program autotuning", PACT
2014; Fialho et al., "Analyzing bandit-based adaptive operator selection
mechanisms", 2010): a planner's credit is the area under the curve of its hits, a
hit being a new best, within a window; later ones count more. What was tried little
gets a bonus. Expansions and replays serve measurements to come, and go round. What a
replay ended in is measured before anything else, whoever wanted it replayed.

A portfolio of one planner is that planner alone.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from math import inf, log, sqrt
from typing import Protocol, TypeVar

from schedsearch.core.trace import Trace
from schedsearch.search.knowledge import Knowledge, News, Node
from schedsearch.search.strategy import Event, Measured, Replayed

WINDOW = 100
"""Measurements the bandit remembers."""
CURIOSITY = 0.05
"""Weight of the bonus for planners seldom asked; OpenTuner's."""
HIT = 0.01
"""Log gain over the best that counts as a hit: less is noise."""

Answer = TypeVar("Answer", Node, Trace)
REPLAYS = 4
"""Replays under way, at most."""
REPLAY_RATE = 0.5
"""Replays for every schedule measured, at most: the workers are for expansions too."""


class Planner(Protocol):
    """One way to search. It answers with nodes whose `measure` or `expand` still holds
    (the portfolio claims them), or None if it wants nothing now."""

    def measure(self) -> Node | None: ...

    def expand(self) -> Node | None: ...

    def replay(self) -> Trace | None:
        """A trace that `Knowledge.claim_replay` has just granted."""

    def learn(self, news: News) -> None: ...


MakePlanner = Callable[[Knowledge, random.Random], Planner]


class Portfolio:
    """`root` is the key of the unscheduled procedure."""

    def __init__(self, root: str, seed: int, planners: Sequence[MakePlanner]) -> None:
        self.known = Knowledge(root)
        rng = random.Random(seed)
        self._planners = [make(self.known, random.Random(rng.random())) for make in planners]
        self._bandit = Bandit(len(planners))
        self._asked_by: dict[str, int] = {}  # what is being measured or replayed
        self._replayed: deque[tuple[Node, int | None]] = deque()
        self._turn = 0
        self._measured = self._replays = self._under_way = 0

    def ask_measure(self, n: int) -> list[str]:
        keys: list[str] = []
        while len(keys) < n and (found := self._next_measurement()) is not None:
            node, number = found
            node.measure = False
            if number is not None:
                self._bandit.used(number)
                self._asked_by[node.key] = number
            keys.append(node.key)
        return keys

    def ask_expand(self, n: int) -> list[str]:
        keys: list[str] = []
        while len(keys) < n and (found := self._in_turn(lambda planner: planner.expand())):
            node, _ = found
            node.expanding = True
            keys.append(node.key)
        return keys

    def ask_replay(self, n: int) -> list[Trace]:
        traces: list[Trace] = []
        while len(traces) < n and self._under_way < REPLAYS:
            if self._replays >= REPLAY_RATE * self._measured:
                break
            found = self._in_turn(lambda planner: planner.replay())
            if found is None:
                break
            trace, number = found
            self._replays += 1
            self._under_way += 1
            self._asked_by[trace.key] = number
            traces.append(trace)
        return traces

    def tell(self, event: Event) -> None:
        before = self.known.best
        news = self.known.enter(event)
        match event:
            case Measured():
                self._measured += 1
                if (number := self._asked_by.pop(event.key, None)) is not None:
                    self._bandit.earned(number, hit=self.known.best > before + HIT)
            case Replayed():
                number = self._asked_by.pop(event.trace_key, None)
                self._under_way -= number is not None
                if news.ended is not None:
                    self._replayed.append((news.ended, number))
        for planner in self._planners:
            planner.learn(news)

    def _next_measurement(self) -> tuple[Node, int | None] | None:
        """A node, and the planner to credit."""
        while self._replayed:
            node, asked_by = self._replayed.popleft()
            if node.measure:
                return node, asked_by
        for number in self._bandit.ranking():
            found = self._planners[number].measure()
            if found is not None:
                return found, number
        return None

    def _in_turn(self, ask: Callable[[Planner], Answer | None]) -> tuple[Answer, int] | None:
        for _ in self._planners:
            number = self._turn
            self._turn = (self._turn + 1) % len(self._planners)
            if (answer := ask(self._planners[number])) is not None:
                return answer, number
        return None


class Bandit:
    """Which is asked first."""

    def __init__(self, arms: int) -> None:
        self._history: deque[tuple[int, bool]] = deque(maxlen=WINDOW)
        self._outstanding = [0] * arms

    def used(self, arm: int) -> None:
        self._outstanding[arm] += 1

    def earned(self, arm: int, hit: bool) -> None:
        self._outstanding[arm] -= 1
        self._history.append((arm, hit))

    def ranking(self) -> list[int]:
        """Arms, the most promising first."""
        uses = [0] * len(self._outstanding)
        area = [0] * len(self._outstanding)
        for arm, hit in self._history:
            uses[arm] += 1
            area[arm] += uses[arm] * hit
        total = len(self._history) + sum(self._outstanding)

        def promise(arm: int) -> float:
            tried = uses[arm] + self._outstanding[arm]
            if tried == 0:
                return inf
            credit = 2 * area[arm] / (uses[arm] * (uses[arm] + 1)) if uses[arm] else 0.0
            return credit + CURIOSITY * sqrt(2 * log(total) / tried)

        return sorted(range(len(uses)), key=promise, reverse=True)

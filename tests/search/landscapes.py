"""Synthetic search spaces: trees of keys with known speed-ups, and a driver in miniature."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product

from hypothesis import strategies as st

from schedsearch.core.trace import Rewrite
from schedsearch.search.strategies.frontier import Frontier
from schedsearch.search.strategies.make import AnyStrategy, make_strategy
from schedsearch.search.strategies.protocol import Node

ROOT = "root"
TRANSFORMS = ("reorder", "split", "unroll")


@dataclass(frozen=True)
class Child:
    key: str
    rewrite: Rewrite
    predicted: float = 0.0


@dataclass(frozen=True)
class Expanded:
    key: str
    children: tuple[Child, ...]


@dataclass(frozen=True)
class Replayed:
    """New nodes on the way of a trace, each after the key of its parent, and where it ended."""

    chain: tuple[tuple[str, Child], ...]
    key: str


@dataclass(frozen=True)
class Measured:
    key: str
    speedup: float | None


Event = Expanded | Replayed | Measured


class Told:
    """A strategy in a search: nodes by their keys."""

    def __init__(self, strategy: AnyStrategy, seed: int = 0) -> None:
        self.nodes = {ROOT: Node(ROOT)}
        self.frontier = Frontier(make_strategy(strategy), self.nodes[ROOT], seed)

    def ask_measure(self, n: int) -> list[str]:
        return [node.key for node in self.frontier.to_measure(n)]

    def ask_expand(self, n: int) -> list[str]:
        return [node.key for node in self.frontier.to_expand(n)]

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                self.nodes[event.key].expanding = True
                self._found((event.key, child) for child in event.children)
            case Replayed():
                self._found(event.chain)
                self.frontier.replayed(self.nodes[event.key])
            case Measured():
                self.frontier.measured(self.nodes[event.key], event.speedup)

    def _found(self, links: Iterable[tuple[str, Child]]) -> None:
        new = []
        for parent, child in links:
            above = self.nodes[parent]
            steps = (*above.steps, child.rewrite)
            self.nodes[child.key] = Node(child.key, steps, above, child.predicted)
            new.append(self.nodes[child.key])
        self.frontier.found(new)


def child(
    key: str, transform: str, predicted: float = 0.0, args: Mapping[str, str] | None = None
) -> Child:
    """Made by some rewrite of a transform."""
    given = tuple(sorted((args or {"to": key}).items()))
    return Child(key, Rewrite(transform, 1, (), "procedure", given), predicted)


@dataclass(frozen=True)
class Landscape:
    """A finite tree: children and speed-up (None: cannot be measured) of every node."""

    children: dict[str, tuple[Child, ...]]
    speedup: dict[str, float | None]

    def expanded(self, key: str) -> Expanded:
        return Expanded(key, self.children[key])

    def measured(self, key: str) -> Measured:
        return Measured(key, self.speedup[key])

    def chain(self, key: str) -> list[tuple[str, Child]]:
        """The way from the root to a node."""
        origin = {c.key: (parent, c) for parent, infos in self.children.items() for c in infos}
        way: list[tuple[str, Child]] = []
        while key in origin:
            way.append(origin[key])
            key = origin[key][0]
        return way[::-1]

    def nodes(self) -> Iterator[str]:
        yield from self.children


@st.composite
def landscapes(draw: st.DrawFn, max_nodes: int = 40) -> Landscape:
    """Random trees; an integer speed-up makes ties likely."""
    count = draw(st.integers(1, max_nodes))
    children: dict[str, list[Child]] = {ROOT: []}
    speedup: dict[str, float | None] = {ROOT: 1.0}
    for number in range(1, count):
        key = f"n{number}"
        parent = draw(st.sampled_from(sorted(children)))
        children[parent].append(child(key, draw(st.sampled_from(TRANSFORMS))))
        children[key] = []
        speedup[key] = draw(st.one_of(st.none(), st.integers(1, 8).map(float)))
    return Landscape({key: tuple(infos) for key, infos in children.items()}, speedup)


def staircase(choices: int, depth: int) -> Landscape:
    """`depth` decisions of `choices` options each; the right option doubles the speed, any
    other costs a tenth: the optimum is one path, and every right step shows."""
    children: dict[str, tuple[Child, ...]] = {}
    speedup: dict[str, float | None] = {}
    for length in range(depth + 1):
        for path in product(range(choices), repeat=length):
            key = name(path)
            right = sum(option == level % choices for level, option in enumerate(path))
            speedup[key] = 2.0**right * 0.9 ** (length - right)
            options = range(choices) if length < depth else ()
            children[key] = tuple(child(name((*path, o)), f"option{o}") for o in options)
    return Landscape(children, speedup)


def name(path: tuple[int, ...]) -> str:
    return "/".join([ROOT, *map(str, path)])


@dataclass
class Walk:
    """What a strategy asked for, and what it was told, in order."""

    to_expand: list[str] = field(default_factory=list)
    to_measure: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def walk(
    strategy: Told,
    landscape: Landscape,
    rng: random.Random,
    max_events: int | None = None,
    replays: Sequence[str] = (),
) -> Walk:
    """Drive `strategy` until its space is exhausted or `max_events` were told.

    What is asked for, how much at once, and in which order results arrive is random.
    The ways to the nodes `replays` are replayed meanwhile.
    """
    log = Walk()
    known: set[str] = set()
    outstanding: list[Callable[[], Event]] = [
        partial(replayed, landscape, key, known) for key in replays
    ]
    while max_events is None or len(log.events) < max_events:
        asked = 0
        for what in rng.sample(("expand", "measure"), 2):
            n = rng.randint(1, 4)
            if what == "expand":
                keys = strategy.ask_expand(n)
                log.to_expand += keys
                outstanding += [partial(expanded, landscape, key, known) for key in keys]
            else:
                keys = strategy.ask_measure(n)
                log.to_measure += keys
                outstanding += [partial(landscape.measured, key) for key in keys]
            assert len(keys) <= n
            asked += len(keys)
        if not outstanding:
            return log
        for _ in range(rng.randint(0 if asked else 1, len(outstanding))):
            event = outstanding.pop(rng.randrange(len(outstanding)))()
            strategy.tell(event)
            log.events.append(event)
    return log


def expanded(landscape: Landscape, key: str, known: set[str]) -> Expanded:
    """Without the children that a replay found."""
    new = tuple(info for info in landscape.children[key] if info.key not in known)
    known.update(info.key for info in new)
    return Expanded(key, new)


def replayed(landscape: Landscape, key: str, known: set[str]) -> Replayed:
    """The nodes on the way to `key` that nobody found before."""
    new = tuple(step for step in landscape.chain(key) if step[1].key not in known)
    known.update(info.key for _, info in new)
    return Replayed(new, key)

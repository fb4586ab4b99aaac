"""Synthetic search spaces: trees of keys with known speed-ups, and a driver in miniature."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import log2, prod

from hypothesis import strategies as st

from schedsearch.core.trace import Rewrite, Trace
from schedsearch.search.strategy import (
    ChildInfo,
    Event,
    Expanded,
    Measured,
    Replayed,
    Strategy,
)

ROOT = "root"
TRANSFORMS = ("reorder", "split", "unroll")


def child(key: str, transform: str, predicted: float = 0.0, variant: bool = False) -> ChildInfo:
    """Made by some rewrite of a transform."""
    rewrite = Rewrite(transform, 1, (), "procedure", (("to", key),))
    return ChildInfo(key, rewrite, predicted, variant)


@dataclass(frozen=True)
class Landscape:
    """A finite tree: children and speed-up (None: cannot be measured) of every node."""

    children: dict[str, tuple[ChildInfo, ...]]
    speedup: dict[str, float | None]
    root: str = ROOT

    def expanded(self, key: str) -> Expanded:
        return Expanded(key, self.children[key])

    def measured(self, key: str) -> Measured:
        return Measured(key, self.speedup[key])

    def chain(self, key: str) -> list[tuple[str, ChildInfo]]:
        """The way from the root to a node."""
        origin = {c.key: (parent, c) for parent, infos in self.children.items() for c in infos}
        way: list[tuple[str, ChildInfo]] = []
        while key in origin:
            way.append(origin[key])
            key = origin[key][0]
        return way[::-1]

    def follow(self, trace: Trace) -> str | None:
        """Where a trace ends; None if a step is illegal."""
        key = self.root
        for step in trace.steps:
            legal = {info.rewrite: info.key for info in self.children[key]}
            if step not in legal:
                return None
            key = legal[step]
        return key

    def nodes(self) -> Iterator[str]:
        yield from self.children


@st.composite
def landscapes(draw: st.DrawFn, max_nodes: int = 40) -> Landscape:
    """Random trees; an integer speed-up makes ties likely."""
    count = draw(st.integers(1, max_nodes))
    children: dict[str, list[ChildInfo]] = {ROOT: []}
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
    children: dict[str, tuple[ChildInfo, ...]] = {}
    speedup: dict[str, float | None] = {}
    for length in range(depth + 1):
        for path in product(range(choices), repeat=length):
            key = name(path)
            right = sum(option == level % choices for level, option in enumerate(path))
            speedup[key] = 2.0**right * 0.9 ** (length - right)
            options = range(choices) if length < depth else ()
            children[key] = tuple(child(name((*path, o)), f"option{o}") for o in options)
    return Landscape(children, speedup)


def grid(factors: Sequence[int], depth: int) -> Landscape:
    """`depth` steps, each with one of `factors`; the middle one is best, and factors that
    are near are about as good. Keys are trace keys, as in a run."""
    best = factors[len(factors) // 2]
    children: dict[str, tuple[ChildInfo, ...]] = {}
    speedup: dict[str, float | None] = {}
    for length in range(depth + 1):
        for chosen in product(factors, repeat=length):
            trace = Trace(tuple(split(level, factor) for level, factor in enumerate(chosen)))
            speedup[trace.key] = prod(2.0 - abs(log2(factor / best)) / 4 for factor in chosen)
            steps = [split(length, factor) for factor in factors] if length < depth else []
            children[trace.key] = tuple(ChildInfo(trace.then(s).key, s) for s in steps)
    return Landscape(children, speedup, Trace().key)


def split(level: int, factor: int) -> Rewrite:
    return Rewrite("split", 1, (level,), f"for i{level} in seq(0, 64)", (("factor", factor),))


def name(path: tuple[int, ...]) -> str:
    return "/".join([ROOT, *map(str, path)])


@dataclass
class Walk:
    """What a strategy asked for, and what it was told, in order."""

    to_expand: list[str] = field(default_factory=list)
    to_measure: list[str] = field(default_factory=list)
    to_replay: list[Trace] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def walk(
    strategy: Strategy,
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
        for what in rng.sample(("expand", "measure", "replay"), 3):
            n = rng.randint(1, 4)
            answers: Sequence[str | Trace]
            if what == "expand":
                answers = keys = strategy.ask_expand(n)
                log.to_expand += keys
                outstanding += [partial(expanded, landscape, key, known) for key in keys]
            elif what == "measure":
                answers = keys = strategy.ask_measure(n)
                log.to_measure += keys
                outstanding += [partial(landscape.measured, key) for key in keys]
            else:
                answers = traces = strategy.ask_replay(n)
                assert known.isdisjoint(trace.key for trace in traces)
                log.to_replay += traces
                outstanding += [partial(tried, landscape, trace, known) for trace in traces]
            assert len(answers) <= n
            asked += len(answers)
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


def tried(landscape: Landscape, trace: Trace, known: set[str]) -> Replayed:
    """What came of a trace that a strategy asked for."""
    key = landscape.follow(trace)
    if key is None:
        return Replayed(trace.key, (), None)
    return replace(replayed(landscape, key, known), trace_key=trace.key)


def replayed(landscape: Landscape, key: str, known: set[str]) -> Replayed:
    """The nodes on the way to `key` that nobody found before."""
    new = tuple(step for step in landscape.chain(key) if step[1].key not in known)
    known.update(info.key for _, info in new)
    return Replayed(f"trace to {key}", new, key)

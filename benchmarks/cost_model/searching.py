"""Searches of recorded spaces with and without the learned ranker, as the driver uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from benchmarks.cost_model.records import SPACES
from benchmarks.spaces.record import KERNELS
from schedsearch.core.errors import ReplayError
from schedsearch.core.trace import Trace
from schedsearch.search.comparison import Reached, padded, reached, score
from schedsearch.search.ranker import Ranker
from schedsearch.search.simulate import simulate
from schedsearch.search.space import Space
from schedsearch.search.strategies import make_strategy
from schedsearch.search.strategy import (
    ChildInfo,
    Event,
    Expanded,
    Measured,
    Predicted,
    Replayed,
    Strategy,
)
from schedsearch.store.views import Sample
from schedsearch.transforms.features import features
from schedsearch.transforms.loader import load_source
from schedsearch.transforms.replay import Replayer
from schedsearch.transforms.vector.instruction_sets import load_sets


class Arm(StrEnum):
    """What a search has besides the static estimate."""

    ESTIMATE = "estimate alone"
    OWN = "learns as it goes"
    OTHERS = "knows the other kernels"


@dataclass(frozen=True)
class Known:
    """A space and the features of its schedules, by key; those that no longer replay have
    none."""

    space: Space
    vectors: Mapping[str, bytes]

    @property
    def proc(self) -> str:
        return KERNELS[self.space.name][0]

    def samples(self, number: int) -> Iterator[Sample]:
        """What a store would have of it, as workload `number`."""
        for key, point in self.space.points.items():
            if point.speedup and point.same == key and key in self.vectors:
                yield Sample(number, key, self.vectors[key], point.speedup, point.parent)


def with_features(space: Space) -> Known:
    """Replays the whole space: some ten milliseconds a schedule."""
    load_sets(space.target.instructions)
    procedure = load_source(SPACES / "kernels.py").procs[KERNELS[space.name][0]]
    replayer = Replayer(procedure)
    traces: dict[str, Trace] = {}
    vectors: dict[str, bytes] = {}
    for key, point in space.points.items():
        above = Trace() if point.parent is None else traces[point.parent]
        traces[key] = above if point.rewrite is None else above.then(point.rewrite)
        try:
            state = replayer.state(traces[key])
        except ReplayError:
            continue
        vectors[key] = features(state.ast, replace(space.target, build=state.build), {})[1]
    return Known(space, vectors)


class Ranked:
    """`strategy`, told what the ranker promises instead of what the record says."""

    def __init__(self, strategy: Strategy, ranker: Ranker, known: Known) -> None:
        self.strategy, self.ranker, self.known = strategy, ranker, known
        self.used_from: int | None = None
        self._trials: set[str] = set()  # machine code measured so far

    def ask_measure(self, n: int) -> list[str]:
        return self.strategy.ask_measure(n)

    def ask_expand(self, n: int) -> list[str]:
        return self.strategy.ask_expand(n)

    def ask_replay(self, n: int) -> list[Trace]:
        return self.strategy.ask_replay(n)

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                self._add((event.key, info) for info in event.children)
                event = replace(event, children=self._ranked(event.children))
            case Replayed():
                self._add(event.chain)
                infos = self._ranked([info for _, info in event.chain])
                parents = [parent for parent, _ in event.chain]
                event = replace(event, chain=tuple(zip(parents, infos, strict=True)))
            case Measured():
                same = self.known.space.points[event.key].same
                own = same not in self._trials
                self._trials.add(same)
                self.ranker.measured(event.key, event.speedup, sample=own)
        self.strategy.tell(event)
        if values := self.ranker.refresh():
            self.strategy.tell(Predicted(values))
        standing = self.ranker.standing()
        if self.used_from is None and standing is not None and standing.used:
            self.used_from = len(self._trials)

    def _add(self, links: Iterable[tuple[str, ChildInfo]]) -> None:
        for parent, info in links:
            if info.key in self.known.vectors:
                self.ranker.add(parent, info.key, self.known.vectors[info.key])

    def _ranked(self, infos: Sequence[ChildInfo]) -> tuple[ChildInfo, ...]:
        promises = self.ranker.promises(info.key for info in infos)
        return tuple(replace(i, predicted=promises.get(i.key, i.predicted)) for i in infos)


@dataclass(frozen=True)
class Searched:
    """One space, strategy and arm over all seeds. `gain`: as a strategy's score over random
    search, but over the estimate alone. `used`: share of searches in which the ranker was,
    `used_from`: from which trial on, their median."""

    space: str
    strategy: str
    arm: Arm
    reached: tuple[Reached, ...]
    gain: float
    used: float
    used_from: float | None


def searches(
    known: Known,
    rest: Sequence[Known],
    strategy: str,
    seeds: int,
    trials: int,
    done: Callable[[], None] = lambda: None,
) -> list[Searched]:
    """All arms on one space. `rest` are the others; what was measured of the same procedure
    does not count as another kernel."""
    space = known.space
    others = [
        sample
        for number, other in enumerate(rest)
        if other.proc != known.proc
        for sample in other.samples(number)
    ]
    results: list[Searched] = []
    base = None
    for arm in Arm:
        rows, used_from = [], []
        for seed in range(seeds):
            plain = make_strategy(strategy, space.root, seed)
            if arm is Arm.ESTIMATE:
                run = simulate(space, plain, trials)
            else:
                ranker = Ranker(
                    seed, known.vectors[space.root], others if arm is Arm.OTHERS else ()
                )
                ranked = Ranked(plain, ranker, known)
                run = simulate(space, ranked, trials)
                if ranked.used_from is not None:
                    used_from.append(ranked.used_from)
            rows.append(padded(run.best_so_far, trials) / space.best)
            done()
        curves = np.array(rows)
        base = curves if base is None else base
        middle = float(np.median(used_from)) if used_from else None
        results.append(
            Searched(
                space.name,
                strategy,
                arm,
                reached(curves),
                score(curves, base),
                len(used_from) / seeds,
                middle,
            )
        )
    return results

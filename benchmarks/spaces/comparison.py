"""How soon strategies find what a recorded space has, compared with random search.

Two figures per strategy, over seeds:

- *trials to 90 % and 95 %* of the best known speed-up: median with its bootstrap
  interval, and the share of seeds that got there within the trials allowed. The others
  count as having needed them all, which makes a median a lower bound.
- a *score* in the manner of Willemsen et al., "A methodology for comparing optimization
  algorithms for auto-tuning" (Future Generation Computer Systems 159, 2024): at each
  number of trials (strategy - random) / (optimum - random), the mean over seeds of the
  best speed-up so far taken for each, averaged up to the trial at which random search is
  at 95 % of the optimum. 0 is as good as random, 1 finds the optimum at once. They
  calculate their random baseline from all of a space's values; ours is the random
  strategy itself, because here a candidate is reached only through its parents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.spaces.simulate import simulate
from benchmarks.spaces.space import Space
from schedsearch.core.stats import Estimate, median_with_interval
from schedsearch.search.strategies.make import AnyStrategy, make_strategy, strategy_name

LEVELS = (0.90, 0.95)
BASELINE = "random"
_HORIZON = 0.95

Curves = NDArray[np.float64]


@dataclass(frozen=True)
class Reached:
    """Trials until `level` times the best known was reached; `share` of seeds did."""

    level: float
    trials: Estimate
    share: float


@dataclass(frozen=True)
class Standing:
    """How one strategy does on one space. `ratios` are random's median trials over this
    strategy's, by level."""

    space: str
    strategy: str
    reached: tuple[Reached, ...]
    ratios: tuple[float, ...]
    score: float
    expansions: float


def compare(
    space: Space,
    strategies: Sequence[AnyStrategy],
    seeds: int,
    trials: int,
    done: Callable[[], None] = lambda: None,
) -> list[Standing]:
    """Standings of `strategies`, random search always among them. `done` is called after
    every simulated run.

    Raises UserError for a strategy that is not known.
    """
    choices = {strategy_name(choice): choice for choice in (BASELINE, *strategies)}
    curves: dict[str, Curves] = {}
    expansions: dict[str, float] = {}
    for name, choice in choices.items():
        rows, expanded = [], []
        for seed in range(seeds):
            run = simulate(space, make_strategy(choice), trials, seed)
            rows.append(padded(run.best_so_far, trials) / space.best)
            expanded.append(run.expanded)
            done()
        curves[name] = np.array(rows)
        expansions[name] = float(np.mean(expanded))
    base = reached(curves[BASELINE])
    standings = []
    for name in choices:
        own = reached(curves[name])
        ratios = tuple(b.trials.value / o.trials.value for b, o in zip(base, own, strict=True))
        gain = score(curves[name], curves[BASELINE])
        standings.append(Standing(space.name, name, own, ratios, gain, expansions[name]))
    return standings


def padded(best_so_far: Sequence[float], trials: int) -> Curves:
    """What ended early stays where it was."""
    last = best_so_far[-1] if best_so_far else 1.0
    return np.array([*best_so_far, *[last] * (trials - len(best_so_far))])


def reached(curves: Curves) -> tuple[Reached, ...]:
    """`curves[seed, n]` is the best so far after trial `n`, as a fraction of the best known."""
    results = []
    for level in LEVELS:
        hit = curves >= level
        there = hit.any(axis=1)
        needed = np.where(there, hit.argmax(axis=1) + 1, curves.shape[1])
        results.append(Reached(level, median_with_interval(needed), float(there.mean())))
    return tuple(results)


def score(curves: Curves, baseline: Curves) -> float:
    """See the module's text; both are `[seed, n]` as in `reached`."""
    own, base = curves.mean(axis=0), baseline.mean(axis=0)
    near = base >= _HORIZON
    horizon = int(near.argmax()) if near.any() else base.size
    if horizon == 0:
        return 0.0
    own, base = own[:horizon], base[:horizon]
    return float(np.mean((own - base) / (1.0 - base)))

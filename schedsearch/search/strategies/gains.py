"""What rewrites gained, beyond what was predicted."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import sqrt

from schedsearch.core.trace import Kind, Rewrite
from schedsearch.search.strategies.protocol import Node
from schedsearch.transforms.registry import blocks

OPTIMISM = 0.15
"""Assumed mean surplus of what was never tried: everything gets a chance."""
SPREAD = 0.3
"""Assumed standard deviation there."""
PRIOR_TRIALS = 3
"""Weight of these assumptions, in trials."""
BOLDNESS = 1.0
"""Standard deviations by which a transform is expected to do better than its mean."""
REWRITE_TRIALS = 1
"""Weight of the transform's mean in the estimate for a rewrite, in trials of the rewrite."""


@dataclass(frozen=True)
class Situation:
    """A transform, applied where sums are in registers already, or are not: a factor that helps
    the compiler with a loop is worth nothing to a block, and the other way round."""

    transform: str
    blocked: bool

    @staticmethod
    def of(node: Node, transform: str) -> Situation:
        """That of the children which the transform makes of a node."""
        return Situation(transform, any(map(blocks, node.steps)))


@dataclass(slots=True)
class _Sum:
    total: float = 0.0
    squares: float = 0.0
    trials: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.squares += value**2
        self.trials += 1


class Gains:
    """The gains of rewrites so far, beyond the predictions of the cost estimate.

    A rewrite is legal at many nodes of the tree, and gains about the same at most of them. Its gain
    at one node is the best guess for the others (the "all moves as first" heuristic; Gelly and
    Silver, "Combining online and offline knowledge in UCT", ICML 2007). Rewrites are alike if they
    have the same transform, arguments and label, wherever in the procedure they apply. A rewrite
    that was never tried is judged by its transform.

    Estimates are of surpluses, in log speed-ups over the parent: of transforms the mean and a
    standard deviation, of rewrites the mean compared with that of their transform. Each rewrite
    that was measured takes a few hundred bytes.
    """

    def __init__(self) -> None:
        self._situations: defaultdict[Situation, _Sum] = defaultdict(_Sum)
        self._rewrites: defaultdict[Kind, _Sum] = defaultdict(_Sum)

    def learn(self, node: Node, surplus: float) -> None:
        """A candidate turned out `surplus` better than promised."""
        assert node.parent is not None
        situation = Situation.of(node.parent, node.transform)
        self._rewrites[node.rewrite.kind].add(surplus - self._known(situation)[0])
        self._situations[situation].add(surplus)

    def of_situation(self, situation: Situation) -> float:
        """Mean surplus and a standard deviation: what varies more is worth more, because the best
        of many tries counts."""
        mean, spread = self._known(situation)
        return mean + BOLDNESS * spread

    def _known(self, situation: Situation) -> tuple[float, float]:
        found = self._situations.get(situation, _Sum())
        trials = PRIOR_TRIALS + found.trials
        mean = (OPTIMISM * PRIOR_TRIALS + found.total) / trials
        squares = (OPTIMISM**2 + SPREAD**2) * PRIOR_TRIALS + found.squares
        return mean, sqrt(max(squares / trials - mean**2, 0.0))

    def of_rewrite(self, rewrite: Rewrite) -> float:
        """Mean surplus beyond its transform's; 0 for a rewrite that was never tried."""
        known = self._rewrites.get(rewrite.kind)
        return known.total / (REWRITE_TRIALS + known.trials) if known else 0.0

"""What rewrites gained so far, beyond what the cost estimate promised for them.

A rewrite is legal at many nodes of the tree, and gains about the same at most of them:
what was measured of it at one node is the best guess for the others (the "all moves as
first" heuristic; Gelly and Silver, "Combining online and offline knowledge in UCT", ICML
2007). Rewrites are alike if they have the same transform, arguments and label, wherever
in the procedure they apply. What was never tried is judged by its transform.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from schedsearch.core.trace import ArgValue, Rewrite

TRUST = 0.7
"""How much of a predicted log gain is believed."""
OPTIMISM = 0.15
"""Assumed surplus of a transform never tried, with the weight of `PRIOR_TRIALS` trials."""
PRIOR_TRIALS = 3
REWRITE_TRIALS = 1
"""Weight, in trials of a rewrite, of what its transform says of it."""


_Kind = tuple[str, str, tuple[tuple[str, ArgValue], ...]]


@dataclass(slots=True)
class _Sum:
    total: float = 0.0
    trials: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.trials += 1


class Gains:
    """Mean surpluses, in log speed-ups over the parent: of transforms, and of rewrites
    compared with their transform. A few hundred bytes for each rewrite that was measured."""

    def __init__(self) -> None:
        self._transforms: defaultdict[str, _Sum] = defaultdict(_Sum)
        self._rewrites: defaultdict[_Kind, _Sum] = defaultdict(_Sum)

    def learn(self, rewrite: Rewrite, surplus: float) -> None:
        """A candidate made by `rewrite` turned out `surplus` better than promised."""
        beyond = surplus - self.of_transform(rewrite.transform)
        self._rewrites[_alike(rewrite)].add(beyond)
        self._transforms[rewrite.transform].add(surplus)

    def of_transform(self, transform: str) -> float:
        """Shrunk towards a small optimistic prior, so that every transform gets its chance."""
        known = self._transforms.get(transform)
        if known is None:
            return OPTIMISM
        return (OPTIMISM * PRIOR_TRIALS + known.total) / (PRIOR_TRIALS + known.trials)

    def of_rewrite(self, rewrite: Rewrite) -> float:
        """Beyond `of_transform`; 0 for what was never tried."""
        known = self._rewrites.get(_alike(rewrite))
        return known.total / (REWRITE_TRIALS + known.trials) if known else 0.0


def _alike(rewrite: Rewrite) -> _Kind:
    return rewrite.transform, rewrite.label, rewrite.args

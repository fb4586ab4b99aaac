"""What rewrites were worth in earlier searches, of many kernels: where a search begins.

`experience.json` has, for every situation, the mean of the surpluses (`best_first.Gains`), and
their standard deviation. `python -m benchmarks.experience learn STORE...` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from schedsearch.search.strategies.protocol import Node
from schedsearch.transforms.registry import blocks

FILE = "experience.json"

OPTIMISM = 0.15
"""Assumed mean surplus where there is no experience: everything gets a chance."""
SPREAD = 0.3
"""Assumed standard deviation there."""


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


@dataclass(frozen=True)
class Worth:
    """Mean and standard deviation of surpluses, in log speed-ups over the parent."""

    mean: float = OPTIMISM
    spread: float = SPREAD


Experience = Mapping[Situation, Worth]


@cache
def shipped() -> Experience:
    """The experience that everybody has."""
    text = resources.files(__package__).joinpath(FILE).read_text()
    return {
        Situation(transform, blocked): Worth(mean, spread)
        for transform, blocked, mean, spread in json.loads(text)["worth"]
    }

"""Strategies by name."""

from __future__ import annotations

from collections.abc import Callable

from schedsearch.core.errors import UserError
from schedsearch.search.beam import Beam
from schedsearch.search.best_first import BestFirst
from schedsearch.search.exhaustive import Exhaustive
from schedsearch.search.random_search import RandomSearch
from schedsearch.search.strategy import Strategy

STRATEGIES: dict[str, Callable[[str, int], Strategy]] = {
    "best-first": BestFirst,
    "beam": Beam,
    "random": RandomSearch,
    "exhaustive": Exhaustive,
}


def make_strategy(name: str, root: str, seed: int) -> Strategy:
    """Raises UserError with the known names."""
    if name not in STRATEGIES:
        raise UserError(f"unknown strategy {name!r}; known: {', '.join(STRATEGIES)}")
    return STRATEGIES[name](root, seed)

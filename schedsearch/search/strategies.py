"""Strategies by name."""

from __future__ import annotations

from collections.abc import Sequence

from schedsearch.core.errors import UserError
from schedsearch.search.beam import Beam
from schedsearch.search.best_first import BestFirst
from schedsearch.search.coordinate import CoordinateDescent
from schedsearch.search.evolution import Evolution
from schedsearch.search.exhaustive import Exhaustive
from schedsearch.search.mcts import Mcts
from schedsearch.search.portfolio import MakePlanner, Portfolio
from schedsearch.search.random_search import RandomSearch
from schedsearch.search.strategy import Strategy

STRATEGIES: dict[str, Sequence[MakePlanner]] = {
    "best-first": (BestFirst,),
    "beam": (Beam,),
    "coordinate": (CoordinateDescent,),
    "evolution": (Evolution,),
    "exhaustive": (Exhaustive,),
    "mcts": (Mcts,),
    "portfolio": (BestFirst, CoordinateDescent, Evolution, Mcts),
    "random": (RandomSearch,),
}


def make_strategy(name: str, root: str, seed: int) -> Strategy:
    """Raises UserError with the known names."""
    if name not in STRATEGIES:
        raise UserError(f"unknown strategy {name!r}; known: {', '.join(STRATEGIES)}")
    return Portfolio(root, seed, STRATEGIES[name])

"""Strategies by name, and those that somebody brings along."""

from __future__ import annotations

from collections.abc import Sequence

from schedsearch.core.errors import UserError
from schedsearch.search.beam import Beam
from schedsearch.search.best_first import BestFirst
from schedsearch.search.coordinate import CoordinateDescent
from schedsearch.search.evolution import Evolution
from schedsearch.search.exhaustive import Exhaustive
from schedsearch.search.mcts import Mcts
from schedsearch.search.own_strategy import name_of, prepared
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

AnyStrategy = str | MakePlanner | Strategy
"""A name in `STRATEGIES`, the class of a planner, or an object that keeps the contract of
`strategy.py`."""


def make_strategy(choice: AnyStrategy, root: str, seed: int) -> Strategy:
    """Raises UserError with the known names, or with what is missing in one of your own."""
    if not isinstance(choice, str):
        strategy_name(choice)
        return prepared(choice, root, seed)
    if choice not in STRATEGIES:
        raise UserError(f"unknown strategy {choice!r}; known: {', '.join(STRATEGIES)}")
    return Portfolio(root, seed, STRATEGIES[choice])


def strategy_name(choice: AnyStrategy) -> str:
    """What a run's strategy is called in the store. Raises UserError for a name that is taken."""
    if isinstance(choice, str):
        return choice
    name = name_of(choice)
    if name in STRATEGIES:
        raise UserError(f"{name} is a strategy of schedsearch; choose another name for yours")
    return name

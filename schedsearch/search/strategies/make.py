"""Makes the strategy of a search, from a name or from a strategy of the user."""

from __future__ import annotations

from collections.abc import Callable
from copy import Error as CopyError
from copy import deepcopy
from inspect import signature
from typing import cast

from schedsearch.core.errors import UserError
from schedsearch.core.suggest import unknown
from schedsearch.search.strategies.best_first import BestFirst
from schedsearch.search.strategies.exhaustive import Exhaustive
from schedsearch.search.strategies.protocol import Strategy
from schedsearch.search.strategies.random_search import RandomSearch

MakeStrategy = Callable[[], Strategy]

STRATEGIES: dict[str, MakeStrategy] = {
    "best-first": BestFirst,
    "exhaustive": Exhaustive,
    "random": RandomSearch,
}

AnyStrategy = str | MakeStrategy | Strategy
"""A name in `STRATEGIES`, a class or function that makes a strategy, or a strategy."""

_METHODS = ("begin", "measure", "expand", "found", "measured")


def make_strategy(choice: AnyStrategy) -> Strategy:
    """A strategy that no search has begun yet. Raises UserError for an unknown name, listing the
    known ones, and for an object that lacks a method.

    An object is copied as it is now: the same call continues a search, and a strategy that has
    been told of everything once must not be told again.
    """
    name = strategy_name(choice)
    if isinstance(choice, str):
        if choice not in STRATEGIES:
            raise UserError(unknown("--strategy", choice, STRATEGIES))
        return STRATEGIES[choice]()
    makes = isinstance(choice, type) or (callable(choice) and not hasattr(choice, "begin"))
    own = (
        _made(name, cast(MakeStrategy, choice)) if makes else _copied(name, cast(Strategy, choice))
    )
    if missing := [method for method in _METHODS if not callable(getattr(own, method, None))]:
        raise UserError(f"{name} is no strategy: it lacks {', '.join(missing)}")
    return own


def strategy_name(choice: AnyStrategy) -> str:
    """The name of a run's strategy in the store. Raises UserError for a name that is taken, and
    where there is none, as of a lambda."""
    if isinstance(choice, str):
        return choice
    name = str(getattr(choice, "__name__", type(choice).__name__))
    if not name.isidentifier():
        raise UserError(f"a strategy is kept under its name: define {name} as a class or function")
    if name in STRATEGIES:
        raise UserError(f"{name} is a strategy of schedsearch; choose another name for yours")
    return name


def _made(name: str, make: MakeStrategy) -> Strategy:
    try:
        signature(make).bind()
    except TypeError as error:
        raise UserError(
            f"{name} cannot be called without arguments ({error}); give an object instead"
        ) from error
    return make()


def _copied(name: str, strategy: Strategy) -> Strategy:
    try:
        return deepcopy(strategy)
    except (TypeError, CopyError) as error:
        raise UserError(
            f"{name} cannot be copied ({error}), so that no search could be continued with it; "
            "give its class instead"
        ) from error

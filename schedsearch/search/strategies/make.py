"""The strategy of a search: one by name, or one of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from copy import Error as CopyError
from copy import deepcopy
from inspect import signature
from typing import cast

from schedsearch.core.errors import UserError
from schedsearch.core.fields import brief
from schedsearch.search.strategies.best_first import BestFirst
from schedsearch.search.strategies.exhaustive import Exhaustive
from schedsearch.search.strategies.protocol import Event, Expanded, Measured, Replayed, Strategy
from schedsearch.search.strategies.random_search import RandomSearch

MakeStrategy = Callable[[str, int], Strategy]
"""From the key of the root and a seed."""

STRATEGIES: dict[str, MakeStrategy] = {
    "best-first": BestFirst,
    "exhaustive": Exhaustive,
    "random": RandomSearch,
}

AnyStrategy = str | MakeStrategy | Strategy
"""A name in `STRATEGIES`, a class or function that makes a strategy, or a strategy."""

_METHODS = ("ask_measure", "ask_expand", "tell")


def make_strategy(choice: AnyStrategy, root: str, seed: int) -> Strategy:
    """Raises UserError with the known names, or with what is missing in one of your own.

    An object is copied as it is now: the same call continues a search, and a strategy that has
    been told of everything once must not be told again.
    """
    name = strategy_name(choice)
    if isinstance(choice, str):
        if choice not in STRATEGIES:
            raise UserError(f"unknown strategy {choice!r}; known: {', '.join(STRATEGIES)}")
        return STRATEGIES[choice](root, seed)
    made = isinstance(choice, type) or (callable(choice) and not hasattr(choice, "tell"))
    own = (
        _made(name, cast(MakeStrategy, choice), root, seed)
        if made
        else _copied(name, cast(Strategy, choice))
    )
    if missing := [method for method in _METHODS if not callable(getattr(own, method, None))]:
        raise UserError(f"{name} is no strategy: it lacks {', '.join(missing)}")
    return CheckedStrategy(name, own, root)


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


def _made(name: str, make: MakeStrategy, root: str, seed: int) -> Strategy:
    try:
        signature(make).bind(root, seed)
    except TypeError as error:
        raise UserError(f"{name} does not take a root and a seed: {error}") from error
    return make(root, seed)


def _copied(name: str, strategy: Strategy) -> Strategy:
    try:
        return deepcopy(strategy)
    except (TypeError, CopyError) as error:
        raise UserError(
            f"{name} cannot be copied ({error}), so that no search could be continued with it; "
            "give its class instead"
        ) from error


class CheckedStrategy:
    """Tells `inner` everything, and raises UserError for answers that break the contract: the
    driver would measure twice, or fail far from the cause."""

    def __init__(self, name: str, inner: Strategy, root: str) -> None:
        self._name, self._inner = name, inner
        self._known = {root}
        self._measured: set[str] = set()  # or asked for
        self._expanded: set[str] = set()

    def ask_measure(self, n: int) -> list[str]:
        return self._keys("ask_measure", n, self._measured)

    def ask_expand(self, n: int) -> list[str]:
        return self._keys("ask_expand", n, self._expanded)

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                self._known.update(child.key for child in event.children)
                self._expanded.add(event.key)
            case Replayed():
                self._known.update(child.key for _, child in event.chain)
            case Measured():
                self._measured.add(event.key)
        self._inner.tell(event)

    def _keys(self, method: str, n: int, done: set[str]) -> list[str]:
        keys = getattr(self._inner, method)(n) if n > 0 else []
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise self._broken(method, f"{brief(keys)}, not a list of str")
        if len(keys) > max(n, 0):
            raise self._broken(method, f"{len(keys)} of at most {n}")
        for key in keys:
            if key not in self._known:
                raise self._broken(method, f"{brief(key)}, a key that it was never told")
            if key in done:
                raise self._broken(method, f"{brief(key)} again, asked for or told before")
            done.add(key)
        return keys

    def _broken(self, method: str, what: str) -> UserError:
        return UserError(f"{self._name}.{method} answered {what} (strategies/protocol.py)")

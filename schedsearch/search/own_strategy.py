"""Strategies that somebody brings along: made ready for a search, and held to the contract."""

from __future__ import annotations

import random
from copy import Error as CopyError
from copy import deepcopy
from typing import cast

from schedsearch.core.errors import UserError
from schedsearch.core.fields import brief
from schedsearch.core.trace import Trace
from schedsearch.search.knowledge import Knowledge
from schedsearch.search.portfolio import MakePlanner, Planner, Portfolio
from schedsearch.search.strategy import Event, Expanded, Measured, Replayed, Strategy

STRATEGY = ("ask_measure", "ask_expand", "ask_replay", "tell")
PLANNER = ("measure", "expand", "replay", "learn")


def name_of(choice: MakePlanner | Strategy) -> str:
    """That of the class or function. Raises UserError where there is none, as of a lambda."""
    name = str(getattr(choice, "__name__", type(choice).__name__))
    if not name.isidentifier():
        raise UserError(f"a strategy is kept under its name: define {name} as a class or function")
    return name


def prepared(choice: MakePlanner | Strategy, root: str, seed: int) -> Strategy:
    """A strategy for one search. An object is copied as it is now: the same call continues a
    search, and a strategy that has been told of everything once must not be told again.

    Raises UserError if `choice` is neither a strategy nor makes a planner.
    """
    name = name_of(choice)
    if _has(choice, STRATEGY) and isinstance(choice, type):
        raise UserError(f"{name} is a class of strategies: give an object of it")
    if _has(choice, STRATEGY):
        return Held(name, _copied(name, cast("Strategy", choice)), root)
    if not callable(choice):
        raise UserError(
            f"no strategy: {name} lacks {', '.join(_missing(choice, STRATEGY))}. A planner is "
            "given as its class"
        )

    def make(known: Knowledge, rng: random.Random) -> Planner:
        planner = choice(known, rng)
        if missing := _missing(planner, PLANNER):
            raise UserError(f"{name} makes no planner: {', '.join(missing)} is missing")
        return planner

    return Held(name, Portfolio(root, seed, [make]), root)


def _missing(choice: object, methods: tuple[str, ...]) -> list[str]:
    return [method for method in methods if not callable(getattr(choice, method, None))]


def _has(choice: object, methods: tuple[str, ...]) -> bool:
    return not _missing(choice, methods)


def _copied(name: str, strategy: Strategy) -> Strategy:
    try:
        return deepcopy(strategy)
    except (TypeError, CopyError) as error:
        raise UserError(
            f"{name} cannot be copied ({error}), so that no search could be continued with it; "
            "give the class of a planner instead"
        ) from error


class Held:
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

    def ask_replay(self, n: int) -> list[Trace]:
        traces = self._inner.ask_replay(n) if n > 0 else []
        self._check("ask_replay", traces, n, Trace)
        return traces

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
        self._check(method, keys, n, str)
        for key in keys:
            if key not in self._known:
                raise self._broken(method, f"{brief(key)}, a key that it was never told")
            if key in done:
                raise self._broken(method, f"{brief(key)} again, asked for or told before")
            done.add(key)
        return keys

    def _check(self, method: str, answers: object, n: int, kind: type) -> None:
        if not isinstance(answers, list) or not all(isinstance(each, kind) for each in answers):
            raise self._broken(method, f"{brief(answers)}, not a list of {kind.__name__}")
        if len(answers) > max(n, 0):
            raise self._broken(method, f"{len(answers)} of at most {n}")

    def _broken(self, method: str, what: str) -> UserError:
        return UserError(f"{self._name}.{method} answered {what} (search/strategy.py)")

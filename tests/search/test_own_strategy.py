"""Strategies of users: what is accepted, and that the contract is held."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedsearch.core.errors import UserError
from schedsearch.search.strategies.make import (
    STRATEGIES,
    CheckedStrategy,
    make_strategy,
    strategy_name,
)
from schedsearch.search.strategies.protocol import Event, Measured

from .landscapes import ROOT, Landscape, landscapes, walk


class Scripted:
    """Answers what it was made with."""

    def __init__(self, measure: Any = (), expand: Any = ()) -> None:
        self.measure, self.expand = measure, expand

    def ask_measure(self, n: int) -> Any:
        return self.measure or []

    def ask_expand(self, n: int) -> Any:
        return self.expand or []

    def tell(self, event: Event) -> None:
        pass


class Half:
    def ask_measure(self, n: int) -> list[str]:
        return []


class Lazy:
    def __init__(self, *_: object) -> None: ...

    def measure(self) -> None: ...


class Rootless(Scripted):
    def __init__(self, width: int) -> None: ...


def stream() -> Any:
    yield ROOT


@pytest.mark.parametrize("name", sorted(STRATEGIES))
@settings(max_examples=5)
@given(landscape=landscapes(), seed=st.integers(0, 100))
def test_who_keeps_the_contract_notices_nothing(name: str, landscape: Landscape, seed: int) -> None:
    plain, held = (make_strategy(name, ROOT, seed) for _ in range(2))
    logs = [
        walk(strategy, landscape, random.Random(seed))
        for strategy in (plain, CheckedStrategy(name, held, ROOT))
    ]
    assert logs[0] == logs[1]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (Scripted(measure=["nowhere"]), "ask_measure answered 'nowhere', a key that it was never"),
        (Scripted(measure=[ROOT, ROOT]), "ask_measure answered 2 of at most 1"),
        (Scripted(expand=(ROOT,)), "ask_expand answered .*not a list of str"),
        (Scripted(expand=[7]), "ask_expand answered .*not a list of str"),
    ],
)
def test_other_answers_are_refused(answers: Scripted, why: str) -> None:
    strategy = make_strategy(answers, ROOT, 0)
    with pytest.raises(UserError, match=f"Scripted.{why}"):
        [ask(1) for ask in (strategy.ask_measure, strategy.ask_expand)]


@pytest.mark.parametrize(
    "first",
    [
        lambda strategy: strategy.ask_measure(1),
        lambda strategy: strategy.tell(Measured(ROOT, 1.0)),
    ],
    ids=["asked", "told"],
)
def test_what_is_known_is_not_asked_again(first: Callable[[Any], None]) -> None:
    strategy = make_strategy(Scripted(measure=[ROOT]), ROOT, 0)
    first(strategy)
    with pytest.raises(UserError, match="again, asked for or told before"):
        strategy.ask_measure(1)


def test_nothing_is_asked_where_nothing_is_wanted() -> None:
    strategy = make_strategy(Scripted(["nowhere"], ["nowhere"]), ROOT, 0)
    assert strategy.ask_measure(0) == strategy.ask_expand(-1) == []


class Generating:
    def __init__(self) -> None:
        self.keys = stream()

    ask_measure = ask_expand = tell = Scripted.tell


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (Rootless, "Rootless does not take a root and a seed"),
        (Half(), "Half is no strategy: it lacks ask_expand, tell"),
        (Lazy, "Lazy is no strategy: it lacks ask_measure, ask_expand, tell"),
        (lambda root, seed: Lazy(), "define <lambda> as a class or function"),
        (Generating(), "Generating cannot be copied"),
        (type("random", (Lazy,), {}), "random is a strategy of schedsearch"),
        ("greedy", "known: best-first"),
    ],
)
def test_what_is_no_strategy_is_refused(choice: Any, why: str) -> None:
    with pytest.raises(UserError, match=why):
        make_strategy(choice, ROOT, 0)


def test_an_object_serves_many_searches() -> None:
    given = Scripted(measure=[ROOT])
    assert strategy_name(given) == "Scripted"
    for _ in range(2):
        assert make_strategy(given, ROOT, 0).ask_measure(1) == [ROOT]


def test_a_class_or_function_makes_a_strategy_for_each_search() -> None:
    def scripted(root: str, seed: int) -> Scripted:
        return Scripted(measure=[root][seed:])

    assert strategy_name(scripted) == "scripted"
    assert make_strategy(scripted, ROOT, 0).ask_measure(1) == [ROOT]
    assert make_strategy(scripted, ROOT, 1).ask_measure(1) == []

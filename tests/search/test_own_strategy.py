"""Strategies that somebody brings along: what is accepted, and that the contract is held."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedsearch.core.errors import UserError
from schedsearch.core.trace import Trace
from schedsearch.search.own_strategy import Held
from schedsearch.search.strategies import STRATEGIES, make_strategy, strategy_name
from schedsearch.search.strategy import Event, Measured

from .landscapes import ROOT, Landscape, grid, landscapes, walk


class Scripted:
    """Answers what it was made with."""

    def __init__(self, measure: Any = (), expand: Any = (), replay: Any = ()) -> None:
        self.measure, self.expand, self.replay = measure, expand, replay

    def ask_measure(self, n: int) -> Any:
        return self.measure or []

    def ask_expand(self, n: int) -> Any:
        return self.expand or []

    def ask_replay(self, n: int) -> Any:
        return self.replay or []

    def tell(self, event: Event) -> None:
        pass


class Half:
    def ask_measure(self, n: int) -> list[str]:
        return []


class Lazy:
    def __init__(self, *_: object) -> None: ...

    def measure(self) -> None: ...


def stream() -> Any:
    yield ROOT


@pytest.mark.parametrize("name", sorted(STRATEGIES))
@settings(max_examples=5)
@given(landscape=landscapes(), seed=st.integers(0, 100))
def test_who_keeps_the_contract_notices_nothing(name: str, landscape: Landscape, seed: int) -> None:
    plain, held = (make_strategy(name, ROOT, seed) for _ in range(2))
    logs = [
        walk(strategy, landscape, random.Random(seed))
        for strategy in (plain, Held(name, held, ROOT))
    ]
    assert logs[0] == logs[1]


def test_replays_pass() -> None:
    landscape = grid((2, 4, 8), depth=3)
    held = Held("", make_strategy("evolution", landscape.root, 3), landscape.root)
    assert walk(held, landscape, random.Random(3)).to_replay


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (Scripted(measure=["nowhere"]), "ask_measure answered 'nowhere', a key that it was never"),
        (Scripted(measure=[ROOT, ROOT]), "ask_measure answered 2 of at most 1"),
        (Scripted(expand=(ROOT,)), "ask_expand answered .*not a list of str"),
        (Scripted(expand=[7]), "ask_expand answered .*not a list of str"),
        (Scripted(replay=["reorder"]), "ask_replay answered .*not a list of Trace"),
        (Scripted(replay=[Trace(), Trace()]), "ask_replay answered 2 of at most 1"),
    ],
)
def test_other_answers_are_refused(answers: Scripted, why: str) -> None:
    strategy = make_strategy(answers, ROOT, 0)
    with pytest.raises(UserError, match=f"Scripted.{why}"):
        [ask(1) for ask in (strategy.ask_measure, strategy.ask_expand, strategy.ask_replay)]


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
    strategy = make_strategy(Scripted(["nowhere"], ["nowhere"], ["nowhere"]), ROOT, 0)
    assert strategy.ask_measure(0) == strategy.ask_expand(-1) == strategy.ask_replay(0) == []


class Generating:
    def __init__(self) -> None:
        self.keys = stream()

    ask_measure = ask_expand = ask_replay = tell = Scripted.tell


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (Scripted, "Scripted is a class of strategies: give an object"),
        (Half(), "no strategy: Half lacks ask_expand, ask_replay, tell"),
        (Lazy, "Lazy makes no planner: expand, replay, learn is missing"),
        (lambda known, rng: Lazy(), "define <lambda> as a class or function"),
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

"""Strategies of users: what is accepted, and that the contract is held."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.trace import Rewrite
from schedsearch.search.strategies.best_first import BestFirst
from schedsearch.search.strategies.frontier import Frontier
from schedsearch.search.strategies.make import make_strategy, strategy_name
from schedsearch.search.strategies.protocol import Node, Strategy


class Scripted:
    """Answers `answers`, one after the other; "root" is the node."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def begin(self, root: Node, rng: random.Random) -> None:
        self.answers = [root if answer == "root" else answer for answer in self.answers]

    def measure(self) -> Any:
        return self.answers.pop(0) if self.answers else None

    expand = measure

    def found(self, nodes: Sequence[Node]) -> None:
        pass

    def measured(self, node: Node) -> None:
        pass


class Half:
    def measure(self) -> None: ...


class Wide(Scripted):
    def __init__(self, width: int) -> None:
        super().__init__(width)


def stream() -> Any:
    yield "root"


class Generating(Scripted):
    def __init__(self) -> None:
        self.keys = stream()


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([Node("nowhere")], "'nowhere', a node that it was never told of"),
        (["root", "root"], "'root' again, asked for or told before"),
        ([(7,)], ".*not a node"),
        (["its key"], "'its key', not a node"),
    ],
)
def test_other_answers_are_refused(answers: list[Any], why: str) -> None:
    frontier = Frontier(make_strategy(Scripted(*answers)), Node("root"), 0)
    with pytest.raises(UserError, match=f"Scripted.expand answered {why}"):
        frontier.to_expand(2)


def test_what_is_measured_is_not_measured_again() -> None:
    frontier = Frontier(Scripted("root"), Node("root"), 0)
    with pytest.raises(UserError, match="measure answered 'root' again, asked for or told before"):
        frontier.to_measure(1)


def test_nothing_is_asked_where_nothing_is_wanted() -> None:
    frontier = Frontier(Scripted("nowhere", "nowhere"), Node("root"), 0)
    assert frontier.to_measure(0) == frontier.to_expand(-1) == []


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (Wide, "Wide cannot be called without arguments .*'width'"),
        (Half(), "Half is no strategy: it lacks begin, expand, found, measured"),
        (Half, "Half is no strategy: it lacks begin, expand, found, measured"),
        (lambda: Scripted(), "define <lambda> as a class or function"),
        (Generating(), "Generating cannot be copied"),
        (type("random", (Scripted,), {}), "random is a strategy of schedsearch"),
        ("greedy", "known: best-first"),
    ],
)
def test_what_is_no_strategy_is_refused(choice: Any, why: str) -> None:
    with pytest.raises(UserError, match=why):
        make_strategy(choice)


def test_an_object_serves_many_searches() -> None:
    given = Scripted("root")
    assert strategy_name(given) == "Scripted"
    for _ in range(2):
        root = Node("root")
        assert Frontier(make_strategy(given), root, 0).to_expand(1) == [root]


def test_a_class_or_function_makes_a_strategy_for_each_search() -> None:
    def scripted() -> Scripted:
        return Scripted("root")

    assert strategy_name(scripted) == "scripted"
    for choice in (scripted, Scripted):
        assert isinstance(make_strategy(choice), Scripted)
        assert make_strategy(choice) is not make_strategy(choice)


def test_a_strategy_without_more_gets_all_children_of_a_node_first() -> None:
    root, other = Node("root"), Node("other", told=True)
    frontier = Frontier(Scripted("root", other), root, seed=0)
    assert frontier.to_expand(1) == [root]
    frontier.more(root)
    assert frontier.to_expand(2) == [root, other]


@pytest.mark.parametrize("strategy", [Scripted("root"), BestFirst()])
def test_children_of_a_node_that_failed_between_portions_are_made_all_the_same(
    strategy: Strategy,
) -> None:
    root = Node("root")
    child = Node("child", (Rewrite("split", 1, (0,), "for i in seq(0, 8)", ()),), root)
    frontier = Frontier(strategy, root, seed=0)
    frontier.to_expand(1)
    frontier.found([child])
    child.expanding = True
    frontier.measured(child, None)
    frontier.more(child)
    assert frontier.to_expand(1) == [child]


def test_best_first_takes_the_fees_of_portions_that_were_made_before_a_measurement() -> None:
    root = Node("root")
    step = Rewrite("split", 1, (0,), "for i in seq(0, 8)", ())
    first, second = (Node(key, (step,), root) for key in ("first", "second"))
    frontier = Frontier(BestFirst(), root, seed=0)
    frontier.to_expand(1)
    frontier.found([first, second])
    first.expanding = True
    frontier.more(first)
    for node, speedup in ((first, 1.05), (second, 1.0)):
        frontier.to_measure(1)
        frontier.measured(node, speedup)
    assert frontier.to_expand(2) == [second, first]


def test_best_first_gives_every_portion_a_fee() -> None:
    root = Node("root")
    step = Rewrite("split", 1, (0,), "for i in seq(0, 8)", ())
    fast, slow = (Node(key, (step,), root) for key in ("fast", "slow"))
    frontier = Frontier(BestFirst(), root, seed=0)
    frontier.to_expand(1)
    frontier.found([fast, slow])
    for node, speedup in ((fast, 1.05), (slow, 1.0)):
        frontier.to_measure(1)
        frontier.measured(node, speedup)
    assert frontier.to_expand(1) == [fast]
    frontier.more(fast)
    assert frontier.to_expand(3) == [slow, fast]

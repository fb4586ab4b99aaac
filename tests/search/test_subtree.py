"""Searching one part of a tree: the strategy hears of what follows a schedule, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import log

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.records import Measurement, Round
from schedsearch.core.trace import Rewrite
from schedsearch.search.strategies.frontier import Frontier
from schedsearch.search.strategies.protocol import Node


def below(parent: Node, name: str) -> Node:
    rewrite = Rewrite(name, 1, (0,), "for i in seq(0, 8)")
    return Node(parent.key + name, (*parent.steps, rewrite), parent)


class Heard:
    """Notes what it is told, and answers `answer`."""

    def __init__(self, answer: Node | None = None) -> None:
        self.answer = answer
        self.found_: list[Node] = []
        self.measured_: list[Node] = []

    def begin(self, root: Node, rng: random.Random) -> None:
        self.root = root

    def measure(self) -> Node | None:
        return self.answer

    expand = measure

    def found(self, nodes: Sequence[Node]) -> None:
        self.found_ += nodes

    def measured(self, node: Node) -> None:
        self.measured_.append(node)


@pytest.fixture
def nodes() -> dict[str, Node]:
    root = Node("")
    start, other = below(root, "a"), below(root, "b")
    start.measurement = Measurement("screen", (Round((1.0,), (4.0,)),), 1)
    inside, outside = below(start, "c"), below(other, "c")
    every = (root, start, other, inside, outside, below(inside, "d"))
    return {node.key: node for node in every}


def test_only_what_follows_is_told(nodes: dict[str, Node]) -> None:
    heard = Heard()
    frontier = Frontier(heard, nodes["a"], 0)
    frontier.found(nodes.values())
    for node in nodes.values():
        frontier.measured(node, 6.0)
    assert heard.root is nodes["a"]
    assert heard.root.value == pytest.approx(log(4.0))  # as the store knows it
    assert [node.key for node in heard.found_] == ["ac", "acd"]
    assert [node.key for node in heard.measured_] == ["ac", "acd"]
    assert nodes["a"].children == (nodes["ac"],)


def test_what_failed_has_no_value(nodes: dict[str, Node]) -> None:
    heard = Heard()
    frontier = Frontier(heard, nodes["a"], 0)
    frontier.found(nodes.values())
    frontier.measured(nodes["ac"], None)
    assert (heard.measured_[0].value, heard.measured_[0].failed) == (None, True)


def test_replays_of_others_are_not_measured(nodes: dict[str, Node]) -> None:
    frontier = Frontier(Heard(), nodes["a"], 0)
    frontier.found(nodes.values())
    for key in ("bc", "acd"):
        frontier.replayed(nodes[key])
    assert frontier.to_measure(2) == [nodes["acd"]]


def test_what_is_elsewhere_is_no_answer(nodes: dict[str, Node]) -> None:
    frontier = Frontier(Heard(nodes["bc"]), nodes["a"], 0)
    frontier.found(nodes.values())
    with pytest.raises(UserError, match="'bc', a node that it was never told of"):
        frontier.to_expand(1)

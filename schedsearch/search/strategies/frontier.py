"""The frontier of a search: asks its strategy, tells it, and marks what was asked and told."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from math import log

from schedsearch.core.errors import UserError
from schedsearch.core.fields import brief
from schedsearch.search.strategies.protocol import Node, Strategy


class Frontier:
    """Below `root`, the rest of the tree is not told. What a trace from elsewhere ended in is
    measured before anything that the strategy asks for.

    Raises UserError for answers that break the contract: the driver would measure twice, or fail
    far from the cause.
    """

    def __init__(self, strategy: Strategy, root: Node, seed: int) -> None:
        self._strategy = strategy
        self._replayed: deque[Node] = deque()
        self._unfinished: deque[Node] = deque()
        self._more: Callable[[Node], None] = getattr(strategy, "more", self._unfinished.append)
        self.normal_form_first: bool = getattr(strategy, "normal_form_first", False)
        root.told, root.measure = True, False
        root.value = log(root.speedup or 1.0) if root.parent else 0.0
        strategy.begin(root, random.Random(seed))

    def to_measure(self, n: int) -> list[Node]:
        """At most `n` nodes, the most wanted first; each is asked for once."""
        nodes: list[Node] = []
        while len(nodes) < n and (node := self._replay() or self._answer("measure")):
            node.measure = False
            nodes.append(node)
        return nodes

    def replay_to_measure(self) -> Node | None:
        """What a trace from elsewhere ended in, if nobody has asked for it yet."""
        if (node := self._replay()) is not None:
            node.measure = False
        return node

    def to_expand(self, n: int) -> list[Node]:
        """At most `n` nodes, the most wanted first; each is asked for once."""
        nodes: list[Node] = []
        while len(nodes) < n and (node := self._next_portion() or self._answer("expand")):
            node.expanding = True
            nodes.append(node)
        return nodes

    def found(self, nodes: Iterable[Node]) -> None:
        """Tell of new nodes, parents first."""
        below: dict[Node, list[Node]] = {}
        new = []
        for node in nodes:
            if node.parent is not None and node.parent.told:
                node.told = True
                new.append(node)
                below.setdefault(node.parent, []).append(node)
        for parent, children in below.items():
            parent.children += tuple(children)
        if new:
            self._strategy.found(new)

    def measured(self, node: Node, speedup: float | None) -> None:
        """Tell that a node has a speed-up over the procedure as written, None if it has none. Only
        the first counts."""
        node.measure = False
        if node.value is not None:
            return
        # A duplicate is told as failed until the schedule that it equals is measured.
        node.failed = speedup is None
        node.value = None if speedup is None else log(speedup)
        if node.told:
            self._strategy.measured(node)

    def more(self, node: Node) -> None:
        """Tell that children of this node are not made yet. What was asked for is made in the end,
        even if the node has failed since."""
        node.expanding = False
        if node.told:
            self._more(node)

    def replayed(self, end: Node) -> None:
        """A trace from elsewhere ended in this node, which was told before."""
        if end.told:
            self._replayed.append(end)

    def _replay(self) -> Node | None:
        while self._replayed:
            if (node := self._replayed.popleft()).measure:
                return node
        return None

    def _next_portion(self) -> Node | None:
        while self._unfinished:
            if not (node := self._unfinished.popleft()).expanding:
                return node
        return None

    def _answer(self, method: str) -> Node | None:
        ask: Callable[[], Node | None] = getattr(self._strategy, method)
        node = ask()
        if node is None:
            return None
        if not isinstance(node, Node):
            what = f"{brief(node)}, not a node"
        elif not node.told:
            what = f"{brief(node.key)}, a node that it was never told of"
        elif node.expanding if method == "expand" else not node.measure:
            what = f"{brief(node.key)} again, asked for or told before"
        else:
            return node
        name = type(self._strategy).__name__
        raise UserError(f"{name}.{method} answered {what} (strategies/protocol.py)")

"""A strategy that remembers the tree it was told of.

`TreeStrategy` keeps the contract of `protocol.py` over nodes: a subclass says which node
comes next, and is told of nodes. The three of schedsearch are such, and yours may be.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log

from schedsearch.search.strategies.protocol import (
    ChildInfo,
    Event,
    Expanded,
    Measured,
    Replayed,
)


@dataclass(slots=True, eq=False)
class Node:
    """A schedule. `parent` and `info` are None for the root, and for a node whose parent
    has not been told yet.

    `value`: log speed-up over the unscheduled procedure, None if not measured or failed.
    `measure`: its measurement was neither asked for nor told. `expanding`: its expansion
    was.
    """

    key: str
    parent: Node | None = None
    info: ChildInfo | None = None
    predicted: float = 0.0
    value: float | None = None
    measure: bool = True
    expanding: bool = False
    failed: bool = False
    children: tuple[Node, ...] = ()

    @property
    def transform(self) -> str:
        return self.info.transform if self.info else ""

    @property
    def variant(self) -> bool:
        return self.info is not None and self.info.variant

    @property
    def expand(self) -> bool:
        """Whether its expansion may be asked for."""
        return not (self.expanding or self.failed)

    @property
    def depth(self) -> int:
        depth, node = 0, self
        while node.parent is not None:
            depth, node = depth + 1, node.parent
        return depth

    def reached(self) -> float:
        """Value of the node, or of the nearest measured node above it; 0 for the root."""
        node: Node | None = self
        while node is not None:
            if node.value is not None:
                return node.value
            node = node.parent
        return 0.0


class TreeStrategy(ABC):
    """`root` is the key of the unscheduled procedure.

    What a trace from elsewhere ended in is measured before anything else.
    """

    def __init__(self, root: str, seed: int) -> None:
        self.root = Node(root, measure=False, value=0.0)
        self.random = random.Random(seed)
        self.__nodes = {root: self.root}
        self.__replayed: deque[Node] = deque()

    @abstractmethod
    def measure(self) -> Node | None:
        """The next node to measure, whose `measure` holds; None for nothing at present."""

    @abstractmethod
    def expand(self) -> Node | None:
        """The next node to expand, whose `expand` holds; None for nothing at present."""

    @abstractmethod
    def found(self, nodes: Sequence[Node]) -> None:
        """Hear of nodes that are new in the tree, parents first. Some may have been measured."""

    @abstractmethod
    def measured(self, node: Node) -> None:
        """Hear of a node's value, or that it has none. Its parent may not be known yet."""

    def ask_measure(self, n: int) -> list[str]:
        keys: list[str] = []
        while len(keys) < n and (node := self._replay_to_measure() or self.measure()):
            node.measure = False
            keys.append(node.key)
        return keys

    def ask_expand(self, n: int) -> list[str]:
        keys: list[str] = []
        while len(keys) < n and (node := self.expand()):
            node.expanding = True
            keys.append(node.key)
        return keys

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                node = self._node(event.key)
                node.expanding = True
                self.found(self._add((node, info) for info in event.children))
            case Replayed():
                self.found(self._add((self._node(key), info) for key, info in event.chain))
                if event.key is not None:
                    self.__replayed.append(self._node(event.key))
            case Measured():
                self._value(self._node(event.key), event.speedup)

    def _replay_to_measure(self) -> Node | None:
        while self.__replayed:
            node = self.__replayed.popleft()
            if node.measure:
                return node
        return None

    def _node(self, key: str) -> Node:
        node = self.__nodes.get(key)
        if node is None:
            node = self.__nodes[key] = Node(key)
        return node

    def _add(self, links: Iterable[tuple[Node, ChildInfo]]) -> tuple[Node, ...]:
        """Those that were not known before."""
        new: dict[Node, list[Node]] = {}
        for parent, info in links:
            node = self._node(info.key)
            if node.info is None and node is not self.root:
                node.parent, node.info, node.predicted = parent, info, info.predicted
                new.setdefault(parent, []).append(node)
        for parent, children in new.items():
            parent.children += tuple(children)
        return tuple(chain.from_iterable(new.values()))

    def _value(self, node: Node, speedup: float | None) -> None:
        node.measure = False
        if node.value is not None:
            return
        # A duplicate is told as failed until the schedule that it equals is measured.
        node.failed = speedup is None
        node.value = None if speedup is None else log(speedup)
        self.measured(node)

"""What strategies were told about the tree, and what was asked for already.

Strategies that work together share one `Knowledge`, so that none asks for what
another one did, and a million nodes are kept once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from math import log

from schedsearch.core.trace import Trace
from schedsearch.search.gains import TRUST, Gains
from schedsearch.search.strategy import (
    ChildInfo,
    Event,
    Expanded,
    Measured,
    Predicted,
    Replayed,
)

VARIANT_GAIN = 0.1
"""Log gain from which a variant is expanded: noise must not multiply the space."""
UNMEASURED_FEE = 0.1
"""What an unmeasured node promises counts less by this."""


@dataclass(slots=True, eq=False)
class Node:
    """A schedule. `parent` and `info` are None for the root, and for a node whose parent
    has not been told yet.

    `value`: log speed-up over the unscheduled procedure, None if not measured or failed.
    `measure`: its measurement was neither asked for nor told. `expanding`: its expansion
    was. `expanded`: it was told.
    `expanded`: all its children are known.
    """

    key: str
    parent: Node | None = None
    info: ChildInfo | None = None
    predicted: float = 0.0
    value: float | None = None
    measure: bool = True
    expanding: bool = False
    expanded: bool = False
    failed: bool = False
    children: tuple[Node, ...] = ()

    @property
    def transform(self) -> str:
        return self.info.transform if self.info else ""

    @property
    def variant(self) -> bool:
        return self.info is not None and self.info.variant

    @property
    def settled(self) -> bool:
        """Whether its value, or that it has none, is known."""
        return self.failed or self.value is not None

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

    def promise(self) -> float:
        """What the node reached; while it is not measured, what it promises less a fee."""
        promised, node = 0.0, self
        while node.value is None and node.parent is not None:
            promised += TRUST * node.predicted - UNMEASURED_FEE
            node = node.parent
        return promised + (node.value or 0.0)

    def promising(self) -> bool:
        """Whether a measured node has children worth looking at. Those of a variant are
        its parent's, built otherwise: only if that gained something clearly."""
        if self.value is None:
            return False
        if self.parent is None or not self.variant:
            return True
        return self.value - self.parent.reached() > VARIANT_GAIN

    def opens(self) -> bool:
        """Whether to expand it because of its value."""
        return self.expand and self.promising()


@dataclass(frozen=True)
class News:
    """What an event changed.

    `children`: new in the tree, parents first, perhaps measured before. `expanded`: all
    its children are known now. `measured`: its value is, or that it has none.
    `repredicted`: they have other estimates. `replayed`: key of the trace that was, and
    `ended`: the node it ended in.
    """

    children: tuple[Node, ...] = ()
    expanded: Node | None = None
    measured: Node | None = None
    repredicted: tuple[Node, ...] = ()
    replayed: str | None = None
    ended: Node | None = None


class Knowledge:
    """`root` is the unscheduled procedure."""

    def __init__(self, root: str) -> None:
        self.root = Node(root, measure=False, value=0.0)
        self.best = 0.0
        """Highest value so far."""
        self.gains = Gains()
        self._nodes = {root: self.root}
        self._replays: set[str] = set()

    def enter(self, event: Event) -> News:
        """Take `event` in. What was known before is no news."""
        match event:
            case Expanded():
                node = self._node(event.key)
                node.expanding = node.expanded = True
                return News(self._add((node, info) for info in event.children), expanded=node)
            case Replayed():
                self._replays.add(event.trace_key)
                children = self._add((self._node(key), info) for key, info in event.chain)
                end = None if event.key is None else self._node(event.key)
                return News(children, replayed=event.trace_key, ended=end)
            case Measured():
                return self._measured(self._node(event.key), event.speedup)
            case Predicted():
                return self._predicted(event)

    def claim_replay(self, trace: Trace) -> bool:
        """Whether `trace` is neither a node nor asked for yet; notes that it is now."""
        key = trace.key
        if key in self._nodes or key in self._replays:
            return False
        self._replays.add(key)
        return True

    def trace(self, node: Node) -> Trace | None:
        """From the root to `node`; None while its ancestors are not told."""
        steps = []
        while node.parent is not None and node.info is not None:
            steps.append(node.info.rewrite)
            node = node.parent
        return Trace(tuple(reversed(steps))) if node is self.root else None

    def _node(self, key: str) -> Node:
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Node(key)
        return node

    def _add(self, links: Iterable[tuple[Node, ChildInfo]]) -> tuple[Node, ...]:
        new: dict[Node, list[Node]] = {}
        for parent, info in links:
            node = self._node(info.key)
            if node.info is None and node is not self.root:
                node.parent, node.info, node.predicted = parent, info, info.predicted
                new.setdefault(parent, []).append(node)
        for parent, children in new.items():
            parent.children += tuple(children)
        return tuple(chain.from_iterable(new.values()))

    def _measured(self, node: Node, speedup: float | None) -> News:
        node.measure = False
        if node.value is not None:
            return News()
        if speedup is None:
            node.failed = True
        else:
            # A duplicate is told as failed until the schedule that it equals is measured.
            node.failed, node.value = False, log(speedup)
            self.best = max(self.best, node.value)
            if node.parent is not None and node.info is not None:
                expected = node.parent.promise() + TRUST * node.predicted
                self.gains.learn(node.info.rewrite, node.value - expected)
        return News(measured=node)

    def _predicted(self, event: Predicted) -> News:
        nodes = []
        for key, value in event.values.items():
            node = self._node(key)
            node.predicted = value
            nodes.append(node)
        return News(repredicted=tuple(nodes))

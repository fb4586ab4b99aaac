"""The contract between a search and its strategy.

A strategy decides which schedule of the search tree to measure next, and which to expand. It
never touches procedures, compilers or the store: it sees nodes.

- `begin` gives it the root of the tree and a random number generator, once and first.
- `found` and `measured` tell it what is new: nodes, parents first, then what was measured of
  them. After `begin`, a resumed search tells everything that the store knows.
- `measure` and `expand` ask for the next node. There are two questions because the answers use
  different resources. None means "nothing at present". If both answer None while no result is
  outstanding, the space is exhausted, and the search ends.
- Children are made in portions, because that takes time. A strategy that has a method `more` hears
  of a node whose children are not all made, and may answer it to `expand` again. For others, the
  rest is made by the workers that are free next.
- If a strategy has an attribute `normal_form_first` that is true, a search brings the procedure to
  its normal form before it asks for anything, and measures that.

Strategies of the same class that were given the same seed, and were told and asked the same in
the same order, give the same answers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from schedsearch.core.build import COMPILE_WITH
from schedsearch.core.records import Keys, Measurement, Outcome
from schedsearch.core.trace import Rewrite, Trace


@dataclass(slots=True, eq=False)
class Node:
    """A distinct, legal schedule in the search tree. The engine keeps these up to date; strategies
    read them.

    `value` is the log speed-up over the procedure as written when the node was first measured,
    None if it was not measured, or failed (`failed`). `predicted` is the log speed-up over the
    parent that a cost estimate promises. `measure`: nobody has measured the node or asked for
    that. `expanding`: all its children are made, or somebody asked for some. `told`: the strategy
    knows the node, so it may answer it. `children` are those that the strategy knows.

    `parent` is None for the procedure as written. If two schedules have the same query AST, only
    the first is a node, and what was found below the other has the first as its parent.
    `measurement` is the one that ranks the node in results. A tree may have a million nodes: they
    keep the steps of their traces only.
    """

    key: str
    steps: tuple[Rewrite, ...] = ()
    parent: Node | None = None
    predicted: float = 0.0
    value: float | None = None
    measure: bool = True
    expanding: bool = False
    failed: bool = False
    told: bool = False
    children: tuple[Node, ...] = ()
    keys: Keys = field(default_factory=Keys)
    outcome: Outcome | None = None
    measurement: Measurement | None = None

    @property
    def trace(self) -> Trace:
        """Its rewrites from the baseline on."""
        return Trace(self.steps)

    @property
    def rewrite(self) -> Rewrite:
        """The last one. Raises IndexError for the procedure as written."""
        return self.steps[-1]

    @property
    def transform(self) -> str:
        """The name of the last rewrite's transform, empty for the procedure as written."""
        return self.steps[-1].transform if self.steps else ""

    @property
    def variant(self) -> bool:
        """Whether the procedure is the parent's, compiled otherwise."""
        return self.transform == COMPILE_WITH

    @property
    def as_written(self) -> bool:
        """Whether it is what a compiler makes of the procedure as written, without options."""
        alone = self.variant and len(self.steps) == 1
        return alone and not dict(self.rewrite.args).get("options")

    @property
    def expand(self) -> bool:
        """Whether its children are worth asking for: nobody did, and the node did not fail."""
        return not (self.expanding or self.failed)

    @property
    def depth(self) -> int:
        """How many rewrites it has."""
        depth, node = 0, self
        while node.parent is not None:
            depth, node = depth + 1, node.parent
        return depth

    @property
    def speedup(self) -> float | None:
        """Over the procedure as written, by the measurement that ranks the node."""
        return self.measurement.middle if self.measurement else None

    @property
    def confirmed(self) -> bool:
        """Whether its value is that of a confirmation."""
        return self.measurement is not None and self.measurement.confirmed

    def reached(self) -> float:
        """`value` of the node, or of the nearest measured node above it."""
        node: Node | None = self
        while node is not None:
            if node.value is not None:
                return node.value
            node = node.parent
        return 0.0

    def promise(self) -> float:
        """`value`, or what is predicted of the steps from the nearest measured node above it."""
        if self.value is not None or self.parent is None:
            return self.value or 0.0
        return self.parent.promise() + self.predicted


class Strategy(Protocol):
    """See the module's text for the contract."""

    def begin(self, root: Node, rng: random.Random) -> None:
        """Start a search below `root`, which is measured: the procedure as written, or the
        schedule that a search goes on from."""

    def measure(self) -> Node | None:
        """The next node to measure. Its `measure` holds."""

    def expand(self) -> Node | None:
        """The next node whose children to enumerate. It is not `expanding` yet."""

    def found(self, nodes: Sequence[Node]) -> None:
        """Hear of new nodes, parents first. Some may be expanded."""

    # def more(self, node: Node) -> None
    #     Hear that a node has children that are not made yet. Need not be there.

    def measured(self, node: Node) -> None:
        """Hear that a node has a `value`, or has `failed`. A node that has the machine code of one
        that is still to be measured fails first, and has a value later."""


class Idle:
    """Asks for nothing, in searches that go by hand."""

    def begin(self, root: Node, rng: random.Random) -> None:
        pass

    def measure(self) -> None:
        pass

    def expand(self) -> None:
        pass

    def found(self, nodes: Sequence[Node]) -> None:
        pass

    def measured(self, node: Node) -> None:
        pass

"""Two strategies and a transform as somebody writes them in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from schedsearch.analysis.walkers import fresh, loops, names
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.core.trace import ArgValue
from schedsearch.search.strategies.protocol import Node
from schedsearch.transforms.operators.ops import At, Op
from schedsearch.transforms.registry import Transform


class Widest:
    """Measures everything in order, expands everything."""

    def begin(self, root: Node, rng: Random) -> None:
        self.nodes = [root]

    def measure(self) -> Node | None:
        return next((node for node in self.nodes if node.measure), None)

    def expand(self) -> Node | None:
        return next((node for node in self.nodes if node.expand), None)

    def found(self, nodes: Sequence[Node]) -> None:
        self.nodes += nodes

    def measured(self, node: Node) -> None:
        pass


class Newest(Widest):
    """The newest schedule first; an object counts what it was told of."""

    nodes: list[Node]

    def __init__(self, told: int) -> None:
        self.told = told

    def found(self, nodes: Sequence[Node]) -> None:
        self.nodes[:0] = nodes
        self.told += len(nodes)


def propose(ast: q.Proc, target: Target) -> Iterator[tuple[q.Stmt, Mapping[str, ArgValue]]]:
    taken = names(ast)
    for loop in loops(ast):
        if loop.extent and loop.extent > 4 and loop.extent % 4 == 0:
            inner = fresh(taken, f"{loop.iter.name}_4")
            yield loop, {"inner": inner}


def steps(ast: q.Proc, path: q.Path, args: Mapping[str, object]) -> Iterator[Op]:
    outer = ast.by_path[path]
    assert isinstance(outer, q.For)
    yield Op("divide_loop", (At(path), 4, (outer.iter.name, args["inner"])), (("perfect", True),))


BY_FOUR = Transform("by_four", 1, "Divide a loop by four.", propose, steps)

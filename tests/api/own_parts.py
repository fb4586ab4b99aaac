"""Two strategies and a transform as somebody writes them in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from schedsearch.analysis.walkers import fresh, loops, names
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.core.trace import ArgValue
from schedsearch.search.strategies.protocol import Event, Expanded, Measured
from schedsearch.search.strategies.tree_strategy import Node, TreeStrategy
from schedsearch.transforms.operators.ops import At, Op
from schedsearch.transforms.registry import Transform


class Widest(TreeStrategy):
    """Measures everything in order, expands everything."""

    def __init__(self, root: str, seed: int) -> None:
        super().__init__(root, seed)
        self.nodes = [self.root]

    def measure(self) -> Node | None:
        return next((node for node in self.nodes if node.measure), None)

    def expand(self) -> Node | None:
        return next((node for node in self.nodes if node.expand), None)

    def found(self, nodes: Sequence[Node]) -> None:
        self.nodes += nodes

    def measured(self, node: Node) -> None:
        pass


class Newest:
    """The contract itself: the newest schedule first."""

    def __init__(self, root: str) -> None:
        self.to_expand, self.to_measure = {root: None}, dict[str, None]()

    def ask_measure(self, n: int) -> list[str]:
        return [self.to_measure.popitem()[0] for _ in range(min(n, len(self.to_measure)))]

    def ask_expand(self, n: int) -> list[str]:
        return [self.to_expand.popitem()[0] for _ in range(min(n, len(self.to_expand)))]

    def tell(self, event: Event) -> None:
        match event:
            case Expanded():
                self.to_expand.pop(event.key, None)
                new = {child.key: None for child in event.children}
                self.to_expand.update(new)
                self.to_measure.update(new)
            case Measured():
                self.to_measure.pop(event.key, None)


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

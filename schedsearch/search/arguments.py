"""Schedules that differ in the arguments of one rewrite."""

from __future__ import annotations

from math import log2

from schedsearch.core.trace import ArgValue, Rewrite, Trace
from schedsearch.search.knowledge import Node


def alternatives(node: Node) -> list[Node]:
    """Siblings made by the same transform at the same place, the nearest first."""
    if node.parent is None or node.info is None:
        return []
    own = node.info.rewrite
    found = [
        (distance(own, sibling.info.rewrite), sibling)
        for sibling in node.parent.children
        if sibling is not node
        and sibling.info is not None
        and same_place(own, sibling.info.rewrite)
    ]
    return [sibling for _, sibling in sorted(found, key=lambda item: item[0])]


def same_place(a: Rewrite, b: Rewrite) -> bool:
    return (a.transform, a.path, a.label) == (b.transform, b.path, b.label)


def distance(a: Rewrite, b: Rewrite) -> float:
    """Between the arguments: powers of two between positive integers, one for any other
    argument that differs or that only one of them has."""
    own, other = dict(a.args), dict(b.args)
    names = sorted(own.keys() | other.keys())
    return sum(_distance(own.get(name), other.get(name)) for name in names)


def _distance(a: ArgValue | None, b: ArgValue | None) -> float:
    if a == b:
        return 0.0
    if isinstance(a, int) and isinstance(b, int) and a > 0 and b > 0:
        return abs(log2(a / b))
    return 1.0


def chain(node: Node) -> list[Node]:
    """The nodes on the way to `node`, which is the last, without the root."""
    nodes = []
    while node.parent is not None:
        nodes.append(node)
        node = node.parent
    return nodes[::-1]


def behind(prefix: Trace, rest: list[Node]) -> Trace:
    """The rewrites that made `rest`, one after another, behind `prefix`."""
    steps = tuple(node.info.rewrite for node in rest if node.info is not None)
    return Trace(prefix.steps + steps)

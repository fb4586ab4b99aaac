"""Values that a function computes twice are one: `(x - x.mean()) / x.std()` needs the mean once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends.jit.building import parts
from schedsearch.frontends.views import replaced

_PLACES = [q.Var("", -1_000_000 - axis) for axis in range(32)]
"""Of views, in keys."""


def without_repetitions(body: Iterable[g.Statement]) -> tuple[g.Statement, ...]:
    """With one node for what is computed from the same, as long as no array of it is written."""
    found: list[g.Statement] = []
    known: dict[Hashable, Any] = {}
    reads: dict[Any, frozenset[g.Array]] = {}
    for stmt in body:
        match stmt:
            case g.Store():
                stmt = replace(stmt, value=_one(stmt.value, known, reads))
            case g.For():
                stmt = replace(stmt, body=without_repetitions(stmt.body))
            case g.If():
                then, other = map(without_repetitions, (stmt.body, stmt.orelse))
                stmt = replace(stmt, body=then, orelse=other)
        found.append(stmt)
        written = {each.array for each in g.statements((stmt,)) if isinstance(each, g.Store)}
        known = {key: node for key, node in known.items() if not reads[node] & written}
    return tuple(found)


def _one(
    root: g.Value, known: dict[Hashable, Any], reads: dict[Any, frozenset[g.Array]]
) -> g.Value:
    done: dict[Any, Any] = {}
    todo: list[Any] = [root]
    while todo:
        top = todo[-1]
        missing = [each for each in parts(top) if each not in done]
        if missing and top not in done:
            todo += missing
            continue
        todo.pop()
        if top not in done:
            node = _with(top, [done[each] for each in parts(top)])
            key = _key(node)
            done[top] = known.setdefault(key, node)
            own = frozenset({node.array}) if isinstance(node, g.Load) else frozenset[g.Array]()
            reads[done[top]] = own.union(*(reads[each] for each in parts(node)))
    found: g.Value = done[root]
    return found


def _with(node: Any, inner: list[Any]) -> Any:
    """The node with these as its parts."""
    if all(a is b for a, b in zip(parts(node), inner, strict=True)):
        return node
    match node:
        case g.View() | g.Cast() | g.Reduce() | g.Scan():
            return replace(node, source=inner[0])
        case g.Select():
            return replace(node, condition=inner[0], then=inner[1], other=inner[2])
        case g.Compare():
            return replace(node, lhs=inner[0], rhs=inner[1])
        case _:
            return replace(node, args=tuple(inner))


def _key(node: Any) -> Hashable:
    """The same for nodes that compute the same from the same parts."""
    inner = tuple(map(id, parts(node)))
    match node:
        case g.Constant():
            return "constant", repr(node.value), node.type
        case g.Count():
            return "count", node.value, node.type
        case g.Load():
            return "load", id(node.array)
        case g.View():
            names = dict(zip(node.vars, map(q.as_affine, _PLACES), strict=False))
            index = tuple(replaced(each, names) for each in node.index)
            return "view", inner, node.shape, index
        case g.Apply():
            return node.function, inner, node.type, node.shape
        case g.Select():
            return "select", inner
        case g.Cast():
            return "cast", inner, node.type
        case g.Reduce():
            return "reduce", node.function, inner, node.axes
        case g.Scan():
            return "scan", node.function, inner, node.axis
        case g.Compare() | g.Logical():
            return node.op, inner
        case _:
            return "other", id(node)

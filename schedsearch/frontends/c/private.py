"""Variables where they are used: C declares them at the top, and loops that share a variable can
be neither reordered nor run in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from schedsearch.frontends import graph

Body = tuple[graph.Statement, ...]


def narrowed(body: Body) -> Body:
    """The same, each scalar in the innermost loops and branches that always set it before they
    read it, and that none of its values leaves. Of one that has such places there are several."""
    out: list[graph.Statement] = []
    rest = body
    while rest:
        first, rest = rest[0], rest[1:]
        match first:
            case graph.Allocate() if not first.array.shape:
                rest = _placed(first, rest)
                if any(_uses(each, first.array) for each in rest):
                    out.append(first)
            case graph.For():
                out.append(replace(first, body=narrowed(first.body)))
            case graph.If():
                yes, no = narrowed(first.body), narrowed(first.orelse)
                out.append(replace(first, body=yes, orelse=no))
            case _:
                out.append(first)
    return tuple(out)


def _placed(allocate: graph.Allocate, rest: Body) -> Body:
    """The statements after an allocation, with private variables where that is possible."""
    array = allocate.array
    out: list[graph.Statement] = []
    for number, each in enumerate(rest):
        loop = isinstance(each, graph.For | graph.If)
        own = not _reads_first(each, array) and not _read_in(rest[number + 1 :], array)
        out.append(_private(each, allocate) if loop and own and _uses(each, array) else each)
    return tuple(out)


def _private(stmt: graph.Statement, allocate: graph.Allocate) -> graph.Statement:
    """A loop or a branch with variables of its own."""
    match stmt:
        case graph.For():
            return replace(stmt, body=_with_own(stmt.body, allocate))
        case graph.If():
            bodies = _with_own(stmt.body, allocate), _with_own(stmt.orelse, allocate)
            return replace(stmt, body=bodies[0], orelse=bodies[1])
        case _:
            return stmt


def _with_own(body: Body, allocate: graph.Allocate) -> Body:
    if not any(_uses(each, allocate.array) for each in body):
        return body
    own = graph.Array(allocate.array.name, allocate.array.type)
    renamed = tuple(_renamed(each, allocate.array, own) for each in body)
    return (graph.Allocate(own, allocate.line), *renamed)


# -- reads and writes ------------------------------------------------------------------------------


def _read_in(body: Sequence[graph.Statement], array: graph.Array) -> bool:
    """Whether statements may read the value that a variable has before them."""
    for each in body:
        if _reads_first(each, array):
            return True
        if _always_sets(each, array):
            return False
    return False


def _reads_first(stmt: graph.Statement, array: graph.Array) -> bool:
    match stmt:
        case graph.Store():
            return (stmt.add and stmt.array is array) or _loads(stmt.value, array)
        case graph.For():
            return _read_in(stmt.body, array)
        case graph.If():
            return _read_in(stmt.body, array) or _read_in(stmt.orelse, array)
        case _:
            return False


def _always_sets(stmt: graph.Statement, array: graph.Array) -> bool:
    match stmt:
        case graph.Store():
            return stmt.array is array
        case graph.If():
            return all(
                any(_always_sets(each, array) for each in branch)
                for branch in (stmt.body, stmt.orelse)
            )
        case _:
            return False  # a loop may be empty


def _uses(stmt: graph.Statement, array: graph.Array) -> bool:
    return any(
        each.array is array or _loads(each.value, array)
        for each in graph.statements((stmt,))
        if isinstance(each, graph.Store)
    )


def _loads(value: graph.Value | graph.Condition, array: graph.Array) -> bool:
    match value:
        case graph.Load():
            return value.array is array
        case graph.View() | graph.Cast():
            return _loads(value.source, array)
        case graph.Apply() | graph.Logical():
            return any(_loads(each, array) for each in value.args)
        case graph.Select():
            return any(_loads(v, array) for v in (value.condition, value.then, value.other))
        case graph.Compare():
            return _loads(value.lhs, array) or _loads(value.rhs, array)
        case _:
            return False


# -- another name ----------------------------------------------------------------------------------


def _renamed(stmt: graph.Statement, old: graph.Array, new: graph.Array) -> graph.Statement:
    match stmt:
        case graph.Store():
            array = new if stmt.array is old else stmt.array
            return replace(stmt, array=array, value=_value(stmt.value, old, new))
        case graph.For():
            return replace(stmt, body=tuple(_renamed(each, old, new) for each in stmt.body))
        case graph.If():
            yes, no = (
                tuple(_renamed(each, old, new) for each in branch)
                for branch in (stmt.body, stmt.orelse)
            )
            return replace(stmt, body=yes, orelse=no)
        case _:
            return stmt


def _value(value: graph.Value, old: graph.Array, new: graph.Array) -> graph.Value:
    if not _loads(value, old):
        return value
    match value:
        case graph.Load():
            return graph.Load(new)
        case graph.View() | graph.Cast():
            return replace(value, source=_value(value.source, old, new))
        case graph.Apply():
            return replace(value, args=tuple(_value(each, old, new) for each in value.args))
        case graph.Select():
            return graph.Select(
                _condition(value.condition, old, new),
                _value(value.then, old, new),
                _value(value.other, old, new),
            )
        case _:
            return value


def _condition(condition: graph.Condition, old: graph.Array, new: graph.Array) -> graph.Condition:
    match condition:
        case graph.Compare():
            lhs, rhs = (_value(each, old, new) for each in (condition.lhs, condition.rhs))
            return graph.Compare(condition.op, lhs, rhs)
        case graph.Logical():
            return replace(
                condition, args=tuple(_condition(each, old, new) for each in condition.args)
            )
        case _:
            return condition

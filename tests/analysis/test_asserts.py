"""Asserts at calls: what Exo proves where a procedure is written is accepted, and with one
element more it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from transforms.helpers import Procedures

from schedsearch.analysis.certain import broken_assert
from schedsearch.core import ast as q
from schedsearch.transforms.exo.mirror import mirror

CALLS = Procedures("calls")


def call_of(proc: q.Proc) -> q.Call:
    return next(stmt for stmt in q.walk(proc.body) if isinstance(stmt, q.Call))


def changed(proc: q.Proc, position: int, by: int) -> q.Proc:
    """The procedure with one argument of its call moved."""
    call = call_of(proc)

    def with_call(stmt: q.Stmt) -> q.Stmt:
        match stmt:
            case q.Call():
                args = list(call.args)
                value = args[position]
                assert isinstance(value, q.Affine)
                args[position] = value + by
                return replace(call, args=tuple(args))
            case q.For() | q.If():
                return replace(stmt, body=tuple(map(with_call, stmt.body)))
            case _:
                return stmt

    return replace(proc, body=tuple(map(with_call, proc.body)))


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"below"}))
def test_what_holds_is_seen_to_and_what_does_not_is_refused(name: str) -> None:
    proc = mirror(CALLS[name])
    path = call_of(proc).path
    assert broken_assert(proc, path) is None
    assert "i < n" in (broken_assert(changed(proc, 1, +1), path) or "")
    assert "0 <= j" in (broken_assert(changed(proc, 2, -1), path) or "")
    assert broken_assert(changed(proc, 1, +4), path)
    assert broken_assert(changed(proc, 2, +8), path)


def test_a_guard_says_nothing_of_the_other_branch() -> None:
    proc = mirror(CALLS["guarded"])
    outer = proc.body[0]
    assert isinstance(outer, q.For)
    inner = outer.body[0]
    assert isinstance(inner, q.For)
    guard = inner.body[0]
    assert isinstance(guard, q.If)
    call = replace(call_of(proc), path=(*guard.path, "e", 0))
    nothing = (q.Pass((*guard.path, 0)),)
    swapped = replace(guard, body=nothing, orelse=(call,))
    proc = replace(proc, body=(replace(outer, body=(replace(inner, body=(swapped,)),)),))
    assert broken_assert(proc, call.path)

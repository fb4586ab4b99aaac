"""Bytes that a call has to move, against an execution that looks at every element."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.evaluate.arguments.binding import Binding, bind
from schedsearch.evaluate.roof.traffic import Streams, count_streams
from schedsearch.transforms.exo.mirror import mirror

from . import procs


def streams(procedure: Any, **sizes: int) -> Streams:
    proc = mirror(procedure)
    return count_streams(inline_calls(proc), bind(proc, sizes))


@pytest.mark.normal
def test_what_is_added_to_is_loaded_and_stored() -> None:
    found = streams(procs.matmul, M=3, N=5, K=7)
    assert found == Streams(read=4 * (21 + 35), written=0, updated=4 * 15)
    assert found.bytes == 4 * (21 + 35 + 2 * 15)


def test_what_is_stored_first_need_not_be_loaded() -> None:
    found = streams(procs.triple)
    assert (found.written, found.updated) == (64 * 4, 0)


def test_padding_of_windows_is_not_touched() -> None:
    assert streams(procs.windowed, n=3, m=5).footprint == 4 * 2 * 15


N, SIZE = 6, 20


@st.composite
def indices(draw: st.DrawFn, i: q.Var, j: q.Var) -> q.Affine:
    both = st.integers(0, 2)
    index = q.as_affine(i).scaled(draw(both)) + q.as_affine(j).scaled(draw(both))
    return index if draw(st.booleans()) else q.as_affine(q.FloorDiv(index, 2))


@st.composite
def nests(draw: st.DrawFn) -> q.Proc:
    """Two nests of two loops over one array of 20 x 20, bounds of the inner one and guards
    depending on the outer one."""
    array, uids = q.Var("a", 0), iter(range(1, 99))
    body: list[q.Stmt] = []
    for _ in range(2):
        i, j = q.Var("i", next(uids)), q.Var("j", next(uids))
        at = [draw(indices(i, j)) for _ in range(4)]
        read = q.Read(array, (at[0], at[1]), "f32")
        kind = draw(st.sampled_from((q.Assign, q.Reduce)))
        inner: q.Stmt = kind((), array, (at[2], at[3]), read, "f32")
        if draw(st.booleans()):
            condition = q.BinOp("<", q.as_affine(i), q.as_affine(draw(st.integers(0, N))), "bool")
            inner = q.If((), condition, (inner,), (q.Pass(()),))
        hi = q.as_affine(i) if draw(st.booleans()) else q.Affine(draw(st.integers(0, 4)))
        nest = q.For((), j, q.Affine(0), hi, (inner,), False)
        body.append(q.For((), i, q.Affine(0), q.Affine(draw(st.integers(0, 5))), (nest,), False))
    arg = q.Arg(array, "f32", (q.Affine(SIZE), q.Affine(SIZE)), False)
    return q.Proc("p", (arg,), (), tuple(body))


def executed(proc: q.Proc) -> Streams:
    """Statement by statement in the order of the text, each over all its iterations."""
    loaded, stored = set[tuple[int, ...]](), set[tuple[int, ...]]()

    def at(idx: tuple[q.Affine, ...], env: dict[Any, int]) -> tuple[int, ...]:
        return tuple(q.evaluate_affine(index, env.__getitem__) for index in idx)

    for outer in proc.body:
        assert isinstance(outer, q.For)
        (nest,) = outer.body
        assert isinstance(nest, q.For)
        (inner,) = nest.body
        guard = inner.cond if isinstance(inner, q.If) else None
        stmt = inner.body[0] if isinstance(inner, q.If) else inner
        assert isinstance(stmt, q.Assign | q.Reduce)
        assert isinstance(stmt.rhs, q.Read)
        envs = []
        for i in range(q.evaluate_affine(outer.hi, {}.__getitem__)):
            for j in range(q.evaluate_affine(nest.hi, {outer.iter: i}.__getitem__)):
                env = {outer.iter: i, nest.iter: j}
                if guard is None or i < q.evaluate_affine(guard.rhs, env.__getitem__):  # type: ignore[union-attr]
                    envs.append(env)
        reads = {at(stmt.rhs.idx, env) for env in envs}
        writes = {at(stmt.idx, env) for env in envs}
        loaded |= reads - stored
        if isinstance(stmt, q.Reduce):
            loaded |= writes - stored
        stored |= writes
    return Streams(4 * len(loaded - stored), 4 * len(stored - loaded), 4 * len(stored & loaded))


@pytest.mark.normal
@settings(max_examples=150, deadline=None)
@given(nests())
def test_elements_are_counted_exactly(proc: q.Proc) -> None:
    assert count_streams(proc, Binding(())) == executed(proc)


def test_an_array_without_end_costs_no_memory() -> None:
    x, i, n = q.Var("x", 0), q.Var("i", 1), 1 << 40
    body = q.Reduce((), x, (q.as_affine(i),), q.Const(1.0, "f32"), "f32")
    loop = q.For((), i, q.Affine(0), q.Affine(n), (body,), False)
    proc = q.Proc("p", (q.Arg(x, "f32", (q.Affine(n),), False),), (), (loop,))
    assert count_streams(proc, Binding(())).updated == pytest.approx(4 * n)


def triangle(n: int) -> Streams:
    """`x[i] += a[i, j]` for all `j < i < n`."""
    a, x, i, j = q.Var("a", 0), q.Var("x", 1), q.Var("i", 2), q.Var("j", 3)
    read = q.Read(a, (q.as_affine(i), q.as_affine(j)), "f32")
    body = q.Reduce((), x, (q.as_affine(i),), read, "f32")
    inner = q.For((), j, q.Affine(0), q.as_affine(i), (body,), False)
    outer = q.For((), i, q.Affine(0), q.Affine(n), (inner,), False)
    square, row = (q.Affine(n), q.Affine(n)), (q.Affine(n),)
    args = (q.Arg(a, "f32", square, False), q.Arg(x, "f32", row, False))
    return count_streams(q.Proc("p", args, (), (outer,)), Binding(()))


@pytest.mark.parametrize("n", [300, 3000])
def test_a_triangle_is_not_the_square(n: int) -> None:
    """With few iterations, and with more than are looked at one by one."""
    assert triangle(n) == Streams(4 * n * (n - 1) // 2, 0, 4 * (n - 1))

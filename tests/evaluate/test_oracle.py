from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedsearch.core import ast as q
from schedsearch.evaluate.binding import Binding, bind
from schedsearch.evaluate.effects import Loop, Write, read_buffers, written_buffers
from schedsearch.evaluate.inline import inline_calls
from schedsearch.evaluate.oracle import Data, Fill, Mode, Oracle, oracle
from schedsearch.transforms.mirror import mirror

from . import procs


def judge(procedure: Any, mode: Mode, **sizes: int) -> Oracle:
    proc = mirror(procedure)
    return oracle(proc, bind(proc, sizes), mode)


def data(found: Oracle, name: str) -> Data:
    return dict(found.data)[name]


EXACT = [
    (procs.matmul, 8),
    (procs.matmul_acc, 8),
    (procs.triple, 8),
    (procs.twice, 8),
    (procs.windowed, 8),
    (procs.calls, 8),
    (procs.triangle, 8),
    (procs.branches, 8),
    (procs.rectified, 8),
    (procs.configured, 8),
    (procs.in_static, 8),
    (procs.long_sum, 2),
]


@pytest.mark.parametrize(("procedure", "expected"), EXACT)
def test_integers_are_compared_exactly_where_nothing_can_round(
    procedure: Any, expected: int
) -> None:
    found = judge(procedure, Mode.INTEGERS)
    assert found.exact
    assert found.config == (-expected, expected)
    assert all(d.absolute == d.relative == 0 for _, d in found.data)


@pytest.mark.parametrize("procedure", [procs.divided, procs.rooted, procs.waves, procs.recurrence])
def test_inexact_operations_get_a_tolerance(procedure: Any) -> None:
    found = judge(procedure, Mode.INTEGERS)
    assert not found.exact
    assert any(d.absolute + d.relative > 0 for _, d in found.data if d.written)


def test_large_reductions_use_smaller_integers() -> None:
    """K * 8 * 8 passes 2^24 at K = 2^18."""
    assert judge(procs.matmul, Mode.INTEGERS, K=2**17).config[1] == 8
    assert judge(procs.matmul, Mode.INTEGERS, K=2**18).config[1] == 4
    assert not judge(procs.matmul, Mode.INTEGERS, K=2**25).exact


def test_each_type_has_its_own_precision() -> None:
    found = judge(procs.every_type, Mode.FLOATS)
    half, single, double = (data(found, name).absolute for name in "hfd")
    assert half > 1e-3 > single > 1e-8 > double > 0
    assert data(judge(procs.every_type, Mode.INTEGERS), "r").absolute > 0
    assert data(judge(procs.every_type, Mode.INTEGERS), "d").absolute == 0
    for name in "suwi":
        assert data(found, name).absolute == data(found, name).relative == 0


def test_tolerance_is_the_documented_bound() -> None:
    """Depth of C: K additions, a multiplication each; sum of |terms| at most K + 1."""
    found = data(judge(procs.matmul, Mode.FLOATS, K=100), "C")
    assert found.absolute == pytest.approx(2 * 8 * 101**0.5 * 2**-24 * 101)
    assert found.relative == 0


def test_only_outputs_never_read_are_poisoned() -> None:
    fills = {name: d.fill for name, d in judge(procs.triple, Mode.INTEGERS).data}
    assert fills == {"y": Fill.POISON, "x": Fill.INTEGERS}
    assert data(judge(procs.matmul, Mode.INTEGERS), "C").fill is Fill.INTEGERS


def test_inlining_resolves_windows_and_calls() -> None:
    inlined = inline_calls(mirror(procs.calls))
    kinds = {type(stmt) for stmt in q.walk(inlined.body)}
    assert kinds == {q.For, q.Reduce, q.Assign}
    y, x = inlined.args[1].var, inlined.args[2].var
    assert written_buffers(inlined) == {y}
    assert read_buffers(inlined) == {x, y}
    assign = next(s for s in q.walk(inlined.body) if isinstance(s, q.Assign))
    assert assign.idx[0] == q.Affine(3)


VARS = [q.Var(name, uid) for uid, name in enumerate("ijk")]


@st.composite
def indices(draw: st.DrawFn) -> q.Affine:
    total = q.Affine(draw(st.integers(-2, 2)))
    for var in VARS:
        total = total + q.as_affine(var).scaled(draw(st.integers(-2, 2)))
    kind = draw(st.sampled_from(["plain", "div", "mod", "sum"]))
    if kind == "div":
        return q.floor_div(total, draw(st.integers(2, 3)))
    if kind == "mod":
        return q.modulo(total, draw(st.integers(2, 3)))
    if kind == "sum":
        return total + q.floor_div(q.as_affine(VARS[0]), 2)
    return total


@settings(max_examples=300, deadline=None)
@given(st.lists(indices(), max_size=3), st.tuples(*[st.integers(1, 4)] * 3))
def test_hits_is_an_upper_bound(idx: list[q.Affine], trips: tuple[int, int, int]) -> None:
    stmt = q.Reduce((), q.Var("x", 9), tuple(idx), q.Const(1.0, "f32"), "f32")
    loops = tuple(Loop(var, count) for var, count in zip(VARS, trips, strict=True))
    counts: dict[tuple[int, ...], int] = {}
    for point in itertools.product(*map(range, trips)):
        env = dict(zip(VARS, point, strict=True))
        element = tuple(q.evaluate_affine(i, lambda atom, env=env: env[atom]) for i in idx)
        counts[element] = counts.get(element, 0) + 1
    assert Write(stmt, loops).hits >= max(counts.values())


def test_hits_of_common_accesses() -> None:
    i, j, k = map(q.as_affine, VARS)
    loops = tuple(Loop(var, 10) for var in VARS)

    def hits(*idx: q.Affine) -> int:
        return Write(q.Reduce((), q.Var("x", 9), idx, q.Const(1.0, "f32"), "f32"), loops).hits

    assert hits(i, j) == 10
    assert hits(i, j, k) == 1
    assert hits(i + j, k) == 10
    assert hits(q.Affine(0)) == 1000


def test_empty_binding_is_enough_for_constant_sizes() -> None:
    assert oracle(mirror(procs.triple), Binding(()), Mode.INTEGERS).exact

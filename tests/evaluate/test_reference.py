"""The reference against a plain interpreter, element by element, and against C."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transforms.helpers import CONTROLS, arguments, kernels
from transforms.interpret import DTYPES, interpret

from schedsearch.core import ast as q
from schedsearch.evaluate import reference
from schedsearch.evaluate.inline import inline_calls
from schedsearch.evaluate.lockstep import lockstep_loops
from schedsearch.transforms.mirror import mirror

from . import procs


def assert_same(found: list[Any], wanted: list[Any]) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=3e-6)


@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_kernels(name: str) -> None:
    proc = mirror(kernels()[name])
    for controls in CONTROLS[name]:
        wanted, found = arguments(proc, controls, 1), arguments(proc, controls, 1)
        interpret(proc, wanted)
        reference.run(proc, found)
        assert_same(found, wanted)


@pytest.mark.parametrize(
    ("procedure", "controls"),
    [
        (procs.matmul, {"M": 3, "N": 5, "K": 7}),
        (procs.triangle, {"n": 9}),
        (procs.calls, {"n": 6}),
        (procs.recurrence, {"n": 8}),
        (procs.branches, {"n": 12, "k": 2}),
        (procs.rectified, {"n": 5}),
        (procs.waves, {"n": 5}),
        (procs.normalise, {}),
        (procs.in_static, {"n": 6}),
    ],
    ids=lambda value: value.name() if hasattr(value, "name") else "",
)
def test_procedures(procedure: Any, controls: dict[str, int]) -> None:
    proc = mirror(procedure)
    wanted, found = arguments(proc, controls, 2), arguments(proc, controls, 2)
    interpret(proc, wanted)
    reference.run(proc, found)
    assert_same(found, wanted)


def test_integers_wrap_when_stored_and_floats_round() -> None:
    proc = mirror(procs.every_type)
    one = {"f": 1.0, "d": 1e300, "h": 1.5, "s": 100, "u": 200, "w": 40000, "i": 2**30, "r": 3.0}
    args: list[Any] = [1, 0, True, np.array(0.1, np.float32)]
    args += [np.full(1, one[arg.var.name], DTYPES[arg.type]) for arg in proc.args[4:]]
    reference.run(proc, args)
    f, d, h, s, u, w, i, r = (array[0] for array in args[4:])
    assert f == np.float32(0.1) + np.float32(0.1) * np.float32(2)
    assert (d, h, r) == (2e300, 3.0, 1.5)
    assert (s, u, w) == (100 * 100 - 39 * 256, 600 - 512, 80000 - 65536)
    assert i == 3 * 2**30 - 2**32


def test_configuration_decides_and_is_written() -> None:
    proc = mirror(procs.configured)
    config: dict[tuple[str, str], Any]
    config = {("Cfg", "enabled"): True, ("Cfg", "count"): 1, ("Cfg", "scale"): np.float32(3)}
    x = np.ones(4, np.float32)
    reference.run(proc, [4, x], config)
    assert x.tolist() == [3.0] * 4
    assert (config["Cfg", "count"], config["Cfg", "enabled"]) == (4, False)
    reference.run(proc, [4, x], config)
    assert x.tolist() == [3.0] * 4


def test_windows_of_any_strides() -> None:
    proc = mirror(procs.windowed)
    y, x = np.zeros((4, 9), np.float32)[:, 1:7:2], np.ones((6, 9), np.float32)[:4, 3:6]
    reference.run(proc, [4, 3, y, x])
    assert y.base is not None
    assert y.base.sum() == y.sum() == 12


def test_a_whole_matrix_product_takes_few_steps() -> None:
    """In plain Python this many multiplications would be estimated at 26 minutes."""
    n = 512
    proc = mirror(procs.matmul)
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (2, n, n)).astype(np.float32)
    c = np.zeros((n, n), np.float32)
    reference.run(proc, [n, n, n, c, a, b], limit_s=2.0)
    assert np.array_equal(c, a @ b)


def test_what_takes_too_long_is_not_begun() -> None:
    x = np.ones(10**7 + 1, np.float32)
    with pytest.raises(reference.Unaffordable):
        reference.run(mirror(procs.recurrence), [10**7, x], limit_s=10.0)
    assert (x == 1).all()


def test_what_it_takes_is_told_by_the_steps_that_are_left() -> None:
    """Both do as much; only `factorised` has a loop whose iterations run together."""
    together, alone = (
        reference.run(mirror(each), [24, np.eye(24, dtype=np.float32)])
        for each in (procs.factorised, procs.shortest)
    )
    assert 0.1 < alone / (24**3 * 10 * 3e-6) < 10
    assert together < alone / 10


IV, JV, KV = (q.Var(name, uid) for name, uid in (("i", 3), ("j", 4), ("k", 5)))
X, Y, T = q.Var("x", 0), q.Var("y", 1), q.Var("t", 2)
SIZE = 40


@st.composite
def affine_index(draw: st.DrawFn) -> q.Affine:
    """Somewhere inside of `SIZE` elements, with loop variables below 3."""
    total = q.Affine(draw(st.integers(8, 12)))
    for var in (IV, JV, KV):
        total = total + q.as_affine(var).scaled(draw(st.sampled_from([-1, 0, 0, 1, 2, 3])))
    match draw(st.sampled_from(["plain", "plain", "plain", "quotient", "remainder"])):
        case "quotient":
            return q.floor_div(total, draw(st.integers(2, 3)))
        case "remainder":
            return q.modulo(total, draw(st.integers(2, 7)))
    return total


@st.composite
def data_expression(draw: st.DrawFn) -> q.Expr:
    expr: q.Expr = q.Read(draw(st.sampled_from([X, Y, T])), (draw(affine_index()),), "f32")
    if draw(st.booleans()):
        other = q.Read(draw(st.sampled_from([X, Y])), (draw(affine_index()),), "f32")
        expr = q.BinOp(draw(st.sampled_from(["+", "-"])), expr, other, "f32")
    return expr


@st.composite
def write(draw: st.DrawFn) -> q.Stmt:
    kind = draw(st.sampled_from([q.Assign, q.Reduce, q.Reduce]))
    buf = draw(st.sampled_from([X, X, T]))
    return kind((), buf, (draw(affine_index()),), draw(data_expression()), "f32")


@st.composite
def nest(draw: st.DrawFn) -> q.Stmt:
    """Three loops with writes before, between and behind; `t` lives in one of the loops."""
    body = tuple(draw(st.lists(write(), min_size=1, max_size=2)))
    depth = draw(st.integers(0, 2))
    for level, var in enumerate((KV, JV, IV)):
        if level == depth:
            body = (*_cleared(), *body)
        low = draw(st.integers(0, 1))
        high = draw(st.sampled_from([q.Affine(3), q.Affine(1), q.as_affine(IV) + 1]))
        if var is IV:
            high = q.Affine(3)
        body = (q.For((), var, q.Affine(low), high, body, False),)
        if level < 2:
            body = (*draw(st.lists(write(), max_size=1)), *body)
            body = tuple(s for s in body if T not in q.used_vars((s,)) or isinstance(s, q.For))
    return body[0]


def _cleared() -> tuple[q.Stmt, ...]:
    every = q.Var("e", 6)
    clear = q.Assign((), T, (q.as_affine(every),), q.Const(0.0, "f32"), "f32")
    return (
        q.Alloc((), T, "f32", (q.Affine(SIZE),), "DRAM"),
        q.For((), every, q.Affine(), q.Affine(SIZE), (clear,), False),
    )


def _bound(stmt: q.Stmt, known: frozenset[q.Var]) -> bool:
    """Whether every variable used in the statement is bound there."""
    match stmt:
        case q.For():
            inside = known | {stmt.iter}
            ends = q.expr_vars(stmt.lo) | q.expr_vars(stmt.hi)
            found = ends <= known
            for inner in stmt.body:
                found = found and _bound(inner, inside)
                if isinstance(inner, q.Alloc):
                    inside |= {inner.buf}
            return found
        case q.Alloc():
            return True
        case _:
            return q.used_vars((stmt,)) <= known


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(nest().filter(lambda stmt: _bound(stmt, frozenset({X, Y}))))
def test_random_nests(stmt: q.Stmt) -> None:
    """Whole numbers: sums are exact in any order, so that every dependence shows."""
    args = tuple(q.Arg(var, "f32", (q.Affine(SIZE),)) for var in (X, Y))
    proc = q.Proc("nest", args, (), (stmt,))
    rng = np.random.default_rng(1)
    wanted = [rng.integers(-3, 4, SIZE).astype(np.float32) for _ in args]
    found = copy.deepcopy(wanted)
    interpret(proc, wanted)
    reference.run(proc, found)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_which_loops_run_together() -> None:
    def together(procedure: Any, **values: int) -> set[str]:
        proc = inline_calls(mirror(procedure))
        known: dict[q.Atom, int] = {
            a.var: values[a.var.name] for a in proc.args if a.type == "size"
        }
        found = lockstep_loops(proc, known)
        loops = [stmt for stmt in q.walk(proc.body) if isinstance(stmt, q.For)]
        return {loop.iter.name for loop in loops if loop.iter.uid in found}

    assert together(procs.matmul, M=9, N=9, K=9) == {"i", "j", "k"}
    assert together(procs.triangle, n=9) == {"j"}
    assert together(procs.recurrence, n=9) == set()
    assert together(procs.factorised, n=9) == {"j"}
    assert together(procs.shortest, n=9) == set()

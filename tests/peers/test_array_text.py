"""Derived NumPy computes what the procedure does, or says which statement has no such form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from evaluate.nests import SIZE, X, Y, nest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from transforms.interpret import DTYPES, interpret

from schedsearch.core import ast as q
from schedsearch.evaluate.arguments.binding import Binding
from schedsearch.peers.array_text import TORCH, array_text
from schedsearch.peers.arraywise import NotArraywise, arraywise
from schedsearch.peers.blas_text import blas_text
from schedsearch.peers.loops_text import loops_text

NOTHING = Binding(())


def prepared(text: str, arrays: list[Any]) -> Callable[[], None]:
    space: dict[str, Any] = {}
    exec(text, space)
    return space["prepare"](*arrays)


def data(proc: q.Proc, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    made = []
    for arg in proc.args:
        shape = tuple(extent.const for extent in arg.shape or ())
        if arg.type[0] == "f":
            made.append(np.asarray(rng.uniform(-2, 2, shape), DTYPES[arg.type]))
        else:
            made.append(np.asarray(rng.integers(-100, 100, shape), DTYPES[arg.type]))
    return made


def assert_same(proc: q.Proc, text: str) -> None:
    got, wanted = data(proc), data(proc)
    call = prepared(text, got)
    with np.errstate(over="ignore"):
        for _ in range(2):  # what is prepared once may be called again
            call()
            interpret(proc, wanted)
    for arg, own, other in zip(proc.args, got, wanted, strict=True):
        if arg.type[0] == "f":
            scale = max(1.0, float(np.max(np.abs(other), initial=0)))
            np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-4 * scale, err_msg=text)
        else:
            np.testing.assert_array_equal(own, other, err_msg=text)


def of_nest(stmt: q.Stmt) -> q.Proc:
    args = tuple(q.Arg(var, "f32", (q.Affine(SIZE),)) for var in (X, Y))
    return q.Proc("drawn", args, (), (stmt,))


def contraction(*terms: str, kind: str = "f32") -> q.Proc:
    """`target += product of the others`, by the names of their loops."""
    *factors, target = terms
    loops = {name: q.Var(name, 50 + ord(name)) for name in sorted(set("".join(terms)))}
    sizes = {name: 3 + at for at, name in enumerate(loops)}
    buffers = [q.Var(f"x{at}", at) for at in range(len(terms))]
    reads = [
        q.Read(buffer, tuple(q.as_affine(loops[name]) for name in names), kind)
        for buffer, names in zip(buffers, factors, strict=False)
    ]
    value: q.Expr = reads[0]
    for read in reads[1:]:
        value = q.BinOp("*", value, read, kind)
    at = tuple(q.as_affine(loops[name]) for name in target)
    body: tuple[q.Stmt, ...] = (q.Reduce((), buffers[-1], at, value, kind),)
    for name, var in loops.items():
        body = (q.For((), var, q.Affine(0), q.Affine(sizes[name]), body, False),)
    args = tuple(
        q.Arg(buffer, kind, tuple(q.Affine(sizes[name]) for name in names) or None)
        for buffer, names in zip(buffers, terms, strict=True)
    )
    return q.Proc("contraction", args, (), body)


LOOPS = tuple(q.Var(name, 10 + at) for at, name in enumerate("ijkl"))
EXTENTS = (4, 3, 5, 2)


@st.composite
def indices(draw: st.DrawFn, among: list[q.Var], most: int = 3) -> tuple[q.Affine, ...]:
    chosen = draw(st.permutations(among))[: draw(st.integers(0, most))]
    return tuple(q.as_affine(var) + draw(st.sampled_from([0, 0, 1])) for var in chosen)


@st.composite
def procedure(draw: st.DrawFn) -> q.Proc:
    """One or two nests of four loops at most: contractions, sums, elementwise."""
    kind = draw(st.sampled_from(["f32", "f32", "f64", "i32", "i8"]))
    shapes: dict[q.Var, tuple[q.Affine, ...]] = {}

    def access(idx: tuple[q.Affine, ...]) -> tuple[q.Var, tuple[q.Affine, ...]]:
        var = q.Var("abcdefgh"[len(shapes)], len(shapes))
        extents = dict(zip(LOOPS, EXTENTS, strict=True))
        shapes[var] = tuple(
            q.Affine(extents[own] + index.const + draw(st.sampled_from([0, 1])))
            for index in idx
            for own in q.expr_vars(index)
        )
        return var, idx

    target, at = access(draw(indices(list(LOOPS))))
    loops = [var for var in LOOPS if any(q.mentions(index, var) for index in at)]
    adds = draw(st.booleans())
    if adds:
        rest = [var for var in LOOPS if var not in loops]
        loops += rest[: draw(st.integers(0, 2))]
    leaves: list[q.Expr] = [
        q.Read(*access(draw(indices(loops))), kind) for _ in range(draw(st.integers(1, 3)))
    ]
    if draw(st.booleans()):
        leaves.append(q.Const(2 if kind[0] == "i" else 0.5, kind))
    if not adds and draw(st.booleans()):
        leaves.append(q.Read(target, at, kind))
    operators = draw(st.sampled_from(["*", "*", "+-*"]))
    value = leaves[0]
    for leaf in leaves[1:]:
        value = q.BinOp(draw(st.sampled_from(operators)), value, leaf, kind)
    if draw(st.booleans()):
        value = q.USub(value, kind)
    into = (
        kind if kind == "f64" else draw(st.sampled_from([kind, "f64" if kind == "f32" else "i32"]))
    )
    make = q.Reduce if adds else q.Assign
    body: tuple[q.Stmt, ...] = (make((), target, at, value, into),)
    for var in draw(st.permutations(loops)):
        low = draw(st.sampled_from([0, 0, 1]))
        extent = EXTENTS[LOOPS.index(var)]
        body = (q.For((), var, q.Affine(low), q.Affine(extent), body, False),)
        if adds and draw(st.integers(0, 3)) == 0 and all(q.mentions(i, var) for i in at[:1]):
            outer = set(q.free_vars(body[0])) & set(LOOPS)
            if all(q.expr_vars(index) <= outer for index in at):
                body = (q.Assign((), target, at, q.Const(0.0, into), into), *body)
    args = tuple(
        q.Arg(var, into if var == target else kind, shape or None)
        for var, shape in sorted(shapes.items(), key=lambda item: item[0].uid)
    )
    return q.Proc("drawn", args, (), body)


@pytest.mark.normal
@settings(deadline=None, max_examples=300)
@given(procedure())
def test_derived_numpy_is_what_the_procedure_means(proc: q.Proc) -> None:
    assert_same(proc, array_text(arraywise(proc, NOTHING)))


@pytest.mark.normal
@settings(deadline=None, max_examples=300)
@given(procedure())
def test_derived_torch_is_what_the_procedure_means(proc: q.Proc) -> None:
    pytest.importorskip("torch")
    assert_same(proc, array_text(arraywise(proc, NOTHING), TORCH))


@pytest.mark.normal
@settings(deadline=None, max_examples=300)
@given(procedure())
def test_blas_is_what_the_procedure_means_or_none(proc: q.Proc) -> None:
    pytest.importorskip("scipy")
    try:
        text = blas_text(arraywise(proc, NOTHING))
    except NotArraywise:
        return
    assert_same(proc, text)


@pytest.mark.normal
@settings(deadline=None, max_examples=100)
@given(st.one_of(procedure(), nest().map(of_nest)))
def test_loops_are_what_the_procedure_means(proc: q.Proc) -> None:
    """As Python: what numba compiles."""
    assume(
        q.free_vars(q.For((), q.Var("once", 99), q.Affine(0), q.Affine(1), proc.body, False))
        <= {arg.var for arg in proc.args}
    )
    assert_same(proc, loops_text(proc, NOTHING, compiled=False))


FORMS = {
    "gemm": ("ik", "kj", "ij"),
    "gemm, left turned": ("ki", "kj", "ij"),
    "gemm, right turned": ("ik", "jk", "ij"),
    "gemm, both turned": ("ki", "jk", "ij"),
    "gemm, result turned": ("ik", "kj", "ji"),
    "gemv": ("ik", "k", "i"),
    "gemv, turned": ("ki", "k", "i"),
    "ger": ("i", "j", "ij"),
    "dot": ("k", "k", ""),
    "axpy": ("i", "i"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_blas_has_its_forms(form: str, kind: str) -> None:
    pytest.importorskip("scipy")
    proc = contraction(*FORMS[form], kind=kind)
    text = blas_text(arraywise(proc, NOTHING))
    assert f"blas.{'s' if kind == 'f32' else 'd'}{form.split(',')[0]}(" in text
    assert_same(proc, text)


@pytest.mark.parametrize(
    ("terms", "operator"),
    [
        (("ik", "kj", "ij"), "np.matmul"),
        (("ki", "jk", "ij"), "np.matmul"),
        (("ik", "k", "i"), "np.matmul"),
        (("bik", "bkj", "bij"), "np.matmul"),
        (("bij", "jk", "bik"), "np.matmul"),
        (("ijk", "jkl", "il"), "np.einsum"),
        (("ij", "jk", "kl", "il"), "np.einsum"),
        (("ij", "i"), "np.sum"),
    ],
)
def test_contractions_have_the_form_that_blas_takes(terms: tuple[str, ...], operator: str) -> None:
    proc = contraction(*terms)
    text = array_text(arraywise(proc, NOTHING))
    assert operator in text
    assert_same(proc, text)


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(nest())
def test_of_any_nest_it_is_right_or_none(stmt: q.Stmt) -> None:
    assume(q.free_vars(stmt) <= {X, Y})
    proc = of_nest(stmt)
    try:
        text = array_text(arraywise(proc, NOTHING))
    except NotArraywise:
        return
    assert_same(proc, text)


def test_pytorch_takes_a_number_only_as_second_operand_of_an_operator() -> None:
    i = q.Var("i", 10)
    read = q.Read(X, (q.as_affine(i),), "f32")
    half = q.Const(0.5, "f32")
    for value, wanted in (
        (q.Extern("fmaxf", (read, half), "f32"), "np.maximum(X, np.tensor(0.5"),
        (q.BinOp("+", read, half, "f32"), "np.add(X, 0.5"),
    ):
        body = q.Assign((0, 0), Y, (q.as_affine(i),), value, "f32")
        whole = q.For((0,), i, q.Affine(), q.Affine(SIZE), (body,), False)
        text = array_text(arraywise(of_nest(whole), NOTHING), TORCH)
        assert wanted.replace("X", X.name) in text

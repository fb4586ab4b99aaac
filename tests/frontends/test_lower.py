"""Every kind of node, lowered, loaded by Exo and compiled, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from frontends import building
from frontends.building import apply
from frontends.kernels import Kernels, calls, data, same, store
from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.frontends import graph as g
from schedsearch.frontends import types, views
from schedsearch.frontends.lower import lower

N, M, K = (g.fresh(name) for name in "NMK")
SIZES = (N, M, K)
FLOATS = ("f32", "f64")
INTEGERS = ("i8", "ui8", "ui16", "i32")
ALL = FLOATS + INTEGERS
TWO = ("f32", "ui8")

Build = Callable[..., g.Value]


def affine(*sizes: views.Size) -> g.Shape:
    return views.shape_of(*sizes)


def matmul(a: g.Value, b: g.Value) -> g.Value:
    return g.Reduce("sum", apply("*", views.expand(a, 2), views.expand(b, 0)), (1,))


def program(name: str, build: Build, shapes: Sequence[g.Shape], kinds: Sequence[str]) -> g.Program:
    """`out = build(*inputs)`"""
    inputs = [
        g.Array(f"in{i}", kind, shape)
        for i, (shape, kind) in enumerate(zip(shapes, kinds, strict=True))
    ]
    value = build(*map(g.Load, inputs))
    out = g.Array("out", value.type, value.shape)
    return g.Program(name, (*SIZES, out, *inputs), (store(out, value),))


def less(op: str, a: g.Value, b: g.Value | float) -> g.Compare:
    return g.Compare(op, *building.broadcast(building.unified([a, b])))


NM, MK, VN, VM = affine(N, M), affine(M, K), affine(N), affine(M)
i, j = g.fresh("i"), g.fresh("j")
LOWER = g.Inside((i, j), q.BinOp(">=", q.as_affine(i), q.as_affine(j), "bool"))


def wheres(op: str) -> Build:
    return lambda a, b: g.Select(less(op, a, b), a, b)


def softmax(a: g.Value) -> g.Value:
    top = views.expand(g.Reduce("max", a, (1,)), 1)
    e = apply("exp", apply("-", a, top))
    return apply("/", e, views.expand(g.Reduce("sum", e, (1,)), 1))


def numpy_softmax(a: Any) -> Any:
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def mean(a: g.Value, axes: tuple[int, ...]) -> g.Value:
    count = a.shape[axes[0]]
    return apply("/", g.Reduce("sum", a, axes), g.Count(count, a.type))


def both(a: g.Value) -> g.Select:
    inner = g.Logical("and", (less(">", a, 0), less("<=", a, 1)))
    outer = g.Logical("or", (inner, g.Logical("not", (less("<", a, 1.5),)), LOWER))
    return g.Select(outer, apply("*", a, 2), apply("-", a, 7))


def numpy_both(a: Any) -> Any:
    below = np.tri(*a.shape, dtype=bool)
    return np.where(((a > 0) & (a <= 1)) | ~(a < 1.5) | below, a * 2, a - 7)


UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


SOME = {"sum": ("f32", "i8"), "prod": ("f64", "i32"), "max": ("f32", "ui8"), "min": ("f64", "ui16")}


def _reduced(name: str, axes: tuple[int, ...], a: g.Value) -> g.Value:
    return g.Reduce(name, a, axes)


def _numpy_reduced(name: str, axes: tuple[int, ...], a: Any) -> Any:
    return UFUNCS[name].reduce(a, axis=axes, dtype=a.dtype)


def _scanned(name: str, axis: int, a: g.Value) -> g.Value:
    return g.Scan(name, a, axis)


def _numpy_scanned(name: str, axis: int, a: Any) -> Any:
    return UFUNCS[name].accumulate(a, axis=axis, dtype=a.dtype)


Row = tuple[str, Build, Any, Sequence[g.Shape], Sequence[str]]

ROWS: list[Row] = [
    ("add", partial(apply, "+"), np.add, [NM, NM], ALL),
    ("subtract", partial(apply, "-"), np.subtract, [NM, NM], ALL),
    ("multiply", partial(apply, "*"), np.multiply, [NM, VM], ALL),
    ("divide", partial(apply, "/"), np.divide, [NM, affine(N, 1)], FLOATS),
    ("negate", partial(apply, "neg"), np.negative, [NM], TWO),
    ("scaled", lambda a: apply("*", a, 0.1), lambda a: a * 0.1, [NM], FLOATS),
    ("shifted", lambda a: apply("-", 3, a), lambda a: 3 - a, [NM], TWO),
    (
        "polynomial",
        lambda a, b: apply("+", apply("*", apply("*", a, a), apply("*", apply("*", a, b), b)), b),
        lambda a, b: a * a * (a * b * b) + b,
        [NM, NM],
        ALL,
    ),
    (
        "wrapped",
        lambda a, b: apply("max", apply("+", a, b), apply("*", a, b)),
        lambda a, b: np.maximum(a + b, a * b),
        [NM, NM],
        ALL,
    ),
    ("exp", partial(apply, "exp"), np.exp, [NM], FLOATS),
    (
        "outer",
        lambda x, y: apply("*", apply("exp", views.expand(x, 1)), y),
        lambda x, y: np.exp(x)[:, None] * y,
        [VN, VM],
        FLOATS,
    ),
    ("transposed", views.permute, np.transpose, [NM], TWO),
    ("flipped", lambda a: views.flip(a, 1), lambda a: a[:, ::-1], [NM], TWO),
    ("inner", lambda a: building.slice_(a, 0, 1, -1), lambda a: a[1:-1], [NM], TWO),
    ("steps", lambda a: building.slice_(a, 1, 1, None, 2), lambda a: a[:, 1::2], [NM], FLOATS),
    ("back", lambda a: building.slice_(a, 1, None, None, -2), lambda a: a[:, ::-2], [NM], FLOATS),
    ("row", lambda a: building.index(a, 0, -1), lambda a: a[-1], [NM], TWO),
    (
        "split",
        lambda a: views.reshape(a, (N, 2, 3)),
        lambda a: a.reshape(-1, 2, 3),
        [affine(N, 6)],
        TWO,
    ),
    ("joined", lambda a: views.reshape(a, (-1,)), np.ravel, [affine(N, 6)], TWO),
    (
        "regrouped",
        lambda a: views.reshape(a, (N, 3, 4)),
        lambda a: a.reshape(-1, 3, 4),
        [affine(N, 2, 6)],
        TWO,
    ),
    ("where", wheres("<"), lambda a, b: np.where(a < b, a, b), [NM, NM], TWO),
    ("where_le", wheres("<="), lambda a, b: np.where(a <= b, a, b), [NM, NM], TWO),
    ("where_gt", wheres(">"), lambda a, b: np.where(a > b, a, b), [NM, NM], TWO),
    ("where_ge", wheres(">="), lambda a, b: np.where(a >= b, a, b), [NM, NM], TWO),
    ("where_eq", wheres("=="), lambda a, b: np.where(a == b, a, b), [NM, NM], TWO),
    ("where_ne", wheres("!="), lambda a, b: np.where(a != b, a, b), [NM, NM], TWO),
    ("where_logical", both, numpy_both, [NM], FLOATS),
    (
        "triangle",
        lambda a: g.Select(LOWER, a, views.broadcast_to(types.constant(0, a.type), a.shape)),
        np.tril,
        [NM],
        TWO,
    ),
    ("matmul", matmul, lambda a, b: (a[:, :, None] * b).sum(axis=1, dtype=a.dtype), [NM, MK], ALL),
    (
        "matmul_t",
        lambda a, b: views.permute(matmul(a, b)),
        lambda a, b: (a[:, :, None] * b).sum(axis=1, dtype=a.dtype).T,
        [NM, MK],
        FLOATS,
    ),
    (
        "einsum",
        lambda a, b, x: g.Reduce(
            "sum",
            apply(
                "*",
                apply("*", views.expand(a, 2), views.expand(b, 0)),
                views.expand(views.expand(x, 1), 2),
            ),
            (0, 1),
        ),
        lambda a, b, x: np.einsum("ij,jk,i->k", a, b, x),
        [NM, MK, VN],
        ("f64", "i32", "ui16"),
    ),
    (
        "part_of_matmul",
        lambda a, b: building.slice_(matmul(a, b), 0, None, -1),
        lambda a, b: (a @ b)[:-1],
        [NM, MK],
        FLOATS,
    ),
    (
        "expanded_sum",
        lambda a: views.expand(g.Reduce("sum", a, (0,)), 0),
        lambda a: a.sum(axis=0, keepdims=True),
        [NM],
        FLOATS,
    ),
    (
        "gemm",
        lambda a, b, c, x: apply("+", apply("*", x, c), apply("*", x, matmul(a, b))),
        lambda a, b, c, x: x * c + x * (a @ b),
        [NM, MK, affine(N, K), ()],
        FLOATS,
    ),
    (
        "chain",
        lambda a, b, c: matmul(matmul(a, b), c),
        lambda a, b, c: a @ b @ c,
        [NM, MK, affine(K, N)],
        FLOATS,
    ),
    (
        "convolution",
        lambda a, w: g.Reduce("sum", apply("*", views.sliding_window(a, 0, 3), w), (1,)),
        lambda a, w: np.convolve(a, w[::-1], "valid"),
        [affine(q.as_affine(N) + 2), affine(3)],
        FLOATS,
    ),
    ("mean", lambda a: mean(a, (0,)), lambda a: a.mean(axis=0), [NM], FLOATS),
    ("softmax", softmax, numpy_softmax, [NM], FLOATS),
    (
        "shared",
        lambda a: (lambda e: apply("*", apply("+", e, e), apply("-", e, 1)))(apply("exp", a)),
        lambda a: (2 * np.exp(a)) * (np.exp(a) - 1),
        [NM],
        FLOATS,
    ),
    (
        "shifts",
        lambda a: (lambda e: apply("-", building.slice_(e, 1, 1), building.slice_(e, 1, None, -1)))(
            apply("exp", a)
        ),
        lambda a: np.diff(np.exp(a)),
        [NM],
        FLOATS,
    ),
    (
        "empty",
        lambda a: g.Reduce("sum", building.slice_(a, 1, 1), (1,)),
        lambda a: a[:, 1:].sum(axis=1, dtype=a.dtype),
        [NM],
        TWO,
    ),
    (
        "empty_prod",
        lambda a: g.Reduce("prod", building.slice_(a, 1, 1), (1,)),
        lambda a: a[:, 1:].prod(axis=1, dtype=a.dtype),
        [NM],
        TWO,
    ),
    (
        "none",
        lambda a: g.Reduce("sum", building.slice_(a, 1, 0, 0), (1,)),
        lambda a: a[:, :0].sum(axis=1, dtype=a.dtype),
        [NM],
        TWO,
    ),
    *(
        (
            f"{name}_{''.join(map(str, axes))}",
            partial(_reduced, name, axes),
            partial(_numpy_reduced, name, axes),
            [affine(N, M, K)],
            kinds,
        )
        for name, kinds in SOME.items()
        for axes in ((0,), (1,), (0, 2), (0, 1, 2))
    ),
    *(
        (
            f"cum{name}_{axis}",
            partial(_scanned, name, axis),
            partial(_numpy_scanned, name, axis),
            [NM],
            kinds,
        )
        for name, kinds in SOME.items()
        for axis in (0, 1)
    ),
]

TABLE = [(row, kind) for row in ROWS for kind in row[4]]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    programs = [
        program(name, build, shapes, [kind] * len(shapes))
        for (name, build, _, shapes, _), kind in TABLE
    ]
    return Kernels(programs, tmp_path_factory.mktemp("table"))


@pytest.mark.normal
@settings(max_examples=12, derandomize=True, phases=[Phase.generate])
@given(
    sizes=st.fixed_dictionaries({name: st.integers(1, 7) for name in "NMK"}),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_row_is_what_numpy_computes(table: Kernels, sizes: dict[str, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    for number, ((name, _, function, shapes, _), kind) in enumerate(TABLE):
        if not _admitted(table, number, sizes):
            continue
        inputs = [data(rng, kind, [_length(n, sizes) for n in shape]) for shape in shapes]
        with np.errstate(all="ignore"):
            wanted = np.asarray(function(*inputs))
        found = np.full_like(wanted, 77)
        table.run(number, sizes, [found, *inputs])
        same(found, wanted, f"{name} of {kind}, {sizes}\n{table.lowered[number].text}")


def _admitted(kernels: Kernels, number: int, sizes: dict[str, int]) -> bool:
    facts = [each.replace("/", "//") for each in kernels.lowered[number].asserts]
    return all(eval(each, {}, dict(sizes)) for each in facts)


def _length(n: q.Affine, sizes: dict[str, int]) -> int:
    return q.evaluate_affine(n, lambda atom: sizes[atom.name])  # type: ignore[union-attr]


# -- statements ------------------------------------------------------------------------------------

A = g.Array("A", "f32", affine(N, N))
X = g.Array("X", "f32", VN)
Y = g.Array("Y", "f64", VN)
B8 = g.Array("B", "i8", VN)
I32 = g.Array("I", "i32", VN)
S = g.Array("s", "f32")
Z = g.Array("z", "f64")
P = g.Array("P", "f32", affine(q.as_affine(N) + 3, q.as_affine(M) + 1))
Q = g.Array("Q", "f32", affine(N, M))
T = g.Array("T", "f32", affine(3, N))
G = g.Array("G", "f32", affine(N, N))
a, x, y = g.Load(A), g.Load(X), g.Load(Y)
t, u = g.fresh("t"), g.fresh("u")
one = q.Affine(1)

TWICE = apply("+", x, g.Reduce("max", x, (0,)))
EXP = apply("exp", g.Load(S))
AGAIN = apply("*", EXP, apply("-", EXP, 1))


def counting(
    value: q.Affine,
    *loops: tuple[q.Var, q.Affine, q.Affine],
    cond: q.Expr | None = None,
    index: bool = True,
) -> tuple[tuple[q.Var | g.Array, ...], tuple[g.Statement, ...]]:
    """Sums of an index as data, of every type, within loops whose variables may be indices too."""
    found = [g.Array("s" + kind, kind) for kind in ALL]
    body: tuple[g.Statement, ...] = tuple(
        store(each, apply("+", apply("*", g.Load(each), 3), g.Count(value, each.type)))
        for each in found
    )
    if cond is not None:
        body = (g.If(cond, body, body[:1]),)
    long = g.Load(g.Array("long", "f32", affine(q.as_affine(N) + q.as_affine(M) + 2)))
    for var, _, _ in loops if index else ():
        body = (*body, building.stored(building.index(long, 0, var), types.constant(2, "f32")))
    for var, lo, hi in reversed(loops):
        body = (g.For(var, lo, hi, body),)
    return (N, M, *found, long.array), body


n, m, at, to = map(q.as_affine, (N, M, t, u))
none = q.Affine()
COUNTED = {
    name + ("" if index else "_running"): made(index=index)
    for index in (True, False)
    for name, made in {
        "counted": partial(counting, at, (t, none, n)),
        "counted_from": partial(counting, at - 3, (t, q.Affine(2), n + 2)),
        "counted_down": partial(counting, at.scaled(-2) - n, (t, none, n)),
        "counted_large": partial(counting, at.scaled(10**6) + 16777217 + m, (t, none, n)),
        "counted_both": partial(counting, at.scaled(1000) - to + 1, (t, none, n), (u, none, m)),
        "counted_triangle": partial(counting, to - at, (t, none, n), (u, at, n)),
        "counted_above": partial(counting, n - 1 - to, (t, none, n), (u, none, at)),
        "counted_longer": partial(counting, at, (t, m, n + m)),
        "counted_between": partial(counting, at, (t, m, n)),
        "counted_quotient": partial(counting, q.floor_div(at + n, 3), (t, none, n)),
        "counted_remainder": partial(counting, q.modulo(at + m, 4) + at, (t, none, n)),
        "counted_negative": partial(counting, q.floor_div(at - 5, 2), (t, none, n)),
        "counted_size_quotient": partial(
            counting, q.floor_div(n - 7, 2) + q.floor_div(m, 2), (t, none, n)
        ),
        "counted_if": partial(
            counting, at - 2, (t, none, n), cond=q.BinOp(">", at, q.Affine(1), "bool")
        ),
        "counted_if_longer": partial(
            counting, n - m, (t, none, n), cond=q.BinOp(">=", n, m, "bool")
        ),
    }.items()
}


def steps(*body: g.Statement, hi: q.Affine = n) -> tuple[g.Statement, ...]:
    return (g.For(t, none, hi, body),)


def moved(by: int) -> g.Value:
    """Each element, and one before it."""
    return apply("+", building.slice_(x, 0, by), building.slice_(x, 0, None, -by))


ROW = building.index(a, 0, t)
END = building.slice_(ROW, 0, at + 1)
COPY = g.Array("c", "f32", affine(n - 1))
STEPS: dict[str, tuple[tuple[q.Var | g.Array, ...], tuple[g.Statement, ...]]] = {
    "of_time": ((N, X), steps(building.stored(building.slice_(x, 0, 1), moved(1)))),
    "of_two": (
        (N, X),
        steps(
            g.Allocate(COPY),
            store(COPY, apply("exp", moved(1))),
            building.stored(building.slice_(x, 0, None, -1), apply("*", g.Load(COPY), 0.1)),
        ),
    ),
    "within": (
        (N, M, X),
        steps(g.For(u, none, m, (building.stored(building.slice_(x, 0, 1), moved(1)),))),
    ),
    "shorter": (
        (N, X),
        steps(
            building.stored(
                building.slice_(x, 0, 1, n - at),
                apply(
                    "+", building.slice_(x, 0, 1, n - at), building.slice_(x, 0, None, n - at - 1)
                ),
            ),
            hi=n - 1,
        ),
    ),
    "of_rows": ((N, A), steps(building.stored(ROW, views.flip(ROW, 0)))),
    "of_ends": ((N, A), steps(building.stored(END, views.flip(END, 0)), hi=n - 1)),
    "guarded": (
        (N, M, X),
        steps(
            g.If(
                q.BinOp(">", n, m, "bool"),
                steps(
                    building.stored(
                        building.slice_(x, 0, m), views.flip(building.slice_(x, 0, m), 0)
                    )
                ),
            )
        ),
    ),
}

STORES: dict[str, tuple[tuple[q.Var | g.Array, ...], tuple[g.Statement, ...]]] = {
    "shift_right": (
        (N, X),
        (building.stored(building.slice_(x, 0, 1), building.slice_(x, 0, None, -1)),),
    ),
    "shift_left": (
        (N, X),
        (building.stored(building.slice_(x, 0, None, -1), building.slice_(x, 0, 1)),),
    ),
    "in_place_transpose": ((N, A), (store(A, apply("+", views.permute(a), a)),)),
    "in_place_product": ((N, A), (store(A, matmul(a, a)),)),
    "in_place_flip": ((N, X), (store(X, views.flip(x, 0)),)),
    "in_place_sum": ((N, A), (store(A, views.broadcast_to(g.Reduce("sum", a, (0,)), A.shape)),)),
    "in_place_scan": ((N, A), (store(A, g.Scan("sum", a, 0)),)),
    "in_place_scan_of_other": ((N, A), (store(A, g.Scan("max", views.permute(a), 0)),)),
    "same_place": ((N, A), (store(A, apply("*", a, apply("+", a, 1))),)),
    "gemm": ((N, A, G), (store(A, apply("+", matmul(g.Load(G), g.Load(G)), apply("*", 2, a))),)),
    "sums_of_sums": (
        (N, A, X),
        (
            store(
                X,
                apply(
                    "-",
                    g.Reduce("sum", a, (0,)),
                    apply("-", g.Reduce("sum", a, (1,)), apply("+", x, g.Reduce("sum", x, (0,)))),
                ),
            ),
        ),
    ),
    "subtracted": (
        (N, A, G),
        (
            g.For(
                t,
                q.Affine(),
                q.as_affine(N),
                (
                    building.stored(
                        building.index(a, 0, t),
                        apply(
                            "-",
                            building.index(a, 0, t),
                            g.Reduce("sum", building.slice_(g.Load(G), 0, 0, t), (0,)),
                        ),
                    ),
                ),
            ),
        ),
    ),
    "decomposition": (
        (N, A),
        (
            g.For(
                t,
                q.Affine(),
                q.as_affine(N),
                (
                    g.For(
                        u,
                        q.Affine(),
                        q.as_affine(t),
                        (
                            building.stored(
                                building.index(building.index(a, 0, t), 0, u),
                                apply(
                                    "-",
                                    building.index(building.index(a, 0, t), 0, u),
                                    g.Reduce(
                                        "sum",
                                        apply(
                                            "*",
                                            building.slice_(building.index(a, 0, t), 0, 0, u),
                                            building.slice_(building.index(a, 1, u), 0, 0, u),
                                        ),
                                        (0,),
                                    ),
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
    "added_product": ((N, A), (store(A, matmul(a, a), add=True),)),
    "added": ((N, A, X), (store(A, views.broadcast_to(x, A.shape), add=True),)),
    "added_sums": ((N, A, X), (store(X, g.Reduce("sum", a, (1,)), add=True),)),
    "added_max": ((N, A, X), (store(X, g.Reduce("max", a, (1,)), add=True),)),
    "added_scan": ((N, A), (store(A, g.Scan("prod", a, 1), add=True),)),
    "added_wide": ((N, X, Y), (store(X, y, add=True),)),
    "added_float": ((N, I32, X), (store(I32, x, add=True),)),
    "sum_with_itself": ((N, A, X), (store(X, g.Reduce("sum", apply("*", a, x), (0,))),)),
    "value_again": (
        (N, S, X, Y),
        (
            store(X, TWICE),
            store(Y, types.cast(TWICE, "f64")),
            store(S, AGAIN),
            store(S, apply("-", AGAIN, 1)),
        ),
    ),
    "constant_functions": (
        (N, X, Y, B8),
        (
            store(
                Y,
                g.Select(
                    less("<=", apply("exp", g.Constant(0.3, "f64")), y),
                    apply("-", g.Constant(0.1, "f64"), y),
                    views.broadcast_to(apply("exp", g.Constant(0.3, "f64")), VN),
                ),
            ),
            store(Y, apply("+", y, apply("exp", g.Constant(0.3, "f64")))),
            store(X, types.cast(apply("+", y, apply("exp", g.Constant(0.3, "f64"))), "f32")),
            store(Y, views.broadcast_to(apply("exp", g.Constant(0.3, "f64")), VN)),
            store(Y, views.broadcast_to(g.Cast(apply("sqrt", g.Constant(0.3, "f32")), "f64"), VN)),
            store(
                B8, apply("+", g.Load(B8), apply("max", g.Constant(3, "i8"), g.Constant(4, "i8")))
            ),
            store(
                B8, views.broadcast_to(apply("max", g.Constant(3, "i8"), g.Constant(4, "i8")), VN)
            ),
        ),
    ),
    "truncated_sums": (
        (N, A, I32, B8),
        (
            store(I32, g.Reduce("sum", types.cast(a, "i32"), (1,)), add=True),
            store(B8, g.Scan("sum", types.cast(g.Load(I32), "i8"), 0)),
            store(B8, types.cast(g.Load(I32), "i8"), add=True),
        ),
    ),
    "added_narrow": ((N, X, Y), (store(Y, x, add=True),)),
    "row_of_row_before": (
        (N, A),
        (
            g.For(
                t,
                one,
                q.as_affine(N),
                (
                    building.stored(
                        building.index(a, 0, t),
                        apply(
                            "+", building.index(a, 0, q.as_affine(t) - 1), building.index(a, 0, t)
                        ),
                    ),
                ),
            ),
        ),
    ),
    "elimination": (
        (N, A),
        (
            g.For(
                t,
                q.Affine(),
                q.as_affine(N) - 1,
                (
                    building.stored(
                        building.slice_(
                            building.slice_(a, 0, q.as_affine(t) + 1), 1, q.as_affine(t) + 1
                        ),
                        apply(
                            "*",
                            0.25,
                            apply(
                                "*",
                                views.expand(
                                    building.slice_(building.index(a, 1, t), 0, q.as_affine(t) + 1),
                                    1,
                                ),
                                building.slice_(building.index(a, 0, t), 0, q.as_affine(t) + 1),
                            ),
                        ),
                        add=True,
                    ),
                ),
            ),
        ),
    ),
    "triangle": (
        (N, A, X),
        (
            g.For(
                t,
                q.Affine(),
                q.as_affine(N),
                (
                    g.For(
                        u,
                        q.as_affine(t) + 1,
                        q.as_affine(N),
                        (
                            building.stored(
                                building.index(x, 0, t),
                                building.index(building.index(a, 0, t), 0, u),
                                add=True,
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
    "branches": (
        (N, A, X),
        (
            g.For(
                t,
                q.Affine(),
                q.as_affine(N),
                (
                    g.If(
                        q.BinOp("!=", q.as_affine(t), q.Affine(1), "bool"),
                        (
                            building.stored(
                                building.index(x, 0, t),
                                g.Reduce("max", building.index(a, 1, t), (0,)),
                            ),
                        ),
                        (building.stored(building.index(x, 0, t), types.constant(3, "f32")),),
                    ),
                ),
            ),
        ),
    ),
    "long_sum": ((N, X, Y), (store(X, reduce(partial(apply, "+"), [x] * 120)),)),
    "scalar_argument": ((N, S, X), (store(X, apply("*", g.Load(S), x)),)),
    "scalar_result": (
        (N, S, X),
        (store(S, g.Reduce("max", apply("exp", x), (0,))), store(X, apply("/", x, g.Load(S)))),
    ),
    "mixed": (
        (N, X, Y),
        (
            store(Y, apply("+", y, apply("*", x, 0.1))),
            store(X, types.cast(apply("*", y, y), "f32")),
        ),
    ),
    "mixed_integers": (
        (N, B8, I32, X),
        (
            store(
                I32,
                g.Reduce(
                    "sum",
                    apply("*", types.cast(views.expand(g.Load(B8), 1), "i32"), g.Load(I32)),
                    (1,),
                ),
            ),
            store(X, types.cast(apply("+", g.Load(B8), g.Load(B8)), "f32")),
            store(B8, types.cast(apply("*", types.cast(apply("*", x, 0.01), "f64"), 3.0), "i8")),
        ),
    ),
    "narrow": ((N, I32, B8), (store(B8, types.cast(apply("*", g.Load(I32), 3), "i8")),)),
    "constants": (
        (N, X, Y),
        (
            store(Y, views.broadcast_to(g.Cast(g.Constant(0.1, "f32"), "f64"), VN)),
            store(X, views.broadcast_to(apply("exp", g.Constant(0.5, "f32")), VN)),
            store(Y, apply("+", y, g.Cast(apply("exp", g.Constant(0.5, "f32")), "f64"))),
        ),
    ),
    "count_in_loop": (
        (N, X),
        (
            g.For(
                t,
                q.Affine(),
                q.as_affine(N),
                (
                    building.stored(
                        building.index(x, 0, t),
                        g.Count(q.as_affine(t).scaled(-2) + q.as_affine(N) + 5, "f32"),
                    ),
                ),
            ),
        ),
    ),
    **COUNTED,
    **{f"steps_{name}": value for name, value in STEPS.items()},
    "counts": (
        (N, M, X, B8),
        (
            store(
                X, views.broadcast_to(g.Count(q.as_affine(N) - q.as_affine(M).scaled(3), "f32"), VN)
            ),
            store(B8, views.broadcast_to(g.Count(q.as_affine(N) + 1, "i8"), VN)),
        ),
    ),
    "pad": (
        (N, M, P, Q),
        building.pad(P, g.Load(Q), [(one, q.Affine(2)), (q.Affine(), one)], g.Constant(7.0, "f32")),
    ),
    "concatenate": (
        (N, M, P, Q),
        building.concatenate(
            P,
            [
                views.broadcast_to(types.constant(1, "f32"), affine(3, q.as_affine(M) + 1)),
                views.broadcast_to(types.constant(2, "f32"), affine(N, q.as_affine(M) + 1)),
            ],
            0,
        ),
    ),
    "stack": ((N, X, T), building.stack(T, [x, apply("*", x, x), views.flip(x, 0)], 0)),
    "temporary": (
        (N, A, X),
        (
            g.Allocate(R := g.Array("A", "f64", VN)),
            store(R, types.cast(g.Reduce("min", a, (0,)), "f64")),
            store(X, types.cast(apply("sqrt", apply("abs", g.Load(R))), "f32")),
        ),
    ),
    "strange_names": (
        (N, W := g.Array("lambda", "f32", VN), V := g.Array("double", "f32", VN)),
        (store(W, apply("max", g.Load(W), g.Load(V))),),
    ),
    "nothing": ((N, X), ()),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    programs = [g.Program(name, params, body) for name, (params, body) in STORES.items()]
    return Kernels(programs, tmp_path_factory.mktemp("stores"))


@pytest.mark.normal
@settings(max_examples=12, derandomize=True, phases=[Phase.generate])
@given(
    sizes=st.fixed_dictionaries({name: st.integers(1, 7) for name in "NM"}),
    seed=st.integers(0, 2**32 - 1),
)
def test_statements_do_what_they_mean(stores: Kernels, sizes: dict[str, int], seed: int) -> None:
    for number in range(len(STORES)):
        if _admitted(stores, number, sizes):
            stores.check(number, sizes, seed)


def text(*params: q.Var | g.Array, body: Sequence[g.Statement]) -> str:
    """The lines of a procedure below its head."""
    program = g.Program("p", params, tuple(body))
    return lower(program).text.split("@proc\n")[1].split(":\n", 1)[1]


def test_empty_values_need_no_temporaries() -> None:
    rows = g.Reduce("sum", building.slice_(a, 0, 0, 0), (1,))
    body = building.stored(building.slice_(x, 0, 0, 0), apply("*", rows, apply("exp", rows)))
    assert text(N, A, X, body=[body]) == "    pass\n"


def test_sums_of_columns_go_along_rows() -> None:
    """Each sum is still in its order."""
    columns = g.Reduce("sum", g.Load(A), (0,))
    nest = """\
    for i in seq(0, N):
        for j in seq(0, N):
            X[j] += A[i, j]
"""
    assert text(N, A, X, body=[store(X, columns)]).endswith(nest)
    assert "X[i] += A[i, j]" in text(N, A, X, body=[store(X, g.Reduce("sum", g.Load(A), (1,)))])


def test_where_operands_and_result_disagree_the_reduction_is_innermost() -> None:
    one, two = g.Load(g.Array("A", "f32", NM)), g.Load(g.Array("B", "f32", affine(K, M)))
    c = g.Array("C", "f32", affine(N, K))
    rows = g.Reduce("sum", apply("*", views.expand(one, 1), views.expand(two, 0)), (2,))
    found = text(*SIZES, c, one.array, two.array, body=[store(c, rows)])
    assert (
        "            for k in seq(0, M):\n                C[i, j] += (A[i, k] * B[j, k])" in found
    )


def test_a_product_is_the_plain_nest() -> None:
    c = g.Array("C", "f32", affine(N, K))
    one, two = g.Array("A", "f32", NM), g.Array("B", "f32", MK)
    product = matmul(g.Load(one), g.Load(two))
    nest = """\
    for i in seq(0, N):
        for j in seq(0, M):
            for k in seq(0, K):
                C[i, k] += (A[i, j] * B[j, k])
"""
    zero = """\
    for i in seq(0, N):
        for j in seq(0, K):
            C[i, j] = 0.0
"""
    assert text(*SIZES, c, one, two, body=[store(c, product)]) == zero + nest
    assert text(*SIZES, c, one, two, body=[store(c, product, add=True)]) == nest


@pytest.mark.parametrize(
    "name",
    [
        "gemm",
        "subtracted",
        "decomposition",
        "same_place",
        "row_of_row_before",
        "elimination",
        "in_place_scan",
        "added_sums",
    ],
)
def test_no_temporary_where_nothing_is_read_late(name: str) -> None:
    params, body = STORES[name]
    found = text(*params, body=body)
    assert "N]" not in found.replace("seq", ""), found
    assert "@ DRAM" not in found.replace("running: f32 @ DRAM", ""), found


def test_lines_lead_to_the_users() -> None:
    loop = g.For(t, q.Affine(), q.as_affine(N), (store(S, g.Load(S), line=7),), line=6)
    body = (store(X, calls("exp", x), line=4), loop)
    found = lower(g.Program("p", (N, S, X), body, file="user.py"))
    lines = found.text.splitlines()
    assert {lines[n - 1].strip(): line for n, line in found.lines.items()} == {
        "for i in seq(0, N):": 4,
        "X[i] = exp(X[i])": 4,
        "for t in seq(0, N):": 6,
        "s = s": 7,
    }


def test_what_it_tells_of_the_procedure() -> None:
    body = building.stored(building.slice_(x, 0, 1, -1), building.slice_(y, 0, 1, -1))
    found = lower(g.Program("double", (N, X, Y), (body,)))
    assert (found.name, found.parameters, found.outputs) == ("double_1", ("N", "X", "Y"), ("X",))
    assert found.asserts == ("(N - 2 >= 0)",)


def test_narrow_integers_stay_within_an_int() -> None:
    """C does not say what happens beyond."""
    b = g.Load(B8)
    four = apply("*", apply("*", b, b), apply("*", b, b))
    assert "@ DRAM" not in text(N, B8, body=[store(B8, four)])
    assert text(N, B8, body=[store(B8, apply("*", four, b))]).count("@ DRAM") == 1


def test_sizes_as_f32_are_rounded_once() -> None:
    """Steps of 1 to f32 come to an end at 2**24."""
    found = text(N, S, body=[store(S, g.Count(q.as_affine(N), "f32"))])
    assert "count: f64" in found
    assert "count += 1.0" in found


def test_indices_as_data_are_counted_before_all_else() -> None:
    """Once, however often nests read them."""
    value = g.Count(at + 2, "f32")
    body = (
        store(X, views.broadcast_to(value, VN)),
        building.stored(building.index(x, 0, t), value),
    )
    found = text(N, X, body=[g.For(t, q.Affine(), q.as_affine(N), body)])
    nests = """\
    for t in seq(0, N):
        for i in seq(0, N):
            X[i] = counts[t]
        X[t] = counts[t]
"""
    assert found.endswith(nests)
    assert found.count("count += 1.0") == 1
    assert "count: f64" in found


def test_loops_that_may_be_longer_than_memory_count_as_they_run() -> None:
    half = apply("+", g.Count(at, "f64"), 0.5)
    body = (store(Z, apply("*", half, half), add=True),)
    found = text(N, Z, body=[g.For(t, one, n, body)])
    assert "counts" not in found
    assert found.endswith("        count += 1.0\n")


@pytest.mark.parametrize(
    ("name", "allocated"),
    [
        ("of_time", "    t: f32[N - 1] @ DRAM"),
        ("of_two", "    c: f32[N - 1] @ DRAM"),
        ("within", "    t: f32[N - 1] @ DRAM"),
        ("shorter", "    t: f32[N] @ DRAM"),
        ("of_rows", "        t: f32[N] @ DRAM"),
        ("of_ends", "        t: f32[N - t_1 - 1] @ DRAM"),
        ("guarded", "                t: f32[N - M + 1] @ DRAM"),
    ],
)
def test_temporaries_of_sequential_loops_are_allocated_once(name: str, allocated: str) -> None:
    """Those of loops that may run at once, or where lengths may be negative, stay inside."""
    params, body = STEPS[name]
    found = text(*params, body=body)
    assert allocated in found.splitlines(), found


def test_facts_are_asserted_once() -> None:
    """The strongest, and none that the program asserts itself."""
    body = [
        building.stored(building.slice_(x, 0, 1, -1), types.constant(1, "f32")),
        building.stored(building.slice_(x, 0, 3), types.constant(2, "f32")),
        building.stored(building.slice_(x, 0, 2, -3), types.constant(3, "f32")),
    ]
    program = g.Program("p", (N, X), tuple(body))
    assert lower(program).asserts == ("(N - 5 >= 0)",)
    for op, number in ((">=", 5), (">", 4), ("==", 7)):
        known = q.BinOp(op, q.as_affine(N), q.Affine(number), "bool")
        assert lower(replace(program, asserts=(known,))).asserts == (f"(N {op} {number})",)
    other = q.BinOp("<=", q.as_affine(N), q.Affine(9), "bool")
    assert lower(replace(program, asserts=(other,))).asserts == ("(N <= 9)", "(N - 5 >= 0)")
    odd = q.BinOp("!=", q.as_affine(N), q.Affine(9), "bool")
    assert lower(replace(program, asserts=(odd,))).asserts[0] == "((N < 9) or (N > 9))"
    weak = q.BinOp(">", q.as_affine(N), q.Affine(3), "bool")
    assert lower(replace(program, asserts=(weak,))).asserts == ("(N > 3)", "(N - 5 >= 0)")


REFUSED = {
    "integers would be divided": store(I32, apply("/", g.Load(I32), g.Load(I32))),
    "it is of floats": store(I32, apply("exp", g.Load(I32))),
    "too deep": store(X, reduce(partial(apply, "-"), [x] * 3000)),
    "finite": store(X, views.broadcast_to(g.Constant(float("inf"), "f32"), VN)),
    "outside of an array by 1": building.stored(building.index(g.Load(T), 0, 3), x),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refusals_name_the_line(reason: str) -> None:
    stmt = REFUSED[reason]
    program = g.Program(
        "p", (N, X, I32, T), (g.For(t, one, q.Affine(4), (replace(stmt, line=12),)),), file="k.py"
    )
    with pytest.raises(UserError, match=rf"^k\.py:12: .*{reason}"):
        lower(program)


def test_a_sum_into_a_column_has_an_array_of_its_own_first() -> None:
    """So that its nest goes along rows too."""
    own, other = g.fresh("j"), g.Array("B", "f32", affine(N, N))
    columns = g.Reduce("sum", g.Load(other), (0,))
    into = g.Store(A, (own,), (q.as_affine(own), q.Affine()), columns)
    nest = """\
    for i in seq(0, N):
        for j in seq(0, N):
            total[j] += B[i, j]
    for j in seq(0, N):
        A[j, 0] = total[j]
"""
    assert text(N, A, other, body=[into]).endswith(nest)

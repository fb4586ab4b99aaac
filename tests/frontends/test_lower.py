"""Every kind of node, lowered, loaded by Exo and compiled, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontends.kernels import Kernels, calls, data, same, store
from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.frontends import graph as g
from schedsearch.frontends import shaping, types, views
from schedsearch.frontends.lower import lower

N, M, K = (g.fresh(name) for name in "NMK")
SIZES = (N, M, K)
FLOATS = ("f32", "f64")
INTEGERS = ("i8", "ui8", "ui16", "i32")
ALL = FLOATS + INTEGERS

Build = Callable[..., g.Value]


def affine(*sizes: views.Size) -> g.Shape:
    return views.shape_of(*sizes)


def apply(function: str, *operands: g.Value | float) -> g.Value:
    args = views.broadcast(types.unified(operands))
    return calls(function, *args)


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
    return g.Compare(op, *views.broadcast(types.unified([a, b])))


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
    ("negate", partial(apply, "neg"), np.negative, [NM], ALL),
    ("scaled", lambda a: apply("*", a, 0.1), lambda a: a * 0.1, [NM], FLOATS),
    ("shifted", lambda a: apply("-", 3, a), lambda a: 3 - a, [NM], ALL),
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
    ("transposed", views.permute, np.transpose, [NM], ALL),
    ("flipped", lambda a: views.flip(a, 1), lambda a: a[:, ::-1], [NM], ALL),
    ("inner", lambda a: views.slice_(a, 0, 1, -1), lambda a: a[1:-1], [NM], ALL),
    ("steps", lambda a: views.slice_(a, 1, 1, None, 2), lambda a: a[:, 1::2], [NM], FLOATS),
    ("back", lambda a: views.slice_(a, 1, None, None, -2), lambda a: a[:, ::-2], [NM], FLOATS),
    ("diagonal", views.diagonal, np.diagonal, [affine(N, N)], ALL),
    ("row", lambda a: views.index(a, 0, -1), lambda a: a[-1], [NM], ALL),
    (
        "split",
        lambda a: views.reshape(a, (N, 2, 3)),
        lambda a: a.reshape(-1, 2, 3),
        [affine(N, 6)],
        ALL,
    ),
    ("joined", lambda a: views.reshape(a, (-1,)), np.ravel, [affine(N, 6)], ALL),
    (
        "regrouped",
        lambda a: views.reshape(a, (N, 3, 4)),
        lambda a: a.reshape(-1, 3, 4),
        [affine(N, 2, 6)],
        ALL,
    ),
    ("where", wheres("<"), lambda a, b: np.where(a < b, a, b), [NM, NM], ALL),
    ("where_le", wheres("<="), lambda a, b: np.where(a <= b, a, b), [NM, NM], ALL),
    ("where_gt", wheres(">"), lambda a, b: np.where(a > b, a, b), [NM, NM], ALL),
    ("where_ge", wheres(">="), lambda a, b: np.where(a >= b, a, b), [NM, NM], ALL),
    ("where_eq", wheres("=="), lambda a, b: np.where(a == b, a, b), [NM, NM], ALL),
    ("where_ne", wheres("!="), lambda a, b: np.where(a != b, a, b), [NM, NM], ALL),
    ("where_logical", both, numpy_both, [NM], FLOATS),
    (
        "triangle",
        lambda a: g.Select(LOWER, a, views.broadcast_to(types.constant(0, a.type), a.shape)),
        np.tril,
        [NM],
        ALL,
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
        lambda a: (lambda e: apply("-", views.slice_(e, 1, 1), views.slice_(e, 1, None, -1)))(
            apply("exp", a)
        ),
        lambda a: np.diff(np.exp(a)),
        [NM],
        FLOATS,
    ),
    (
        "empty",
        lambda a: g.Reduce("sum", views.slice_(a, 1, 1), (1,)),
        lambda a: a[:, 1:].sum(axis=1, dtype=a.dtype),
        [NM],
        ALL,
    ),
    (
        "empty_prod",
        lambda a: g.Reduce("prod", views.slice_(a, 1, 1), (1,)),
        lambda a: a[:, 1:].prod(axis=1, dtype=a.dtype),
        [NM],
        ALL,
    ),
    (
        "none",
        lambda a: g.Reduce("sum", views.slice_(a, 1, 0, 0), (1,)),
        lambda a: a[:, :0].sum(axis=1, dtype=a.dtype),
        [NM],
        ALL,
    ),
    *(
        (
            f"{name}_{''.join(map(str, axes))}",
            partial(_reduced, name, axes),
            partial(_numpy_reduced, name, axes),
            [affine(N, M, K)],
            ALL,
        )
        for name in ("sum", "prod", "max", "min")
        for axes in ((0,), (1,), (2,), (0, 2), (0, 1, 2))
    ),
    *(
        (
            f"cum{name}_{axis}",
            partial(_scanned, name, axis),
            partial(_numpy_scanned, name, axis),
            [NM],
            ALL,
        )
        for name in ("sum", "prod", "max", "min")
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
@settings(max_examples=12, derandomize=True)
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

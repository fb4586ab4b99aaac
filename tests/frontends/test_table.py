"""The table from nodes to loops, against NumPy: every entry with random ranks, lengths and types.
Axes may be of length 1, or empty for some sizes, or for all."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from frontends import building
from frontends.building import apply
from frontends.kernels import Kernels, data, same
from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import types, views

SIZES = tuple(g.fresh(name) for name in "NMK")
n, m, k = map(q.as_affine, SIZES)
ONE = q.Affine(1)
FLOATS = ("f32", "f64")
ALL = (*FLOATS, "i8", "ui8", "ui16", "i32")
UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}

LENGTHS = ((1, 1, 1), (4, 1, 2), (3, 5, 4))

Function = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """A program that stores into its first array, and the same by NumPy: `function` gives what
    `place` of that array is assigned."""

    program: g.Program
    function: Function
    place: Callable[[Any], Any]


class Maker:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.inputs: list[g.Array] = []
        self.cuts: list[tuple[slice, ...]] = []

    def axis(self, *, filled: bool = False) -> q.Affine:
        some = (n, m, k, n + 1, ONE, q.Affine(3))
        return self.rng.choice(some if filled else (*some, n - 1, m - 1, q.Affine()))

    def shape(self, low: int = 0, high: int = 3, *, filled: bool = False) -> g.Shape:
        return tuple(self.axis(filled=filled) for _ in range(self.rng.randint(low, high)))

    def kind(self, kinds: Sequence[str] = ALL) -> str:
        return self.rng.choice(kinds)

    def input(self, shape: g.Shape, kind: str) -> g.Value:
        """Of this shape: arrays are not empty, a part of one may be."""
        cut = self.rng.random() < 0.5 or any(each not in (n, m, k) for each in shape)
        array = g.Array("a", kind, tuple(each + 1 for each in shape) if cut else shape)
        value: g.Value = g.Load(array)
        for axis in range(len(shape) if cut else 0):
            value = building.slice_(value, axis, 1)
        self.inputs.append(array)
        self.cuts.append((slice(1 if cut else 0, None),) * len(shape))
        return value

    def case(self, name: str, value: g.Value, function: Function) -> Case:
        """The value is stored into a part of an array, which may be empty."""
        out = g.Array("out", value.type, tuple(each + 1 for each in value.shape))
        part: g.Value = g.Load(out)
        for axis in range(len(value.shape)):
            part = building.slice_(part, axis, None, -1)
        cuts, place = list(self.cuts), (slice(0, -1),) * len(value.shape)

        def on_parts(*arrays: Any) -> Any:
            return function(*(a[cut] for a, cut in zip(arrays, cuts, strict=True)))

        body = (building.stored(part, value),)
        program = g.Program(name, (*SIZES, out, *self.inputs), body)
        return Case(program, on_parts, lambda a: a[place] if a.ndim else a[...])


# -- views -----------------------------------------------------------------------------------------


def broadcast(make: Maker) -> tuple[g.Value, Function]:
    whole = make.shape(1)
    rank = make.rng.randint(0, len(whole))
    own = tuple(make.rng.choice((ONE, each)) for each in whole[len(whole) - rank :])
    other = make.input(whole, make.kind())
    mine = make.input(own, other.type)
    return apply("-", other, mine), np.subtract


def expand(make: Maker) -> tuple[g.Value, Function]:
    a = make.input(make.shape(), make.kind())
    axis = make.rng.randint(0, len(a.shape))
    return views.expand(a, axis), partial(np.expand_dims, axis=axis)


def reshape(make: Maker) -> tuple[g.Value, Function]:
    parts = [[12], [3, 4], [2, 6], [2, 3, 2], [1, 12], [4, 1, 3]]
    old, new = make.rng.choice(parts), make.rng.choice(parts)
    lead = make.axis()
    a = make.input((lead, *map(q.Affine, old)), make.kind())
    if make.rng.random() < 0.3:  # with the axis before
        joined = (lead.scaled(12),)
        return views.reshape(a, joined), np.ravel
    return views.reshape(a, (lead, *new)), lambda x: x.reshape(x.shape[0], *new)


def permute(make: Maker) -> tuple[g.Value, Function]:
    a = make.input(make.shape(), make.kind())
    axes = list(range(len(a.shape)))
    make.rng.shuffle(axes)
    return views.permute(a, axes), partial(np.transpose, axes=axes)


def flip(make: Maker) -> tuple[g.Value, Function]:
    a = make.input(make.shape(1), make.kind())
    axis = make.rng.randrange(len(a.shape))
    return views.flip(a, axis), partial(np.flip, axis=axis)


def shrink(make: Maker) -> tuple[g.Value, Function]:
    """By as much at most as there is."""
    inner = make.shape(1)
    low, high = ([make.rng.randint(0, 2) for _ in inner] for _ in range(2))
    long = tuple(i + a + b for i, a, b in zip(inner, low, high, strict=True))
    value = make.input(long, make.kind())
    for axis, (i, a) in enumerate(zip(inner, low, strict=True)):
        value = building.slice_(value, axis, a, i + a)
    cut = tuple(slice(a, -b if b else None) for a, b in zip(low, high, strict=True))
    return value, lambda x: x[cut]


def slices(make: Maker) -> tuple[g.Value, Function]:
    value = make.input(make.shape(1), make.kind())
    cut = []
    for axis in range(len(value.shape)):
        step = make.rng.choice((1, 2, 3, -1, -2))
        value = building.slice_(value, axis, None, None, step)
        cut.append(slice(None, None, step))
    return value, lambda x: x[tuple(cut)]


def window(make: Maker) -> tuple[g.Value, Function]:
    length = make.rng.randint(1, 3)
    lead = make.shape(0, 1)
    a = make.input((*lead, make.axis(filled=True) + length - 1), make.kind())
    return views.sliding_window(
        a, len(lead), length
    ), lambda x: np.lib.stride_tricks.sliding_window_view(x, length, axis=len(lead))


# -- elements --------------------------------------------------------------------------------------


def cast(make: Maker) -> tuple[g.Value, Function]:
    a = make.input(make.shape(), make.kind())
    # C does not say what becomes of floats that an integer does not hold
    to = make.kind(("i8", "i32", *FLOATS) if a.type in FLOATS else ALL)
    return types.cast(a, to), lambda x: x.astype(types.DTYPES[to])


def where(make: Maker) -> tuple[g.Value, Function]:
    shape = make.shape()
    a, b = (make.input(shape, "i8" if make.rng.random() < 0.5 else "f32") for _ in range(2))
    kind = make.kind()
    then, other = make.input(shape, kind), make.input(shape, kind)
    ufunc, op = make.rng.choice(
        [(np.less, "<"), (np.less_equal, "<="), (np.equal, "=="), (np.not_equal, "!=")]
    )
    left, right = building.unified([a, b])
    value = g.Select(g.Compare(op, left, right), then, other)
    return value, lambda a, b, then, other: np.where(ufunc(a, b), then, other)


def where_on_places(make: Maker) -> tuple[g.Value, Function]:
    a = make.input(make.shape(2), make.kind())
    at = tuple(g.fresh("") for _ in a.shape)
    offset = make.rng.randint(-1, 1)
    left, right = q.as_affine(at[-1]), q.as_affine(at[-2]) + offset
    zero = views.broadcast_to(types.constant(0, a.type), a.shape)
    value = g.Select(g.Inside(at, q.BinOp("<=", left, right, "bool")), a, zero)
    return value, partial(np.tril, k=offset)


# -- sums ------------------------------------------------------------------------------------------


def matmul(make: Maker) -> tuple[g.Value, Function]:
    rows, inner, columns = (make.axis() for _ in range(3))
    batch = make.shape(0, 1)
    kind = make.kind()
    a, b = make.input((*batch, rows, inner), kind), make.input((*batch, inner, columns), kind)
    rank = len(batch)
    product = apply("*", views.expand(a, rank + 2), views.expand(b, rank))
    return g.Reduce("sum", product, (rank + 1,)), np.matmul


def einsum(make: Maker) -> tuple[g.Value, Function]:
    """Of one to three arrays, with the axes of each, and of the result, in any order."""
    lengths = {letter: make.axis() for letter in "ijkl"}
    kind = make.kind()
    terms = ["".join(make.rng.sample("ijkl", make.rng.randint(0, 3))) for _ in range(3)]
    terms = terms[: make.rng.randint(1, 3)]
    letters = sorted(set("".join(terms)))
    result = "".join(make.rng.sample(letters, make.rng.randint(0, len(letters))))
    values = []
    for term in terms:
        value = make.input(tuple(lengths[each] for each in term), kind)
        value = views.permute(value, [term.index(each) for each in sorted(term)])
        for axis, letter in enumerate(letters):
            if letter not in term:
                value = views.expand(value, axis)
        values.append(value)
    product = reduce(partial(apply, "*"), values)
    gone = tuple(axis for axis, letter in enumerate(letters) if letter not in result)
    total = g.Reduce("sum", product, gone) if gone else product
    left = [letter for letter in letters if letter in result]
    equation = f"{','.join(terms)}->{result}"
    order = [left.index(each) for each in result]
    return views.permute(total, order), partial(np.einsum, equation)


def convolution(make: Maker) -> tuple[g.Value, Function]:
    """Of one or two dimensions, within the bounds."""
    rank, kind = make.rng.randint(1, 2), make.kind()
    taps = [make.rng.randint(1, 3) for _ in range(rank)]
    a = make.input(tuple(make.axis(filled=True) + t - 1 for t in taps), kind)
    w = make.input(tuple(map(q.Affine, taps)), kind)
    value = a
    for axis, t in enumerate(taps):
        value = views.sliding_window(value, axis, t)
    total = g.Reduce("sum", apply("*", value, w), tuple(range(rank, 2 * rank)))

    def function(x: Any, w: Any) -> Any:
        seen = np.lib.stride_tricks.sliding_window_view(x, w.shape)
        return (seen * w).sum(axis=tuple(range(rank, 2 * rank)), dtype=x.dtype)

    return total, function


def reduced(make: Maker, function: str) -> tuple[g.Value, Function]:
    """Of nothing at all there is no greatest element."""
    shape = make.shape(1, filled=function in ("max", "min"))
    axes = tuple(sorted(make.rng.sample(range(len(shape)), make.rng.randint(1, len(shape)))))
    a = make.input(shape, make.kind())
    return g.Reduce(function, a, axes), lambda x: UFUNCS[function].reduce(
        x, axis=axes, dtype=x.dtype
    )


def mean(make: Maker) -> tuple[g.Value, Function]:
    """Of nothing it is no number."""
    a = make.input(make.shape(1), make.kind(FLOATS))
    axes = tuple(sorted(make.rng.sample(range(len(a.shape)), make.rng.randint(1, len(a.shape)))))
    total = g.Reduce("sum", a, axes)
    counts: list[g.Value] = [g.Count(a.shape[axis], a.type) for axis in axes]
    return apply("/", total, reduce(partial(apply, "*"), counts)), partial(np.mean, axis=axes)


def accumulated(make: Maker, function: str) -> tuple[g.Value, Function]:
    a = make.input(make.shape(1, filled=function in ("max", "min")), make.kind())
    axis = make.rng.randrange(len(a.shape))
    return g.Scan(function, a, axis), lambda x: UFUNCS[function].accumulate(
        x, axis=axis, dtype=x.dtype
    )


VALUES: dict[str, Callable[[Maker], tuple[g.Value, Function]]] = {
    each.__name__: each
    for each in (
        *(broadcast, expand, reshape, permute, flip, shrink, slices, window, cast),
        *(where, where_on_places, matmul, einsum, convolution, mean),
    )
} | {
    f"{name}_{function}": partial(make, function=function)
    for name, make in (("reduced", reduced), ("accumulated", accumulated))
    for function in UFUNCS
}


def cases(seed: int) -> Iterator[Case]:
    for number, (name, value) in enumerate(VALUES.items()):
        for again in range(3):
            make = Maker(seed + 1000 * number + 100 * again)
            yield make.case(f"{name}_{again}", *value(make))


@pytest.mark.normal
@settings(max_examples=4, derandomize=True, phases=[Phase.generate], deadline=None)
@given(seed=st.integers(0, 10**6))
def test_entries_of_the_table(seed: int) -> None:
    found = list(cases(seed))
    rng = np.random.default_rng(seed)
    ran = set()
    with TemporaryDirectory() as folder:
        kernels = Kernels([each.program for each in found], Path(folder))
        for number, case in enumerate(found):
            for sizes in (dict(zip("NMK", each, strict=True)) for each in LENGTHS):
                asserts = (each.replace("/", "//") for each in kernels.lowered[number].asserts)
                if all(eval(each, {}, dict(sizes)) for each in asserts):
                    check(kernels, number, case, sizes, rng)
                    ran.add(number)
    assert ran == set(range(len(found)))


def check(
    kernels: Kernels, number: int, case: Case, sizes: dict[str, int], rng: np.random.Generator
) -> None:
    arrays = [
        data(rng, each.type, [_length(side, sizes) for side in each.shape])
        for each in case.program.parameters
        if isinstance(each, g.Array)
    ]
    wanted = arrays[0].copy()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing
        value = np.asarray(case.function(*arrays[1:]))
    place = case.place(wanted)
    assert place.shape == value.shape
    assert place.dtype == value.dtype
    place[...] = value
    kernels.run(number, sizes, arrays)
    text = f"{case.program.name}, {sizes}\n{kernels.lowered[number].text}"
    same(arrays[0], wanted, text)


def _length(side: q.Affine, sizes: dict[str, int]) -> int:
    return q.evaluate_affine(side, lambda atom: sizes[atom.name])  # type: ignore[union-attr]

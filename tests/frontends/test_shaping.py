"""What is put together from values is what NumPy makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontends.meaning import evaluate
from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import shaping, views

N, M = g.fresh("N"), g.fresh("M")
SIZES = st.tuples(st.integers(1, 5), st.integers(1, 5))


def run(
    into: g.Array, body: tuple[g.Statement, ...], arrays: dict[g.Array, Any], sizes: tuple[int, int]
) -> Any:
    known = dict(zip((N, M), sizes, strict=True))
    shape = [q.evaluate_affine(n, lambda atom: known[atom]) for n in into.shape]  # type: ignore[index]
    found = np.full(shape, 99.0)
    evaluate(g.Program("p", (), body), {**arrays, into: found}, known)
    return found


def array(name: str, *sizes: views.Size) -> g.Array:
    return g.Array(name, "f64", views.shape_of(*sizes))


def numbers(*shape: int) -> Any:
    return np.arange(float(np.prod(shape))).reshape(shape) + 100 * len(shape)


@settings(max_examples=25, derandomize=True)
@given(sizes=SIZES, widths=st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * 2))
def test_pad(sizes: tuple[int, int], widths: tuple[tuple[int, int], ...]) -> None:
    source = array("a", N, M)
    ours = [(q.Affine(a), q.Affine(b)) for a, b in widths]
    into = g.Array("out", "f64", shaping.padded_shape(source.shape, ours))
    body = shaping.pad(into, g.Load(source), ours, g.Constant(7, "i32"))
    data = numbers(*sizes)
    wanted = np.pad(data, widths, constant_values=7)
    np.testing.assert_array_equal(run(into, body, {source: data}, sizes), wanted)


@pytest.mark.parametrize("axis", [0, 1, -1])
@settings(max_examples=10, derandomize=True)
@given(sizes=SIZES)
def test_concatenate_and_stack(axis: int, sizes: tuple[int, int]) -> None:
    sources = [array("a", N, M), array("b", N, M), array("c", N, M)]
    data = [numbers(*sizes) + 1000 * i for i in range(3)]
    values = list(map(g.Load, sources))
    arrays = dict(zip(sources, data, strict=True))
    into = g.Array("out", "f64", shaping.concatenated_shape(values, axis))
    found = run(into, shaping.concatenate(into, values, axis), arrays, sizes)
    np.testing.assert_array_equal(found, np.concatenate(data, axis))
    expanded = [views.expand(each, axis) for each in values]
    into = g.Array("out", "f64", shaping.concatenated_shape(expanded, axis))
    found = run(into, shaping.stack(into, values, axis), arrays, sizes)
    np.testing.assert_array_equal(found, np.stack(data, axis))


@settings(max_examples=25, derandomize=True)
@given(sizes=SIZES)
def test_assignment_to_a_view(sizes: tuple[int, int]) -> None:
    target, source = array("a", N, M), array("b", M)
    place = views.permute(views.slice_(views.flip(g.Load(target), 1), 1, None, None, 2))
    value = views.expand(views.slice_(g.Load(source), 0, None, None, 2), 1)
    data, new = numbers(*sizes), -numbers(sizes[1])
    wanted = data.copy()
    wanted[:, ::-1][:, ::2].T[...] = new[::2][:, None]
    evaluate(
        g.Program("p", (), (shaping.stored(place, value),)),
        {target: data, source: new},
        dict(zip((N, M), sizes, strict=True)),
    )
    np.testing.assert_array_equal(data, wanted)

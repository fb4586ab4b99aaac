"""Views are NumPy's, whatever they are views of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontends import building
from frontends.meaning import Values
from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import views
from schedsearch.frontends.lowered import Refusal

Step = tuple[Callable[[g.Value], g.Value], Callable[[Any], Any]]

N, M = g.fresh("N"), g.fresh("M")
n = q.as_affine(N)


@st.composite
def steps(draw: st.DrawFn, shape: tuple[int, ...]) -> Step:
    """A view of an array of this shape, ours and NumPy's."""
    axis = draw(st.integers(0, len(shape) - 1)) if shape else 0
    kinds = ["expand", "reshape", "broadcast"]
    kinds += ["permute", "flip", "slice", "index", "window"] if shape else []
    match draw(st.sampled_from(kinds)):
        case "expand":
            at = draw(st.integers(-len(shape) - 1, len(shape)))
            return (lambda v: views.expand(v, at)), (lambda a: np.expand_dims(a, at))
        case "reshape":
            new = draw(st.sampled_from(factors(int(np.prod(shape)))))
            return (lambda v: views.reshape(v, new)), (lambda a: a.reshape(new))
        case "broadcast":
            new = (draw(st.integers(1, 2)), *(m if m > 1 else 2 for m in shape))
            wide = views.shape_of(*new)
            return (lambda v: views.broadcast_to(v, wide)), (lambda a: np.broadcast_to(a, new))
        case "permute":
            axes = draw(st.permutations(range(len(shape))))
            return (lambda v: views.permute(v, axes)), (lambda a: a.transpose(axes))
        case "flip":
            return (lambda v: views.flip(v, axis)), (lambda a: np.flip(a, axis))
        case "slice":
            ends = st.none() | st.integers(-shape[axis] - 2, shape[axis] + 2)
            step = draw(st.integers(-3, 3).filter(bool))
            cut = slice(draw(ends), draw(ends), step)
            there = len(range(shape[axis])[cut])
            if not there:
                cut = slice(None)
            where = (slice(None),) * axis
            return (
                (lambda v: building.slice_(v, axis, cut.start, cut.stop, cut.step or 1)),
                (lambda a: a[(*where, cut)]),
            )
        case "index":
            at = draw(st.integers(-shape[axis], shape[axis] - 1))
            return (lambda v: building.index(v, axis, at)), (lambda a: np.take(a, at, axis))
        case _:
            width = draw(st.integers(1, shape[axis]))
            window = np.lib.stride_tricks.sliding_window_view
            return (
                (lambda v: views.sliding_window(v, axis, width)),
                (lambda a: window(a, width, axis)),
            )


def factors(number: int) -> list[tuple[int, ...]]:
    """Shapes that hold a number of elements."""
    found: list[tuple[int, ...]] = [(number,), (1, number), (-1,)]
    for one in range(2, number + 1):
        if number % one == 0:
            found += [(one, number // one), (-1, number // one)]
            found += [
                (one, two, number // one // two)
                for two in range(2, number // one)
                if number // one % two == 0
            ]
    return found


@pytest.mark.normal
@settings(max_examples=60, derandomize=True)
@given(drawn=st.data(), shape=st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_views_of_views(drawn: st.DataObject, shape: list[int]) -> None:
    """One view of the array, with the elements that NumPy has."""
    array = g.Array("a", "f64", views.shape_of(*shape))
    data = np.arange(float(np.prod(shape))).reshape(shape)
    value: g.Value = g.Load(array)
    wanted = data
    for _ in range(drawn.draw(st.integers(1, 4))):
        if wanted.ndim > 5 or wanted.size > 3000:
            break
        build, function = drawn.draw(steps(wanted.shape))
        value, wanted = build(value), function(wanted)
    if isinstance(value, g.View):
        assert isinstance(value.source, g.Load)
    found = Values({array: data}, {}, {}).value(value)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("old", "new", "python"),
    [
        ((N, 6), (N, 2, 3), (-1, 2, 3)),
        ((N, 6), (-1,), (-1,)),
        ((N, 2, 6), (N, 3, 4), (-1, 3, 4)),
        ((n.scaled(6),), (N, 2, 3), (-1, 2, 3)),
        ((n.scaled(4), 3), (-1, 6), (-1, 6)),
        ((N, M, 4), (N, M, 2, 2), (5, 7, 2, 2)),
        ((2, 3, N, M), (6, N, M), (6, 5, 7)),
        ((N, 1, M), (N, M), (5, 7)),
        ((N, M), (1, N, 1, M, 1), (1, 5, 1, 7, 1)),
        ((N, 4, M), (N, 2, 2, M), (5, 2, 2, 7)),
        ((n + 1, 4), (n.scaled(4) + 4,), (-1,)),
    ],
)
def test_reshape_by_symbols(old: Any, new: Any, python: tuple[int, ...]) -> None:
    known = {N: 5, M: 7}
    array = g.Array("a", "f64", views.shape_of(*old))
    shape = [q.evaluate_affine(each, known.__getitem__) for each in array.shape]
    data = np.arange(float(np.prod(shape))).reshape(shape)
    value = views.reshape(g.Load(array), new)
    found = Values({array: data}, known, {}).value(value)
    np.testing.assert_array_equal(found, data.reshape(python))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((N, M), (M, N)),
        ((N, M), (-1,)),
        ((N, 4), (N, 3)),
        ((4, N), (-1,)),
        ((6,), (-1, 4)),
        ((N,), (-1, 2)),
    ],
)
def test_reshapes_that_are_not_affine_are_refused(old: Any, new: Any) -> None:
    with pytest.raises(Refusal, match="reshape of"):
        views.reshape(g.Load(g.Array("a", "f32", views.shape_of(*old))), new)


def test_indices_stay_simple() -> None:
    """No quotient where none is needed: the search understands sums."""
    load = g.Load(g.Array("a", "f32", views.shape_of(N, 2, 3)))
    joined = views.reshape(load, (N, 6))
    again = views.reshape(joined, (N, 2, 3))
    assert again is load
    split = views.reshape(g.Load(g.Array("a", "f32", views.shape_of(N, 6))), (N, 2, 3))
    assert isinstance(split, g.View)
    assert not any(isinstance(a, q.FloorDiv | q.Mod) for at in split.index for a, _ in at.terms)


@pytest.mark.parametrize("length", [2, 3, 4, 12])
def test_quotients_are_dropped_only_where_they_are_known(length: int) -> None:
    array = g.Array("a", "f64", views.shape_of(4, 3))
    data = np.arange(12.0).reshape(4, 3)
    value = building.slice_(views.reshape(g.Load(array), (12,)), 0, 0, length)
    found = Values({array: data}, {}, {}).value(value)
    np.testing.assert_array_equal(found, np.arange(12.0)[:length])
    assert isinstance(value, g.View)
    assert value.index[0].is_const == (length <= 3)


def test_what_changes_nothing_is_no_view() -> None:
    load = g.Load(g.Array("a", "f32", views.shape_of(N, M)))
    assert views.permute(views.permute(load)) is load
    assert views.flip(views.flip(load, 1), 1) is load
    assert building.slice_(load, 0) is load


@pytest.mark.parametrize(
    "wrong",
    [
        lambda v: views.broadcast_to(v, views.shape_of(M, N)),
        lambda v: building.broadcast([v, views.permute(v)]),
        lambda v: views.permute(v, (0, 0)),
        lambda v: views.flip(v, 2),
        lambda v: building.index(v, -3, 0),
        lambda v: building.slice_(v, 0, None, None, 0),
        lambda v: building.stored(views.broadcast_to(v, views.shape_of(2, N, M)), v),
        lambda v: building.stored(g.Cast(v, "f64"), v),
    ],
)
def test_mistakes_are_refused(wrong: Callable[[g.Value], Any]) -> None:
    with pytest.raises(Refusal):
        wrong(g.Load(g.Array("a", "f32", views.shape_of(N, M))))

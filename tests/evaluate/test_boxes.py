"""Sets of elements in closed form, against sets of elements."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedsearch.core import ast as q
from schedsearch.evaluate.arguments.binding import Binding
from schedsearch.evaluate.roof import traffic
from schedsearch.evaluate.roof.elements import NOTHING, Progression, classes, progression
from schedsearch.evaluate.roof.traffic import Streams, count_streams

OUTER, MIDDLE, INNER = q.Var("i", 1), q.Var("j", 2), q.Var("k", 3)

bounds = st.tuples(st.integers(-3, 3), st.integers(1, 5)).map(lambda lo: (lo[0], lo[0] + lo[1]))


@given(st.lists(st.integers(-6, 6), min_size=3, max_size=3), st.lists(bounds, min_size=3))
def test_a_progression_is_every_value_of_its_index(
    coefficients: list[int], ends: list[tuple[int, int]]
) -> None:
    trips = dict(zip((OUTER, MIDDLE, INNER), ends, strict=False))
    index = q.Affine(7)
    for var, coefficient in zip(trips, coefficients, strict=True):
        index += q.as_affine(var).scaled(coefficient)
    values = {
        q.evaluate_affine(index, dict(zip(trips, at, strict=True)).__getitem__)
        for at in product(*(range(lo, hi) for lo, hi in trips.values()))
    }
    found = progression(index, {}, trips)
    if found is not None:
        assert set(range(found.first, found.last + 1, found.step)) == values
        assert found.last == max(values)
    else:
        steps = {b - a for a, b in zip(sorted(values), sorted(values)[1:], strict=False)}
        assert len(steps) > 1


def test_what_is_not_affine_is_no_progression() -> None:
    half = q.as_affine(q.FloorDiv(q.as_affine(OUTER) + 1, 2))
    assert progression(half, {}, {OUTER: (0, 9)}) is None
    assert progression(half, {OUTER: 4}, {}) == Progression(2, 2)


parts = st.builds(
    lambda first, step, count: Progression(first, first + step * (count - 1), step),
    st.integers(0, 20),
    st.integers(1, 6),
    st.integers(1, 8),
)


@given(st.lists(parts | st.just(NOTHING), max_size=5))
def test_classes_count_each_coordinate_once(parts: list[Progression]) -> None:
    held = [set(range(part.first, part.last + 1, part.step)) for part in parts]
    expected: dict[tuple[bool, ...], int] = {}
    for at in set[int]().union(*held):
        key = tuple(at in own for own in held)
        expected[key] = expected.get(key, 0) + 1
    assert classes(parts) == expected


def test_too_many_residues_are_left_to_others() -> None:
    assert classes([Progression(0, 10**9, 10007), Progression(0, 10**9, 10009)]) is None


@st.composite
def rectangles(draw: st.DrawFn) -> q.Proc:
    """Some statements, each in loops of its own with constant bounds, on one array."""
    array, uids = q.Var("a", 0), iter(range(1, 99))
    sizes = st.integers(0, 4)
    body: list[q.Stmt] = []
    for _ in range(draw(st.integers(1, 4))):
        loops = [q.Var("i", next(uids)) for _ in range(4)]
        at = []
        for first, second in ((0, 1), (2, 3), (0, 1), (2, 3)):
            index = q.as_affine(loops[first]).scaled(draw(st.integers(0, 3)))
            index += q.as_affine(loops[second]).scaled(draw(st.integers(0, 3)))
            at.append(index + draw(st.integers(0, 3)))
        read = q.Read(array, (at[0], at[1]), "f32")
        kind = draw(st.sampled_from((q.Assign, q.Reduce)))
        stmt: q.Stmt = kind((), array, (at[2], at[3]), read, "f32")
        for loop in loops:
            stmt = q.For((), loop, q.Affine(0), q.Affine(draw(sizes)), (stmt,), False)
        body.append(stmt)
    arg = q.Arg(array, "f32", (q.Affine(32), q.Affine(32)), False)
    return q.Proc("p", (arg,), (), tuple(body))


@pytest.mark.normal
@settings(max_examples=150, deadline=None)
@given(rectangles())
def test_the_closed_form_counts_what_enumeration_counts(proc: q.Proc) -> None:
    closed = count_streams(proc, Binding(()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traffic, "_by_classes", lambda *_: None)
        assert closed == count_streams(proc, Binding(()))


def one_loop_nest(shape: tuple[int, ...], idx: tuple[q.Affine, ...], his: list[int]) -> Streams:
    x = q.Var("x", 0)
    stmt: q.Stmt = q.Reduce((), x, idx, q.Const(1.0, "f32"), "f32")
    for var, hi in reversed(list(zip((OUTER, MIDDLE, INNER), his, strict=False))):
        stmt = q.For((), var, q.Affine(0), q.Affine(hi), (stmt,), False)
    arg = q.Arg(x, "f32", tuple(map(q.Affine, shape)), False)
    return count_streams(q.Proc("p", (arg,), (), (stmt,)), Binding(()))


def test_arrays_without_end_are_counted_exactly() -> None:
    n = 1 << 40
    every_third = q.as_affine(OUTER).scaled(3) + 2
    assert one_loop_nest((3 * n,), (every_third,), [n]) == Streams(0, 0, 4 * n)
    rows = (q.as_affine(OUTER), q.as_affine(MIDDLE).scaled(50) + q.as_affine(INNER))
    assert one_loop_nest((n, 1000), rows, [n, 10, 60]) == Streams(0, 0, 4 * n * 510)

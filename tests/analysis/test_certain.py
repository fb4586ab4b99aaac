"""What is certain holds in every iteration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedsearch.analysis.certain import Certain, Loop, certain_at, upper
from schedsearch.analysis.conditions import COMPARISONS, at_most_zero, holds
from schedsearch.analysis.ranges import bind_loop, bind_loops, loops_at, ranges_of_args, trips
from schedsearch.core import ast as q

from .execution import few
from .expressions import CONDITIONS, FLAG, VALUES, VARS
from .programs import programs

pytestmark = pytest.mark.normal

Point = dict[q.Atom, int]

SIZE, OUTER, INNER = VARS
ends = st.one_of(
    st.integers(0, 6).map(q.Affine),
    st.just(q.as_affine(SIZE)),
    st.builds(
        lambda den, c: q.floor_div(q.as_affine(SIZE), den).scaled(c), *[st.integers(1, 4)] * 2
    ),
)


@st.composite
def nests(draw: st.DrawFn) -> list[Loop]:
    """Two loops, the inner one of which may depend on the outer one, and a size."""
    low, high = draw(ends), draw(ends)
    own = st.one_of(ends, st.sampled_from([q.as_affine(OUTER), q.as_affine(OUTER) + 2]))
    return [(OUTER, low, high), (INNER, draw(own), draw(own))]


def iterations(loops: list[Loop], at: Point) -> Iterator[Point]:
    if not loops:
        yield dict(at)
        return
    (var, lo, hi), *rest = loops
    first, end = (q.evaluate_affine(value, at.__getitem__) for value in (lo, hi))
    for value in range(first, end):
        yield from iterations(rest, {**at, var: value})


def everywhere(loops: list[Loop]) -> Iterator[Point]:
    for size in (1, 2, 3, 8):
        yield from iterations(loops, {SIZE: size})


def known(loops: list[Loop]) -> Certain:
    found = Certain({SIZE.uid: (1, float("inf"))}, loops)
    for var, lo, hi in loops:
        bind_loop(found.ranges, var.uid, lo, hi)
    return found


@given(nests(), VALUES)
@settings(max_examples=400)
def test_an_upper_bound_is_above_every_value(loops: list[Loop], value: q.Affine) -> None:
    ranges = known(loops).ranges
    found = [q.evaluate_affine(value, at.__getitem__) for at in everywhere(loops)]
    limit = upper(value, ranges, loops)
    assert all(each <= limit for each in found)
    assert limit <= upper(value, ranges, loops, enough=0)


@given(nests(), CONDITIONS.filter(lambda c: FLAG not in q.expr_vars(c)), VALUES, st.data())
@settings(max_examples=400)
def test_a_comparison_that_is_certain_holds(
    loops: list[Loop], given_: q.Expr, value: q.Affine, data: st.DataObject
) -> None:
    certain = known(loops)
    certain.facts = tuple(at_most_zero(given_))
    points = [at for at in everywhere(loops) if holds(given_, at)]
    # A limit at which the comparison is likely, that is, near the greatest value.
    most = max((q.evaluate_affine(value, at.__getitem__) for at in points), default=0)
    limit = q.Affine(most + data.draw(st.integers(-1, 1)))
    for op, compare in COMPARISONS.items():
        if certain.compare(value, op, limit):
            assert all(
                compare(q.evaluate_affine(value, at.__getitem__), limit.const) for at in points
            )


def test_ends_of_loops_say_more_than_their_ranges() -> None:
    triangle = [
        (OUTER, q.Affine(0), q.as_affine(SIZE)),
        (INNER, q.Affine(0), q.as_affine(OUTER)),
    ]
    inside = q.as_affine(INNER) - q.as_affine(OUTER)
    assert known(triangle).at_most(inside, -1)
    tiles = [
        (OUTER, q.Affine(0), q.floor_div(q.as_affine(SIZE), 8)),
        (INNER, q.Affine(0), q.Affine(8)),
    ]
    index = q.as_affine(OUTER).scaled(8) + q.as_affine(INNER)
    assert known(tiles).below(index, q.floor_div(q.as_affine(SIZE), 8).scaled(8))
    assert known(tiles).below(index, q.as_affine(SIZE))
    assert not known(tiles).below(index + 1, q.as_affine(SIZE))


def test_indices_of_procedures_are_within_what_is_certain() -> None:
    compared = 0
    for program in programs():
        ranges = bind_loops(ranges_of_args(program.proc), program.proc.body)
        for event in few(program.events, 200):
            if event.called:
                continue
            certain = certain_at(program.proc, event.stmt.path)
            for index in getattr(event.stmt, "idx", ()):
                value = q.evaluate_affine(index, event.values.__getitem__)
                assert value <= upper(index, certain.ranges, certain.loops)
                assert not certain.below(index, q.Affine(value))
                assert not certain.compare(index, ">", q.Affine(value))
                compared += 1
            for loop in loops_at(program.proc, event.stmt.path):
                low, high = (
                    q.evaluate_affine(e, event.values.__getitem__) for e in (loop.lo, loop.hi)
                )
                least, most = trips(loop, ranges)
                assert least <= high - low <= most
    assert compared > 1000

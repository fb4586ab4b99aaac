"""Enclosures hold what any order of rounding gives, and nothing that leaves out a term."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from transforms.interpret import DTYPES

from fuzz.enclosure import Enclosed, Enclosures, Undefined, exactly, loose, within

pytestmark = pytest.mark.slow

ARITHMETIC = Enclosures()


def total(terms: list[Enclosed], kind: str) -> Enclosed:
    return reduce(lambda left, right: ARITHMETIC.binary("+", left, right, kind), terms)


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_sums_of_quarters_are_one_number(kind: str) -> None:
    values = np.random.default_rng(1).integers(-12, 13, 100) / 4
    found = total([exactly(value) for value in values.tolist()], kind)
    assert found.lo == found.hi == values.sum()


@pytest.mark.parametrize("kind", ["f16", "f32"])
def test_sums_in_any_order_are_inside_and_without_a_term_outside(kind: str) -> None:
    rng = np.random.default_rng(2)
    values = rng.uniform(0.5, 1, 60).astype(DTYPES[kind])
    found = total([exactly(value) for value in values.tolist()], kind)
    assert found.lo < found.hi
    for _ in range(50):
        rng.shuffle(values)
        one = reduce(lambda left, right: DTYPES[kind](left + right), values)
        assert found.lo <= one <= found.hi
        if kind == "f32":
            assert not found.lo <= one - values[0] <= found.hi


@pytest.mark.parametrize(
    ("value", "before", "kind", "wanted"),
    [
        (exactly(-2.75), "f32", "i8", (-2, -2)),
        (exactly(300), "i32", "i8", (44, 44)),
        (exactly(-1), "i32", "ui8", (255, 255)),
        (Enclosed(2.9, 3.1, 3.1, 0), "f32", "i32", (2, 3)),
        (Enclosed(126, 129, 129, 1), "i32", "i8", (-128, 127)),
        (exactly(0.25), "f64", "f32", (0.25, 0.25)),
        (exactly(2049.0), "f32", "f16", (2045.0, 2053.0)),
    ],
)
def test_conversions(value: Enclosed, before: str, kind: str, wanted: tuple[float, float]) -> None:
    found = ARITHMETIC.converted(value, before, kind)
    assert (found.lo, found.hi) == pytest.approx(wanted, abs=0.01)


def test_what_c_does_not_define_is_no_number() -> None:
    fresh = ARITHMETIC.array((), "f32").item()
    with pytest.raises(Undefined, match="outside of the integer's range"):
        ARITHMETIC.converted(exactly(300.0), "f32", "i8")
    with pytest.raises(Undefined, match="overflow"):
        ARITHMETIC.binary("*", exactly(2**20), exactly(2**20), "i32")
    with pytest.raises(Undefined, match="overflow"):
        ARITHMETIC.binary("*", exactly(300.0), exactly(300.0), "f16")
    with pytest.raises(Undefined, match="zero"):
        ARITHMETIC.binary("/", exactly(1.0), Enclosed(-1, 1, 1, 0), "f32")
    with pytest.raises(Undefined, match="fresh"):
        ARITHMETIC.converted(fresh, "f32", "i32")
    with pytest.raises(Undefined, match="overflow"):
        ARITHMETIC.binary("+", fresh, exactly(1.0), "f32")


def test_values_are_compared_one_by_one() -> None:
    bounds = (np.array([1.0, 2.0]), np.array([1.0, 2.5]))
    assert within(np.array([1.0, 2.25]), bounds)
    assert not within(np.array([1.01, 2.25]), bounds)
    assert not within(np.array([1.0, np.nan]), bounds)
    assert loose([bounds, None])
    assert not loose([(bounds[0], bounds[0])])

"""Estimates read as numbers, and stay values with an interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from schedsearch.core.stats import Estimate

MADE = Estimate(2.375, 2.0, 3.0)


def test_it_reads_as_a_number() -> None:
    assert float(MADE) == 2.375
    assert math.log2(Estimate(8.0)) == 3.0
    assert round(MADE, 1) == 2.4
    assert round(MADE) == 2
    assert f"{MADE:.2f}" == "2.38"
    assert f"{MADE:>8.1f}" == "     2.4"


def test_without_a_format_the_interval_is_shown() -> None:
    assert f"{MADE}" == str(MADE) == "2.38 [2.00, 3.00]"


@pytest.mark.parametrize("number", [2, 2.0, np.float32(2), np.float64(2), np.int64(2)])
def test_numbers_are_compared_with_the_point(number: float) -> None:
    assert number < MADE
    assert number <= MADE
    assert not number > MADE
    assert not number >= MADE
    assert number < MADE
    assert number <= MADE


def test_estimates_are_ordered_by_their_points() -> None:
    wide = Estimate(2.5, 0.1, 100.0)
    assert wide > MADE
    assert max([MADE, wide, Estimate(1.0)]) is wide
    assert sorted([wide, MADE]) == [MADE, wide]


def test_equality_and_hash_are_of_the_value_with_its_interval() -> None:
    assert Estimate(2.375, 2.0, 3.0) == MADE
    assert hash(Estimate(2.375, 2.0, 3.0)) == hash(MADE)
    assert Estimate(2.375, 2.0, 3.1) != MADE
    assert MADE != 2.375
    assert len({MADE, Estimate(2.375, 2.0, 3.0), 2.375}) == 2


@pytest.mark.parametrize("other", ["2", None, [2.0]])
def test_what_is_no_number_is_not_compared(other: object) -> None:
    with pytest.raises(TypeError):
        _ = other < MADE  # type: ignore[operator]

"""The time of several searches goes where most can be gained."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.search.setup.sharing import LEAST_S, shares

gains = st.lists(st.floats(0, 1e6) | st.just(0.0), max_size=12)
budgets = st.floats(1e-3, 1e5)


@given(budgets, gains)
def test_all_of_the_time_is_shared_out(seconds: float, gains: list[float]) -> None:
    found = shares(seconds, gains)
    assert len(found) == len(gains)
    assert sum(found) == pytest.approx(seconds if any(gains) else 0.0)


@given(budgets, gains)
def test_every_search_has_time_enough_or_none(seconds: float, gains: list[float]) -> None:
    given = [share for share in shares(seconds, gains) if share]
    assert len(given) <= 1 or min(given) >= LEAST_S * (1 - 1e-9)


@given(budgets, gains)
def test_more_for_what_can_gain_more(seconds: float, gains: list[float]) -> None:
    pairs = sorted(zip(gains, shares(seconds, gains), strict=True))
    shared = [share for _, share in pairs]
    assert shared == sorted(shared)
    assert all(share == 0 for gain, share in pairs if gain == 0)


@pytest.mark.parametrize(
    ("seconds", "gains", "expected"),
    [
        (60, [], []),
        (60, [0.0, 0.0], [0, 0]),
        (60, [3.0, 1.0], [45, 15]),
        (59, [3.0, 1.0], [59, 0]),
        (120, [1.0, 0.0, 3.0], [30, 0, 90]),
        (1, [1.0, 2.0], [0, 1]),
        (45, [1.0, 1.0, 1.0, 1.0], [15, 15, 15, 0]),
    ],
)
def test_examples(seconds: float, gains: list[float], expected: list[float]) -> None:
    assert shares(seconds, gains) == pytest.approx(expected)

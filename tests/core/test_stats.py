"""Rank correlation, against its definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.core.stats import rank_correlation

VALUES = st.lists(st.integers(-20, 20), min_size=3, max_size=30)


def test_known_value_with_ties() -> None:
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4.
    assert rank_correlation([1, 5, 5, 9], [1, 2, 3, 4]) == pytest.approx(0.9486833)


@given(VALUES)
def test_only_order_counts(values: list[int]) -> None:
    cubed = [float(v) ** 3 + 7 for v in values]
    found = rank_correlation(values, cubed)
    if len(set(values)) < 2:
        assert found is None
    else:
        assert found == pytest.approx(1.0)
        assert rank_correlation(values, [-c for c in cubed]) == pytest.approx(-1.0)

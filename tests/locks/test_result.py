"""Exit codes of a check."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.locks.result import Status, exit_code

from .entries import checked

S = Status


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([S.PASSED], 0),
        ([S.PASSED, S.SKIPPED], 0),
        ([S.REGRESSION], 1),
        ([S.ERROR], 2),
        ([S.INCONCLUSIVE], 3),
        ([S.WRONG], 4),
        ([S.STALE], 6),
        ([S.STALE, S.INCONCLUSIVE], 6),
        ([S.STALE, S.ERROR], 2),
        ([S.SKIPPED], 5),
        ([], 5),
        ([S.SKIPPED, S.INCONCLUSIVE], 3),
        ([S.INCONCLUSIVE, S.ERROR], 2),
        ([S.ERROR, S.REGRESSION], 1),
        ([S.REGRESSION, S.WRONG], 4),
    ],
)
def test_each_status_has_its_code_and_the_worst_decides(statuses: list[Status], code: int) -> None:
    assert exit_code([checked(status) for status in statuses]) == code


@given(st.lists(st.sampled_from(Status)), st.randoms())
def test_the_order_does_not_matter_and_success_hides_nothing(
    statuses: list[Status], random: object
) -> None:
    code = exit_code([checked(status) for status in statuses])
    assert exit_code([checked(status) for status in reversed(statuses)]) == code
    passing = exit_code([checked(status) for status in [*statuses, S.PASSED]])
    assert passing == (0 if code == 5 else code)

"""What a child may use."""

from __future__ import annotations

from dataclasses import replace

from schedsearch.evaluate.run.allowance import Allowance
from schedsearch.evaluate.run.timing import TimingPlan

MILLISECOND = 1e6
ALLOWED = Allowance((MILLISECOND, MILLISECOND), (1 << 10, 1 << 20), cores=1)
SCREENING = TimingPlan("screen", 2, 8, give_up_below=10.0)


def test_what_is_hopeless_gets_less_time_while_screening() -> None:
    assert ALLOWED.verify_s(SCREENING) < ALLOWED.verify_s() / 2


def test_time_for_arrays_is_given_beside_that_for_calls() -> None:
    """Filling and comparing 800 MB takes 2 to 3 s on a busy machine, whatever the candidate."""
    large = replace(ALLOWED, case_bytes=(400_000_000, 400_000_000))
    for plan in (None, SCREENING):
        assert large.verify_s(plan) - ALLOWED.verify_s(plan) > 4.0


def test_memory_is_for_the_largest_case() -> None:
    large = replace(ALLOWED, case_bytes=(1 << 10, 1 << 30))
    grown = large.limits(1.0, 1.0).address_bytes - ALLOWED.limits(1.0, 1.0).address_bytes
    assert grown == 4 * ((1 << 30) - (1 << 20))

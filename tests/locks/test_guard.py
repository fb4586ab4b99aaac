"""Verdicts on today's C against the pinned one, from visits whose truth is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from schedsearch.core.records import Measurement, Round
from schedsearch.locks.guard import (
    ATTEMPT_S,
    BY_COUNT,
    LEAST_VISITS,
    LOOKS,
    MOST_VISITS,
    TOLERANCE,
    Judgement,
    attempt,
    by_count,
    by_time,
    judge,
    summary,
    visit_of,
)
from schedsearch.locks.result import Instructions, Status, Visit

pytestmark = pytest.mark.normal

LEAST = 1.0 / (1.0 + TOLERANCE)
CALL = 1000.0
TIMES = 400
rng = np.random.default_rng


def visits(
    count: int, seed: int, slower: float = 0.0, spread: float = 0.02, disturbed: float = 0.0
) -> list[Visit]:
    """Of C `slower` than the pinned one. Every process has luck of its own (`spread`, for both
    kernels), and a share `disturbed` of the calls takes up to twice as long."""
    random = rng(seed)

    def time(ns: float) -> float:
        late = random.random() < disturbed
        return ns * np.exp(random.normal(0, spread / 2**0.5)) * (1 + late * random.random())

    return [Visit(time(CALL * (1 + slower)), time(CALL)) for _ in range(count)]


def verdicts(**truth: float) -> Counter[Judgement]:
    """Of attempts that go on until they tell."""
    return Counter(judge(visits(MOST_VISITS, seed, **truth), LEAST) for seed in range(TIMES))


@pytest.mark.parametrize("spread", [0.003, 0.01, 0.02])
def test_what_is_as_fast_as_pinned_holds(spread: float) -> None:
    found = verdicts(spread=spread)
    assert found[Judgement.BELOW] == 0
    assert found[Judgement.HOLDS] >= 0.98 * TIMES


@pytest.mark.parametrize("spread", [0.003, 0.01, 0.02])
def test_five_percent_slower_is_below(spread: float) -> None:
    found = verdicts(slower=0.05, spread=spread)
    assert found[Judgement.HOLDS] == 0
    assert found[Judgement.BELOW] >= 0.95 * TIMES


def test_disturbances_leave_it_open() -> None:
    found = verdicts(disturbed=0.3)
    assert found[Judgement.BELOW] <= 0.01 * TIMES
    assert verdicts(disturbed=0.3, slower=0.05)[Judgement.HOLDS] <= 0.02 * TIMES


def test_within_the_tolerance_it_is_not_said_to_be_slower() -> None:
    assert verdicts(slower=0.015)[Judgement.BELOW] == 0


def test_a_slower_machine_changes_nothing() -> None:
    slower = [Visit(1.4 * v.call_ns, 1.4 * v.pinned_ns) for v in visits(MOST_VISITS, 0)]
    assert judge(slower, LEAST) is Judgement.HOLDS


def test_a_quarter_of_fast_calls_is_enough() -> None:
    """Others take half of its speed in most visits."""
    slow = [Visit(v.call_ns * (1 + (n % 3 > 0)), v.pinned_ns) for n, v in enumerate(visits(30, 0))]
    assert judge(slow, LEAST) is Judgement.OPEN


def test_more_visits_do_not_change_a_verdict() -> None:
    for slower in (0.0, 0.05):
        whole = visits(MOST_VISITS, 1, slower=slower, spread=0.01)
        seen = [judge(whole[:count], LEAST) for count in range(MOST_VISITS + 1)]
        told = [each for each in seen if each is not Judgement.OPEN]
        assert len(set(told)) == 1
        assert seen[-len(told) :] == told


# -- how long it goes on ------------------------------------------------------------------


def run_through(given: Sequence[Visit | None], seconds: float) -> list[Visit]:
    """An attempt whose visits take so long."""
    left, now = list(given), [0.0]

    def visit() -> Visit | None:
        now[0] += seconds
        return left.pop(0)

    return attempt(visit, LEAST, lambda: now[0])


def test_an_attempt_ends_when_it_is_clear() -> None:
    assert len(run_through(visits(MOST_VISITS, 0, spread=0.003), 0.1)) == LOOKS[0][0]


def test_an_attempt_ends_when_it_takes_too_long() -> None:
    unclear = [Visit(CALL, LEAST * CALL * (1 + 0.1 * (-1) ** n)) for n in range(MOST_VISITS)]
    assert len(run_through(unclear, 0.1)) == MOST_VISITS
    assert len(run_through(unclear, ATTEMPT_S)) == LEAST_VISITS


def test_visits_that_give_nothing_are_not_waited_for_forever() -> None:
    assert run_through([None] * MOST_VISITS, 0.1) == []
    with pytest.raises(IndexError):  # it goes on to the last
        run_through([None] * (MOST_VISITS - 1), 0.1)


# -- what is reported ---------------------------------------------------------------------


def test_a_visit_is_of_the_fastest_calls() -> None:
    rounds = (Round((5.0, 4.0), (90.0, 80.0)), Round((6.0, 3.0), (100.0, 70.0)))
    assert visit_of(Measurement("guard", rounds, 1)) == Visit(3.0, 70.0)


def test_the_summary_is_of_medians_and_lower_quartiles() -> None:
    timing = summary([Visit(10.0, 100.0), Visit(20.0, 220.0), Visit(10.0, 120.0)], 0.9)
    assert timing.ratio.value == 11.0
    assert (timing.call_ns, timing.pinned_ns) == (10.0, 110.0)
    assert (timing.least, timing.visits) == (0.9, 3)


def test_what_is_slower_is_said_with_its_interval() -> None:
    timing = summary(visits(MOST_VISITS, 0, slower=0.1, spread=0.003), LEAST)
    status, text = by_time(timing, Judgement.BELOW)
    assert status is Status.REGRESSION
    assert text.startswith("10.")
    assert "% slower than the pinned C: 0.9" in text
    assert by_time(timing, Judgement.OPEN)[0] is Status.INCONCLUSIVE


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (1_000_000, Status.PASSED),
        (900_000, Status.PASSED),
        (1_025_000, Status.PASSED),
        (1_025_001, Status.REGRESSION),
        (1_050_000, Status.REGRESSION),
    ],
)
def test_instructions_decide_by_the_tolerance(call: int, status: Status) -> None:
    found, text = by_count(Instructions(call, 1_000_000), TOLERANCE)
    assert found is status
    assert text.startswith(BY_COUNT)
    assert f"{call:,} a call, pinned 1,000,000" in text

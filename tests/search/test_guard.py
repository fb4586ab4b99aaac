"""Verdicts on locked speeds, from visits whose truth is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from schedsearch.core.checked import Visit
from schedsearch.core.records import Measurement, Round
from schedsearch.search.guard import (
    ATTEMPT_S,
    LEAST_VISITS,
    LOOKS,
    MOST_VISITS,
    Verdict,
    attempt,
    judge,
    least_ratio,
    summary,
    visit_of,
)
from tests.core.entries import SPEED

LEAST = least_ratio(SPEED)
CALL, BASELINE = SPEED.call_ns, SPEED.call_ns * SPEED.ratio.value
TIMES = 400
rng = np.random.default_rng


def visits(
    count: int, seed: int, slower: float = 0.0, spread: float = 0.02, disturbed: float = 0.0
) -> list[Visit]:
    """Of a schedule `slower` than locked. Every process has luck of its own (`spread`, for both
    kernels), and a share `disturbed` of the calls takes up to twice as long."""
    random = rng(seed)

    def time(ns: float) -> float:
        late = random.random() < disturbed
        return ns * np.exp(random.normal(0, spread / 2**0.5)) * (1 + late * random.random())

    return [Visit(time(CALL * (1 + slower)), time(BASELINE)) for _ in range(count)]


def verdicts(same_code: bool = True, **truth: float) -> Counter[Verdict]:
    """Of attempts that go on until they tell."""
    return Counter(
        judge(visits(MOST_VISITS, seed, **truth), SPEED, LEAST, same_code) for seed in range(TIMES)
    )


@pytest.mark.parametrize("same_code", [True, False])
@pytest.mark.parametrize("spread", [0.003, 0.02, 0.04])
def test_what_is_as_fast_as_locked_holds(spread: float, same_code: bool) -> None:
    found = verdicts(same_code, spread=spread)
    assert found[Verdict.BELOW] == 0
    assert found[Verdict.HOLDS] >= 0.98 * TIMES


@pytest.mark.parametrize("same_code", [True, False])
@pytest.mark.parametrize("spread", [0.003, 0.02, 0.04])
def test_ten_percent_slower_is_below(spread: float, same_code: bool) -> None:
    found = verdicts(same_code, slower=0.1, spread=spread)
    assert found[Verdict.HOLDS] == 0
    assert found[Verdict.BELOW] >= 0.9 * TIMES


def test_disturbances_make_no_alarm_that_repeats() -> None:
    for same_code in (True, False):
        found = verdicts(same_code, disturbed=0.3)
        assert found[Verdict.BELOW] <= 0.01 * TIMES
        assert found[Verdict.HOLDS] >= 0.5 * TIMES
    assert verdicts(disturbed=0.3, slower=0.1)[Verdict.HOLDS] <= 0.02 * TIMES


def test_within_the_tolerance_it_is_not_said_to_be_slower() -> None:
    assert verdicts(slower=0.03)[Verdict.BELOW] == 0


def test_a_low_ratio_on_a_busy_machine_is_no_alarm() -> None:
    """A neighbour halves the schedule and takes a third of the procedure as written."""
    busy = [Visit(2.0 * v.call_ns, 1.3 * v.baseline_ns) for v in visits(MOST_VISITS, 0)]
    assert judge(busy, SPEED, LEAST, True) is Verdict.OPEN


def test_one_fast_call_is_enough_against_an_alarm_of_the_same_code() -> None:
    slow = visits(MOST_VISITS, 0, slower=0.3)
    assert judge(slow, SPEED, LEAST, True) is Verdict.BELOW
    slow[2] = Visit(0.97 * CALL, slow[2].baseline_ns)
    assert judge(slow, SPEED, LEAST, True) is Verdict.OPEN
    assert judge(slow, SPEED, LEAST, False) is Verdict.BELOW


def test_a_quarter_of_fast_calls_is_enough_for_any_code() -> None:
    slow = [
        Visit(v.call_ns * (1 + (n % 3 > 0)), v.baseline_ns) for n, v in enumerate(visits(30, 0))
    ]
    for same_code in (True, False):
        assert judge(slow, SPEED, LEAST, same_code) is Verdict.OPEN


def test_a_lucky_call_of_the_procedure_as_written_makes_no_alarm_believed() -> None:
    """Others take half of the schedule's speed in most visits."""
    found = [Visit(v.call_ns * (1 + (n > 3)), v.baseline_ns) for n, v in enumerate(visits(30, 0))]
    found[5] = Visit(found[5].call_ns, 0.5 * BASELINE)
    assert judge(found, SPEED, LEAST, True) is Verdict.OPEN


def test_a_slower_machine_of_the_same_kind_holds() -> None:
    slower = [Visit(1.4 * v.call_ns, 1.4 * v.baseline_ns) for v in visits(MOST_VISITS, 0)]
    assert judge(slower, SPEED, LEAST, True) is Verdict.HOLDS


def test_more_visits_do_not_change_a_verdict() -> None:
    for slower in (0.0, 0.1):
        whole = visits(MOST_VISITS, 1, slower=slower)
        seen = [judge(whole[:count], SPEED, LEAST, True) for count in range(MOST_VISITS + 1)]
        told = [each for each in seen if each is not Verdict.OPEN]
        assert len(set(told)) == 1
        assert seen[-len(told) :] == told


# -- how long it goes on ------------------------------------------------------------------


def run_through(given: Sequence[Visit | None], seconds: float) -> list[Visit]:
    """An attempt whose visits take so long."""
    left, now = list(given), [0.0]

    def visit() -> Visit | None:
        now[0] += seconds
        return left.pop(0)

    return attempt(visit, SPEED, LEAST, True, lambda: now[0])


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


def test_the_summary_is_of_medians_the_least_time_and_a_quartile() -> None:
    timing = summary([Visit(10.0, 100.0), Visit(20.0, 220.0), Visit(10.0, 120.0)], 9.0)
    assert timing.ratio.value == 11.0
    assert (timing.call_ns, timing.baseline_ns) == (10.0, 110.0)
    assert (timing.least, timing.visits) == (9.0, 3)

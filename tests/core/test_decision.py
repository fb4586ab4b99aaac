from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.core.decision import LOOKS, Decision, chance_of_rise, decide, first_answer

ratios = st.lists(st.floats(-1.6, 1.6).map(math.exp), min_size=1, max_size=45)
distinct = st.lists(st.integers(-50, 50).filter(bool), min_size=1, max_size=9, unique_by=abs)


@pytest.mark.normal
@given(distinct)
def test_the_chance_is_counted_over_all_signs(values: list[int]) -> None:
    """Every assignment of signs is as likely: the share of those with as high a score."""
    order = sorted(values, key=abs)
    scores = [min(rank, max(len(order) // 4, 1)) for rank in range(1, len(order) + 1)]

    def score(signs: tuple[bool, ...]) -> int:
        return sum(score for score, positive in zip(scores, signs, strict=True) if positive)

    seen = score(tuple(value > 0 for value in order))
    as_high = [score(signs) >= seen for signs in product((False, True), repeat=len(order))]
    found = chance_of_rise(np.array(values, dtype=float))
    assert found == pytest.approx(sum(as_high) / len(as_high))


@given(ratios)
def test_swapping_the_kernels_swaps_the_answer(values: list[float]) -> None:
    swapped = {Decision.FASTER: Decision.SLOWER, Decision.SLOWER: Decision.FASTER}
    one, other = decide(values), decide([1 / value for value in values])
    assert other is swapped.get(one, one)


@pytest.mark.normal
@given(ratios, ratios)
def test_more_rounds_never_turn_a_decision(values: list[float], more: list[float]) -> None:
    before = decide(values)
    after = decide([*values, *more])
    assert Decision.INCONCLUSIVE in (before, after) or after is before


@pytest.mark.normal
@given(ratios)
def test_the_answer_is_clear_after_the_rounds_said(values: list[float]) -> None:
    decision, rounds = first_answer(values)
    assert rounds <= len(values)
    assert decide(values[:rounds]) is decision
    earlier = {decide(values[:n]) for n in range(rounds)}
    assert earlier == {Decision.INCONCLUSIVE} or decision is Decision.INCONCLUSIVE


def test_a_decision_does_not_outlive_its_rounds() -> None:
    """A machine that was disturbed for three rounds, and then for no more."""
    assert decide([3.0] * 3) is Decision.FASTER
    assert decide([3.0] * 3 + [2.5] * 17) is Decision.FASTER
    assert decide([3.0] * 3 + [0.2] * 17) is Decision.INCONCLUSIVE
    assert first_answer([3.0] * 3 + [1.0] * 17) == (Decision.INCONCLUSIVE, 20)
    assert decide([0.3] * 3 + [5.0] * 17) is Decision.INCONCLUSIVE


def answers(differences: np.ndarray) -> dict[Decision, float]:
    """How often each is the answer for rows of logarithms of ratios."""
    given = [decide(row) for row in np.exp(differences)]
    return {decision: given.count(decision) / len(given) for decision in Decision}


def noise(rng: np.random.Generator, trials: int) -> np.ndarray:
    """One round in three disturbed by 20 % in the middle, on either side; else 1 %."""
    calm = rng.normal(0.0, 0.01, (trials, LOOKS[-1].rounds))
    disturbed = rng.laplace(0.0, 0.2, calm.shape)
    return np.where(rng.random(calm.shape) < 1 / 3, disturbed, calm)


@pytest.mark.normal
def test_equal_kernels_are_rarely_told_apart() -> None:
    found = answers(noise(np.random.default_rng(0), 2000))
    assert found[Decision.FASTER] <= 0.005
    assert found[Decision.SLOWER] <= 0.005


def test_a_difference_of_five_percent_is_found() -> None:
    found = answers(noise(np.random.default_rng(1), 500) + np.log(1.05))
    assert found[Decision.FASTER] >= 0.95


def test_what_is_calm_and_equal_is_called_the_same() -> None:
    rng = np.random.default_rng(2)
    assert answers(rng.normal(0, 0.005, (200, 40)))[Decision.SAME] == 1.0


def test_noise_of_the_session_is_a_margin() -> None:
    three_percent = [1.03] * 40
    assert decide(three_percent) is Decision.FASTER
    assert decide(three_percent, margin=0.04) is Decision.INCONCLUSIVE


def test_few_rounds_decide_what_is_large() -> None:
    assert decide([80.0, 120.0, 100.0]) is Decision.FASTER
    assert decide([1.2, 1.3, 1.2]) is Decision.INCONCLUSIVE

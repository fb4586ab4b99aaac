"""What is learned of rewrites from the gains measured of them."""

from __future__ import annotations

from math import e

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.core.trace import Rewrite
from schedsearch.search.strategies.best_first import BOLDNESS, OPTIMISM, SPREAD, Gains

from .landscapes import ROOT, Child, Expanded, Measured, Told, child


def split(factor: int, place: int = 0) -> Rewrite:
    return Rewrite("split", 1, (place,), "for i in seq(0, 64)", (("factor", factor),))


def test_what_was_never_tried_is_worth_a_little() -> None:
    gains = Gains()
    assert gains.of_transform("split") == pytest.approx(OPTIMISM + BOLDNESS * SPREAD)
    assert gains.of_rewrite(split(4)) == 0.0


def test_a_rewrite_is_known_wherever_it_applies_and_by_its_arguments() -> None:
    gains = Gains()
    gains.learn(split(4, place=0), 1.0)
    gains.learn(split(8, place=0), -1.0)
    assert gains.of_rewrite(split(4, place=3)) > 0 > gains.of_rewrite(split(8, place=3))
    assert gains.of_rewrite(split(16)) == 0.0


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=50))
def test_estimates_stay_between_the_prior_and_what_was_seen(surpluses: list[float]) -> None:
    gains = Gains()
    for surplus in surpluses:
        gains.learn(split(4), surplus)
    low, high = min(OPTIMISM, *surpluses), max(OPTIMISM, *surpluses)
    spread = SPREAD + (high - low) / 2  # no values vary more within bounds
    assert low - 1e-9 <= gains.of_transform("split") <= high + BOLDNESS * spread + 1e-9
    assert abs(gains.of_rewrite(split(4))) <= high - low + 1e-9


@given(st.floats(-2, 2))
def test_many_trials_outweigh_the_prior(surplus: float) -> None:
    gains = Gains()
    for _ in range(1000):
        gains.learn(split(4), surplus)
    total = gains.of_transform("split") + gains.of_rewrite(split(4))
    assert total == pytest.approx(surplus, abs=0.15)


def test_of_two_transforms_with_one_mean_the_one_that_varies_is_worth_more() -> None:
    gains, other = Gains(), Rewrite("fuse", 1, (0,), "for i in seq(0, 64)")
    for number in range(20):
        gains.learn(split(4), (-1) ** number)
        gains.learn(other, 0.0)
    assert gains.of_transform("split") > gains.of_transform("fuse") + 0.5


def test_best_first_prefers_what_gained_elsewhere_and_defers_what_lost() -> None:
    strategy = Told("best-first", 4)
    factors = (2, 4, 8, 16, 32)
    strategy.tell(Expanded(ROOT, (child("a", "reorder"), child("b", "reorder"))))
    strategy.tell(Expanded("a", tuple(Child(f"a{n}", split(n)) for n in factors)))
    strategy.tell(Expanded("b", tuple(Child(f"b{n}", split(n, place=1)) for n in factors)))
    strategy.tell(Measured("a", e))
    strategy.tell(Measured("b", e))
    for factor in factors:
        speedup = {8: e**2, 32: 1.0}.get(factor, e)
        strategy.tell(Measured(f"a{factor}", speedup))
    asked = strategy.ask_measure(5)
    assert asked[0] == "b8"
    assert asked[-1] == "b32"


def test_best_first_looks_for_the_normal_form_first() -> None:
    strategy = Told("best-first", 4)
    strategy.tell(Expanded(ROOT, (child("a", "reorder"), child("f", "fold_operand"))))
    strategy.tell(Measured("a", e))
    assert strategy.ask_expand(1) == ["f"]
    strategy.tell(Expanded("f", (child("g", "fold_operand"), child("h", "reorder"))))
    assert strategy.ask_expand(1) == ["g"]


def test_what_opens_the_best_way_is_worth_what_was_found_on_it() -> None:
    """`n` is not measured. What `b` reached below it makes its other children worth more than those
    of `a`."""
    strategy = Told("best-first", 4)
    strategy.tell(Expanded(ROOT, (child("a", "reorder"), child("n", "fission"))))
    strategy.tell(Measured("a", 2.0))
    strategy.tell(Expanded("n", (Child("b", split(4), predicted=1.0), child("c", "unroll"))))
    strategy.tell(Expanded("a", (child("d", "reorder"), child("f", "unroll"))))
    strategy.tell(Measured("b", 30.0))
    assert strategy.ask_measure(1) == ["c"]


def test_children_made_before_their_parent_was_measured_are_worth_what_it_reached() -> None:
    """`p` is not measured, `q` was expanded before it was."""
    strategy = Told("best-first", 4)
    strategy.tell(Expanded(ROOT, (child("a", "reorder"), child("p", "fission"))))
    strategy.tell(Measured("a", 2.0))
    strategy.tell(Expanded("a", tuple(child(f"a{n}", "reorder") for n in range(4))))
    strategy.tell(Expanded("p", (child("q", "unroll"),)))
    strategy.tell(Expanded("q", tuple(child(f"q{n}", "split") for n in range(4))))
    strategy.tell(Measured("q", 30.0))
    assert {key[0] for key in strategy.ask_measure(4)} == {"q"}


def test_a_loss_that_was_expected_and_did_not_come_says_nothing_of_what_led_there() -> None:
    strategy = Told("best-first", 4)
    strategy.tell(Expanded(ROOT, (child("a", "reorder"), child("n", "fission"))))
    strategy.tell(Measured("a", 20.0))
    strategy.tell(Expanded("a", (child("c", "fuse"),)))
    below = (Child("b", split(4), predicted=-5.0), child("d", "fuse"))
    strategy.tell(Expanded("n", below))
    strategy.tell(Measured("b", 1.0))
    assert strategy.ask_measure(1) == ["c"]

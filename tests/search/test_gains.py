"""What is learned of rewrites from the gains measured of them."""

from __future__ import annotations

from math import e

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.core.trace import Rewrite
from schedsearch.search.strategies.gains import BOLDNESS, OPTIMISM, SPREAD, Gains, Situation
from schedsearch.search.strategies.protocol import Node

from .landscapes import ROOT, Child, Expanded, Measured, Replayed, Told, child


def split(factor: int, place: int = 0) -> Rewrite:
    return Rewrite("split", 1, (place,), "for i in seq(0, 64)", (("factor", factor),))


UNBLOCKED = Situation("split", False)


def made(rewrite: Rewrite, *before: Rewrite) -> Node:
    """A child that the rewrite makes of what was made by others."""
    return Node("child", (*before, rewrite), Node("parent", before))


def block() -> Rewrite:
    return Rewrite("register_block", 1, (0,), "for i in seq(0, 64)")


def test_what_was_never_tried_is_worth_a_little() -> None:
    gains = Gains()
    assert gains.of_situation(UNBLOCKED) == pytest.approx(OPTIMISM + BOLDNESS * SPREAD)
    assert gains.of_rewrite(split(4)) == 0.0


def test_blocks_change_what_others_are_worth() -> None:
    gains = Gains()
    for _ in range(10):
        gains.learn(made(split(4)), 1.0)
        gains.learn(made(split(4), block(), split(2)), -1.0)
    assert gains.of_situation(UNBLOCKED) > 1.0
    assert gains.of_situation(Situation("split", True)) < 0.0


def test_a_rewrite_is_known_wherever_it_applies_and_by_its_arguments() -> None:
    gains = Gains()
    gains.learn(made(split(4, place=0)), 1.0)
    gains.learn(made(split(8, place=0)), -1.0)
    assert gains.of_rewrite(split(4, place=3)) > 0 > gains.of_rewrite(split(8, place=3))
    assert gains.of_rewrite(split(16)) == 0.0


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=50))
def test_estimates_stay_between_the_prior_and_what_was_seen(surpluses: list[float]) -> None:
    gains = Gains()
    for surplus in surpluses:
        gains.learn(made(split(4)), surplus)
    low, high = min(OPTIMISM, *surpluses), max(OPTIMISM, *surpluses)
    spread = SPREAD + (high - low) / 2  # no values vary more within bounds
    assert low - 1e-9 <= gains.of_situation(UNBLOCKED) <= high + BOLDNESS * spread + 1e-9
    assert abs(gains.of_rewrite(split(4))) <= high - low + 1e-9


@pytest.mark.normal
@given(st.floats(-2, 2))
def test_many_trials_outweigh_the_prior(surplus: float) -> None:
    gains = Gains()
    for _ in range(1000):
        gains.learn(made(split(4)), surplus)
    total = gains.of_situation(UNBLOCKED) + gains.of_rewrite(split(4))
    assert total == pytest.approx(surplus, abs=0.15)


def test_of_two_transforms_with_one_mean_the_one_that_varies_is_worth_more() -> None:
    gains, other = Gains(), Rewrite("fuse", 1, (0,), "for i in seq(0, 64)")
    for number in range(20):
        gains.learn(made(split(4)), (-1) ** number)
        gains.learn(made(other), 0.0)
    assert gains.of_situation(UNBLOCKED) > gains.of_situation(Situation("fuse", False)) + 0.5


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


def test_what_a_replay_passed_is_measured_last() -> None:
    """To build what is on the way to the normal form of dsymm took a builder 6 s for each."""
    strategy = Told("best-first", 4)
    strategy.tell(Expanded(ROOT, (child("a", "reorder"), child("b", "split"))))
    way = (ROOT, Child("f", split(4), predicted=5.0)), ("f", Child("e", split(8), predicted=5.0))
    strategy.tell(Replayed(way, "e"))
    assert strategy.ask_measure(1) == ["e"]
    assert sorted(strategy.ask_measure(4)) == ["a", "b"]
    assert "f" not in strategy.ask_expand(4)
    strategy.tell(Measured("e", 3.0))
    assert strategy.ask_measure(4) == ["f"]
    assert strategy.ask_expand(4) == ["f"]


def test_the_end_of_the_normal_form_is_looked_through_before_what_is_on_the_way() -> None:
    """Attention got its blocks, and no compiler was asked for vectors of exponentials in them."""
    strategy = Told("best-first", 4)
    way = (ROOT, Child("f", split(4), predicted=5.0)), ("f", Child("e", split(8), predicted=0.1))
    strategy.tell(Replayed(way, "e"))
    strategy.ask_expand(1)
    strategy.tell(Measured("e", 1.1))
    assert strategy.ask_expand(2) == ["e", "f"]


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

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.core.records import Measurement, Round
from schedsearch.evaluate.run.timing import TimingPlan


def rounds(*speedups: float) -> list[Round]:
    return [Round((1.0,), (speedup,)) for speedup in speedups]


def test_rounds_below_the_minimum_are_always_made() -> None:
    plan = TimingPlan("screen", 3, 10, give_up_below=100.0)
    assert plan.wants_more(rounds(0.1, 0.1), 1.0)
    assert not plan.wants_more(rounds(0.1, 0.1, 0.1), 1.0)


def test_contenders_go_on_and_losers_stop() -> None:
    plan = TimingPlan("screen", 2, 10, give_up_below=2.0)
    assert not plan.wants_more(rounds(1.5, 1.9), 1.0)
    assert plan.wants_more(rounds(1.5, 2.1), 1.0)


def test_the_limit_is_a_speedup_over_the_baseline() -> None:
    plan = TimingPlan("screen", 2, 10, give_up_below=2.0)
    assert plan.wants_more(rounds(0.9, 0.95), anchor_speedup=3.0)


def test_stops_when_the_interval_is_narrow() -> None:
    plan = TimingPlan("confirm", 2, 30)
    assert plan.wants_more(rounds(1.0, 1.0, 1.0, 1.0), 1.0)
    assert not plan.wants_more(rounds(1.0, 1.001, 1.0, 1.002, 1.0), 1.0)
    assert plan.wants_more(rounds(1.0, 2.0, 1.0, 2.0, 1.5), 1.0)


def test_a_leader_is_timed_longer() -> None:
    plan = TimingPlan("screen", 2, 3, give_up_below=2.0)
    assert plan.wants_more(rounds(2.1, 2.2, 2.6), 1.0)
    assert not plan.wants_more(rounds(1.8, 1.9, 2.6), 1.0)
    assert not plan.wants_more(rounds(*[2.1, 2.6] * 4), 1.0)


def test_a_decision_is_waited_for() -> None:
    slightly = rounds(*[1.006, 1.004] * 20)
    assert not TimingPlan("confirm", 5, 40).wants_more(slightly[:6], 1.0)
    plan = TimingPlan("confirm", 5, 40, decide=True)
    assert plan.wants_more(slightly[:6], 1.0)
    assert not plan.wants_more(slightly, 1.0)


@given(st.lists(st.floats(0.01, 100), min_size=8, max_size=20), st.floats(0.1, 100))
def test_never_more_than_the_maximum(speedups: list[float], anchor: float) -> None:
    assert not TimingPlan("confirm", 2, 8).wants_more(rounds(*speedups), anchor)


@pytest.mark.normal
@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=9), st.floats(0.1, 100))
def test_speedup_scales_with_the_anchor(speedups: list[float], anchor: float) -> None:
    """Its interval does not: what the anchor's own speed-up may be is not known."""
    alone = Measurement("screen", tuple(rounds(*speedups)), 1)
    anchored = Measurement("screen", tuple(rounds(*speedups)), 1, (), "a", anchor)
    assert anchored.speedup.value == alone.speedup.value * anchor
    assert anchored.speedup.bounded == (anchor == 1.0)
    assert anchored.ratio == alone.ratio

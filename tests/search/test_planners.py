"""What distinguishes the strategies; what they have in common is in `test_strategies.py`."""

from __future__ import annotations

from functools import partial
from math import e

import pytest

from schedsearch.core.trace import Rewrite, Trace
from schedsearch.search.arguments import distance
from schedsearch.search.coordinate import CoordinateDescent
from schedsearch.search.evolution import Evolution
from schedsearch.search.mcts import Mcts
from schedsearch.search.portfolio import WINDOW, Bandit, Planner, Portfolio
from schedsearch.search.strategy import ChildInfo, Expanded, Measured

from .landscapes import ROOT, child, split

ROOT_KEY = Trace().key


def parent_of_two_steps(planner: type[Planner]) -> Portfolio:
    """Splits by 2 to 16 of the root; the one by 4 has a child, the best schedule so far."""
    strategy = Portfolio(ROOT_KEY, 0, [planner])
    first = [split(0, factor) for factor in (2, 4, 8, 16)]
    strategy.tell(Expanded(ROOT_KEY, tuple(ChildInfo(Trace((s,)).key, s) for s in first)))
    second = ChildInfo(Trace((first[1], split(1, 4))).key, split(1, 4))
    strategy.tell(Expanded(Trace((first[1],)).key, (second,)))
    for step, speedup in zip(first, (1.5, 2.0, 1.2, 0.9), strict=True):
        strategy.tell(Measured(Trace((step,)).key, speedup))
    strategy.tell(Measured(second.key, 4.0))
    assert strategy.ask_measure(9) == []  # all there is is known; moves to the best's neighbours
    return strategy


def test_coordinate_descent_replays_the_later_steps_behind_the_nearest_alternatives() -> None:
    strategy = parent_of_two_steps(CoordinateDescent)
    traces = []
    while new := strategy.ask_replay(1):
        traces += new
    firsts = [trace.steps[0].arg("factor") for trace in traces]
    assert all(trace.steps[1] == split(1, 4) for trace in traces)
    assert set(firsts[:2]) <= {2, 8}


def test_evolution_makes_traces_from_parts_of_others() -> None:
    strategy = parent_of_two_steps(Evolution)
    parts = {split(0, factor) for factor in (2, 4, 8, 16)} | {split(1, 4)}
    traces = strategy.ask_replay(4)
    assert traces
    assert all(set(trace.steps) <= parts for trace in traces)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"factor": 8}, {"factor": 8}, 0.0),
        ({"factor": 8}, {"factor": 32}, 2.0),
        ({"factor": 0}, {"factor": 4}, 1.0),
        ({"tail": "cut"}, {"tail": "guard"}, 1.0),
        ({"factor": 4, "tail": "cut"}, {"factor": 2}, 2.0),
    ],
)
def test_distance_counts_powers_of_two(
    a: dict[str, int | str], b: dict[str, int | str], expected: float
) -> None:
    own, other = (Rewrite("split", 1, (0,), "loop", tuple(args.items())) for args in (a, b))
    assert distance(own, other) == distance(other, own) == expected


def test_tree_search_widens_by_promise_and_follows_what_paid() -> None:
    strategy = Portfolio(ROOT, 0, [Mcts])
    promises = {f"c{n}": 1.0 - n / 10 for n in range(9)}
    level = [child(key, "split", promise) for key, promise in promises.items()]
    strategy.tell(Expanded(ROOT, tuple(level)))
    assert set(strategy.ask_measure(2)) == {"c0", "c1"}
    strategy.tell(Measured("c0", 0.9))
    strategy.tell(Measured("c1", e**2))
    assert strategy.ask_expand(1) == ["c1"]
    below = [child(f"c1/{n}", "unroll", -1.0) for n in range(20)]
    strategy.tell(Expanded("c1", tuple(below)))
    asked = strategy.ask_measure(10)
    assert sum(key.startswith("c1/") for key in asked) > 5


def test_the_bandit_tries_everyone_and_prefers_who_hit_lately() -> None:
    bandit = Bandit(3)
    assert bandit.ranking() == [0, 1, 2]
    for arm, hits in [(0, [True, False, False]), (1, [False, False, True]), (2, [False] * 3)]:
        for hit in hits:
            bandit.used(arm)
            bandit.earned(arm, hit)
    assert bandit.ranking() == [1, 0, 2]


def test_the_bandit_forgets() -> None:
    bandit = Bandit(2)
    for arm, hit in [(0, True), *[(1, False)] * 5, *[(0, False)] * WINDOW]:
        bandit.used(arm)
        bandit.earned(arm, hit)
    assert bandit.ranking()[0] == 1


def test_who_is_measuring_is_asked_less() -> None:
    bandit = Bandit(2)
    for arm in (0, 1):
        bandit.used(arm)
        bandit.earned(arm, hit=False)
    bandit.used(0)
    assert bandit.ranking() == [1, 0]


def test_members_of_a_portfolio_share_what_is_known() -> None:
    strategy = Portfolio(ROOT, 0, [Mcts, partial(CoordinateDescent)])
    assert strategy.ask_expand(9) == [ROOT]
    strategy.tell(Expanded(ROOT, tuple(child(f"c{n}", "split") for n in range(9))))
    assert len(set(strategy.ask_measure(20))) == 9

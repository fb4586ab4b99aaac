"""The contract of `search/strategies/protocol.py`, for every strategy there is."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedsearch.core.errors import UserError
from schedsearch.search.strategies.best_first import BestFirst, _Promises
from schedsearch.search.strategies.make import STRATEGIES
from schedsearch.search.strategies.protocol import Node
from schedsearch.search.strategies.random_search import RandomSearch

from .landscapes import (
    ROOT,
    Expanded,
    Landscape,
    Measured,
    Replayed,
    Told,
    Walk,
    child,
    landscapes,
    staircase,
    walk,
)

pytestmark = pytest.mark.normal

seeds = st.integers(0, 1000)
examples = settings(max_examples=25)  # for each of the strategies
every_strategy = pytest.mark.parametrize("name", sorted(STRATEGIES))


def complete(landscape: Landscape, name: str, expanded: set[str], measured: set[str]) -> bool:
    """Whether a strategy may end having expanded and measured these."""
    level, least = [ROOT], set()
    while level:
        least |= set(level)
        children = [info.key for key in level for info in landscape.children[key]]
        level = [key for key in children if landscape.speedup[key] is not None]
    everything = {info.key for key in expanded for info in landscape.children[key]}
    if name == "random":
        least = set(landscape.nodes())
    # best-first may have looked ahead through what turned out to lead nowhere
    return least <= expanded and measured == everything


@every_strategy
@examples
@given(landscape=landscapes(), seed=seeds)
def test_exhausts_its_space_and_asks_for_nothing_twice(
    name: str, landscape: Landscape, seed: int
) -> None:
    log = walk(Told(name, seed), landscape, random.Random(seed))
    assert len(log.to_expand) == len(set(log.to_expand))
    assert len(log.to_measure) == len(set(log.to_measure))
    assert complete(landscape, name, set(log.to_expand), set(log.to_measure))


@every_strategy
@examples
@given(landscape=landscapes(), seed=seeds, told=st.integers(0, 40))
def test_resumes_from_the_events_of_another_run(
    name: str, landscape: Landscape, seed: int, told: int
) -> None:
    rng = random.Random(seed)
    before = walk(Told(name, seed), landscape, rng, max_events=told).events
    strategy = Told(name, seed + 1)
    # As a run resumes: nodes before measurements.
    for event in sorted(before, key=lambda event: isinstance(event, Measured)):
        strategy.tell(event)
    after = walk(strategy, landscape, rng)
    expanded = {event.key for event in before if isinstance(event, Expanded)}
    measured = {event.key for event in before if isinstance(event, Measured)}
    assert expanded.isdisjoint(after.to_expand)
    assert measured.isdisjoint(after.to_measure)
    expanded |= set(after.to_expand)
    assert complete(landscape, name, expanded, measured | set(after.to_measure))


@every_strategy
@examples
@given(landscape=landscapes(), seed=seeds, data=st.data())
def test_replays_lose_and_repeat_nothing(
    name: str, landscape: Landscape, seed: int, data: st.DataObject
) -> None:
    replays = data.draw(st.lists(st.sampled_from(sorted(landscape.nodes())), max_size=4))
    strategy = Told(name, seed)
    log = walk(strategy, landscape, random.Random(seed), replays=replays)
    assert len(log.to_expand) == len(set(log.to_expand))
    assert len(log.to_measure) == len(set(log.to_measure))
    everything = {info.key for key in log.to_expand for info in landscape.children[key]}
    assert everything | set(replays) <= set(log.to_measure) | {ROOT}
    assert complete(landscape, name, set(log.to_expand), everything)


@every_strategy
def test_what_a_replay_ended_in_is_measured(name: str) -> None:
    strategy = Told(name, 0)
    deep = child("deep", "split"), child("deeper", "unroll")
    strategy.tell(Replayed(((ROOT, deep[0]), ("deep", deep[1])), "deeper"))
    assert "deeper" in strategy.ask_measure(9)


@every_strategy
@examples
@given(landscape=landscapes(), seed=seeds)
def test_equal_seeds_give_equal_answers(name: str, landscape: Landscape, seed: int) -> None:
    logs = [walk(Told(name, seed), landscape, random.Random(7)) for _ in range(2)]
    assert logs[0] == logs[1]


@every_strategy
def test_seeds_differ(name: str) -> None:
    landscape = staircase(4, 2)
    orders = {
        tuple(walk(Told(name, seed), landscape, random.Random(0)).to_measure) for seed in range(5)
    }
    assert len(orders) > 1


@every_strategy
def test_only_the_first_measurement_counts(name: str) -> None:
    landscape = staircase(3, 2)
    strategy = Told(name)
    strategy.tell(landscape.expanded(ROOT))
    first = f"{ROOT}/0"
    for speedup in (2.0, None, 3.0):
        strategy.tell(Measured(first, speedup))
    assert strategy.nodes[first].value == pytest.approx(math.log(2.0))
    log = walk(strategy, landscape, random.Random(0))
    assert ROOT not in log.to_expand
    assert first not in log.to_measure


@every_strategy
@pytest.mark.parametrize("expand_first", [True, False])
@pytest.mark.parametrize("width", [1, 120])
def test_a_resumed_run_finds_the_one_thing_left(name: str, expand_first: bool, width: int) -> None:
    """However much is known, and whichever question comes first."""
    level1 = tuple(child(f"a{n}", f"t{n % 30}") for n in range(width))
    best, last = f"a{width - 1}", child("last", "t0")
    strategy = Told(name, 0)
    for key, children in [(ROOT, level1), *((c.key, ()) for c in level1[:-1]), (best, (last,))]:
        strategy.tell(Expanded(key, children))
    for number, info in enumerate(level1):
        strategy.tell(Measured(info.key, 1.0 + number))
    expand = strategy.ask_expand(3) if expand_first else []
    assert strategy.ask_measure(3) == ["last"]
    assert expand in ([], ["last"])


@every_strategy
@pytest.mark.parametrize("expand_first", [True, False])
@pytest.mark.parametrize("speedup", [0.5, 2.0])
def test_a_resumed_run_with_everything_measured_expands(
    name: str, expand_first: bool, speedup: float
) -> None:
    strategy = Told(name, 0)
    level1 = tuple(child(f"a{n}", f"t{n % 30}") for n in range(120))
    strategy.tell(Expanded(ROOT, level1))
    for info in level1:
        strategy.tell(Measured(info.key, speedup))
    measure = [] if expand_first else strategy.ask_measure(3)
    assert len(strategy.ask_expand(3)) == 3
    assert measure == []


@every_strategy
def test_a_failed_node_does_not_end_the_search(name: str) -> None:
    """A node that cannot be expanded is told as having no children."""
    strategy = Told(name, 0)
    a, b = child("a", "split"), child("b", "unroll")
    landscape = Landscape(
        {ROOT: (a, b), "a": (), "b": (child("c", "split"),), "c": ()},
        {ROOT: 1.0, "a": 9.0, "b": 2.0, "c": 3.0},
    )
    assert "c" in walk(strategy, landscape, random.Random(0)).to_measure


def test_best_first_tries_what_is_promised_most_first() -> None:
    strategy = Told(BestFirst, 0)
    promises = (0.1, 0.9, -0.5, 0.4)
    children = (child(f"p{promise}", "split", promise) for promise in promises)
    strategy.tell(Expanded(ROOT, tuple(children)))
    assert strategy.ask_measure(4) == ["p0.9", "p0.4", "p0.1", "p-0.5"]


def test_best_first_leaves_what_was_predicted_wrongly() -> None:
    """The children of "wrong" are of as many transforms, so that none of these looks bad."""
    strategy = Told(BestFirst, 0)
    strategy.ask_expand(1)
    strategy.tell(Expanded(ROOT, (child("wrong", "block", 3.0), child("right", "tile", 1.0))))
    assert strategy.ask_measure(2) == ["wrong", "right"]
    assert "wrong" in strategy.ask_expand(1)
    strategy.tell(Measured("right", 3.0))
    strategy.ask_expand(1)
    below = [child(f"wrong{n}", f"transform{n}") for n in range(20)]
    strategy.tell(Expanded("wrong", tuple(below)))
    strategy.tell(Expanded("right", tuple(child(f"right{n}", f"t{n}", 0.1) for n in range(20))))
    asked: list[str] = []
    while len(asked) < 12 and (more := strategy.ask_measure(1)):
        asked += more
        strategy.tell(Measured(more[0], 0.5 if more[0].startswith("wrong") else 3.1))
    assert sum(key.startswith("wrong") for key in asked) <= 4, asked


def test_a_promise_sinks_with_that_of_its_unmeasured_child() -> None:
    """Not to what the child showed at first, when it still promised more."""
    upper = Node("upper", parent=Node("root", value=0.0), predicted=3.0)
    lower, promises = Node("lower", parent=upper, predicted=1.0), _Promises()
    for n in range(40):
        assert promises.learn(Node(str(n), parent=lower, value=-1.0)) is upper
    assert promises.of(upper) < promises.of(lower) < -0.9


def test_best_first_tries_each_compiler_on_the_procedure_as_written_early() -> None:
    strategy = Told(BestFirst, 0)
    gcc, clang = {"compiler": "gcc"}, {"compiler": "clang"}
    strategy.tell(
        Expanded(
            ROOT,
            (
                child("promising", "split", 0.9),
                child("gcc", "compile_with", -0.5, gcc | {"options": ""}),
                child("gcc -O2", "compile_with", -0.5, gcc | {"options": "-O2"}),
                child("clang", "compile_with", -0.5, clang | {"options": ""}),
            ),
        )
    )
    assert strategy.ask_measure(2) == ["gcc", "clang"]


def measurements_until_optimum(strategy: Told, landscape: Landscape) -> int:
    optimum = max(landscape.speedup, key=lambda key: landscape.speedup[key] or 0.0)
    log: Walk = walk(strategy, landscape, random.Random(1))
    return log.to_measure.index(optimum)


def test_best_first_finds_the_optimum_sooner_than_random() -> None:
    landscape = staircase(choices=4, depth=4)
    best_first = [measurements_until_optimum(Told(BestFirst, s), landscape) for s in range(25)]
    at_random = [measurements_until_optimum(Told(RandomSearch, s), landscape) for s in range(25)]
    assert statistics.median(best_first) < 0.5 * statistics.median(at_random)


@pytest.mark.parametrize(("gain", "opened"), [(1.02, False), (1.5, True)])
def test_best_first_expands_a_variant_only_if_it_gained_clearly(gain: float, opened: bool) -> None:
    strategy = Told(BestFirst, 0)
    assert strategy.ask_expand(9) == [ROOT]
    variant = child("variant", "compile_with")
    strategy.tell(Expanded(ROOT, (variant,)))
    assert strategy.ask_expand(9) == []  # never ahead of its measurement
    assert strategy.ask_measure(9) == ["variant"]
    strategy.tell(Measured("variant", gain))
    assert strategy.ask_expand(9) == (["variant"] if opened else [])


def test_an_unknown_strategy_is_named_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"'greedy'.*best-first, exhaustive, random"):
        Told("greedy", 0)

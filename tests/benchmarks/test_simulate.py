"""Recorded spaces, the simulator, its figures and its command, on spaces small enough to compute
by hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from search.worlds import TARGET, Kernel, World, run, step
from typer.testing import CliRunner

from benchmarks.spaces import space_file
from benchmarks.spaces.__main__ import app
from benchmarks.spaces.comparison import compare, padded, reached, score
from benchmarks.spaces.simulate import simulate
from benchmarks.spaces.space import Point, Space, spaces_in
from schedsearch.core.errors import UserError
from schedsearch.core.records import Failure, Outcome
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.search.setup.budget import Budget
from schedsearch.search.strategies.make import STRATEGIES
from schedsearch.search.strategies.protocol import Node
from schedsearch.store.database import Store

pytestmark = pytest.mark.normal

WRONG = Failure(Outcome.INCORRECT, "C[0, 0] is 1, should be 2")
ILLEGAL = Failure(Outcome.ILLEGAL, "not perfectly nested")
NO_BUILD = Failure(Outcome.COMPILE_ERROR, "error: expected ';'")


# -- recording ------------------------------------------------------------------------

WORLD = World(
    {"root": ["a", "b", "c", "d", "e"], "b": ["f", "g", "h"]},
    {
        "a": Kernel(2.0, predicted=0.5),
        "b": Kernel(1.5),
        "c": Kernel(WRONG),
        "d": Kernel(ast="a-a"),
        "e": Kernel(rejected=ILLEGAL),
        "f": Kernel(4.0, binary="b-fast"),
        "g": Kernel(4.0, binary="b-fast"),
        "h": Kernel(build=NO_BUILD),
    },
)


def trace(*names: str) -> Trace:
    return Trace(tuple(step(name) for name in names))


def key(*names: str) -> str:
    return trace(*names).key


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.sqlite") as opened:
        yield opened


def recorded(store: Store, world: World = WORLD) -> Space:
    run(store, world, strategy="exhaustive")
    (space,) = spaces_in(store)
    return space


def test_a_space_has_every_distinct_schedule_with_what_became_of_it(store: Store) -> None:
    space = recorded(store)
    assert {k: p.speedup and round(p.speedup, 6) for k, p in space.points.items()} == {
        key(): 1.0,
        key("a"): 2.0,
        key("b"): 1.5,
        key("c"): None,
        key("b", "f"): 4.0,
        key("b", "g"): 4.0,
        key("b", "h"): None,
    }
    assert space.points[key("a")].predicted == 0.5
    assert space.points[key("c")].outcome is Outcome.INCORRECT
    # Verifying takes half a second and timing one, in this world.
    assert space.points[key("a")].measure_s == pytest.approx(1.5)
    assert space.best == pytest.approx(4.0)


def test_equal_machine_code_is_one_candidate_and_what_does_not_compile_is_none(
    store: Store,
) -> None:
    space = recorded(store)
    assert space.points[key("b", "g")].same == space.points[key("b", "f")].same
    assert space.candidates == 4  # a, b, c, and f or g


def test_moves_lead_to_children_and_to_equal_schedules(store: Store) -> None:
    space = recorded(store)
    assert space.moves[key()] == {
        step("a"): key("a"),
        step("b"): key("b"),
        step("c"): key("c"),
        step("d"): key("a"),
    }
    assert space.children(key()) == (key("a"), key("b"), key("c"))


def test_time_of_expansions_is_shared_out_over_candidates(store: Store) -> None:
    space = recorded(store)
    spent = 0.5 * len(space.expand_s)  # this world's time per expansion
    assert space.expand_s[key()] == pytest.approx(spent * 5 / 8)
    assert space.expand_s[key("b")] == pytest.approx(spent * 3 / 8)


def test_what_is_not_measured_completely_is_not_in_the_space(store: Store) -> None:
    """With a budget of trials, the expansion that is being measured is cut off."""
    wide = {"root": ["a", "b"], "a": [f"a{n}" for n in range(50)]}
    run(store, World(wide), strategy="exhaustive", budget=Budget(1e9, trials=20))
    (space,) = spaces_in(store)
    assert set(space.points) == {key(), key("a"), key("b")}
    assert space.children(key("a")) == ()


def test_a_store_with_nothing_measured_completely_says_how_to_get_there(store: Store) -> None:
    wide = {"root": [f"a{n}" for n in range(50)]}
    run(store, World(wide), strategy="best-first", budget=Budget(1e9, trials=20))
    with pytest.raises(UserError, match="--strategy exhaustive"):
        spaces_in(store)


# -- files ----------------------------------------------------------------------------


def rounded(space: Space) -> dict[str, Point]:
    """Its points, with as many digits of speed-ups as files keep."""
    return {
        key: replace(point, speedup=point.speedup and float(f"{point.speedup:.5g}"))
        for key, point in space.points.items()
    }


def test_a_file_gives_the_space_back(store: Store, tmp_path: Path) -> None:
    space = recorded(store)
    first, second = tmp_path / "a.json.gz", tmp_path / "b.json.gz"
    space_file.save(space, first)
    again = space_file.load(first)
    assert rounded(again) == rounded(space)
    assert again.moves == space.moves
    assert again.expand_s == pytest.approx(space.expand_s, abs=1e-3)
    assert again.target.key == TARGET.key
    space_file.save(again, second)
    assert first.read_bytes() == second.read_bytes()
    assert space_file.is_one(first)


def test_no_path_of_the_recording_machine_is_in_a_file(store: Store, tmp_path: Path) -> None:
    space_file.save(recorded(store), tmp_path / "space.json.gz")
    text = gzip.decompress((tmp_path / "space.json.gz").read_bytes()).decode()
    assert "path" not in text.replace('"path":"0"', "")  # a rewrite's place in the procedure


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        gzip.compress(b"text"),
        gzip.compress(b"[]"),
        gzip.compress(b'{"format": "schedsearch space 1"}'),
        gzip.compress(b'{"format": "schedsearch space 9"}'),
    ],
    ids=["empty", "text", "packed text", "packed list", "format 1", "format 9"],
)
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "space.json.gz"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"space\.json\.gz"):
        space_file.load(path)


def altered(recorded_space: Path, change: Callable[[dict[str, Any]], object]) -> None:
    data = json.loads(gzip.decompress(recorded_space.read_bytes()))
    change(data)
    recorded_space.write_bytes(gzip.compress(json.dumps(data).encode()))


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a parent counted from the end": lambda data: data["nodes"][1].__setitem__(0, -1),
    "a parent that comes later": lambda data: data["nodes"][1].__setitem__(0, 10**6),
    "a node that is its own parent": lambda data: data["nodes"][1].__setitem__(0, 1),
    "a speed-up that is none": lambda data: data["nodes"][1].__setitem__(4, float("nan")),
    "time without end": lambda data: data["expanded"][0].__setitem__(1, float("inf")),
    "an outcome nobody knows": lambda data: data["nodes"][1].__setitem__(3, "fine"),
    "a rewrite that is none": lambda data: data["rewrites"].__setitem__(0, []),
    "no target": lambda data: data.update(target=[]),
    "lines in a target": lambda data: data["target"].update(cpu="zen5\nimport os"),
    "a name that is none": lambda data: data.update(name=1),
    "nodes that are none": lambda data: data.update(nodes={"a": 1}),
    "a chain without end": lambda data: data["nodes"].extend(
        [n, 0, 0.0, "correct", 1.0, 0.1, n] for n in range(len(data["nodes"]) - 1, 3000)
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_hostile_spaces_are_refused(
    store: Store, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    path = tmp_path / "space.json.gz"
    space_file.save(recorded(store), path)
    altered(path, change)
    with pytest.raises(UserError, match=r"space\.json\.gz is a damaged space file"):
        space_file.load(path)


def test_a_space_that_unpacks_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_file, "LARGEST", 1 << 20)
    path = tmp_path / "space.json.gz"
    path.write_bytes(gzip.compress(b" " * (2 << 20)))
    with pytest.raises(UserError, match="unpacks to more than 1 MB"):
        space_file.load(path)
    damaged = bytearray(gzip.compress(b"{}" * 1000))
    damaged[12] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(UserError, match="cannot read the space"):
        space_file.load(path)


# -- simulation -------------------------------------------------------------------------


def rewrite(name: str) -> Rewrite:
    return Rewrite("split", 1, (0,), name)


def space(name: str = "by hand") -> Space:
    """root -> a (2x), b (fails when run), c (does not compile), d (4x, machine code of e);
    a -> e (4x), f (3x), g (alias of d). Measuring takes 2 s, expanding 3 s."""

    def point(
        rewrite_: str, parent: str, speedup: float | None, outcome: Outcome, same: str = ""
    ) -> Point:
        return Point(parent, rewrite(rewrite_), 0.0, outcome, speedup, 2.0, same or rewrite_)

    ok = Outcome.CORRECT
    return Space(
        name,
        TARGET,
        {
            "root": Point(None, None, 0.0, ok, 1.0, 2.0, "root"),
            "a": point("a", "root", 2.0, ok),
            "b": point("b", "root", None, Outcome.CRASH),
            "c": point("c", "root", None, Outcome.COMPILE_ERROR),
            "d": point("d", "root", 4.0, ok),
            "e": point("e", "a", 4.0, ok, same="d"),
            "f": point("f", "a", 3.0, ok),
        },
        {
            "root": {rewrite(name): name for name in "abcd"},
            "a": {rewrite("e"): "e", rewrite("f"): "f", rewrite("g"): "d"},
        },
        {"root": 3.0, "a": 3.0},
    )


class Script:
    """Asks for the nodes with these keys, in order."""

    def __init__(self, measure: Sequence[str] = (), expand: Sequence[str] = ()) -> None:
        self.to_measure, self.to_expand = list(measure), list(expand)
        self.known: dict[str, Node] = {}
        self.failed: list[str] = []

    def begin(self, root: Node, rng: Random) -> None:
        self.known[root.key] = root

    def measure(self) -> Node | None:
        return self._take(self.to_measure)

    def expand(self) -> Node | None:
        return self._take(self.to_expand)

    def found(self, nodes: Sequence[Node]) -> None:
        self.known |= {node.key: node for node in nodes}

    def measured(self, node: Node) -> None:
        self.failed += [node.key] if node.failed else []

    def _take(self, keys: list[str]) -> Node | None:
        """Only what it has been told of may be asked for."""
        return self.known[keys.pop(0)] if keys and keys[0] in self.known else None


def test_measuring_and_expanding_go_on_at_once_and_take_what_was_recorded() -> None:
    script = Script(measure="abf", expand=["root", "a"])
    simulation = simulate(space(), script, trials=10)
    # root is expanded at 3 s, a measured at 5 and expanded at 6, b measured at 7, f at 9
    assert simulation.seconds == (5.0, 7.0, 9.0)
    assert simulation.best_so_far == (2.0, 2.0, 3.0)
    assert simulation.expanded == 2


def test_what_does_not_compile_and_what_is_known_by_its_machine_code_cost_no_trial() -> None:
    script = Script(measure="cfde", expand=["root", "a"])
    simulation = simulate(space(), script, trials=10)
    assert simulation.best_so_far == (3.0, 4.0)
    script = Script(measure="ced", expand=["root", "a"])
    assert simulate(space(), script, trials=10).best_so_far == (4.0,)
    assert script.failed == ["c"]


def test_a_simulation_ends_with_its_trials() -> None:
    script = Script(measure="abf", expand=["root", "a"])
    assert simulate(space(), script, trials=2).best_so_far == (2.0, 2.0)


def test_a_strategy_that_finds_nothing_to_measure_ends_when_recording_did() -> None:
    script = Script(expand=["root", *"abcdef"])
    simulation = simulate(space(), script, trials=10)
    assert simulation.best_so_far == ()
    # Recording took 20 s; an expansion takes 3 s, and one is begun that does not end.
    assert simulation.expanded == 7


def test_a_node_that_the_record_did_not_expand_has_no_children() -> None:
    script = Script(expand=["root", "b"])
    assert simulate(space(), script, trials=10).expanded == 2
    assert script.known["b"].children == ()


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_strategy_exhausts_a_recorded_space(name: str, store: Store) -> None:
    (standing,) = (s for s in compare(recorded(store), [name], 3, 50) if s.strategy == name)
    assert [r.share for r in standing.reached] == [1.0, 1.0]


# -- figures ------------------------------------------------------------------------------


def test_trials_to_a_level_count_from_one() -> None:
    curves = np.array([[0.5, 0.9, 0.9, 1.0], [0.95, 0.95, 0.95, 0.95], [0.1, 0.2, 0.3, 0.4]])
    ninety, ninety_five = reached(curves)
    # 2, 1, and never: as if it had taken all four.
    assert (ninety.level, ninety.trials.value, ninety.share) == (0.90, 2.0, pytest.approx(2 / 3))
    assert (ninety.trials.low, ninety.trials.high) == (1.0, 4.0)
    assert (ninety_five.trials.value, ninety_five.share) == (4.0, pytest.approx(2 / 3))


def test_what_ended_early_stays_where_it_was() -> None:
    assert padded((1.5, 2.0), 4).tolist() == [1.5, 2.0, 2.0, 2.0]
    assert padded((), 2).tolist() == [1.0, 1.0]


def test_the_score_is_zero_for_random_and_one_for_the_optimum_at_once() -> None:
    at_random = np.array([[0.5, 0.7, 0.9, 1.0], [0.3, 0.5, 0.9, 1.0]])
    assert score(at_random, at_random) == 0.0
    assert score(np.ones((2, 4)), at_random) == 1.0
    # Random is at 0.4, 0.6, 0.9, then it has 95 %; we at 0.7: 0.3 / 0.6, 0.1 / 0.4, -0.2 / 0.1
    own = np.full((2, 4), 0.7)
    assert score(own, at_random) == pytest.approx((0.5 + 0.25 - 2.0) / 3)


def test_random_search_is_always_compared_with_and_no_sooner_than_itself() -> None:
    standings = {s.strategy: s for s in compare(space(), ["best-first"], seeds=5, trials=10)}
    assert set(standings) == {"random", "best-first"}
    assert standings["random"].ratios == (1.0, 1.0)
    assert standings["random"].score == 0.0


# -- the command ----------------------------------------------------------------------------


def command(*words: object) -> str:
    answer = CliRunner().invoke(app, ["simulate", *map(str, words)], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_a_store_becomes_a_file_and_strategies_are_compared_on_both(
    store: Store, tmp_path: Path
) -> None:
    recorded(store)
    path, file = tmp_path / "store.sqlite", tmp_path / "mm.json.gz"
    said = command(path, "--save", file)
    assert said.startswith(f"{file}: ")
    described = said.partition(": ")[2].split(" · ")[0]
    for each in (path, file):
        shown = command(each, "--strategy", "best-first", "--seeds", 3)
        assert described in shown
        assert "trials to 90%" in shown
    answer = command(path, file, "--strategy", "best-first", "--seeds", 3, "--json")
    standings = json.loads(answer)["standings"]
    assert [s["strategy"] for s in standings] == ["random", "best-first"] * 2


def test_what_cannot_be_simulated_is_said(store: Store, tmp_path: Path) -> None:
    recorded(store)
    path = tmp_path / "store.sqlite"
    for words, why in (
        (["nowhere.sqlite"], "no tuning store"),
        ([path, "--strategy", "greedy"], "--strategy 'greedy' is unknown"),
        ([path, path, "--save", tmp_path / "both.json.gz"], "2 were given"),
    ):
        with pytest.raises(UserError, match=why):
            command(*words)

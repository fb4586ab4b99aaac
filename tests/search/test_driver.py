"""The driver and its books, in a scripted world, with a real store."""

from __future__ import annotations

import gc
import itertools
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedsearch.core import ast as q
from schedsearch.core.records import Failure, GeneratedC, Keys, Outcome
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.findings import Check, Finding
from schedsearch.search.engine.confirmation import CONTENDERS, FIELD, HEAT, HEATS
from schedsearch.search.engine.dispatcher import PIPELINE
from schedsearch.search.engine.minimal import Shorten, Shortened
from schedsearch.search.engine.plans import ANCHOR, CLOSING_S, confirm
from schedsearch.search.setup.budget import Budget, Stop
from schedsearch.search.setup.run_summary import Inspection
from schedsearch.search.strategies.make import STRATEGIES, make_strategy
from schedsearch.search.workers.jobs import (
    BuildJob,
    ExpandJob,
    MeasureJob,
    NormaliseJob,
    ReplayJob,
    Result,
)
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate
from schedsearch.transforms.children import Made

from .worlds import (
    BASELINE,
    ROOT,
    Ended,
    Kernel,
    ScriptedExecutor,
    World,
    name_of,
    run,
    start,
    step,
)

WRONG = Failure(Outcome.INCORRECT, "C[0, 0] is 1, should be 2")
CRASH = Failure(Outcome.CRASH, "segmentation fault")
SLOW = Failure(Outcome.TIMEOUT, "took more than 3 s")
NO_BUILD = Failure(Outcome.COMPILE_ERROR, "error: expected ';'")
NO_CODE = Failure(Outcome.CODEGEN_ERROR, "cannot read AVX-512 memory")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.sqlite") as opened:
        yield opened


def tree(depth: int, width: int) -> dict[str, list[str]]:
    """Children by name: `root` -> `n0`, `n1` -> `n00`, ..."""
    children: dict[str, list[str]] = {}
    level = [ROOT]
    for _ in range(depth):
        for parent in level:
            stem = "n" if parent == ROOT else parent
            children[parent] = [f"{stem}{number}" for number in range(width)]
        level = [name for parent in level for name in children[parent]]
    return children


# -- the measuring slot ---------------------------------------------------------------


def test_the_most_promising_of_those_that_wait_is_measured(store: Store) -> None:
    world = World(tree(1, 6), {"n3": Kernel(predicted=1.0)}, measuring_s=0.1)
    order = [name for name, *_ in run(store, world, strategy="exhaustive").executor.measured()]
    assert order.index("n3") < order.index("n2")


def test_the_procedure_as_written_is_measured_with_each_compiler_before_what_is_promised(
    store: Store,
) -> None:
    """A search on a busy machine measured two of gcc's options, and not clang, which won."""
    world = World(
        {ROOT: ["n0", "n1", "n2", "cc"]},
        {name: Kernel(predicted=1.0) for name in ("n1", "n2")},
        measuring_s=0.1,
    )
    order = [name for name, *_ in run(store, world, strategy="exhaustive").executor.measured()]
    assert order.index("cc") < order.index("n2")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_normal_form_is_measured_before_all_else(store: Store, strategy: str) -> None:
    """A search measured it after 22 to 30 of its 60 seconds, as its way had to wait at every step
    for what was found before. Strategies that are compared with do without."""
    world = World(
        {ROOT: [*(f"n{number}" for number in range(9)), "ct"], "ct": ["m0", "ba"], "ba": ["m1"]},
        {f"n{number}": Kernel(predicted=1.0) for number in range(9)},
        normal_form="ba",
    )
    ended = run(store, world, strategy=strategy)
    first = strategy == "best-first"
    assert isinstance(ended.executor.submitted[0], NormaliseJob) is first
    assert (ended.executor.measured()[0][0] == "ba") is first
    assert ended.candidates.keys() == world.traces().keys()
    again = run(store, world, strategy=strategy)
    assert not any(isinstance(job, NormaliseJob) for job in again.executor.submitted)


@pytest.mark.parametrize("roots", [["ct"], ["n0", "ct", "ba2"]])
def test_the_way_to_the_normal_form_goes_on_where_a_short_run_ended(
    store: Store, roots: list[str]
) -> None:
    """Else a first run of three seconds left it to be found step by step."""
    children = {ROOT: roots, "ct": ["m0", "ba"], "ba": ["m1"]}
    ended = run(store, World(children, normal_form="ct"), interrupt_at=3)
    assert ended.stop is Stop.INTERRUPTED
    again = run(store, World(children, normal_form="ba"))
    first = again.executor.submitted[0]
    assert isinstance(first, NormaliseJob)
    assert name_of(first.trace) == "ct"
    assert "ba" in [name for name, *_ in again.executor.measured()[:4]]
    last = run(store, World(children, normal_form="ba"))
    assert not any(isinstance(job, NormaliseJob) for job in last.executor.submitted)


def test_a_way_to_the_normal_form_that_kills_its_worker_is_not_tried_again(store: Store) -> None:
    """It has half of the time to search; what is on it is found step by step."""
    world = World({ROOT: ["n0", "ct"], "ct": ["ba"]}, {"ba": Kernel(4.0)}, normal_form="ba")
    world.lost[NormaliseJob, ROOT] = 2
    ended = run(store, world)
    tried = [job for job in ended.executor.submitted if isinstance(job, NormaliseJob)]
    assert len(tried) == 1
    assert ended.best == "ba"


class Clock:
    """A job takes a second."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize("began_s", [0.0, 25.0])
@pytest.mark.parametrize("seconds", [0.5, 1.5, 3.5])
def test_a_short_search_measures_its_first_candidate(
    store: Store, seconds: float, began_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time to confirm is of no use before, and it may even be a little late: also where the
    baseline took the whole budget (`began_s`)."""
    clock = Clock()
    monkeypatch.setattr("schedsearch.search.engine.driver.time", clock)
    world = World({ROOT: ["n0", "ba"]}, {"ba": Kernel(4.0)}, normal_form="ba")

    def wait(executor: ScriptedExecutor, timeout_s: float) -> list[tuple[int, Result]]:
        clock.now += 1.0
        return one_job(executor, timeout_s)

    one_job = ScriptedExecutor.wait
    monkeypatch.setattr(ScriptedExecutor, "wait", wait)
    ended = run(store, world, budget=Budget(seconds), began=-began_s)
    assert ended.names_measured("screen")[:1] == ["ba"]
    assert {progress.before_s for progress in ended.observed} == {began_s}


@pytest.mark.parametrize(("slow", "measured"), [(5.0, ["ba"]), (30.0, [])])
def test_the_first_candidate_is_waited_for_longer_in_a_longer_search(
    store: Store, slow: float, measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search on a machine with a load of 10 measured nothing in 46 s."""
    clock = Clock()
    monkeypatch.setattr("schedsearch.search.engine.driver.time", clock)
    world = World({ROOT: ["n0", "ba"]}, {"ba": Kernel(4.0)}, normal_form="ba")

    def wait(executor: ScriptedExecutor, timeout_s: float) -> list[tuple[int, Result]]:
        clock.now += slow
        return one_job(executor, timeout_s)

    one_job = ScriptedExecutor.wait
    monkeypatch.setattr(ScriptedExecutor, "wait", wait)
    ended = run(store, world, budget=Budget(20.0), began=-18.0)
    assert ended.names_measured("screen")[:1] == measured


@pytest.mark.parametrize(("measuring_s", "most"), [(0.1, PIPELINE), (2.0, 1)])
def test_one_is_built_while_another_is_measured_for_long(
    store: Store, measuring_s: float, most: int
) -> None:
    ended = run(store, World(tree(1, 20), measuring_s=measuring_s), strategy="exhaustive")
    waiting, most_waiting = 0, 0  # built, or being built, and not measured yet
    measured = 0
    for job in ended.executor.submitted:
        waiting += isinstance(job, BuildJob) - isinstance(job, MeasureJob)
        measured += isinstance(job, MeasureJob)
        if measured > 4:  # how long it takes is known
            most_waiting = max(most_waiting, waiting)
    assert most_waiting == most


# -- portions -------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_children_are_made_in_portions(store: Store, strategy: str) -> None:
    """However many there are at once, all are made, once, and their parents are then marked."""
    world = World(tree(2, 5), portion=2)
    interrupted = run(store, world, strategy=strategy, budget=Budget(1e9, trials=3))
    assert not all(c.expanded for c in interrupted.candidates.values())
    ended = run(store, world, strategy=strategy)
    assert ended.candidates.keys() == world.traces().keys()
    assert all(c.expanded for c in ended.candidates.values())
    jobs = [j for j in ended.executor.submitted if isinstance(j, ExpandJob)]
    assert max(len(job.made) for job in jobs) >= 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_children_of_a_node_that_turns_out_to_have_no_kernel_are_made(
    store: Store, strategy: str
) -> None:
    """Whether its build fails before, between or after the portions."""
    world = World({ROOT: ["mem"], "mem": [f"m{n}" for n in range(9)]}, portion=1)
    kernels = {"mem": Kernel(build=NO_CODE)}
    ended = run(store, replace(world, kernels=kernels), strategy=strategy)
    made = [name for name in ended.candidates if name in world.children["mem"]]
    assert len(made) in (0, 9)


# -- the tree and its identities ----------------------------------------------------


@pytest.mark.parametrize(
    ("level", "twin"),
    [
        ("ast", Kernel(ast="a-first")),
        ("binary", Kernel(binary="b-first")),
    ],
)
def test_duplicates_are_recorded_with_owner_and_level(
    store: Store, level: str, twin: Kernel
) -> None:
    world = World({ROOT: ["first"], "first": ["twin"]}, {"first": Kernel(2.0), "twin": twin})
    ended = run(store, world)
    found = ended.candidates["twin"].record
    assert found.outcome is Outcome.DUPLICATE
    assert found.duplicate_level == level
    assert found.duplicate_of == world.traces()["first"].key
    assert "twin" not in ended.names_measured("screen")


def test_a_schedule_that_leads_back_to_the_start_is_a_duplicate_of_it(store: Store) -> None:
    ended = run(store, World({ROOT: ["back"]}, {"back": Kernel(ast="a-root")}))
    assert ended.candidates["back"].record.duplicate_of == Trace().key


def test_rejected_rewrites_stay_in_the_tree_with_their_cause(store: Store) -> None:
    illegal = Failure(Outcome.ILLEGAL, "the loop carries a dependence")
    ended = run(store, World({ROOT: ["illegal", "good"]}, {"illegal": Kernel(rejected=illegal)}))
    assert ended.candidates["illegal"].record.outcome is illegal.outcome
    assert ended.candidates["illegal"].record.message == illegal.message
    assert ended.names_measured("screen") == ["good"]


def test_a_schedule_without_c_is_recorded_and_may_lead_to_one_that_has_some(store: Store) -> None:
    world = World({ROOT: ["mem"], "mem": ["good"]}, {"mem": Kernel(build=NO_CODE)})
    ended = run(store, world)
    found = ended.candidates["mem"].record
    assert (found.outcome, found.message) == (NO_CODE.outcome, NO_CODE.message)
    assert found.keys == Keys("a-mem")
    assert ended.names_measured("screen") == ["good"]
    assert store.code("c-mem") is None
    assert store.code("c-good") is not None


def test_equal_machine_code_counts_as_fast_and_is_expanded(store: Store) -> None:
    """Even if its owner is still being measured when the twin is built."""
    twins = {"first": Kernel(3.0, binary="b"), "twin": Kernel(binary="b")}
    children = {ROOT: ["first", "twin"], "first": ["x"], "twin": ["y"]}
    for name in ("best-first", "random"):
        ended = run(store, World(children, twins), strategy=name)
        assert {"x", "y"} <= ended.candidates.keys()


# -- replays ------------------------------------------------------------------------


def trace(*names: str) -> Trace:
    return Trace(tuple(step(name) for name in names))


def parents(ended: Ended) -> dict[str, str]:
    """Parents of all nodes the strategy was told of, by name."""
    return {name_of(n.trace): name_of(n.parent.trace) for n in ended.told if n.parent is not None}


def test_what_an_expansion_made_goes_into_the_build_job(store: Store) -> None:
    made = Made(GeneratedC("mm", "", "made", "c-a"), q.Proc("mm", (), (), ()))
    world = World({ROOT: ["a", "b"]}, {"a": Kernel(2.0, made=made)})
    executor = run(store, world).executor
    first: dict[str, BuildJob] = {}
    for job in executor.submitted:
        if isinstance(job, BuildJob):
            first.setdefault(name_of(job.trace), job)
    assert (first["a"].code, first["a"].kernel) == (made.code, made.ast)
    assert (first["b"].code, first["b"].kernel) == (None, None)


def test_every_step_of_a_replay_becomes_a_candidate(store: Store) -> None:
    """Nobody proposed `y` and `z`, and an expansion does not name `x` again."""
    world = World({ROOT: ["x", "other"], "x": ["xx"]}, {"z": Kernel(3.0)})
    ended = run(store, world, replays=[trace("x", "y", "z")])
    assert parents(ended) == {"x": ROOT, "y": "x", "z": "y", "other": ROOT, "xx": "x"}
    assert ended.candidates.keys() == {ROOT, "x", "other", "xx", "y", "z"}
    assert ended.candidates["z"].parent_id == ended.candidates["y"].id
    assert ended.names_measured("screen")[0] == "z"
    assert ended.best == "z"


@pytest.mark.normal
def test_a_replay_continues_from_what_is_known(store: Store) -> None:
    world = World({ROOT: ["x"]}, {"z": Kernel(3.0)})
    run(store, world)
    ended = run(store, world, replays=[trace("x", "z"), trace("x", "w")])
    jobs = [job for job in ended.executor.submitted if isinstance(job, ReplayJob)]
    assert [job.known for job in jobs] == [1, 1]
    assert parents(ended) == {"x": ROOT, "z": "x", "w": "x"}


def test_a_replay_ends_where_a_step_is_illegal(store: Store) -> None:
    world = World({}, {"bad": Kernel(rejected=Failure(Outcome.ILLEGAL, "no such loop"))})
    ended = run(store, world, replays=[trace("x", "bad", "y")])
    assert parents(ended) == {"x": ROOT}
    assert ended.candidates["bad"].record.message == "no such loop"
    assert "y" not in ended.candidates


@pytest.mark.normal
def test_a_replay_goes_on_from_the_owner_of_a_schedule(store: Store) -> None:
    world = World({ROOT: ["first"]}, {"twin": Kernel(ast="a-first"), "z": Kernel(2.0)})
    run(store, world)
    for attempt in range(2):
        ended = run(store, world, replays=[trace("twin", "z")] if attempt == 0 else [])
        assert parents(ended) == {"first": ROOT, "z": "first"}
        assert ended.candidates["twin"].record.duplicate_of == trace("first").key
    assert "twin" not in parents(run(store, world, replays=[trace("twin")]))


@pytest.mark.normal
def test_a_replay_whose_worker_dies_leads_nowhere(store: Store) -> None:
    world = World({ROOT: ["x"]}, lost=Counter({(ReplayJob, "z"): 2, (ReplayJob, "w"): 1}))
    ended = run(store, world, replays=[trace("x", "z"), trace("x", "w")])
    assert parents(ended) == {"x": ROOT, "w": "x"}


@pytest.mark.normal
def test_replays_are_told_again_when_a_run_resumes(store: Store) -> None:
    bad = Kernel(rejected=Failure(Outcome.ILLEGAL, "no such loop"))
    world = World({ROOT: ["o"]}, {"z": Kernel(3.0), "bad": bad})
    ways = [trace("x", "y", "z"), trace("x", "y", "w"), trace("x", "bad")]
    first = run(store, world, replays=ways, budget=Budget(1e9, speedup=2.5))
    resumed = run(store, world, budget=Budget(0.0))
    assert parents(first) == parents(resumed)
    assert len(parents(first)) == 4
    assert set(first.names_measured("screen")) == {"z", "w"}


def test_the_first_schedule_to_begin_with_is_measured_however_late_it_is(store: Store) -> None:
    world = World({ROOT: ["o"]}, {"z": Kernel(3.0), "w": Kernel(4.0)})
    ended = run(store, world, replays=[trace("x", "z"), trace("w")], budget=Budget(0.0))
    assert set(ended.names_measured("screen")) == {"z"}
    assert ended.best == "z"


def test_what_a_replay_made_is_not_made_again_to_be_built(store: Store) -> None:
    """Nor to be raced and confirmed: other workers may have started since."""
    made = Made(GeneratedC("mm", "", "made before", "c-z"), q.Proc("mm", (), (), ()))
    ended = run(store, World({}, {"z": Kernel(3.0, made=made)}), replays=[trace("x", "z")])
    jobs = [job for job in ended.executor.submitted if isinstance(job, BuildJob)]
    ours = [job for job in jobs if name_of(job.trace) == "z"]
    assert len(ours) > 1
    assert all(job.code is made.code and job.kernel is made.ast for job in ours)


# -- failures ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "outcome"),
    [
        (Kernel(9.0, build=NO_BUILD), Outcome.COMPILE_ERROR),
        (Kernel(WRONG), Outcome.INCORRECT),
        (Kernel(CRASH), Outcome.CRASH),
        (Kernel(SLOW), Outcome.TIMEOUT),
    ],
)
def test_failures_are_recorded_and_never_best(
    store: Store, kernel: Kernel, outcome: Outcome
) -> None:
    ended = run(store, World({ROOT: ["bad", "good"]}, {"bad": kernel, "good": Kernel(1.5)}))
    found = ended.candidates["bad"].record
    assert found.outcome is outcome
    assert found.message
    assert ended.best == "good"


@pytest.mark.parametrize("job", [BuildJob, MeasureJob])
def test_a_job_is_tried_again_once_when_its_worker_dies(
    store: Store, job: type[BuildJob] | type[MeasureJob]
) -> None:
    world = World({ROOT: ["once", "twice"]}, {"once": Kernel(2.0), "twice": Kernel(9.0)})
    world.lost.update({(job, "once"): 1, (job, "twice"): 2})
    ended = run(store, world)
    assert ended.best == "once"
    assert ended.candidates["twice"].record.outcome is Outcome.CRASH
    assert "worker died" in ended.candidates["twice"].record.message


@pytest.mark.normal
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
@pytest.mark.parametrize("cause", ["lost", "no replay"])
def test_a_node_that_cannot_be_expanded_does_not_end_the_search(
    store: Store, strategy: str, cause: str
) -> None:
    world = World(
        {ROOT: ["stuck", "open"], "stuck": ["never"], "open": ["found"]},
        {"stuck": Kernel(5.0, replays=cause != "no replay"), "found": Kernel(7.0)},
    )
    world.lost[ExpandJob, "stuck"] = 99 if cause == "lost" else 0
    ended = run(store, world, strategy=strategy)
    assert ended.stop is Stop.EXHAUSTED
    assert ended.best == "found"
    assert "never" not in ended.candidates
    assert not ended.candidates["stuck"].expanded


def test_idle_workers_share_the_expansion_of_the_root(store: Store) -> None:
    world = World(tree(1, 5), {"n3": Kernel(4.0)})
    ended = run(store, world, strategy="exhaustive")
    shares = [j for j in ended.executor.submitted if isinstance(j, ExpandJob) and not j.trace.steps]
    assert [(job.part, job.parts) for job in shares] == [(0, 2), (1, 2)]
    order = sorted((c for c in ended.candidates.values() if c.parent_id), key=lambda c: c.id)
    assert [name_of(c.record.trace) for c in order] == [f"n{k}" for k in range(5)]
    assert ended.best == "n3"


@pytest.mark.normal
def test_why_a_node_cannot_be_expanded_is_recorded(store: Store) -> None:
    ended = run(store, World({ROOT: ["stuck"]}, {"stuck": Kernel(5.0, replays=False)}))
    found = ended.candidates["stuck"].record
    assert found.outcome is Outcome.CORRECT
    assert found.message == "cannot be expanded: step 1: no such statement"


def test_what_failed_after_it_was_verified_is_not_best(store: Store) -> None:
    world = World(
        tree(1, 3),
        {"n0": Kernel(4.0, WRONG), "n1": Kernel(3.0, CRASH), "n2": Kernel(2.0)},
    )
    ended = run(store, world)
    assert ended.best == "n2"
    assert ended.candidates["n0"].record.outcome is Outcome.INCORRECT
    assert "later crash" in ended.candidates["n1"].record.message


# -- budget ----------------------------------------------------------------------------


def test_stops_when_time_is_up(store: Store) -> None:
    ended = run(store, World(tree(3, 3)), budget=Budget(seconds=0.0))
    assert ended.stop is Stop.TIME
    assert ended.executor.submitted == []


def test_stops_after_the_trials(store: Store) -> None:
    ended = run(store, World(tree(3, 3)), budget=Budget(1e9, trials=5))
    assert ended.stop is Stop.TRIALS
    assert ended.search.progress().measured == 5
    assert len(ended.names_measured("screen")) == 5


@pytest.mark.normal
def test_stops_at_the_target_speedup(store: Store) -> None:
    ended = run(store, World(tree(3, 3), {"n1": Kernel(2.5)}), budget=Budget(1e9, speedup=2.0))
    assert ended.stop is Stop.TARGET
    assert ended.best == "n1"


@pytest.mark.normal
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_ends_when_the_space_is_exhausted(store: Store, strategy: str) -> None:
    ended = run(store, World(tree(2, 3)), strategy=strategy)
    assert ended.stop is Stop.EXHAUSTED
    assert len(ended.candidates) == 1 + 3 + 9
    again = run(store, World(tree(2, 3)), strategy=strategy)
    assert again.stop is Stop.EXHAUSTED
    assert again.executor.measured() == []


# -- anchor and confirmation --------------------------------------------------------------


def test_a_much_faster_candidate_becomes_the_anchor(store: Store) -> None:
    world = World({ROOT: ["fast"], "fast": ["a", "b"]}, {"fast": Kernel(8.0)})
    jobs = run(store, world).executor.measured()
    # Screened against the baseline, measured well against it, then what others compare with.
    assert [(name, plan == ANCHOR, anchor.code_key) for name, plan, anchor in jobs[:2]] == [
        ("fast", False, "c-root"),
        ("fast", True, "c-root"),
    ]
    screened = [anchor for name, plan, anchor in jobs if name in "ab" and plan.kind == "screen"]
    assert [(anchor.code_key, anchor.speedup) for anchor in screened] == [("c-fast", 8.0)] * 2


def test_a_slow_baseline_is_called_as_rarely_as_possible(store: Store) -> None:
    world = World({ROOT: ["fast"], "fast": ["a"]}, {"fast": Kernel(8.0)})
    jobs = run(store, world, baseline_s=4.0).executor.measured()
    assert not any(plan == ANCHOR for _, plan, _ in jobs)
    screened = [anchor for name, plan, anchor in jobs if name == "a" and plan.kind == "screen"]
    assert [(anchor.code_key, anchor.speedup) for anchor in screened] == [("c-fast", 8.0)]
    confirmed = [plan for _, plan, _ in jobs if plan.kind == "confirm"]
    assert {(plan.min_rounds, plan.max_rounds) for plan in confirmed} == {(3, 3)}


@pytest.mark.normal
def test_what_was_timed_against_a_baseline_of_long_calls_is_the_anchor_at_once(
    store: Store,
) -> None:
    """What was timed against another is measured against the baseline first."""
    world = World(
        {ROOT: ["fast"], "fast": ["faster"], "faster": ["a"]},
        {"fast": Kernel(8.0), "faster": Kernel(24.0)},
    )
    jobs = run(store, world, baseline_s=0.1).executor.measured()
    assert [name for name, plan, _ in jobs if plan == ANCHOR] == ["faster"]
    screened = {name: anchor.speedup for name, plan, anchor in jobs if plan.kind == "screen"}
    assert screened["a"] == 24.0


@pytest.mark.parametrize(("baseline_s", "rounds"), [(0.0, 40), (0.01, 40), (1.0, 5), (60.0, 3)])
def test_rounds_of_a_confirmation(baseline_s: float, rounds: int) -> None:
    plan = confirm(baseline_s)
    assert (plan.kind, plan.max_rounds, plan.min_rounds) == ("confirm", rounds, min(5, rounds))


def test_screening_gives_up_below_the_best(store: Store) -> None:
    world = World({ROOT: ["fast"], "fast": ["a"]}, {"fast": Kernel(1.4)})
    limits = {name: plan.give_up_below for name, plan, _ in run(store, world).executor.measured()}
    assert limits["a"] == pytest.approx(1.4)


def confirmed(ended: Ended) -> list[tuple[str, str]]:
    """Who was confirmed, and against what."""
    jobs = ended.executor.measured()
    return [(name, anchor.code_key) for name, plan, anchor in jobs if plan.kind == "confirm"]


def test_the_winner_is_confirmed_once_against_the_baseline(store: Store) -> None:
    speeds = {"n0": Kernel(5.0), "n1": Kernel(4.0), "n2": Kernel(3.0), "n3": Kernel(2.0)}
    ended = run(store, World(tree(1, 6), speeds))
    assert confirmed(ended) == [("n0", BASELINE.code_key)]
    assert set(ended.names_measured("race")) == {"n0", "n1", "n2"}
    assert CONTENDERS == 3


def test_who_was_screened_too_fast_does_not_win(store: Store) -> None:
    speeds = {"n0": Kernel(5.0, 1.2, race=1.2), "n1": Kernel(4.0, 2.0)}
    ended = run(store, World(tree(1, 3), speeds))
    best = ended.search.ledger.best
    assert best is not None
    assert ended.best == "n1"
    assert best.measurement.speedup.value == pytest.approx(2.0)
    assert best.confirmed
    stored = [m.kind for m in ended.candidates["n1"].measurements]
    assert stored[-1] == "confirm"


def paired(ended: Ended) -> list[tuple[str, str]]:
    """Who was timed against another at the end, and against whom."""
    jobs = ended.executor.measured()
    return [(name, anchor.code_key) for name, plan, anchor in jobs if plan.kind == "pair"]


def test_the_best_of_an_earlier_run_is_timed_against_a_new_one(store: Store) -> None:
    """Speed-ups over the baseline of two runs do not compare, if it is in two moods."""
    kernels = {"old": Kernel(4.0, predicted=1.0), "new": Kernel(5.0, 3.9)}
    world = World({ROOT: ["old", "new"]}, kernels)
    first = run(store, world, budget=Budget(1e9, trials=1))
    assert confirmed(first) == [("old", BASELINE.code_key)]
    slower = World(world.children, kernels | {"old": Kernel(4.0, 3.8)})
    second = run(store, slower)
    assert confirmed(second) == [("new", BASELINE.code_key)]
    assert paired(second) == [("old", "c-new")]
    assert second.best == "new"
    new, old = (second.candidates[name].record.measurement for name in ("new", "old"))
    assert new is not None
    assert old is not None
    assert old.speedup.value / new.speedup.value == pytest.approx(3.8 / 3.9, rel=2e-3)


@pytest.mark.normal
def test_the_best_is_confirmed_in_every_run(store: Store) -> None:
    """Else its interval would not know of the sessions after the first."""
    world = World({ROOT: ["fast", "slow"]}, {"fast": Kernel(5.0), "slow": Kernel(2.0)})
    widths = []
    for _ in range(3):
        ended = run(store, world)
        assert confirmed(ended) == [("fast", BASELINE.code_key)]
        best = ended.search.ledger.best
        assert best is not None
        assert best.confirmed
        assert best.measurement.speedup.value == pytest.approx(5.0)
        widths.append(best.measurement.speedup.high / best.measurement.speedup.low)
    assert [m.kind for m in ended.candidates["fast"].measurements].count("confirm") == 3
    assert widths[0] > widths[1] > widths[2] > 1.0
    assert best.measurement.speedup == ended.candidates["fast"].record.measurement.speedup


@pytest.mark.normal
def test_the_fastest_race_if_they_are_close(store: Store) -> None:
    """Equally fast while screened: who is fastest against the same anchor is confirmed."""
    speeds = {f"n{n:x}": Kernel(4.0, race=3.0 + 0.01 * n) for n in range(FIELD + 2)}
    world = World({ROOT: list(speeds)}, speeds)
    measured = run(store, world).executor.measured()
    raced = [(name, plan, anchor) for name, plan, anchor in measured if plan.kind == "race"]
    assert [plan for _, plan, _ in raced] == [HEAT] * (FIELD + sum(HEATS[:-1]))
    assert len({anchor for _, _, anchor in raced}) == 1
    confirmed = [name for name, plan, _ in measured if plan.kind == "confirm"]
    assert confirmed == [max(name for name, _, _ in raced)]


@pytest.mark.normal
def test_heats_are_pooled_and_the_winner_is_confirmed(store: Store) -> None:
    """`n0` led by luck, and leaves; between the others there is no difference."""
    speeds = {f"n{n}": Kernel(4.0, race=3.0) for n in range(5)}
    ended = run(store, World(tree(1, 5), speeds | {"n0": Kernel(4.0, race=2.9)}))
    names = ended.names_measured("race")
    heats = [min(5, left) for left in (5, *HEATS[:-1])]
    assert (len(names), names.count("n0")) == (sum(heats), sum(left == 5 for left in heats))
    (winner,) = ended.names_measured("confirm")
    assert ended.best == winner != "n0"
    raced = [m for m in ended.candidates[winner].measurements if m.kind == "race"]
    rounds = len(raced[0].rounds)
    assert [len(m.rounds) for m in raced] == [rounds * (n + 1) for n in range(len(HEATS))]


def shortens(to: str, **keys: str) -> Shorten:
    """Says that the schedule `to`, of one step, is as fast as any of two."""

    def shorten(
        whole: Trace, seconds: float, go_on: Callable[[], bool], round_s: float
    ) -> Shortened | None:
        code = GeneratedC("mm", "", to, keys.get("code", f"c-{to}"))
        short = Shortened(trace(to), code, keys.get("ast", f"a-{to}"), minimal=True)
        return short if len(whole) == 2 and go_on() else None

    return shorten


def longer_and_shorter(**short: str) -> World:
    """`long` is `first` and another step; `short` is as fast, and never proposed."""
    children = {ROOT: ["first"], "first": ["long"]}
    kernels = {"first": Kernel(1.5), "long": Kernel(5.0), "short": Kernel(5.0, **short)}
    return World(children, kernels)


@pytest.mark.parametrize("same", [{}, {"ast": "a-long"}, {"binary": "b-long"}])
def test_a_shorter_schedule_that_is_as_fast_is_the_best(store: Store, same: dict[str, str]) -> None:
    """Though it may have the query AST, or the machine code, of the longer one."""
    ended = run(store, longer_and_shorter(**same), shorten=shortens("short"))
    assert ended.best == "short"
    assert ended.names_measured("confirm") == ["short"]
    assert "shortening" in [progress.phase for progress in ended.observed]
    assert ended.candidates["short"].record.outcome is Outcome.CORRECT
    assert list(ended.search.ledger.superseded.values()) == [trace("short").key]
    assert ended.search.progress().shortened_from == 2


@pytest.mark.normal
def test_a_shorter_schedule_that_fails_gives_way_to_the_longer(store: Store) -> None:
    world = longer_and_shorter()
    world = replace(world, kernels={**world.kernels, "short": Kernel(5.0, confirm=CRASH)})
    ended = run(store, world, shorten=shortens("short"))
    assert ended.best == "long"
    assert ended.candidates["short"].record.outcome is Outcome.CRASH


def test_a_shorter_schedule_that_gains_nothing_hides_no_longer_one(store: Store) -> None:
    """It may be slower by what counts as noise."""
    world = longer_and_shorter()
    close = {"first": Kernel(0.9), "long": Kernel(1.01), "short": Kernel(1.01, confirm=0.995)}
    ended = run(store, replace(world, kernels=close), shorten=shortens("short"))
    assert ended.best == "long"


@pytest.mark.normal
def test_what_was_wrong_once_takes_nobodys_place(store: Store) -> None:
    world = longer_and_shorter()
    wrong = replace(world, kernels={**world.kernels, "short": Kernel(5.0, confirm=WRONG)})
    assert run(store, wrong, shorten=shortens("short")).best == "long"
    again = run(store, world, shorten=shortens("short"))
    assert (again.best, again.search.ledger.superseded) == ("long", {})
    assert again.candidates["short"].record.outcome is Outcome.INCORRECT


def test_what_cannot_be_replayed_is_not_shortened(store: Store) -> None:
    world = longer_and_shorter()
    world.lost[ReplayJob, "short"] = 9
    ended = run(store, world, shorten=shortens("short"))
    assert (ended.best, ended.search.ledger.superseded) == ("long", {})


@pytest.mark.normal
def test_the_best_of_an_earlier_run_is_shortened_too(store: Store) -> None:
    world = longer_and_shorter()
    assert run(store, world).best == "long"
    assert run(store, world, shorten=shortens("short")).best == "short"


def test_ctrl_c_while_shortening_keeps_the_best(store: Store) -> None:
    def shorten(
        whole: Trace, seconds: float, go_on: Callable[[], bool], round_s: float
    ) -> Shortened | None:
        raise KeyboardInterrupt

    ended = run(store, longer_and_shorter(), shorten=shorten)
    assert (ended.stop, ended.best) == (Stop.INTERRUPTED, "long")


def test_the_end_has_its_share_of_the_budget(store: Store) -> None:
    """However long it took to begin, a part is left to search."""
    searches = {
        waited: start(
            store,
            World({}),
            strategy=make_strategy("random"),
            budget=Budget(60.0),
            began=time.monotonic() - waited,
        )
        for waited in (0.0, 50.0)
    }
    assert searches[0.0].search_s == pytest.approx(60.0 - CLOSING_S)
    assert searches[50.0].search_s == pytest.approx(50.0 + 0.4 * 60.0, abs=5.0)


@pytest.mark.normal
def test_a_winner_that_fails_gives_way_to_the_next(store: Store) -> None:
    speeds = {f"n{n}": Kernel(4.0, confirm=CRASH, race=3.0 + n / 1e3) for n in range(4)}
    speeds["n2"] = Kernel(4.0, race=3.0 + 2 / 1e3)
    ended = run(store, World(tree(1, 4), speeds))
    assert ended.names_measured("confirm")[0] == "n3"
    assert ended.best == "n2"


@pytest.mark.normal
def test_a_winner_in_which_sanitizers_find_something_is_retracted(store: Store) -> None:
    """The next one need not have been confirmed before."""
    inspected: list[str] = []
    race = Check("data races", Finding.FAILED, "line 7")

    def inspect(code: GeneratedC, trace: Trace, seconds: float) -> Inspection:
        inspected.append(code.key)
        return Inspection(code.key, (race,) if len(inspected) <= CONTENDERS else ())

    speeds = {f"n{n}": Kernel(9.0 - 2 * n) for n in range(5)}
    ended = run(store, World(tree(1, 5), speeds), inspect=inspect)
    assert ended.names_measured("confirm") == ["n0", "n1", "n2", "n3"]
    assert ended.best == "n3"
    assert ended.observed[-1].phase == "inspecting"
    for retracted in ("n0", "n1", "n2"):
        record = ended.candidates[retracted].record
        assert record.outcome is Outcome.INCORRECT
        assert record.message == "data races: failed (line 7)"
    progress = ended.search.progress()
    assert progress.inspection == Inspection(inspected[-1])


@pytest.mark.normal
def test_nothing_is_best_if_sanitizers_find_something_everywhere(store: Store) -> None:
    found = Check("data races", Finding.FAILED)
    speeds = {f"n{n}": Kernel(3.0 + n) for n in range(5)}
    ended = run(
        store,
        World(tree(1, 5), speeds),
        inspect=lambda code, trace, seconds: Inspection(code.key, (found,)),
    )
    assert ended.best is None
    outcomes = [ended.candidates[name].record.outcome for name in speeds]
    assert outcomes == [Outcome.INCORRECT] * 5


@pytest.mark.normal
def test_who_fails_in_the_race_is_not_confirmed(store: Store) -> None:
    speeds = {f"n{n}": Kernel(4.0, race=WRONG if n == 1 else 3.0) for n in range(5)}
    ended = run(store, World(tree(1, 5), speeds))
    assert "n1" not in ended.names_measured("confirm")
    assert ended.candidates["n1"].record.outcome is Outcome.INCORRECT
    assert ended.best is not None


@pytest.mark.normal
def test_a_clear_leader_needs_one_heat(store: Store) -> None:
    speeds = {f"n{n}": Kernel(2.0**n) for n in range(6)}
    assert run(store, World(tree(1, 6), speeds)).names_measured("race") == ["n5", "n4", "n3"]


@pytest.mark.normal
def test_nothing_is_best_if_confirmation_finds_nothing_faster(store: Store) -> None:
    ended = run(store, World(tree(1, 3), {"n0": Kernel(1.1, 0.98), "n1": Kernel(0.5)}))
    assert ended.names_measured("confirm") == ["n0"]
    assert ended.best is None


def test_a_slower_space_has_no_best_and_nothing_to_confirm(store: Store) -> None:
    ended = run(store, World(tree(2, 2), {name: Kernel(0.9) for name in ("n0", "n00")}))
    assert ended.best is None
    assert ended.names_measured("confirm") == []


# -- interruption and resumption ------------------------------------------------------------


@pytest.mark.normal
def test_ctrl_c_keeps_everything_and_the_next_run_continues(store: Store) -> None:
    world = World(tree(2, 3), {"n12": Kernel(3.0)})
    first = run(store, world, interrupt_at=12)
    assert first.stop is Stop.INTERRUPTED
    known = first.names_measured("screen")[:-1]
    assert known
    for name in known:
        assert first.candidates[name].record.outcome is Outcome.CORRECT
    second = run(store, world)
    assert set(known).isdisjoint(second.names_measured("screen"))
    assert second.best == "n12"
    assert len(second.candidates) == 1 + 3 + 9


@pytest.mark.normal
def test_a_resumed_run_never_has_the_whole_store_in_memory(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tree(3, 3), {"n7": Kernel(1.3)})
    first = run(store, world)
    original, before, left = Store.walk, stored_objects(), []

    def walk(store: Store, scope: Scope) -> Iterator[StoredCandidate]:
        yield from original(store, scope)
        left.append(stored_objects() - before)

    monkeypatch.setattr(Store, "walk", walk)
    again = run(store, world, budget=Budget(0.0))
    assert left[0] <= 1 < len(first.candidates)

    def known(ended: Ended) -> dict[str, tuple[object, ...]]:
        nodes = ended.search.ledger.tree.nodes
        return {key: (n.steps, n.keys, n.outcome, n.measurement) for key, n in nodes.items()}

    assert known(again) == known(first)


@pytest.mark.normal
def test_what_gc_dropped_of_the_best_is_generated_again(store: Store) -> None:
    world = World({ROOT: ["fast"]}, {"fast": Kernel(1.4)})
    run(store, world)
    assert store.drop_code(0) == 1
    again = run(store, world)
    assert again.best == "fast"
    assert again.search.progress().inspection is not None
    assert store.drop_code(0) == 1


def stored_objects() -> int:
    gc.collect()
    return sum(type(thing) is StoredCandidate for thing in gc.get_objects())


@pytest.mark.parametrize("resumed", [False, True])
def test_what_is_promised_most_is_measured_first(store: Store, resumed: bool) -> None:
    world = World(tree(1, 20), {"n7": Kernel(predicted=2.0)})
    if resumed:
        run(store, world, interrupt_at=2)
    assert run(store, world).names_measured("screen")[0] == "n7"


def test_ctrl_c_while_confirming_leaves_the_best_unconfirmed(store: Store) -> None:
    world = World({ROOT: ["fast"]}, {"fast": Kernel(1.4, 1.3)})
    complete = run(store, world, interrupt_at=7)
    assert complete.stop is Stop.INTERRUPTED
    best = complete.search.ledger.best
    assert best is not None
    assert (name_of(best.trace), best.confirmed) == ("fast", False)
    resumed = run(store, world)
    assert resumed.names_measured("confirm") == ["fast"]
    assert resumed.search.ledger.best_speedup == pytest.approx(1.3)


@pytest.mark.normal
def test_progress_counts_this_run_and_what_it_resumed_from(store: Store) -> None:
    world = World(tree(2, 2), {"n0": Kernel(1.3)})
    run(store, world, budget=Budget(1e9, trials=3))
    second = run(store, world)
    last = second.observed[-1]
    assert last.measured == 3
    assert last.outcomes == {Outcome.CORRECT: 7}
    assert last.best is not None
    assert [value for _, value in last.curve] == pytest.approx([1.3])


@pytest.mark.parametrize(("written", "times"), [("add_expansion", 1), ("record", 4)])
def test_ctrl_c_right_after_something_was_stored_leaves_the_books_true(
    store: Store, monkeypatch: pytest.MonkeyPatch, written: str, times: int
) -> None:
    """`run` compares them with the store."""
    write, count = getattr(Store, written), itertools.count(1)

    def interrupted(*args: Any, **how: Any) -> Any:
        stored = write(*args, **how)
        if next(count) == times:
            signal.raise_signal(signal.SIGINT)
        return stored

    monkeypatch.setattr(Store, written, interrupted)
    ended = run(store, World(tree(1, 3)))
    assert ended.stop is Stop.INTERRUPTED
    assert ended.candidates


@pytest.mark.normal
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_equal_seeds_make_equal_trees(tmp_path: Path, strategy: str) -> None:
    world = World(tree(3, 3), {"n1": Kernel(2.0), "n12": Kernel(3.0), "n0": Kernel(0.5)})
    logs = []
    for attempt in range(2):
        with Store.open(tmp_path / f"{attempt}.sqlite") as store:
            ended = run(store, world, strategy=strategy, seed=5, budget=Budget(1e9, trials=12))
            logs.append(
                ([c.trace_key for c in ended.candidates.values()], ended.executor.measured())
            )
    assert logs[0] == logs[1]


# -- whatever happens ---------------------------------------------------------------------------


FATES = st.one_of(
    st.floats(0.25, 8.0).map(Kernel),
    st.builds(Kernel, st.floats(1.0, 8.0), st.one_of(st.floats(0.5, 8.0), st.just(CRASH))),
    st.builds(Kernel, st.sampled_from([WRONG, CRASH, SLOW])),
    st.builds(Kernel, build=st.just(NO_BUILD)),
    st.builds(Kernel, st.just(2.0), binary=st.sampled_from(["b1", "b2"])),
    st.builds(Kernel, build=st.just(NO_CODE)),
    st.builds(Kernel, st.just(2.0), replays=st.just(False)),
)


@pytest.mark.normal
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    data=st.data(),
    strategy=st.sampled_from(sorted(STRATEGIES)),
    interrupts=st.lists(st.integers(1, 40), max_size=3),
)
def test_books_are_true_whatever_happens(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    strategy: str,
    interrupts: list[int],
) -> None:
    """Over interrupted runs: no schedule is screened twice, or confirmed twice in a run, the best
    is verified and faster, and books and store agree (checked by `run`)."""
    children = tree(2, 4)
    names = [name for siblings in children.values() for name in siblings]
    kernels = {name: data.draw(FATES, label=name) for name in names}
    lost = {
        (job, name): 2
        for job in (ExpandJob, ReplayJob, BuildJob, MeasureJob)
        for name in data.draw(st.lists(st.sampled_from(names), max_size=2))
    }
    portion = data.draw(st.sampled_from([1, 3, 1000]), label="portion")
    world = World(children, kernels, Counter(lost), portion)
    ends = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
    ways = [world.traces()[name] for name in ends]
    # One as it is, the others one step further than any expansion goes.
    replays = ways[:1] + [way.then(step(f"{end}+")) for way, end in zip(ways, ends, strict=True)]
    seen: Counter[tuple[str, str]] = Counter()
    with Store.open(tmp_path_factory.mktemp("books") / "store.sqlite") as store:
        for interrupt_at in (*interrupts, None):
            ended = run(store, world, strategy=strategy, interrupt_at=interrupt_at, replays=replays)
            check_best(ended)
            done = Counter(item for item in completed(ended) if item[1] != "race")
            assert max(done.values(), default=0) <= 1
            seen.update(item for item in done if item[1] not in ("confirm", "pair"))
    assert ended.stop is Stop.EXHAUSTED
    assert max(seen.values(), default=0) <= 1


def check_best(ended: Ended) -> None:
    best = ended.search.ledger.best
    if best is not None:
        assert best.measurement.speedup.value > 1.0
        assert ended.candidates[name_of(best.trace)].record.outcome is Outcome.CORRECT


def completed(ended: Ended) -> Iterator[tuple[str, str]]:
    """Names and kinds of measurements that this run added to the store; an anchor's
    is of its own kind."""
    run_anchors = Counter(n for n, plan, _ in ended.executor.measured() if plan == ANCHOR)
    submitted = Counter(
        (name, plan.kind)
        for name, plan, anchor in ended.executor.measured()
        if plan.kind != "confirm" or anchor.artifact == BASELINE
    )
    for (name, kind), count in submitted.items():
        stored = sum(
            m.kind == kind and (kind != "confirm" or m.reference == BASELINE.code_key)
            for m in ended.candidates[name].measurements
        )
        yield from [(name, kind)] * min(count, stored - run_anchors[name] * (kind == "screen"))

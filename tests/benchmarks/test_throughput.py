"""The throughput benchmark: what it counts, and how it divides a run's time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchmarks.suite.case import Case
from benchmarks.suite.catalogue import CASES
from benchmarks.throughput.expansion import PRIMITIVES, explore
from benchmarks.throughput.goals import Goal, of_expansion, of_overhead
from benchmarks.throughput.overhead import Look, account, with_workers
from benchmarks.throughput.usage import Usage, by_role, tree_usage
from schedsearch.core.trace import Trace
from schedsearch.transforms.registry import propose, registry, select
from schedsearch.transforms.replay import Replayer

pytestmark = pytest.mark.slow

(JACOBI,) = (case for case in CASES if case.name == "jacobi_2d")
(LAYERNORM,) = (case for case in CASES if case.name == "layernorm")
(FOLD,) = (case for case in CASES if case.name == "fold")


@pytest.mark.parametrize("case", [JACOBI, LAYERNORM], ids=lambda case: case.name)
def test_primitive_rewrites_are_one_operator(case: Case) -> None:
    subject = case.load()
    state = Replayer(subject.procedure).state(Trace())
    rewrites = list(propose(state.ast, subject.target, select(PRIMITIVES)))
    assert len({rewrite.transform for rewrite in rewrites}) >= 4
    for rewrite in rewrites:
        steps = registry()[rewrite.transform].steps(state.ast, rewrite.path, dict(rewrite.args))
        assert len(list(steps)) == 1


def test_an_exploration_counts_each_schedule_once_and_repeats() -> None:
    first, again = (explore(FOLD, "primitive", 60, seed=1) for _ in range(2))
    assert 60 <= first.attempts == first.legal + first.failed.get("illegal", 0)
    assert first.distinct < first.legal
    assert (first.attempts, first.distinct) == (again.attempts, again.distinct)
    assert sum(first.stage_s.values()) <= first.wall_s
    (goal,) = of_expansion([first])
    assert goal.value == first.distinct / first.seconds


def test_time_of_a_run_is_divided_without_rest() -> None:
    """Two workers over 10 s: 8 s with a job; CPU of processes that came meanwhile counts, what
    the looks took does not."""
    me = os.getpid()
    before = {me: Usage("schedsearch", 5.0, 0.0), 2: Usage("ray::ExpandActor", 1.0, 0.0)}
    after = {
        me: Usage("schedsearch", 6.0, 9.0),
        2: Usage("ray::ExpandActor.run", 9.0, 0.0),
        3: Usage("ray::BuildActor.run", 0.5, 6.0),
        4: Usage("ray::BenchWorker.run", 1.0, 3.0),
        5: Usage("/x/raylet", 0.5, 100.0),
    }
    looks = [
        Look(100.0, {"rewrite": 2.0, "build": 1.0}, before, 0.25),
        Look(110.0, {"rewrite": 6.0, "replay": 2.0, "ast_key": 2.0, "build": 9.0}, after, 0.75),
    ]
    found = account("mm", 2, looks)
    assert found.slot_s["between"] == pytest.approx(12.0)
    assert found.between == pytest.approx(0.6)
    assert found.cpu_s == pytest.approx(
        {"Exo": 6.5, "analysis": 2.0, "compiler": 6.0, "benchmark": 4.0, "engine": 1.0}
    )
    assert [goal.met for goal in of_overhead(found)] == [False, False]
    assert found.engine == pytest.approx(3.0 / 19.5)


def test_what_the_driver_did_before_its_workers_started_does_not_count() -> None:
    driver, worker = Usage("schedsearch", 5.0, 0.0), Usage("ray::ExpandActor", 1.0, 0.0)
    alone, starting = {1: driver}, {1: driver, 2: Usage("ray::IDLE", 0.5, 0.0)}
    usages = (alone, starting, {1: driver, 2: worker}, {1: driver, 2: worker})
    looks = [Look(at, {}, usage, 0.0) for at, usage in enumerate(usages)]
    assert with_workers(looks) == looks[2:]


def test_usage_sees_this_process_and_what_it_started() -> None:
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"], stdout=subprocess.DEVNULL)
    try:
        first = tree_usage()
        while child.pid not in first or first[child.pid].own_s < 0.05:
            first = tree_usage()
        assert {os.getpid(), child.pid} <= first.keys()
        assert os.getppid() not in first
    finally:
        child.kill()
        child.wait()
    waited = tree_usage()
    assert child.pid not in waited
    me = os.getpid()
    assert waited[me].children_s - first[me].children_s >= 0.04
    assert by_role(first, waited)["driver"] >= 0.0


def test_goals_say_on_which_side_they_are() -> None:
    assert Goal("fast", 31.0, 30.0, "/s").met
    assert not Goal("fast", 29.0, 30.0, "/s").met
    assert Goal("short", 0.5, 0.7, " s", at_most=True).met

"""A whole run, in this process, with real expansions, builds and store; what is random in
the world, the measuring, is scripted where equal runs are compared."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact, Measurement, Outcome, RunStatus
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.timing import Cache, TimingPlan
from schedsearch.search import session
from schedsearch.search.engine import dispatcher
from schedsearch.search.engine.progress import Progress
from schedsearch.search.result import Listener, Result
from schedsearch.search.session import tune
from schedsearch.search.setup.budget import Budget, Stop
from schedsearch.search.setup.options import Options
from schedsearch.search.workers import core_sharing
from schedsearch.store.database import Store

from .worlds import measurement

pytestmark = pytest.mark.normal

KERNEL = Path(__file__).parent / "kernels" / "product.py"

COPY = """from __future__ import annotations
from exo import proc


@proc
def copy(y: f32[8, 40], x: f32[8, 40]):
    for i in seq(0, 8):
        for j in seq(0, 40):
            y[i, j] = x[i, j]
"""


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


def options(store: Path, **changes: object) -> Options:
    chosen: dict[str, object] = {
        "file": KERNEL,
        "proc": None,
        "sizes": {},
        "budget": Budget(1e9, trials=5),
        "store": store,
        "executor": "inline",
        "seed": 3,
        "transforms": ("reorder", "split", "fission"),
    }
    return Options(**(chosen | changes))  # type: ignore[arg-type]


def listen(heard: list[str]) -> Listener:
    def progress(state: Progress) -> None:
        if state.phase not in heard:
            heard.append(state.phase)

    return Listener(heard.append, lambda *_: heard.append("started"), progress)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Artifact, TimingPlan]]:
    """What was measured, every answer being a speed-up made up from the code's key."""
    log: list[tuple[Artifact, TimingPlan]] = []

    def evaluate(bench: Bench, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        log.append((candidate, plan))
        speedup = 0.5 + int(digest(candidate.code_key)[:4], 16) / 0x8000
        return Evaluation(measurement(speedup, plan, anchor), 0.0, 0.0)

    monkeypatch.setattr(Bench, "evaluate", evaluate)
    return log


def trace_keys(store: Path) -> list[tuple[str, Outcome | None]]:
    with Store.open(store, create=False) as opened:
        (scope,) = opened.scopes()
        return [(c.trace_key, c.record.outcome) for c in opened.load(scope)]


def different(store: Path) -> set[str]:
    """The query ASTs of a tree."""
    with Store.open(store, create=False) as opened:
        (scope,) = opened.scopes()
        return {str(each.record.keys.ast) for each in opened.load(scope)}


def test_equal_seeds_make_equal_trees(
    tmp_path: Path, asked: list[tuple[Artifact, TimingPlan]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where children are not made in portions of a second, which depend on how busy it is."""
    monkeypatch.setattr(dispatcher, "PORTION_S", 1e9)
    stores = [tmp_path / "a.sqlite", tmp_path / "b.sqlite"]
    results = [tune(options(store), listen([])) for store in stores]
    assert trace_keys(stores[0]) == trace_keys(stores[1])
    assert results[0].best is not None
    assert results[1].best is not None
    assert results[0].best.key == results[1].best.key


def test_nothing_is_measured_twice_over_runs(
    tmp_path: Path, asked: list[tuple[Artifact, TimingPlan]]
) -> None:
    store = tmp_path / "store.sqlite"
    results = [tune(options(store, seed=seed), listen([])) for seed in range(3)]
    jobs = Counter(
        (artifact.binary_key, plan.kind)
        for artifact, plan in asked
        if plan.kind == "confirm" or plan.give_up_below is not None
    )
    confirmed = [jobs.pop(job) for job in list(jobs) if job[1] == "confirm"]
    assert max(jobs.values()) == 1
    assert max(confirmed) <= len(results), "the best is confirmed in each run"
    known = [result.setting.known.measured for result in results]
    assert known == [0, 5, 10]
    best = [result.best.measurement.speedup.value for result in results if result.best]
    assert len(best) == 3
    assert all(now >= before * (1 - 1e-9) for before, now in pairwise(best))


def test_a_run_that_waited_for_another_says_that_it_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[tuple[Artifact, TimingPlan]]
) -> None:
    monkeypatch.setattr(core_sharing, "slot_file", lambda what="measuring": tmp_path / what)
    monkeypatch.setattr(core_sharing, "common_file", lambda what: tmp_path / f"common {what}")
    other, heard = ExitStack(), []
    other.enter_context(core_sharing.measuring_slot())

    def phase(name: str) -> None:
        heard.append(name.split()[0])
        if name.startswith("waiting for "):
            other.close()

    listener = Listener(phase, lambda *_: heard.append("started"), lambda progress: None)
    tune(options(tmp_path / "store.sqlite", budget=Budget(1e9, trials=1)), listener)
    assert heard[:4] == ["measuring", "waiting", "measuring", "started"]


def test_a_run_with_real_measurements(tmp_path: Path) -> None:
    heard: list[str] = []
    store = tmp_path / "store.sqlite"
    result: Result = tune(options(store), listen(heard))
    assert result.stop is Stop.TRIALS
    said = [phase for phase in heard if not phase.startswith("waiting for ")]  # other tests
    assert list(dict.fromkeys(said))[:3] == ["measuring the baseline", "started", "searching"]
    baseline = result.setting.baseline.measurement
    assert isinstance(baseline, Measurement)
    assert baseline.kind == "baseline"
    with Store.open(store, create=False) as opened:
        (run,) = opened.runs()
        target = result.setting.subject.target
        assert target.circumstances.items() <= run.environment.items()
        assert run.status is RunStatus.FINISHED
        assert run.summary is not None
        assert run.summary["measured"] == result.progress.measured == 5
        assert run.settings["transforms"] == ["fission", "reorder", "split"]
        assert opened.outcomes(result.setting.scope) == result.progress.outcomes


def test_a_search_with_fewer_transforms_needs_another_store(
    tmp_path: Path, asked: list[tuple[Artifact, TimingPlan]]
) -> None:
    tune(options(tmp_path / "store.sqlite"), listen([]))
    with pytest.raises(UserError, match="with transforms that this one has not: fission, split"):
        tune(options(tmp_path / "store.sqlite", transforms=("reorder",)), listen([]))
    wider = options(tmp_path / "store.sqlite", transforms=("split", "reorder", "fission", "unroll"))
    tune(wider, listen([]))
    with pytest.raises(UserError, match="has not: fission, split, unroll; its"):
        tune(options(tmp_path / "store.sqlite", transforms=("reorder",)), listen([]))


def test_a_search_with_more_transforms_expands_again_and_makes_nothing_twice(
    tmp_path: Path, asked: list[tuple[Artifact, TimingPlan]]
) -> None:
    """In the end it has the tree of a search that had all of them from the beginning."""
    widened, whole, heard = tmp_path / "a.sqlite", tmp_path / "b.sqlite", list[str]()
    kernel, both = tmp_path / "copy.py", ("mult_loops", "reorder")
    kernel.write_text(COPY)
    to_the_end = {"file": kernel, "strategy": "exhaustive", "budget": Budget(1e9)}
    tune(options(widened, transforms=("reorder",), **to_the_end), listen(heard))
    before = trace_keys(widened)
    tune(options(widened, transforms=both, **to_the_end), listen(heard))
    tune(options(whole, transforms=both, **to_the_end), listen(heard))
    assert len(before) < len(found := [key for key, _ in trace_keys(widened)])
    assert len(found) == len(set(found))
    assert different(widened) == different(whole)
    said = [phase for phase in heard if "again" in phase]
    assert said == [f"expanding again what {widened} has: new transforms (mult_loops)"]


def test_a_fresh_start_searches_as_if_for_the_first_time(
    tmp_path: Path, asked: list[tuple[Artifact, TimingPlan]]
) -> None:
    store, budget = tmp_path / "store.sqlite", Budget(1e9, trials=2)
    first = tune(options(store, budget=budget), listen([]))
    before = trace_keys(store)
    fresh = tune(options(store, budget=budget, fresh=True), listen([]))
    assert fresh.setting.known.measured == 0
    assert fresh.setting.scope != first.setting.scope
    assert trace_keys(store) == before, "of the tree begun last"
    tune(options(store, budget=budget, fresh=True, transforms=("reorder",)), listen([]))
    with pytest.raises(UserError, match="timed with warm caches"):
        tune(options(store, fresh=True, cache=Cache.COLD), listen([]))


def test_warm_and_cold_timings_do_not_share_a_store(
    tmp_path: Path, asked: list[tuple[Artifact, TimingPlan]]
) -> None:
    store = tmp_path / "store.sqlite"
    tune(options(store, cache=Cache.COLD), listen([]))
    with pytest.raises(UserError, match="--cache cold"):
        tune(options(store), listen([]))


def test_a_failing_search_is_recorded_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(search: object, confirm: bool) -> None:
        raise UserError("the disk is full")

    monkeypatch.setattr(session.Search, "run", fail)
    with pytest.raises(UserError, match="disk is full"):
        tune(options(tmp_path / "store.sqlite"), listen([]))
    with Store.open(tmp_path / "store.sqlite", create=False) as opened:
        assert [run.status for run in opened.runs()] == [RunStatus.FAILED]


@pytest.mark.parametrize(("speedup", "gains"), [(1.001, False), (1.03, True)])
def test_rewrites_that_gain_nothing_are_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, speedup: float, gains: bool
) -> None:
    def evaluate(bench: Bench, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        same = candidate.code_key == anchor.code_key
        rounds = replace(plan, min_rounds=10)
        return Evaluation(measurement(1.0 if same else speedup, rounds, anchor), 0.0, 0.0)

    monkeypatch.setattr(Bench, "evaluate", evaluate)
    result = tune(options(tmp_path / "store.sqlite"), listen([]))
    assert (result.best is not None) == gains
    assert (result.level is not None) != gains
    assert result.gainless != gains
    if result.level is not None:
        assert result.level.trace.steps

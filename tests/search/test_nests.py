"""Nests that are searched alone before their procedure is."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.records import Artifact, RunStatus
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.timing import Cache, TimingPlan
from schedsearch.locks.pin import pin_best
from schedsearch.search import nests as apart
from schedsearch.search.engine.progress import Best, Progress
from schedsearch.search.lookup import find_scopes
from schedsearch.search.nests import nests_apart, search_nests
from schedsearch.search.session import tune
from schedsearch.search.setup.budget import Budget, Stop
from schedsearch.search.setup.run_summary import NEST_OF
from schedsearch.search.setup.subject import Subject, load_subject
from schedsearch.search.strategies.protocol import Idle
from schedsearch.search.watching import running
from schedsearch.store.database import Store

from .test_session import asked, listen, options, own_home  # noqa: F401
from .worlds import BASELINE, ROOF, measurement, step

CHAIN = Path(__file__).parents[1] / "transforms" / "procs" / "extracted.py"
SECONDS = 1000.0
LONG = Budget(SECONDS)
"""Nests are searched alone only where there is time, which a busy machine needs to begin. Spaces
are exhausted long before."""


@pytest.fixture(scope="module")
def chain() -> Subject:
    return load_subject(CHAIN, "chain", {}, None)


def test_nests_that_compute_much_are_taken_apart_the_largest_first(chain: Subject) -> None:
    found = nests_apart(chain, ROOF)
    assert [each.subject.name for each in found] == ["chain_nest2", "chain_nest3"]
    assert found[0].subject.work.flops > found[1].subject.work.flops
    assert found[0].subject.workload.source == chain.workload.source


def test_what_memory_limits_stays_with_the_whole(chain: Subject) -> None:
    assert nests_apart(chain, replace(ROOF, bandwidth=1e-3)) == []
    assert nests_apart(chain, replace(ROOF, bandwidth=0.0)) == []


def test_one_nest_alone_is_the_procedure(chain: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "LEAST_SHARE", 0.55)  # the larger has 60 %
    assert nests_apart(chain, ROOF) == []


@pytest.mark.normal
def test_sizes_given_are_those_of_the_nests() -> None:
    file = Path(__file__).parents[2] / "benchmarks" / "suite" / "kernels" / "chains.py"
    general = load_subject(file, "mlp", {"N": 64, "D": 32, "H": 128}, None)
    constant = load_subject(file, "mlp", {"N": 64, "H": 128}, None, specialized=True)
    for whole in (general, constant):
        nests = [each.subject.workload for each in nests_apart(whole, ROOF)]
        assert [nest.proc for nest in nests] == ["mlp_nest1", "mlp_nest3"]
        for nest in nests:
            assert dict(nest.sizes) == dict(whole.workload.sizes)
            assert nest.fixed == whole.workload.fixed


def best(name: str) -> Best:
    timed = measurement(2.0, TimingPlan("screen", 2, 2), anchor())
    return Best(name, Trace((step(name),)), timed)


def anchor() -> Anchor:
    return Anchor(BASELINE, BASELINE.code_key)


def test_time_is_shared_out_by_operations(chain: Subject) -> None:
    found, given = nests_apart(chain, ROOF), []

    def search(
        nest: Subject, seconds: float, observe: Callable[[Progress], None]
    ) -> tuple[Best | None, bool]:
        given.append(seconds)
        return best(nest.name), False

    [trace], interrupted = search_nests(found, SECONDS, search, lambda text: None)
    assert not interrupted
    work = [each.subject.work.flops for each in found]
    least, whole = apart.LEAST_S, apart.SHARE * SECONDS
    assert given[0] == pytest.approx(least + (whole - 2 * least) * work[0] / sum(work), rel=0.01)
    # What the first did not use goes to the last.
    assert given[1] == pytest.approx(apart.SHARE * SECONDS, rel=0.01)
    assert [rewrite.arg("name") for rewrite in trace.steps] == ["chain_nest3", "chain_nest2"]
    assert [rewrite.path for rewrite in trace.steps] == [(3,), (2,)]


def test_nests_with_nothing_faster_are_left_as_they_are(chain: Subject) -> None:
    def search(
        nest: Subject, seconds: float, observe: Callable[[Progress], None]
    ) -> tuple[Best | None, bool]:
        return None, False

    found = nests_apart(chain, ROOF)
    assert search_nests(found, SECONDS, search, lambda text: None) == ([], False)


def test_there_has_to_be_time(chain: Subject) -> None:
    def search(
        nest: Subject, seconds: float, observe: Callable[[Progress], None]
    ) -> tuple[Best | None, bool]:
        raise AssertionError("not enough to find anything")

    found = nests_apart(chain, ROOF)
    enough_for_one = 1.5 * apart.LEAST_S / apart.SHARE
    assert search_nests(found, enough_for_one, search, lambda text: None) == ([], False)


def test_what_was_found_before_ctrl_c_counts(chain: Subject) -> None:
    def search(
        nest: Subject, seconds: float, observe: Callable[[Progress], None]
    ) -> tuple[Best | None, bool]:
        assert nest.name == "chain_nest2", "the others are not begun"
        return best(nest.name), True

    [trace], interrupted = search_nests(nests_apart(chain, ROOF), 100.0, search, lambda text: None)
    assert interrupted
    assert [rewrite.path for rewrite in trace.steps] == [(2,)]


@pytest.mark.normal
def test_the_search_begins_with_what_its_nests_found(
    tmp_path: Path,
    asked: list[tuple[Artifact, TimingPlan]],  # noqa: F811
) -> None:
    path, heard = tmp_path / "store.sqlite", list[str]()
    chosen = options(path, file=CHAIN, proc="chain", budget=LONG, transforms=("reorder",))
    result = tune(chosen, listen(heard))
    assert heard.index("searching chain_nest2 alone (1 of 2)") > heard.index("started")
    with Store.open(path, create=False) as store:
        scopes = {store.workload(scope).proc: scope for scope in store.scopes()}
        assert set(scopes) == {"chain", "chain_nest2", "chain_nest3"}
        own = {name: store.runs(scope)[0] for name, scope in scopes.items()}
        assert all(run.status is RunStatus.FINISHED for run in own.values())
        assert [run.settings.get(NEST_OF) for run in own.values()].count("chain") == 2
        first = store.timeline(scopes["chain"])
        screened = [c for c in store.load(scopes["chain"]) if c.record.measurement is not None]
        assert {step.path[0] for c in screened for step in c.record.trace.steps} >= {2, 3}
        assert first
        # Nests are there if they are asked for by name.
        assert find_scopes(store, None) == [scopes["chain"]]
        assert find_scopes(store, "chain_nest2") == [scopes["chain_nest2"]]
        assert len(find_scopes(store, None, nests=True)) == 3
        assert running(store) is None
        pins = pin_best(store, None, tmp_path)
        assert [entry.kernel.proc for entry in pins.entries] in ([], ["chain"])
    again = tune(chosen, listen(heard := []))
    assert again.setting.known.measured > 0
    assert not any("alone" in phase for phase in heard), "in a first run only"
    assert result.run_id != again.run_id


@pytest.mark.normal
def test_ctrl_c_among_the_nests_keeps_what_they_found(
    tmp_path: Path,
    asked: list[tuple[Artifact, TimingPlan]],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluate, screened = Bench.evaluate, []

    def interrupted(
        bench: Bench, candidate: Artifact, plan: TimingPlan, anchor: Anchor
    ) -> Evaluation:
        screened.append(plan.kind)
        if screened.count("screen") == 3:
            signal.raise_signal(signal.SIGINT)
        return evaluate(bench, candidate, plan, anchor)

    monkeypatch.setattr(Bench, "evaluate", interrupted)
    path, heard = tmp_path / "store.sqlite", list[str]()
    chosen = options(path, file=CHAIN, proc="chain", budget=LONG, transforms=("reorder",))
    result = tune(chosen, listen(heard))
    assert result.stop is Stop.INTERRUPTED
    assert any("putting together" in phase for phase in heard)
    assert result.progress.measured == 1, "what the nests found, together"
    with Store.open(path, create=False) as store:
        assert {run.status for run in store.runs()} == {RunStatus.INTERRUPTED}
    tune(chosen, listen(heard := []))
    assert sum("alone" in phase and ":" not in phase for phase in heard) == 2, "none was finished"
    tune(chosen, listen(heard := []))
    assert not any("alone" in phase for phase in heard), "both are"


@pytest.mark.normal
def test_a_search_that_fails_among_the_nests_has_ended(
    tmp_path: Path,
    asked: list[tuple[Artifact, TimingPlan]],  # noqa: F811
) -> None:
    """With the error's own text, and no run left behind as running."""

    class Bad(Idle):
        def expand(self) -> Any:
            return "oops"

    path = tmp_path / "store.sqlite"
    chosen = options(path, file=CHAIN, proc="chain", budget=LONG, strategy=Bad)
    with pytest.raises(UserError, match="answered 'oops', not a node"):
        tune(chosen, listen([]))
    with Store.open(path, create=False) as store:
        assert [run.status for run in store.runs()] == [RunStatus.FAILED] * 2


@pytest.mark.normal
@pytest.mark.parametrize("budget", [Budget(SECONDS, trials=1), Budget(SECONDS, speedup=1.1)])
def test_budgets_of_something_else_than_time_are_for_the_whole(
    tmp_path: Path,
    asked: list[tuple[Artifact, TimingPlan]],  # noqa: F811
    budget: Budget,
) -> None:
    path = tmp_path / "store.sqlite"
    tune(options(path, file=CHAIN, proc="chain", budget=budget), listen([]))
    with Store.open(path, create=False) as store:
        assert len(store.scopes()) == 1


@pytest.mark.normal
def test_a_nest_that_was_timed_otherwise_stays_with_the_whole_and_that_is_said(
    tmp_path: Path,
    asked: list[tuple[Artifact, TimingPlan]],  # noqa: F811
) -> None:
    path, heard = tmp_path / "store.sqlite", list[str]()
    one = options(path, file=CHAIN, proc="chain_nest2", transforms=("reorder",))
    tune(replace(one, cache=Cache.COLD), listen([]))
    whole = replace(one, proc="chain", budget=LONG)
    tune(whole, listen(heard))
    assert any("chain_nest2 is not searched alone: " in phase for phase in heard)
    assert any("searching chain_nest3 alone" in phase for phase in heard)

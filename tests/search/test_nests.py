"""Nests that are searched alone before their procedure is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.records import Artifact, RunStatus
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.locks.pin import pin_best
from schedsearch.search import nests as apart
from schedsearch.search.engine.progress import Best, Progress
from schedsearch.search.lookup import find_scopes
from schedsearch.search.nests import nests_apart, search_nests
from schedsearch.search.session import tune
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.run_summary import NEST_OF
from schedsearch.search.setup.subject import Subject, load_subject
from schedsearch.search.watching import running
from schedsearch.store.database import Store

from .test_session import asked, listen, options, own_home  # noqa: F401
from .worlds import BASELINE, ROOF, measurement, step

CHAIN = Path(__file__).parents[1] / "transforms" / "procs" / "extracted.py"
SECONDS = 1000.0


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


def anchor() -> object:
    from schedsearch.evaluate.run.bench import Anchor

    return Anchor(BASELINE, BASELINE.code_key)


def test_time_is_shared_out_by_operations(chain: Subject) -> None:
    found, given = nests_apart(chain, ROOF), []

    def search(nest: Subject, seconds: float, observe: Callable[[Progress], None]) -> Best | None:
        given.append(seconds)
        return best(nest.name)

    [trace] = search_nests(found, SECONDS, search, lambda text: None)
    work = [each.subject.work.flops for each in found]
    assert given[0] == pytest.approx(apart.SHARE * SECONDS * work[0] / sum(work), rel=0.01)
    # What the first did not use goes to the last.
    assert given[1] == pytest.approx(apart.SHARE * SECONDS, rel=0.01)
    assert [rewrite.arg("name") for rewrite in trace.steps] == ["chain_nest3", "chain_nest2"]
    assert [rewrite.path for rewrite in trace.steps] == [(3,), (2,)]


def test_nests_with_nothing_faster_are_left_as_they_are(chain: Subject) -> None:
    def search(nest: Subject, seconds: float, observe: Callable[[Progress], None]) -> Best | None:
        if nest.name == "chain_nest2":
            raise UserError("it cannot be timed")
        return None

    assert search_nests(nests_apart(chain, ROOF), SECONDS, search, lambda text: None) == []


def test_there_has_to_be_time(chain: Subject) -> None:
    def search(nest: Subject, seconds: float, observe: Callable[[Progress], None]) -> Best | None:
        raise AssertionError("not enough to find anything")

    assert search_nests(nests_apart(chain, ROOF), 10.0, search, lambda text: None) == []


@pytest.mark.normal
def test_the_search_begins_with_what_its_nests_found(
    tmp_path: Path,
    asked: list[tuple[Artifact, TimingPlan]],  # noqa: F811
) -> None:
    path, heard = tmp_path / "store.sqlite", list[str]()
    chosen = options(path, file=CHAIN, proc="chain", budget=Budget(60.0), transforms=("reorder",))
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

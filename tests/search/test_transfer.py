"""Warm starts: which schedules are taken over, and that they are tried first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.records import Keys, Outcome, TuningRecord, Workload
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.run.bench import Anchor
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.session import tune
from schedsearch.search.setup.budget import Budget
from schedsearch.search.warmstart.prior_runs import MOST, origins, similarity
from schedsearch.store.database import Store
from schedsearch.store.views import Scope

from .test_session import asked, listen, options, own_home  # noqa: F401
from .worlds import BASELINE, TARGET, measurement

pytestmark = pytest.mark.normal

PRODUCT = ("*", "3 loops", "read 0,2", "read 2,1", "reduce", "write 0,1")
OWN = Workload("mm", "own", (("N", 64),), "mm.py", "5ha", signature=PRODUCT)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.sqlite") as opened:
        yield opened


def tuned(store: Store, workload: Workload, **speedups: float) -> Scope:
    """A finished search that found schedules of one step, by their label."""
    scope = store.register(workload, TARGET, "")
    run = store.start_run(scope, seed=0, strategy="beam", settings={}, environment={})
    store.add_root(scope, run, TuningRecord(Trace(), Outcome.CORRECT, Keys("a", "c", "b")))
    steps = [Trace((Rewrite("split", 1, (0,), "for", (("name", n),)),)) for n in speedups]
    store.add_expansion(scope, run, Trace().key, [TuningRecord(t, None) for t in steps], {})
    for trace, speedup in zip(steps, speedups.values(), strict=True):
        timed = measurement(speedup, TimingPlan("screen", 2, 2), Anchor(BASELINE, "c-root"))
        store.record(scope, run, TuningRecord(trace, Outcome.CORRECT, measurement=timed))
    return scope


def found(store: Store, own: Scope) -> list[object]:
    return [o.trace.steps[0].arg("name") for o in origins(store, own, OWN, TARGET)]


def test_the_most_similar_comes_first_and_the_second_best_last(store: Store) -> None:
    own = tuned(store, OWN, mine=9.0)
    turned = (*PRODUCT[:3], "read 1,2", *PRODUCT[4:])
    other = replace(OWN, proc="nt", proc_key="nt", signature=turned)
    tuned(store, other, turned=30.0, turned_too=20.0)
    tuned(store, replace(OWN, sizes=(("N", 96),)), larger=5.0, larger_too=4.0)
    copy = replace(OWN, proc="copy", proc_key="copy", signature=("assign", "1 loops"))
    tuned(store, copy, c=8.0)
    assert found(store, own) == ["larger", "turned", "larger_too", "turned_too"]
    assert MOST == 4


def test_what_is_slower_or_the_same_is_not_taken_over(store: Store) -> None:
    own = tuned(store, OWN)
    tuned(store, replace(OWN, sizes=(("N", 32),)), a=2.0, slow=0.5)
    tuned(store, replace(OWN, sizes=(("N", 16),)), a=3.0)
    assert found(store, own) == ["a"]


def test_other_targets_count(store: Store) -> None:
    tuned(store, OWN, there=3.0)
    here = replace(TARGET, cpu="zen6")
    own = store.register(OWN, here, "")
    assert [o.workload for o in origins(store, own, OWN, here)] == [OWN]


def test_the_same_procedure_of_an_old_store_is_similar() -> None:
    old = replace(OWN, sizes=(("N", 32),), signature=())
    assert similarity(OWN, old) == 1.0
    assert similarity(OWN, replace(old, proc_key="other")) == 0.0
    assert similarity(OWN, replace(OWN, proc_key="nt", signature=PRODUCT[:-1])) == 5 / 6


KERNELS = """
from __future__ import annotations
from exo import proc

@proc
def one(C: f32[16, 16], A: f32[16, 16], B: f32[16, 16]):
    for i in seq(0, 16):
        for j in seq(0, 16):
            for k in seq(0, 16):
                C[i, j] += A[i, k] * B[k, j]

@proc
def other(y: f32[24, 24], x: f32[24, 24], w: f32[24, 24]):
    for a in seq(0, 24):
        for b in seq(0, 24):
            for c in seq(0, 24):
                y[a, b] += x[a, c] * w[b, c]
"""


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("warm", [True, False])
def test_a_run_tries_what_a_similar_kernel_had(tmp_path: Path, warm: bool) -> None:
    file, store = tmp_path / "kernels.py", tmp_path / "store.sqlite"
    file.write_text(KERNELS)
    first = tune(options(store, file=file, proc="one", budget=Budget(1e9, trials=8)), listen([]))
    assert first.setting.known.origins == ()
    assert first.best is not None
    second = tune(
        options(store, file=file, proc="other", warm_start=warm, budget=Budget(1e9, trials=1)),
        listen([]),
    )
    taken = [origin.trace for origin in second.setting.known.origins]
    assert bool(taken) is warm
    with Store.open(store, create=False) as opened:
        scope = second.setting.scope
        measured = [c for c in opened.load(scope) if c.measurements and c.parent_id]
        transforms = [s.transform for s in measured[0].record.trace.steps]
    assert ([s.transform for s in taken[0].steps] == transforms) if warm else len(transforms) == 1
    again = tune(
        options(store, file=file, proc="other", warm_start=warm, budget=Budget(1e9, trials=1)),
        listen([]),
    )
    assert again.setting.known.origins == ()

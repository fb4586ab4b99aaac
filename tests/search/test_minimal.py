"""Shortening: what is left out, what is not, and what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transforms.helpers import TARGET

from schedsearch.core.decision import TOLERANCE
from schedsearch.core.records import Artifact, Outcome, RunStatus, TuningRecord
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.locks.pin import best_of
from schedsearch.search.engine import minimal
from schedsearch.search.engine.minimal import Shortener, ddmin
from schedsearch.search.result import Listener, Result
from schedsearch.search.session import tune
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options
from schedsearch.store.database import Store
from schedsearch.study.minimise import minimise
from schedsearch.study.schedule import opened
from schedsearch.transforms.codegen import CodeGenerator
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.fit import Fate, refit
from schedsearch.transforms.registry import propose, select
from schedsearch.transforms.replay import Replayer

from .worlds import measurement

KERNEL = Path(__file__).parent / "kernels" / "product.py"


# -- delta debugging -----------------------------------------------------------


@pytest.mark.normal
@given(st.integers(1, 24), st.data())
def test_what_is_needed_is_left_and_nothing_else(count: int, data: st.DataObject) -> None:
    items = tuple(range(count))
    needed = data.draw(st.sets(st.sampled_from(items), min_size=1))
    asked = []

    def reduced(rest: tuple[int, ...]) -> tuple[int, ...] | None:
        asked.append(rest)
        return rest if needed <= set(rest) else None

    left = [items, *ddmin(items, reduced)]
    assert set(left[-1]) == needed
    assert all(len(a) > len(b) for a, b in pairwise(left))
    assert len(asked) <= count * count + 3 * count  # Zeller and Hildebrandt, proposition 12


def test_what_goes_along_is_gone() -> None:
    """Whatever is left of a list is gone on with, also if it is less than was asked."""
    found = list(ddmin(tuple("abcdef"), lambda rest: ("f",) if "f" in rest else None))
    assert found == [("f",)]


# -- fitting -------------------------------------------------------------------


def chain(replayer: Replayer, wanted: Sequence[tuple[str, str]]) -> Trace:
    """Of each transform the first legal rewrite at a statement whose label starts so."""
    trace = Trace()
    for name, start in wanted:
        (transform,) = select([name])
        rewrites = transform.rewrites(replayer.state(trace).ast, TARGET)
        trace = trace.then(next(r for r in rewrites if r.label.startswith(start)))
        replayer.state(trace)
    return trace


@pytest.fixture
def replayer() -> Replayer:
    (procedure,) = load_source(KERNEL).procs.values()
    return Replayer(procedure)


def test_steps_find_their_loops_again(replayer: Replayer) -> None:
    """Without the first swap the loop over j is elsewhere."""
    trace = chain(replayer, [("reorder", "for i"), ("split", "for i")])
    assert [step.path for step in trace.steps] == [(0,), (0, 0)]
    (step,) = refit(replayer, TARGET, Trace(trace.steps[1:]))
    assert step.fate is Fate.MOVED
    assert step.found is not None
    assert step.found.path == (0,)
    assert step.found.args == trace.steps[1].args
    assert "there, found" in step.why


def test_steps_without_a_place_are_left_out(replayer: Replayer) -> None:
    trace = chain(replayer, [("split", "for i"), ("unroll", "for ii")])
    unknown = Rewrite("no_such_transform", 1, (), "procedure")
    fates = [step.fate for step in refit(replayer, TARGET, trace.then(unknown))]
    assert fates == [Fate.APPLIED, Fate.APPLIED, Fate.DROPPED]


# -- shortening ----------------------------------------------------------------


def shortener(replayer: Replayer, trace: Trace, said: list[str] | None = None) -> Shortener:
    tell = (said if said is not None else []).append
    return Shortener(trace, replayer, TARGET, lambda: True, tell, budget_s=60.0)


def back_and_forth(replayer: Replayer) -> Trace:
    """Three swaps of the same loops, of which the first two undo each other, and a cut."""
    swaps = [("reorder", "for i"), ("reorder", "for j"), ("reorder", "for i")]
    return chain(replayer, [*swaps, ("split", "for j")])


def test_what_leaves_the_c_as_it_is_goes_without_timing(replayer: Replayer) -> None:
    trace, said = back_and_forth(replayer), list[str]()
    code = CodeGenerator(replayer).generate(trace)
    short = shortener(replayer, trace, said)
    short.same_code()
    assert [step.transform for step in short.trace.steps] == ["reorder", "split"]
    assert CodeGenerator(replayer).generate(short.trace).key == code.key
    assert said[-1] == "2 of 4 rewrites give the same C"


def test_what_is_left_has_the_key_of_its_build(
    replayer: Replayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, it could not be pinned: it would not be what its trace makes."""
    monkeypatch.setattr(minimal, "reacher_of", lambda bench: None)
    monkeypatch.setattr(minimal, "build", lambda *parts: Artifact("", "", ""))
    monkeypatch.setattr(Shortener, "as_fast", lambda *parts: None)
    root = replayer.state(Trace())
    trace = Trace((next(propose(root.ast, TARGET, select(["compile_with"]))),))
    monkeypatch.setattr(Shortener, "same_code", lambda self: None)
    shorten = minimal.shorten_with(None, replayer, TARGET, None)  # type: ignore[arg-type]
    short = shorten(trace, 60.0, lambda: True, 0.0)
    assert short is not None
    assert short.trace == trace
    assert short.ast_key == ast_key(root.ast, trace.build)
    assert short.ast_key != ast_key(root.ast)


def test_nothing_is_left_out_once_time_is_up(replayer: Replayer) -> None:
    trace = back_and_forth(replayer)
    short = Shortener(trace, replayer, TARGET, lambda: True, lambda _: None, budget_s=-1.0)
    short.same_code()
    assert short.trace == trace


# -- a stored candidate, with scripted measurements -----------------------------


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def stored(
    tmp_path: Path, own_home: None, monkeypatch: pytest.MonkeyPatch, replayer: Replayer
) -> tuple[Path, int]:
    """A store with a verified schedule of four rewrites; whatever has a loop over `jo` is 3 times
    as fast as what has none."""

    quick: set[str] = set()

    def evaluate(bench: Bench, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        speedup = 3.0 ** ((candidate.code_key in quick) - (anchor.code_key in quick))
        return Evaluation(measurement(speedup, plan, replace(anchor, speedup=1.0)), 0.0, 0.0)

    monkeypatch.setattr(Bench, "evaluate", evaluate)
    store = tmp_path / "store.sqlite"
    search(store, trials=1)
    trace = back_and_forth(replayer)
    generator = CodeGenerator(replayer)
    codes = [generator.generate(Trace(trace.steps[:n])) for n in range(1, 5)]
    quick |= {codes[-1].key, generator.generate(Trace((plain_split(replayer, trace),))).key}
    with Store.open(store) as found_store:
        (scope,) = found_store.scopes()
        run_id = found_store.runs(scope)[-1].id
        prefixes = [Trace(trace.steps[:n]) for n in range(1, 5)]
        found_store.add_replay(scope, run_id, [TuningRecord(each, None) for each in prefixes], {})
        timed = measurement(3.0, TimingPlan("confirm", 5, 5), Anchor(Artifact("", "", ""), ""))
        found_store.record(scope, run_id, TuningRecord(trace, Outcome.CORRECT, measurement=timed))
        (found,) = [c for c in found_store.walk(scope) if c.record.trace == trace]
    return store, found.id


def plain_split(replayer: Replayer, trace: Trace) -> Rewrite:
    """The last step of the trace on the procedure as written."""
    (step,) = refit(replayer, TARGET, Trace(trace.steps[-1:]))
    assert step.found is not None
    return step.found


def search(store: Path, trials: int) -> Result:
    budget, names = Budget(1e9, trials=trials), ("reorder", "split")
    options = Options(KERNEL, None, {}, budget, store, executor="inline", transforms=names)
    return tune(options, Listener(lambda _: None, lambda *_: None, lambda _: None))


@pytest.mark.slow
def test_the_shortest_that_is_as_fast_is_stored(stored: tuple[Path, int]) -> None:
    said: list[str] = []
    with opened(*stored) as schedule:
        found = minimise(schedule, 60.0, said.append)
    assert [step.transform for step in found.shortest.record.trace.steps] == ["split"]
    assert found.against is not None
    assert found.against.speedup.value == pytest.approx(1.0, abs=TOLERANCE)
    assert "1 of 4 rewrites are as fast" in said
    with Store.open(stored[0], create=False) as store:
        again = store.candidate(found.shortest.id)
        run, best = store.runs(again.scope)[-1], best_of(store, again.scope)
    assert best is not None
    assert best.id == again.id
    assert again.record.outcome is Outcome.CORRECT
    assert again.record.measurement is not None
    assert again.record.measurement.kind == "confirm"
    assert again.record.speedup == pytest.approx(3.0)
    assert run.status is RunStatus.FINISHED
    assert run.summary is not None
    assert run.summary["minimal_of"] == found.original.trace_key
    # A search goes on from there, though two candidates have the same C.
    assert search(stored[0], trials=2).progress.measured == 2

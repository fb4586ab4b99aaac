"""Stored schedules timed against each other on request: what is measured, what is kept, what it
says; the times are made up."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from search.worlds import measurement

import schedsearch
from schedsearch.api.exploring import Explored
from schedsearch.api.searched import search_of_run
from schedsearch.core.decision import Decision
from schedsearch.core.errors import UserError
from schedsearch.core.records import (
    Artifact,
    Failure,
    GeneratedC,
    Outcome,
    Target,
    TuningRecord,
)
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.roof.ceilings import Ceilings
from schedsearch.evaluate.roof.traffic import Streams
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.store import Store
from schedsearch.store.views import StoredCandidate
from schedsearch.study import ceilings, measure
from schedsearch.study.compare import How, Ratio
from schedsearch.study.measure import Steps
from schedsearch.study.schedule import Schedule, opened
from schedsearch.study.stepping import NotMeasuredError

from .conftest import script

KERNEL = Path(__file__).parents[1] / "search" / "kernels" / "product.py"
TRANSFORMS = ("reorder", "split")
WAY = (("reorder", "for i"), ("split", "for j"), ("split", "for k"))
Pair = tuple[str, str]
Session = tuple[Path, list[int], int, int]


@pytest.fixture(scope="session")
def explored(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A store with a way of three rewrites, of which nothing is measured: ids along the way;
    of the schedule that goes back from the first; of an illegal one."""
    store = tmp_path_factory.mktemp("explored") / "s.sqlite"
    with pytest.MonkeyPatch.context() as patched:
        script(home, patched)
        with schedsearch.explore(
            KERNEL, store=store, transforms=TRANSFORMS, progress=False
        ) as by_hand:
            nodes = [by_hand.root]
            for name, start in WAY:
                nodes.append(follow(nodes[-1], name, start))
            swapped = nodes[1].rewrites()
            back = next(c for c in swapped if c.stored.record.duplicate_of == Trace().key)
            [split, *_] = nodes[1].rewrites().of("split")
    illegal = TuningRecord(
        nodes[1].trace.then(replace(split.rewrite, args=(("factor", 3),))),
        Outcome.ILLEGAL,
        message="cannot perfectly divide",
    )
    with Store.open(store, create=False) as opened:
        [run] = opened.runs()
        opened.add_replay(run.scope, run.id, [illegal], {})
        [refused] = opened.find(run.scope, [illegal.trace.key])
    return store, [node.candidate.id for node in nodes], back.stored.id, refused.id


@pytest.fixture
def store(tmp_path: Path, explored: Session, scripted: list[str]) -> Path:
    return shutil.copy(explored[0], tmp_path / "s.sqlite")


@pytest.fixture
def walked(explored: Session) -> list[int]:
    return explored[1]


def follow(here: Explored, name: str, start: str) -> Session:
    choices = here.rewrites().legal.of(name)
    return here.apply(next(c for c in choices if c.rewrite.label.startswith(start)))


@pytest.fixture
def timings(store: Path, monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """C of candidate and anchor of every timing but the baseline's own."""
    log: list[Pair] = []
    evaluate = Bench.evaluate

    def logged(bench: Bench, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        if plan.kind != "baseline":
            log.append((candidate.code_key, anchor.code_key))
        return evaluate(bench, candidate, plan, anchor)

    monkeypatch.setattr(Bench, "evaluate", logged)
    return log


def fail(monkeypatch: pytest.MonkeyPatch, attempt: int, what: Callable[[], Failure]) -> None:
    """The timing with this number, from 1, does not end well."""
    evaluate = Bench.evaluate
    count = 0

    def failing(bench: Bench, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        nonlocal count
        count += plan.kind != "baseline"
        if plan.kind != "baseline" and count == attempt:
            return Evaluation(what(), 0.0, 0.0)
        return evaluate(bench, candidate, plan, anchor)

    monkeypatch.setattr(Bench, "evaluate", failing)


def candidates(store: Path, ids: list[int]) -> list[StoredCandidate]:
    with Store.open(store, create=False) as opened:
        return [opened.candidate(each) for each in ids]


def told_by_six_rounds(gain: float) -> str:
    if 1 / 1.1 < gain < 1.1:
        return "inconclusive"
    return "faster" if gain > 1 else "slower"


def measure_steps(store: Path, asked: int, said: list[str], file: Path | None = None) -> Steps:
    with opened(store, asked, file) as schedule:
        return measure.measure_steps(schedule, said.append)


def measure_pair(store: Path, first: int, second: int) -> Ratio:
    with Store.open(store, create=False) as found:
        pair = [Schedule.of(found, found.candidate(each)) for each in (first, second)]
        return measure.measure_pair(pair[0], pair[1], lambda _: None)


@pytest.mark.normal
def test_every_step_is_timed_against_the_one_before_once(
    store: Path, walked: list[int], timings: list[Pair]
) -> None:
    said: list[str] = []
    assert measure_steps(store, walked[-1], said) == Steps(3, 3)
    found = candidates(store, walked)
    codes = [each.record.keys.code for each in found]
    assert timings == [(codes[n + 1], codes[n]) for n in range(3)]
    assert any(line.startswith("step 2 of 3, split: ") for line in said)
    for before, now in pairwise(found):
        [timed] = now.measurements
        assert timed.kind == "pair"
        assert timed.reference == before.record.keys.code
        assert now.record.outcome is Outcome.CORRECT
    with schedsearch.open(store) as opened:
        explained = opened.candidate(walked[-1]).explain(measure=True, progress=False)
        assert opened.runs["status"].tolist() == ["finished", "finished"]
    assert len(timings) == 3  # known: not timed again
    frame = explained.frame
    assert frame["how"].tolist() == ["interleaved"] * 3
    assert frame["gain"].prod() == pytest.approx(frame["speedup"].iloc[-1])
    assert frame["decision"].tolist() == [told_by_six_rounds(gain) for gain in frame["gain"]]
    assert "not measured" not in repr(explained)
    assert explained._repr_markdown_().count("```diff") == 3


@pytest.mark.normal
def test_what_cannot_be_measured_is_left_out(
    store: Path, walked: list[int], timings: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, 2, lambda: Failure(Outcome.INCORRECT, "C[0] differs"))
    assert measure_steps(store, walked[-1], []).timed == 2
    found = candidates(store, walked)
    assert found[2].record.outcome is Outcome.INCORRECT
    codes = [each.record.keys.code for each in found]
    assert timings == [(codes[1], codes[0]), (codes[3], codes[1])]
    with schedsearch.open(store) as opened:
        steps = opened.candidate(walked[-1]).explain().explanation.steps
    assert steps[1].failure == "incorrect: C[0] differs"
    assert steps[1].gain is None
    assert steps[2].gain is not None
    assert steps[2].gain.how is How.INTERLEAVED
    assert measure_steps(store, walked[-1], []) == Steps(0, 0)


@pytest.mark.normal
def test_an_interrupt_keeps_what_was_measured(
    store: Path, walked: list[int], timings: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    def press_ctrl_c() -> Failure:
        raise KeyboardInterrupt

    fail(monkeypatch, 2, press_ctrl_c)
    assert measure_steps(store, walked[-1], []) == Steps(1, 3, interrupted=True)
    assert [len(each.measurements) for each in candidates(store, walked[1:])] == [1, 0, 0]
    with Store.open(store, create=False) as opened:
        assert opened.runs()[-1].status == "interrupted"
    assert measure_steps(store, walked[-1], []) == Steps(2, 2)
    assert len(timings) == 3


def confirm(store: Path, candidate: StoredCandidate, speedup: float) -> None:
    with Store.open(store, create=False) as opened:
        anchor = Anchor(Artifact("", "", ""), "")
        timed = measurement(speedup, TimingPlan("confirm", 5, 5), anchor)
        run_id = opened.runs()[-1].id
        record = TuningRecord(candidate.record.trace, Outcome.CORRECT, measurement=timed)
        opened.record(candidate.scope, run_id, record)


@pytest.mark.normal
def test_a_confirmation_stays_what_ranks(store: Path, walked: list[int]) -> None:
    confirm(store, candidates(store, walked)[1], 3.0)
    measure_pair(store, walked[1], walked[2])
    measure_pair(store, walked[2], walked[1])
    first, second = candidates(store, walked)[1:3]
    assert second.measurements[0].reference_speedup == pytest.approx(3.0)
    assert [timed.kind for timed in first.measurements] == ["confirm", "pair"]
    assert first.record.measurement == first.measurements[0]


@pytest.mark.normal
def test_two_are_timed_against_each_other_whichever_way(
    store: Path, walked: list[int], timings: list[Pair]
) -> None:
    one, other = walked[1], walked[3]
    found = measure_pair(store, one, other)
    # The first is verified before anything is timed against it.
    codes = [each.record.keys.code for each in candidates(store, walked)]
    assert timings == [(codes[1], codes[0]), (codes[3], codes[1])]
    assert found.how is How.INTERLEAVED
    assert found.decision is Decision(told_by_six_rounds(found.over.value))
    under_root = measure_pair(store, one, walked[0])
    [first] = candidates(store, [one])
    assert under_root.over.value == pytest.approx(1 / (first.record.speedup or 0.0))
    assert len(candidates(store, walked[:1])[0].measurements) == 1  # of the baseline, by itself
    with schedsearch.open(store) as opened:
        pair = opened.candidate(other), opened.candidate(one)
        compared = pair[0].compare(pair[1], measure=True, progress=False)
        assert compared.ratio is not None
        assert compared.ratio.over.value == pytest.approx(1 / found.over.value)
        assert "interleaved." in compared.verdict
        assert compared.verdict.split(".")[0] in repr(compared)
        again = pair[1].compare(pair[0]).ratio
    assert again is not None
    assert again.over.value == pytest.approx(found.over.value)


@pytest.mark.normal
def test_equal_machine_code_is_not_timed(
    store: Path, explored: Session, timings: list[Pair]
) -> None:
    """Swapping loops twice gives the procedure as written."""
    _, walked, back, _ = explored
    found = measure_pair(store, walked[0], back)
    assert (found.how, found.over.value) == (How.SAME_CODE, 1.0)
    assert timings == []
    steps = measure_steps(store, back, [])
    assert steps.timed == 1  # there; back again is known


@pytest.fixture
def one_binary(store: Path, walked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on all schedules compile to the machine code of the one as written."""
    [root] = candidates(store, walked[:1])
    build = Builder.build

    def same(builder: Builder, code: GeneratedC, timeout_s: float) -> Artifact | Failure:
        built = build(builder, code, timeout_s)
        assert isinstance(built, Artifact)
        return replace(built, binary_key=root.record.keys.binary or "")

    monkeypatch.setattr(Builder, "build", same)


@pytest.mark.normal
def test_a_duplicate_found_while_measuring_is_as_fast_as_its_owner(
    store: Path, walked: list[int], timings: list[Pair], one_binary: None
) -> None:
    measure_steps(store, walked[-1], [])
    with schedsearch.open(store) as opened:
        frame = opened.candidate(walked[-1]).explain().frame
    assert frame["how"].tolist() == ["same code"] * 3
    assert frame["gain"].tolist() == [1.0] * 3
    assert timings == []


@pytest.mark.normal
def test_in_a_notebook_the_text_is_no_output_of_its_own(
    store: Path, walked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    with schedsearch.open(store) as opened:
        explained = opened.candidate(walked[-1]).explain()
    assert f"candidate {walked[-1]}" in repr(explained)


@pytest.mark.normal
def test_wrong_schedules_are_named(
    store: Path, explored: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, walked, _, illegal = explored
    fail(monkeypatch, 1, lambda: Failure(Outcome.CRASH, "signal 11"))
    with pytest.raises(NotMeasuredError, match="crash: signal 11"):
        measure_pair(store, walked[0], walked[1])
    for refused in (
        lambda: measure_pair(store, walked[0], illegal),
        lambda: measure_steps(store, illegal, []),
    ):
        with pytest.raises(UserError, match=f"candidate {illegal} is illegal"):
            refused()


@pytest.mark.normal
def test_what_has_changed_is_not_measured(
    store: Path, walked: list[int], tmp_path: Path, timings: list[Pair]
) -> None:
    changed = tmp_path / "changed.py"
    changed.write_text(KERNEL.read_text().replace("A[i, k] * B[k, j]", "B[k, j] * A[i, k]"))
    with pytest.raises(UserError, match="changed since"):
        measure_steps(store, walked[-1], [], changed)
    assert timings == []


@pytest.mark.normal
def test_measurements_stay_in_the_search_that_found_the_schedule(
    store: Path, walked: list[int], timings: list[Pair]
) -> None:
    [root] = candidates(store, walked[:1])
    with Store.open(store, create=False) as opened:
        [before] = opened.runs()
        later = opened.afresh(before.scope)
        run_id = opened.start_run(
            later, seed=0, strategy="random", settings=before.settings, environment={}
        )
        opened.add_root(later, run_id, root.record)
        [elsewhere] = opened.load(later)
    assert measure_steps(store, walked[-1], []).timed == 3
    assert all(each.record.outcome is Outcome.CORRECT for each in candidates(store, walked))
    found = measure_pair(store, elsewhere.id, walked[1])
    assert found.how is How.INTERLEAVED
    with Store.open(store, create=False) as opened:
        assert [run.scope.tree for run in opened.runs()] == [1, 2, 1, 1]


@pytest.mark.normal
def test_a_shortened_schedule_is_timed_under_its_own_name(
    store: Path, walked: list[int], one_binary: None
) -> None:
    """It has the machine code of another one, and was measured all the same."""
    [short] = candidates(store, walked[1:2])
    confirm(store, short, 3.0)
    with schedsearch.explore(KERNEL, store=store, transforms=TRANSFORMS, progress=False) as by_hand:
        by_hand.at(short.record.trace).measure()
    [short] = candidates(store, walked[1:2])
    assert len(short.measurements) == 2
    assert short.record.message == ""


@pytest.mark.normal
def test_bandwidths_of_levels_are_measured_once_for_who_looks(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(ceilings, "measuring_slot", nullcontext)
    asked = []

    def measured(builder: Builder, target: Target, streams: Streams) -> Ceilings:
        asked.append(streams)
        return (("L2", 100.0), ("L3", 40.5))

    monkeypatch.setattr(ceilings, "measure_ceilings", measured)
    with Store.open(store, create=False) as opened:
        search = search_of_run(opened, None, KERNEL)
        other = replace(search.target, cpu="another")
        assert ceilings.ceilings(search.procedure, search.workload, other) == ()
        assert not asked
        assert search.ceilings == (("L2", 100.0), ("L3", 40.5))
        assert search_of_run(opened, None, KERNEL).ceilings == search.ceilings
    assert len(asked) == 1
    [kept] = (tmp_path / "cache" / "schedsearch" / ceilings.PART).rglob("*.json")
    kept.write_text("{")
    with Store.open(store, create=False) as opened:
        assert search_of_run(opened, None, KERNEL).ceilings == search.ceilings
    assert len(asked) == 2

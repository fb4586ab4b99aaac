"""The normal form is looked for beside the preparation of the baseline, and nothing depends on it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.records import Artifact, Measurement
from schedsearch.core.trace import AS_WRITTEN
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.process import stop_marked
from schedsearch.evaluate.run.bench import Bench, Evaluation
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search import baseline as measured_baseline
from schedsearch.search import session
from schedsearch.search.baseline import measure_baseline
from schedsearch.search.result import Listener
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.subject import Subject, bench_of, load_subject
from schedsearch.search.workers import ahead as module
from schedsearch.search.workers.ahead import Ahead, look_ahead, paused
from schedsearch.search.workers.executor import (
    Executor,
    HandingOver,
    InlineExecutor,
    StartingExecutor,
    spec_of,
)
from schedsearch.search.workers.jobs import ExpandJob, NormaliseJob, WorkSpec
from schedsearch.store.database import Store
from schedsearch.transforms.children import Expansion, Replay
from schedsearch.transforms.registry import select

pytestmark = pytest.mark.normal

KERNEL = """from __future__ import annotations
from exo import proc


@proc
def pair(C: f32[16, 16], A: f32[16, 4], B: f32[16, 4]):
    for i in seq(0, 16):
        for j in seq(0, 16):
            for k in seq(0, 4):
                C[i, j] += A[i, k] * B[j, k] + B[i, k] * A[j, k]
"""
JOB = NormaliseJob(AS_WRITTEN, 60.0)


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    file = tmp_path_factory.mktemp("kernel") / "pair.py"
    file.write_text(KERNEL)
    loaded = load_subject(file, None, {}, None)
    return replace(loaded, target=replace(loaded.target, cores=2))


@pytest.fixture
def spec(subject: Subject, tmp_path: Path) -> WorkSpec:
    made = spec_of(subject, select(("split_sum", "reorder")))
    return replace(made, builder=replace(made.builder, cache_dir=tmp_path / "artifacts"))


@pytest.fixture
def ahead(spec: WorkSpec) -> Iterator[Ahead]:
    made = Ahead(spec, JOB)
    yield made
    made.close()


def no_workers(spec: WorkSpec) -> StartingExecutor:
    raise AssertionError("no workers are started")


def handing_over(spec: WorkSpec, ahead: Ahead | None) -> HandingOver:
    executor = HandingOver(InlineExecutor(spec), no_workers, until=0.0, ahead=ahead)
    executor.attach(None)  # type: ignore[arg-type]  # nothing is measured
    return executor


def until(holds: Callable[[], bool]) -> None:
    """Raises if it never does."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def state(pid: int) -> str:
    """As in proc(5): `T` of a process that stands still; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def state_of(ahead: Ahead) -> str:
    return state(ahead._child.pid)


def found_by(executor: Executor) -> Replay:
    ticket = executor.submit(JOB)
    while not (done := executor.wait(5.0)):
        pass
    [(its, result)] = done
    assert its == ticket
    assert isinstance(result, Replay)
    return result


def test_the_same_normal_form_is_found_as_without_it(spec: WorkSpec, ahead: Ahead) -> None:
    until(lambda: ahead.begun)
    found, known = found_by(handing_over(spec, ahead)), found_by(handing_over(spec, None))
    assert [step.rewrite.transform for step in known.steps] == ["split_sum"]
    assert found.steps == known.steps
    assert ahead._child.returncode == 0


def test_what_is_at_its_end_is_compiled(
    spec: WorkSpec, ahead: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(lambda: ahead.begun)
    made = found_by(handing_over(spec, ahead)).steps[-1].made
    assert made is not None
    monkeypatch.setattr(Builder, "_compile", None)
    assert isinstance(spec.builder.build(made.code, 60.0), Artifact)


@pytest.mark.parametrize("while_waiting", [False, True])
def test_what_it_does_not_find_is_found_here(
    spec: WorkSpec, ahead: Ahead, while_waiting: bool
) -> None:
    """It was killed, as where memory runs out."""
    until(lambda: ahead.begun)
    stop_marked(ahead._mark)
    executor = handing_over(spec, ahead)
    if while_waiting:
        ticket = executor.submit(JOB)
        assert executor.wait(0.1) == []
        ahead._child.kill()
        assert [its for its, _ in executor.wait(60.0)] == [ticket]
    else:
        ahead._child.kill()
        assert found_by(executor).steps
    assert ahead._child.returncode == -signal.SIGKILL


def test_it_is_not_waited_for_before_it_has_loaded_the_procedure(
    spec: WorkSpec, ahead: Ahead
) -> None:
    stop_marked(ahead._mark)
    assert not ahead.begun
    assert found_by(handing_over(spec, ahead)).steps
    assert ahead._child.returncode == -signal.SIGKILL


def test_other_jobs_and_other_procedures_do_not_wait_for_it(
    spec: WorkSpec, ahead: Ahead
) -> None:
    until(lambda: ahead.begun)
    stop_marked(ahead._mark)
    executor = handing_over(spec, ahead)
    awaited, other = executor.submit(JOB), executor.submit(ExpandJob(AS_WRITTEN))
    [(ticket, result)] = executor.wait(60.0)
    assert ticket == other
    assert isinstance(result, Expansion)
    assert executor.drop_expansions() == [awaited]
    assert ahead._child.returncode == -signal.SIGKILL
    assert not Ahead.is_for(ahead, replace(spec, transforms=("reorder",)), JOB)


def test_it_ends_with_the_workers(spec: WorkSpec, ahead: Ahead) -> None:
    executor = handing_over(spec, ahead)
    with ahead.paused():
        executor.close()
    assert ahead._child.returncode == -signal.SIGKILL
    executor.close()


def test_it_ends_with_the_process_that_started_it(spec: WorkSpec) -> None:
    """However that dies."""
    reading, writing = os.pipe()
    if not (parent := os.fork()):
        try:
            started = Ahead(spec, JOB)
            until(lambda: started.begun)
            stop_marked(started._mark)
            os.write(writing, str(started._child.pid).encode())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(writing)
    child = int(os.read(reading, 100))
    os.close(reading)
    os.waitpid(parent, 0)

    until(lambda: state(child) in ("", "Z"))


def test_a_compiler_stands_still_too(spec: WorkSpec, tmp_path: Path) -> None:
    script, asked = tmp_path / "cc", tmp_path / "asked"
    script.write_text(f"#!/bin/sh\necho $$ > {asked}\nsleep 600\n")
    script.chmod(0o755)
    compiler = replace(spec.builder.compiler, path=str(script))
    ahead = Ahead(replace(spec, builder=replace(spec.builder, compiler=compiler)), JOB)
    until(lambda: asked.exists() and asked.read_text() != "")
    compiling = int(asked.read_text())
    with ahead.paused():
        assert state(compiling) == "T"
    assert state(compiling) != "T"
    ahead.close()
    until(lambda: state(compiling) in ("", "Z"))


def test_the_baseline_is_timed_alone(
    subject: Subject, ahead: Ahead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: without `paused`, its state is not `T`."""
    states = list[str]()
    time_baseline, roof_of = Bench.time_baseline, measured_baseline.roof_of

    def timed(bench: Bench, plan: TimingPlan) -> Evaluation:
        states.append(state_of(ahead))
        result = time_baseline(bench, plan)
        states.append(state_of(ahead))
        return result

    def roof(*about: object) -> object:
        states.append(state_of(ahead))
        return roof_of(*about)

    monkeypatch.setattr(Bench, "time_baseline", timed)
    monkeypatch.setattr(measured_baseline, "roof_of", roof)
    bench = bench_of(subject, tmp_path)
    found = measure_baseline(bench, subject, lambda text: None, lambda: paused(ahead))
    assert isinstance(found.measurement, Measurement)
    assert states == ["T"] * 3
    assert state_of(ahead) != "T"


@pytest.mark.parametrize(
    ("change", "starts"),
    [
        ({}, True),
        ({"transforms": ("reorder",)}, False),
        ({"strategy": "random"}, False),
        ({"executor": "inline"}, False),
        ({"ray_address": "1.2.3.4:5"}, False),
    ],
)
def test_it_is_started_where_it_is_of_use(
    subject: Subject,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, object],
    starts: bool,
) -> None:
    monkeypatch.setattr(module, "Ahead", lambda spec, job: (spec, job))
    options = replace(Options(subject.source.path, budget=Budget(20.0)), **change)  # type: ignore[arg-type]
    with Store.open(tmp_path / "store.sqlite") as store:
        scope = store.register(subject.workload, subject.target, subject.source.text)
        made = session._look_ahead(options, subject, store, scope)
        assert (made is not None) is starts
        if starts:
            assert made[1].patience_s == 6.0  # type: ignore[index]
        store.start_run(scope, seed=0, strategy="best-first", settings={}, environment={})
        assert session._look_ahead(options, subject, store, scope) is None


def test_it_needs_a_core_of_its_own(spec: WorkSpec) -> None:
    alone = replace(spec, target=replace(spec.target, cores=2, threads=2))
    assert look_ahead(alone, AS_WRITTEN, 1.0) is None

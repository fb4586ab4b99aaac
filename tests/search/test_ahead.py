"""The normal form is looked for beside the preparation of the baseline; nothing depends on it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.records import Artifact, Measurement
from schedsearch.core.trace import AS_WRITTEN
from schedsearch.evaluate.build.builder import Builder
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
from schedsearch.search.workers.ahead import Ahead, look_ahead
from schedsearch.search.workers.executor import (
    Executor,
    HandingOver,
    InlineExecutor,
    StartingExecutor,
    make_executor,
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


@pytest.fixture
def compiling(tmp_path: Path) -> Path:
    """Where a compiler that does not end says which process it is."""
    return tmp_path / "compiling"


@pytest.fixture
def endless(spec: WorkSpec, tmp_path: Path, compiling: Path) -> Iterator[Ahead]:
    script = tmp_path / "cc"
    script.write_text(f"#!/bin/sh\necho $$ > {compiling}\nsleep 600\n")
    script.chmod(0o755)
    compiler = replace(spec.builder.compiler, path=str(script))
    made = Ahead(replace(spec, builder=replace(spec.builder, compiler=compiler)), JOB)
    yield made
    made.close()


def no_workers(spec: WorkSpec) -> StartingExecutor:
    raise AssertionError("no workers are started")


def handing_over(ahead: Ahead) -> HandingOver:
    executor = HandingOver(InlineExecutor(ahead.spec), no_workers, until=0.0)
    executor._ahead = ahead
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


def stands_still(pid: int) -> bool:
    """It has to be scheduled once to stop."""
    end = time.monotonic() + 5
    while (now := state(pid)) != "T" and time.monotonic() < end:
        time.sleep(0.01)
    return now == "T"


def found_by(executor: Executor) -> Replay:
    ticket = executor.submit(JOB)
    while not (done := executor.wait(5.0)):
        pass
    [(its, result)] = done
    assert its == ticket
    assert isinstance(result, Replay)
    return result


def test_the_same_normal_form_is_found_as_without_it_and_is_compiled(
    ahead: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(lambda: ahead.begun)
    found, known = found_by(handing_over(ahead)), found_by(InlineExecutor(ahead.spec))
    assert [step.rewrite.transform for step in known.steps] == ["split_sum"]
    told = [
        [(step.rewrite, step.keys, step.predicted) for step in each.steps]
        for each in (found, known)
    ]
    assert told[0] == told[1]
    assert ahead._child.returncode == 0
    made = found.steps[-1].made
    assert made is not None
    monkeypatch.setattr(Builder, "_compile", None)
    assert isinstance(ahead.spec.builder.build(made.code, 60.0), Artifact)


@pytest.mark.parametrize("while_waiting", [False, True])
def test_what_it_does_not_find_is_found_here(endless: Ahead, while_waiting: bool) -> None:
    """It was killed, as where memory runs out."""
    until(lambda: endless.begun)
    executor = handing_over(endless)
    if while_waiting:
        ticket = executor.submit(JOB)
        assert executor.wait(0.1) == []
        endless._child.kill()
        assert [its for its, _ in executor.wait(60.0)] == [ticket]
    else:
        endless._child.kill()
        assert found_by(executor).steps
    assert endless._child.returncode not in (None, 0)


def test_it_is_not_waited_for_before_it_has_loaded_the_procedure(endless: Ahead) -> None:
    assert not endless.begun
    assert found_by(handing_over(endless)).steps
    assert endless._child.returncode not in (None, 0)


def test_other_jobs_and_other_procedures_do_not_wait_for_it(endless: Ahead) -> None:
    until(lambda: endless.begun)
    executor = handing_over(endless)
    awaited, other = executor.submit(JOB), executor.submit(ExpandJob(AS_WRITTEN))
    [(ticket, result)] = executor.wait(60.0)
    assert ticket == other
    assert isinstance(result, Expansion)
    assert executor.drop_expansions() == [awaited]
    assert endless._child.returncode not in (None, 0)
    assert endless.is_for(endless.spec, NormaliseJob(AS_WRITTEN, 1.0))
    assert not endless.is_for(replace(endless.spec, transforms=("reorder",)), JOB)


def test_it_ends_with_the_workers(endless: Ahead) -> None:
    executor = handing_over(endless)
    with endless.paused():
        executor.close()
    assert endless._child.returncode not in (None, 0)
    executor.close()


@pytest.mark.parametrize("error", [UserError, KeyboardInterrupt])
def test_it_ends_with_a_run_that_does_not_begin(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    made = list[Ahead]()

    def noted(spec: WorkSpec, job: NormaliseJob) -> Ahead:
        made.append(Ahead(spec, job))
        return made[0]

    def fails(*about: object, **how: object) -> Bench:
        assert state(made[0]._child.pid) != ""
        raise error

    monkeypatch.setattr(module, "Ahead", noted)
    monkeypatch.setattr(session, "subject_of", lambda options: subject)
    monkeypatch.setattr(session, "bench_of", fails)
    options = Options(subject.source.path, store=tmp_path / "store.sqlite")
    listener = Listener(lambda text: None, lambda *about: None, lambda progress: None)
    with pytest.raises(error), session.begun(options, listener):
        pass
    assert made[0]._child.returncode not in (None, 0)


@pytest.mark.parametrize("begun", [False, True])
def test_it_ends_with_the_process_that_started_it(spec: WorkSpec, begun: bool) -> None:
    """However that dies, and whatever it does then."""
    reading, writing = os.pipe()
    if not (parent := os.fork()):
        try:
            started = Ahead(spec, JOB)
            until(lambda: started.begun or not begun)
            with started.paused():
                os.write(writing, str(started._child.pid).encode())
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(writing)
    child = int(os.read(reading, 100))
    os.close(reading)
    os.waitpid(parent, 0)

    until(lambda: state(child) in ("", "Z"))


def test_it_is_not_waited_for_if_the_baseline_is_timed_before_it_has_begun(
    endless: Ahead,
) -> None:
    executor = handing_over(endless)
    with executor.paused():
        assert endless._child.returncode not in (None, 0)
    with executor.paused():  # of a nest
        pass
    assert found_by(executor).steps


def test_what_its_compiler_leaves_is_removed(
    endless: Ahead, compiling: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ENDING_S", 60.0)  # a busy machine needs longer than there is
    until(lambda: compiling.exists() and compiling.read_text() != "")
    cache = endless.spec.builder.cache_dir
    assert any(path.name.startswith("tmp") for path in cache.glob("*/*"))
    endless.close()
    assert not any(path.name.startswith("tmp") for path in cache.glob("*/*"))
    until(lambda: state(int(compiling.read_text())) in ("", "Z"))


def test_its_compiler_ends_while_it_stands_still_and_begins_again(
    endless: Ahead, compiling: Path
) -> None:
    """A compiler that stands still would stay for ever if both processes died."""

    def compiler() -> int:
        until(lambda: compiling.exists() and compiling.read_text() != "")
        return int(compiling.read_text())

    first = compiler()
    with endless.paused():
        until(lambda: state(first) in ("", "Z"))
        assert stands_still(endless._child.pid)
        compiling.unlink()
    second = compiler()
    assert second != first
    endless.close()
    until(lambda: state(second) in ("", "Z"))


def test_the_baseline_is_timed_alone(
    subject: Subject, endless: Ahead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    still = list[bool]()
    time_baseline, roof_of = Bench.time_baseline, measured_baseline.roof_of

    def timed(bench: Bench, plan: TimingPlan) -> Evaluation:
        still.append(stands_still(endless._child.pid))
        result = time_baseline(bench, plan)
        still.append(stands_still(endless._child.pid))
        return result

    def roof(*about: object) -> object:
        still.append(stands_still(endless._child.pid))
        return roof_of(*about)

    monkeypatch.setattr(Bench, "time_baseline", timed)
    monkeypatch.setattr(measured_baseline, "roof_of", roof)
    bench = bench_of(subject, tmp_path)
    until(lambda: endless.begun)
    found = measure_baseline(bench, subject, lambda text: None, handing_over(endless).paused)
    assert isinstance(found.measurement, Measurement)
    assert still == [True] * 3
    assert state(endless._child.pid) != "T"


@pytest.mark.parametrize(
    ("change", "starts"),
    [
        ({}, True),
        ({"transforms": ("reorder",)}, False),
        ({"strategy": "random"}, False),
        ({"executor": "inline"}, False),
    ],
)
def test_it_is_started_where_it_is_of_use(
    subject: Subject,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, object],
    starts: bool,
) -> None:
    asked = list[tuple[WorkSpec, NormaliseJob]]()
    monkeypatch.setattr(module, "Ahead", lambda *about: asked.append(about))
    options = replace(Options(subject.source.path, budget=Budget(20.0)), **change)  # type: ignore[arg-type]
    with Store.open(tmp_path / "store.sqlite") as store:
        scope = store.register(subject.workload, subject.target, subject.source.text)
        executor = make_executor(options, subject, options.selected)
        session._look_ahead(executor, options, store, scope)
        assert [job for _, job in asked] == [NormaliseJob(AS_WRITTEN, 6.0)] * starts
        store.start_run(scope, seed=0, strategy="best-first", settings={}, environment={})
        session._look_ahead(executor, options, store, scope)
        assert len(asked) == starts


def test_it_needs_a_core_of_its_own(spec: WorkSpec) -> None:
    alone = replace(spec, target=replace(spec.target, cores=2, threads=2))
    assert look_ahead(alone, AS_WRITTEN, 1.0) is None

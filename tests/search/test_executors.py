"""The contract of `search/workers/executor.py`, for every executor there is, with real jobs."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import pytest
import ray
from faults.processes import descendants

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.core.records import Artifact, Failure, GeneratedC, Measurement, Outcome
from schedsearch.core.text import header
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.host import measuring_cores, usable_cores
from schedsearch.evaluate.build.process import run_group
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.setup.options import EXECUTORS
from schedsearch.search.setup.subject import Subject, load_subject
from schedsearch.search.workers.core_sharing import MeasuringPlace, slot_file
from schedsearch.search.workers.executor import Executor, HandingOver, InlineExecutor, spec_of
from schedsearch.search.workers.jobs import (
    BenchWorker,
    BuildJob,
    Built,
    ExpandJob,
    Job,
    Loaded,
    Lost,
    MeasureJob,
    ReplayFailed,
    ReplayJob,
    Result,
    WorkSpec,
)
from schedsearch.search.workers.ray_executor import RayExecutor
from schedsearch.search.workers.ray_hosts import _MARK, _environment
from schedsearch.search.workers.ray_workers import Abilities, ExpandActor
from schedsearch.transforms.children import Expansion, Replay
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import Transform, registry

pytestmark = pytest.mark.slow

KERNEL = Path(__file__).parent / "kernels" / "product.py"
CHAIN = Path(__file__).parents[1] / "transforms" / "procs" / "extracted.py"
QUICK = TimingPlan("screen", 2, 2, sample_ns=1e5)
SLOTS = 2


HALVING = """
from schedsearch.transforms.operators.ops import At, Op

def propose(ast, target):
    return iter(())

def steps(ast, path, args):
    yield Op("divide_loop", (At(path), 2, ("a", "b")), (("perfect", True),))
"""


def halving() -> Transform:
    """Of a notebook: what `__main__` defines, workers cannot import."""
    cell: dict[str, Any] = {"__name__": "__main__"}
    exec(HALVING, cell)
    return Transform("halving", 1, "", cell["propose"], cell["steps"])


@dataclass(frozen=True)
class Work:
    """A kernel ready to be worked on. While `lethal` exists, the compiler kills its caller,
    while `fatal` exists, itself."""

    subject: Subject
    bench: Bench
    lethal: Path
    fatal: Path

    @property
    def spec(self) -> WorkSpec:
        subject = self.subject
        return WorkSpec(
            KERNEL,
            subject.source.sha,
            subject.name,
            subject.target,
            ("reorder",),
            subject.workload.sizes,
            subject.builder,
            own=(halving(),),
        )

    @property
    def measure(self) -> MeasureJob:
        baseline = self.bench.baseline
        return MeasureJob(baseline, QUICK, Anchor(baseline, baseline.code_key))

    @property
    def build(self) -> BuildJob:
        return BuildJob(Trace(), self.subject.code)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Work]:
    cache = tmp_path_factory.mktemp("cache")
    subject = load_subject(KERNEL, None, {}, None)
    real, script = subject.builder.compiler, cache / "cc"
    lethal, fatal = cache / "lethal", cache / "fatal"
    script.write_text(
        f"#!/bin/sh\nrm {lethal} 2> /dev/null && kill -9 $PPID\n"
        f'rm {fatal} 2> /dev/null && kill -9 $$\nexec {real.path} "$@"\n'
    )
    script.chmod(0o755)
    compiler = replace(real, path=str(script))
    builder = Builder(compiler, subject.builder.flags, cache / "artifacts")
    subject = replace(subject, builder=builder)
    bench = prepare(subject.ast, subject.code, subject.binding, builder, cache / "bench")
    yield Work(subject, bench, lethal, fatal)
    registry().pop("halving", None)  # workers of Ray have it in processes of their own


def make(name: str, spec: WorkSpec) -> Executor:
    if name == "inline":
        return InlineExecutor(spec)
    workers = RayExecutor(spec, SLOTS)
    return workers if name == "ray" else HandingOver(InlineExecutor(spec), lambda _: workers)


@pytest.fixture(scope="module", params=(*EXECUTORS, "handing over"))
def executor(request: pytest.FixtureRequest, work: Work) -> Iterator[Executor]:
    """Shared by the tests of this module: each leaves it idle."""
    made = make(request.param, work.spec)
    made.attach(work.bench)
    yield made
    made.close()
    made.close()


def collect(executor: Executor, count: int) -> dict[int, Result]:
    """The next `count` results by ticket."""
    found: dict[int, Result] = {}
    while len(found) < count:
        pairs = executor.wait(200.0)
        assert pairs, "nothing came back"
        for ticket, result in pairs:
            assert ticket not in found
            found[ticket] = result
    return found


def one(executor: Executor, job: Job) -> Result:
    ticket = executor.submit(job)
    return collect(executor, 1)[ticket]


def test_expanding_lists_the_children(executor: Executor) -> None:
    result = one(executor, ExpandJob(Trace()))
    assert isinstance(result, Expansion)
    assert {child.rewrite.transform for child in result.children} == {"reorder"}
    assert all(child.keys.ast for child in result.children)


def test_building_gives_an_artifact(executor: Executor, work: Work) -> None:
    result = one(executor, work.build)
    assert isinstance(result, Built)
    assert isinstance(result.result, Artifact)
    assert result.result.code_key == work.subject.code.key
    assert Path(result.result.path).exists()


def test_what_is_built_from_a_trace_is_its_c(executor: Executor, work: Work) -> None:
    result = one(executor, BuildJob(Trace()))
    assert isinstance(result, Built)
    assert isinstance(result.result, Artifact)
    assert result.code == work.subject.code
    assert result.result.code_key == work.subject.code.key
    assert [stage for stage, _ in result.stage_s] == ["codegen", "build"]


def test_measuring_gives_a_measurement(executor: Executor, work: Work) -> None:
    result = one(executor, work.measure)
    assert isinstance(result, Evaluation)
    assert isinstance(result.result, Measurement)
    assert len(result.result.rounds) == 2


def test_a_build_failure_is_a_result(executor: Executor) -> None:
    result = one(executor, BuildJob(Trace(), GeneratedC("product", "", "this is not C", "broken")))
    assert isinstance(result, Built)
    assert isinstance(result.result, Failure)
    assert result.result.outcome is Outcome.COMPILE_ERROR


def test_a_trace_that_does_not_replay_is_a_result(executor: Executor) -> None:
    absent = Rewrite("reorder", 1, (7,), "for z in seq(0, 3)")
    result = one(executor, ExpandJob(Trace((absent,))))
    assert isinstance(result, ReplayFailed)
    assert "step 1" in result.message


def test_a_trace_is_followed_as_far_as_it_goes(executor: Executor) -> None:
    expansion = one(executor, ExpandJob(Trace()))
    assert isinstance(expansion, Expansion)
    there = expansion.children[0].rewrite
    absent = Rewrite("absent", 1, (7,), "for z in seq(0, 3)")
    result = one(executor, ReplayJob(Trace((there, absent, there)), known=0))
    assert isinstance(result, Replay)
    first, second = result.steps
    assert first.keys == expansion.children[0].keys
    assert second.outcome is Outcome.ILLEGAL
    assert second.message
    result = one(executor, ReplayJob(Trace((there, absent)), known=1))
    assert isinstance(result, Replay)
    assert (result.start, [step.rewrite for step in result.steps]) == (Trace((there,)), [absent])
    assert isinstance(one(executor, ReplayJob(Trace((absent, there)), known=1)), ReplayFailed)


def test_a_step_is_fitted_where_it_is_not_legal(executor: Executor) -> None:
    moved = Rewrite("reorder", 1, (7,), "for z in seq(0, 3)")
    result = one(executor, ReplayJob(Trace((moved,)), known=0))
    assert isinstance(result, Replay)
    (step,) = result.steps
    assert (step.rewrite.transform, step.outcome) == ("reorder", None)
    assert step.rewrite != moved


def test_workers_have_the_transforms_of_the_spec(executor: Executor) -> None:
    halved = Trace((Rewrite("halving", 1, (0,), "for i in seq(0, 16)"),))
    result = one(executor, ReplayJob(halved, known=0))
    assert isinstance(result, Replay)
    assert [step.outcome for step in result.steps] == [None]
    built = one(executor, BuildJob(halved))
    assert isinstance(built, Built)
    assert built.code is not None
    assert "< 8;" in built.code.source


def test_more_jobs_than_slots_wait_and_all_come_back_once(executor: Executor, work: Work) -> None:
    jobs = [ExpandJob(Trace()), work.build, work.measure] * 4
    tickets = [executor.submit(job) for job in jobs]
    assert len(set(tickets)) == len(jobs)
    results = collect(executor, len(jobs))
    assert results.keys() == set(tickets)
    kinds = {ExpandJob: Expansion, BuildJob: Built, MeasureJob: Evaluation}
    for ticket, job in zip(tickets, jobs, strict=True):
        assert isinstance(results[ticket], kinds[type(job)])
    assert executor.wait(0.0) == []


def test_dropped_expansions_never_return(executor: Executor, work: Work) -> None:
    expansions = {executor.submit(ExpandJob(Trace())) for _ in range(4)}
    expansions.add(executor.submit(ReplayJob(Trace(), known=0)))
    build = executor.submit(work.build)
    dropped = set(executor.drop_expansions())
    assert dropped <= expansions
    back = collect(executor, 1 + len(expansions - dropped))
    assert back.keys() == {build} | (expansions - dropped)
    assert executor.wait(0.1) == []
    assert isinstance(one(executor, ExpandJob(Trace())), Expansion)


def test_waiting_ends_when_the_time_passes(executor: Executor, work: Work) -> None:
    ticket = executor.submit(work.measure)
    found = executor.wait(0.0) or executor.wait(200.0)
    assert [number for number, _ in found] == [ticket]


@pytest.mark.parametrize("executor", ["ray"], indirect=True, scope="module")
def test_a_worker_that_dies_loses_its_job_and_is_replaced(executor: Executor, work: Work) -> None:
    work.lethal.touch()
    result = one(executor, build_anew("deadly"))
    assert isinstance(result, Lost)
    assert "the worker died" in result.message
    results = collect(executor, len([executor.submit(build_anew(f"k{n}")) for n in range(6)]))
    assert all(isinstance(r, Built) and isinstance(r.result, Artifact) for r in results.values())


def test_a_build_whose_compiler_is_killed_is_lost(executor: Executor, work: Work) -> None:
    work.fatal.touch()
    job = build_anew(f"unlucky_{type(executor).__name__}")
    result = one(executor, job)
    assert isinstance(result, Lost)
    assert "the compiler was killed by somebody else" in result.message
    assert isinstance(one(executor, job), Built)


def test_a_measurement_whose_child_is_killed_is_lost(executor: Executor, work: Work) -> None:
    """As by the system when memory runs out: that says nothing of the kernel."""
    patient = replace(work.measure, plan=TimingPlan("screen", 4000, 4000, sample_ns=1e7))
    ended = threading.Event()

    def kill() -> None:
        while not ended.wait(0.01):
            for pid in descendants(os.getpid()):
                with suppress(OSError):
                    if os.readlink(f"/proc/{pid}/exe") == str(work.bench.executable):
                        os.kill(pid, signal.SIGKILL)
                        return

    killer = threading.Thread(target=kill)
    killer.start()
    result = one(executor, patient)
    ended.set()
    killer.join()
    assert isinstance(result, Lost)
    assert "killed by somebody else" in result.message
    assert isinstance(one(executor, work.measure), Evaluation)


@pytest.mark.parametrize("executor", ["ray"], indirect=True, scope="module")
@pytest.mark.parametrize("name", ["schedsearch", "exo", "z3", "procedure"])
def test_workers_that_have_something_else_are_refused(
    name: str, executor: RayExecutor, work: Work
) -> None:
    """As a node of others may; Ray and Python it compares itself."""
    wanted = replace(Abilities.of(Loaded(work.spec)), **{name: "0.0.1"})
    with pytest.raises(UserError, match=f"of the Ray cluster has another {name}: .*, here 0.0.1"):
        executor._pools[ExpandJob].keep_able(wanted)
    assert isinstance(one(executor, ExpandJob(Trace())), Expansion)


@pytest.mark.parametrize("executor", ["ray"], indirect=True, scope="module")
def test_ray_is_out_of_reach_of_others(executor: Executor) -> None:
    """It listens on the loopback device only, and its token is not in a file."""
    one(executor, ExpandJob(Trace()))  # the workers are up
    processes = descendants(os.getpid())
    addresses = listening([os.getpid(), *processes])
    assert len(addresses) >= 3, "Ray listens somewhere"
    assert all(address.is_loopback for address in addresses)
    (head,) = (pid for pid in processes if b"gcs_server" in command_of(pid))
    environment = Path(f"/proc/{head}/environ").read_text().split("\0")
    assert {"RAY_AUTH_MODE=token", f"RAY_AUTH_TOKEN={os.environ['RAY_AUTH_TOKEN']}"} <= {
        *environment
    }


@pytest.mark.skipif(len(usable_cores()) < 2, reason="two cores are needed")
@pytest.mark.parametrize("executor", ["ray"], indirect=True, scope="module")
def test_cores_are_left_alone_only_where_kernels_are_timed(executor: Executor, work: Work) -> None:
    pool = executor._pools[ExpandJob]  # type: ignore[attr-defined]
    started = [each.actor.__ray_ready__.remote() for each in pool._idle]
    ray.get(started)  # after workers of other tests were ended
    here = expanding()
    place = MeasuringPlace("another machine", measuring_cores(1))
    actor = ray.remote(ExpandActor).options(num_cpus=0).remote(work.spec, place)
    ray.get(actor.abilities.remote())
    elsewhere = expanding() - here
    free = set(usable_cores()) - set(measuring_cores(1))
    assert len(here) == len(started) == SLOTS
    assert all(os.sched_getaffinity(pid) == free for pid in here)
    assert [os.sched_getaffinity(pid) for pid in elsewhere] == [set(usable_cores())]
    ray.kill(actor)


def test_what_starts_beside_ray_is_not_taken_for_its_own() -> None:
    """Or it is killed with a Ray that cannot start, as a kernel was that was being measured."""
    with _environment(_MARK, "of this Ray"):
        ours = run_group(["env"], timeout_s=60)
        others = subprocess.run(["env"], capture_output=True, text=True)
    assert ours is not None
    assert f"{_MARK}=" not in ours.stdout
    assert f"{_MARK}=of this Ray\n" in others.stdout


def expanding() -> set[int]:
    found = descendants(os.getpid())
    return {pid for pid in found if command_of(pid).startswith(b"ray::ExpandActor")}


def command_of(pid: int) -> bytes:
    """Empty if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def listening(processes: list[int]) -> list[IPv4Address | IPv6Address]:
    """Addresses at which processes accept connections (proc(5): `net/tcp`)."""
    sockets = set()
    for pid in processes:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):  # closed meanwhile
                sockets.add(os.readlink(link))
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                found.append(_address(words[1].partition(":")[0]))
    return found


def _address(text: str) -> IPv4Address | IPv6Address:
    """Words of 32 bits, each in the machine's byte order."""
    words = [bytes.fromhex(text[at : at + 8]) for at in range(0, len(text), 8)]
    packed = b"".join(int.from_bytes(w, "big").to_bytes(4, sys.byteorder) for w in words)
    found = ip_address(packed)
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def build_anew(name: str) -> BuildJob:
    """A job whose artifact is not in the cache."""
    return BuildJob(Trace(), GeneratedC(name, "", f"int {name}(void) {{ return 1; }}", name))


def test_workers_that_cannot_start_say_why(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    executor = RayExecutor(work.spec, SLOTS)
    with pytest.raises(UserError, match=r"Ray did not start: .*absent"):
        executor.attach(work.bench)
    executor.close()


def test_a_transform_that_cannot_be_sent_is_named(work: Work) -> None:
    lock = threading.Lock()

    def propose(*_: object) -> Iterator[Any]:
        with lock:
            yield None, {}

    kept = replace(halving(), propose=propose)
    with pytest.raises(UserError, match=r"halving cannot be sent to workers.*inline"):
        RayExecutor(replace(work.spec, own=(kept,)), SLOTS)


def test_measuring_is_exclusive_on_a_machine(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that know nothing of each other take turns."""
    tried: list[Evaluation] = []

    def evaluate(bench: Bench, *_: object) -> Evaluation:
        with slot_file().open("a") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        tried.append(Evaluation(Failure(Outcome.TIMEOUT, ""), 0.0, 0.0))
        return tried[-1]

    monkeypatch.setattr(Bench, "evaluate", evaluate)
    assert [BenchWorker(work.bench).run(work.measure)] == tried
    with slot_file().open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)


def test_a_source_that_changed_is_said_to_have(work: Work) -> None:
    executor = InlineExecutor(replace(work.spec, source_sha="another"))
    executor.submit(ExpandJob(Trace()))
    with pytest.raises(UserError, match="changed while it was being tuned"):
        executor.wait(0.0)


def test_close_may_be_called_twice(work: Work) -> None:
    executor = InlineExecutor(work.spec)
    executor.attach(work.bench)
    executor.submit(work.build)
    executor.close()
    executor.close()
    assert executor.wait(0.0) == []


class Late(InlineExecutor):
    """Starts when it is told to; counts what it runs."""

    begun, ready, ran = False, False, 0

    def begin(self, bench: Bench) -> None:
        self.begun = True
        self.attach(bench)

    def submit(self, job: Job) -> int:
        self.ran += 1
        return super().submit(job)


def test_jobs_run_here_until_the_workers_are_there(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedsearch.search.workers.executor.START_AFTER_S", 1e9)
    late = Late(work.spec)
    executor = HandingOver(InlineExecutor(work.spec), lambda _: late)
    executor.attach(work.bench)
    built, expanded = executor.submit(work.build), executor.submit(ExpandJob(Trace()))
    assert [ticket for ticket, _ in executor.wait(1.0)] == [built]
    assert not late.begun
    measured, again = executor.submit(work.measure), executor.submit(work.measure)
    third, fourth = executor.submit(work.build), executor.submit(work.build)
    assert [ticket for ticket, _ in executor.wait(1.0)] == [measured]  # before what came before it
    assert late.begun
    order = [ticket for _ in range(3) for ticket, _ in executor.wait(1.0)]
    assert order == [expanded, again, third]
    assert late.ran == 0
    late.ready = True
    assert set(collect(executor, 1)) == {fourth}
    assert late.ran == 1
    dropped = executor.submit(ExpandJob(Trace()))
    assert executor.drop_expansions() == [dropped]
    assert executor.wait(0.0) == []
    executor.close()


def test_workers_start_late_if_nothing_is_measured(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedsearch.search.workers.executor.START_AFTER_S", 0.0)
    late = Late(work.spec)
    executor = HandingOver(InlineExecutor(work.spec), lambda _: late)
    executor.attach(work.bench)
    executor.submit(work.build)
    executor.wait(1.0)
    assert not late.begun  # what was built is measured next
    executor.submit(ExpandJob(Trace()))
    executor.wait(1.0)
    assert late.begun
    executor.close()


def test_workers_that_never_start_end_the_work(work: Work) -> None:
    class Broken(Late):
        @property
        def ready(self) -> bool:  # type: ignore[override]
            if self.failed:
                raise UserError("the workers cannot start")
            return False

        failed = False

    broken = Broken(work.spec)
    executor = HandingOver(InlineExecutor(work.spec), lambda _: broken)
    executor.attach(work.bench)
    for job in (work.measure, work.build):
        executor.submit(job)
    executor.wait(1.0)
    broken.failed = True
    with pytest.raises(UserError, match="cannot start"):
        executor.wait(1.0)
    executor.close()


def test_what_an_expansion_made_is_built_without_a_replay(executor: Executor, work: Work) -> None:
    """The trace leads nowhere. A worker that is given C and query AST does not look at it."""
    nowhere = Trace((Rewrite("reorder", 1, (7,), "for z in seq(0, 3)"),))
    assert isinstance(one(executor, BuildJob(nowhere)), Built)
    kernel = mirror(work.subject.procedure)
    built = one(executor, BuildJob(nowhere, work.subject.code, kernel))
    assert isinstance(built, Built)
    assert isinstance(built.result, Artifact)


def test_workers_change_to_another_procedure_and_back(
    executor: Executor, work: Work, tmp_path: Path
) -> None:
    chain = load_subject(CHAIN, "chain_nest2", {}, None)
    chain = replace(chain, builder=work.subject.builder)
    bench = prepare(chain.ast, chain.code, chain.binding, chain.builder, tmp_path)
    spec = replace(spec_of(chain, ()), transforms=("reorder",), own=(halving(),))
    for subject, its, about in (
        (chain, bench, spec),
        (work.subject, work.bench, work.spec),
        (chain, bench, spec),
        (work.subject, work.bench, work.spec),
    ):
        executor.change(about, its)
        expansion = one(executor, ExpandJob(Trace()))
        assert isinstance(expansion, Expansion)
        labels = {child.rewrite.label for child in expansion.children}
        assert labels <= {header(stmt) for stmt in q.walk(subject.ast.body)}
        built = one(executor, BuildJob(Trace()))
        assert isinstance(built, Built)
        assert built.code == subject.code
        anchor = Anchor(its.baseline, its.baseline.code_key)
        timed = one(executor, MeasureJob(its.baseline, QUICK, anchor))
        assert isinstance(timed, Evaluation)
        assert isinstance(timed.result, Measurement)


def test_what_is_under_way_when_the_procedure_changes_never_returns(
    executor: Executor, work: Work
) -> None:
    jobs = ExpandJob(Trace()), work.build, work.build, work.build, work.measure, work.measure
    before = {executor.submit(job) for job in jobs}
    executor.change(work.spec, work.bench)
    later = {executor.submit(job) for job in jobs}
    assert set(collect(executor, len(later))) == later
    assert not before & later
    assert executor.wait(0.5) == []


@pytest.mark.parametrize("executor", ["ray"], indirect=True, scope="module")
def test_a_worker_that_dies_is_replaced_by_one_with_the_procedure_of_now(
    executor: Executor, work: Work, tmp_path: Path
) -> None:
    chain = load_subject(CHAIN, "chain_nest2", {}, None)
    executor.change(replace(spec_of(chain, ()), transforms=("reorder",)), work.bench)
    executor.submit(ExpandJob(Trace()))
    executor.drop_expansions()  # kills it
    expansion = one(executor, ExpandJob(Trace()))
    assert isinstance(expansion, Expansion)
    assert {child.rewrite.label for child in expansion.children} <= {
        header(stmt) for stmt in q.walk(chain.ast.body)
    }
    executor.change(work.spec, work.bench)

"""A scripted world: schedules with given identities, fates and speed-ups, and an executor
that answers from it, so that the driver is tested without a compiler or a clock."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from samples import AVX2 as TARGET

from schedsearch.core.records import (
    Artifact,
    Failure,
    GeneratedC,
    Keys,
    Measurement,
    Outcome,
    Round,
    TuningRecord,
    Workload,
)
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.engine.confirmation import Inspect, not_inspected
from schedsearch.search.engine.driver import Search
from schedsearch.search.engine.minimal import Shorten, as_it_is
from schedsearch.search.engine.progress import Observer, Progress
from schedsearch.search.setup.budget import Budget, Stop
from schedsearch.search.strategies.make import make_strategy
from schedsearch.search.strategies.protocol import Node, Strategy
from schedsearch.search.workers.jobs import (
    BuildJob,
    Built,
    Enumeration,
    ExpandJob,
    Job,
    Lost,
    MeasureJob,
    NormaliseJob,
    ReplayFailed,
    ReplayJob,
    Result,
)
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate
from schedsearch.transforms.children import Child, Expansion, Made, Replay

ROOT = "root"
BASELINE = Artifact("root.so", "b-root", "c-root")
FOREVER = Budget(seconds=1e9)
ROOF = Roof(8192 / 140e9, 1e-9, peak=140.0, kind="f32", bandwidth=160.0, level="L1")


@dataclass(frozen=True)
class Kernel:
    """What becomes of one schedule. Identities None: its own."""

    speedup: float | Failure = 1.0
    confirm: float | Failure | None = None
    ast: str | None = None
    binary: str | None = None
    rejected: Failure | None = None
    build: Failure | None = None
    replays: bool = True
    race: float | Failure | None = None
    predicted: float = 0.0
    made: Made | None = None


@dataclass
class World:
    """Children by name, what is special about a name, and which jobs lose their worker how
    often, by `(kind of job, name)`. A job makes at most `portion` children. Measuring a candidate
    takes `measuring_s` seconds. `normal_form` is the name of that."""

    children: Mapping[str, Sequence[str]]
    kernels: Mapping[str, Kernel] = field(default_factory=dict)
    lost: Counter[tuple[type[Job], str]] = field(default_factory=Counter)
    portion: int = 1000
    measuring_s: float = 1.5
    normal_form: str = ROOT

    def kernel(self, name: str) -> Kernel:
        return self.kernels.get(name, Kernel())

    def child(self, name: str) -> Child:
        kernel = self.kernel(name)
        rewrite = step(name)
        if kernel.rejected is not None:
            return Child(rewrite, outcome=kernel.rejected.outcome, message=kernel.rejected.message)
        keys = Keys(kernel.ast or f"a-{name}")
        return Child(rewrite, keys, predicted=kernel.predicted, made=kernel.made)

    def traces(self) -> dict[str, Trace]:
        """Trace of every name."""
        found = {ROOT: Trace()}
        for parent, names in self.children.items():
            found |= {name: found[parent].then(step(name)) for name in names}
        return found


KNOWN = {"cc": "compile_with", "ct": "cut_triangle", "ba": "block_all"}


def step(name: str) -> Rewrite:
    transform = KNOWN.get(name[:2], f"to_{name[0]}")
    return Rewrite(transform, 1, (0,), "for i in seq(0, 8)", (("name", name),))


def name_of(trace: Trace) -> str:
    return str(trace.steps[-1].arg("name")) if trace.steps else ROOT


class ScriptedExecutor:
    """Answers in the order of submission. `interrupt_at`: the wait that Ctrl-C ends."""

    slots = 2

    def __init__(self, world: World, interrupt_at: int | None = None) -> None:
        self.world, self.interrupt_at = world, interrupt_at
        self.submitted: list[Job] = []
        self._queue: deque[tuple[int, Job]] = deque()
        self._waits = 0

    def attach(self, bench: Bench) -> None:
        raise AssertionError("the session attaches, not the driver")

    def submit(self, job: Job) -> int:
        self.submitted.append(job)
        self._queue.append((len(self.submitted), job))
        return len(self.submitted)

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]:
        self._waits += 1
        if self._waits == self.interrupt_at:
            raise KeyboardInterrupt
        ticket, job = self._queue.popleft()
        return [(ticket, self._answer(job))]

    def drop_expansions(self) -> list[int]:
        dropped = [ticket for ticket, job in self._queue if isinstance(job, Enumeration)]
        self._queue = deque(item for item in self._queue if item[0] not in dropped)
        return dropped

    def close(self) -> None:
        self._queue.clear()

    def measured(self) -> list[tuple[str, TimingPlan, Anchor]]:
        """Measuring jobs: name, plan, anchor."""
        return [
            (job.artifact.path, job.plan, job.anchor)
            for job in self.submitted
            if isinstance(job, MeasureJob)
        ]

    def _answer(self, job: Job) -> Result:
        name = subject(job)
        if self.world.lost[type(job), name] > 0:
            self.world.lost[type(job), name] -= 1
            return Lost("the worker died")
        kernel = self.world.kernel(name)
        match job:
            case ExpandJob():
                if not kernel.replays:
                    return ReplayFailed("step 1: no such statement")
                children = tuple(map(self.world.child, self.world.children.get(name, ())))
                share = children[job.part :: job.parts]
                new = [child for child in share if child.rewrite not in job.made]
                portion, left = new[: self.world.portion], new[self.world.portion :]
                stage_s = (("rewrite", 0.5 / job.parts),)
                return Expansion(job.trace, tuple(portion), stage_s, len(left))
            case ReplayJob():
                return self._follow(job.trace, job.known)
            case NormaliseJob():
                way = self.world.traces()[self.world.normal_form]
                return self._follow(way, len(job.trace))
            case BuildJob():
                code = job.code or GeneratedC("mm", "", name, f"c-{name}")
                artifact = Artifact(name, kernel.binary or f"b-{name}", code.key)
                if kernel.build and kernel.build.outcome is Outcome.CODEGEN_ERROR:
                    return Built(kernel.build, None, ())
                return Built(kernel.build or artifact, code, (("build", 0.25),))
            case MeasureJob():
                fates = {"confirm": kernel.confirm, "pair": kernel.confirm, "race": kernel.race}
                fate = fates.get(job.plan.kind)
                fate = kernel.speedup if fate is None else fate
                if isinstance(fate, Failure):
                    return Evaluation(fate, 0.5, 0.0)
                timed = measurement(fate, job.plan, job.anchor)
                return Evaluation(timed, self.world.measuring_s / 3, self.world.measuring_s / 1.5)

    def _follow(self, trace: Trace, known: int) -> Replay:
        steps: list[Child] = []
        for rewrite in trace.steps[known:]:
            steps.append(self.world.child(str(rewrite.arg("name"))))
            if steps[-1].outcome is not None:
                break
        return Replay(Trace(trace.steps[:known]), tuple(steps), (("rewrite", 0.5),))


def subject(job: Job) -> str:
    match job:
        case MeasureJob():
            return job.artifact.path
        case _:
            return name_of(job.trace)


def measurement(speedup: float, plan: TimingPlan, anchor: Anchor) -> Measurement:
    """Exactly `speedup` over the baseline, measured against `anchor`."""
    round_ = Round((1e6 / speedup,), (1e6 / anchor.speedup,))
    return Measurement(
        plan.kind,
        (round_,) * plan.min_rounds,
        calls=1,
        reference=anchor.code_key,
        reference_speedup=anchor.speedup,
    )


@dataclass
class Heard:
    """A strategy, and the nodes that it is told of."""

    strategy: Strategy
    told: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.begin, self.measure = self.strategy.begin, self.strategy.measure
        self.expand, self.measured = self.strategy.expand, self.strategy.measured
        if (more := getattr(self.strategy, "more", None)) is not None:
            self.more = more
        self.normal_form_first = getattr(self.strategy, "normal_form_first", False)

    def found(self, nodes: Sequence[Node]) -> None:
        self.told += nodes
        self.strategy.found(nodes)


@dataclass(frozen=True)
class Ended:
    """What one scripted run left behind."""

    world: World
    stop: Stop
    search: Search
    executor: ScriptedExecutor
    observed: list[Progress]
    candidates: dict[str, StoredCandidate]
    told: list[Node]

    @property
    def best(self) -> str | None:
        best = self.search.ledger.best
        return name_of(best.trace) if best else None

    def names_measured(self, kind: str) -> list[str]:
        return [name for name, plan, _ in self.executor.measured() if plan.kind == kind]


def start(
    store: Store,
    world: World,
    *,
    strategy: Strategy,
    seed: int = 0,
    budget: Budget = FOREVER,
    interrupt_at: int | None = None,
    baseline_s: float = 0.0,
    inspect: Inspect = not_inspected,
    shorten: Shorten = as_it_is,
    observer: Observer = lambda progress: None,
    proc: str = "mm",
    began: float | None = None,
    replays: Sequence[Trace] = (),
) -> Search:
    """A search in `store` of the procedure `proc`, as a session makes it."""
    workload = Workload(proc, "prockey", (), "mm.py", "5ha")
    scope = store.register(workload, TARGET, "")
    run_id = store.start_run(scope, seed=seed, strategy="scripted", settings={}, environment={})
    anchor = Anchor(BASELINE, BASELINE.code_key, call_s=baseline_s)
    timed = measurement(1.0, TimingPlan("baseline", 2, 2), anchor)
    keys = Keys("a-root", "c-root", "b-root")
    store.add_root(scope, run_id, TuningRecord(Trace(), Outcome.CORRECT, keys, measurement=timed))
    return Search(
        store,
        scope,
        run_id,
        ScriptedExecutor(world, interrupt_at),
        strategy,
        budget,
        anchor,
        store.walk(scope),
        observer,
        inspect=inspect,
        first=replays,
        shorten=shorten,
        began=began,
        seed=seed,
    )


def run(
    store: Store,
    world: World,
    *,
    strategy: str = "best-first",
    seed: int = 0,
    **how: Any,
) -> Ended:
    """One search to its end; books and store are compared then. `how`: as for `start`."""
    observed: list[Progress] = []
    chosen = Heard(make_strategy(strategy))
    search = start(store, world, strategy=chosen, seed=seed, observer=observed.append, **how)
    stop = search.run()
    candidates = {name_of(c.record.trace): c for c in store.load(search.ledger.scope)}
    assert +search.ledger.outcomes == store.outcomes(search.ledger.scope)
    assert isinstance(search.work.executor, ScriptedExecutor)
    return Ended(world, stop, search, search.work.executor, observed, candidates, chosen.told)

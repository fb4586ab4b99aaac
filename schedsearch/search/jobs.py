"""Units of work an executor runs, and the workers that run them, one kind each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from schedsearch.core.errors import ReplayError, UserError
from schedsearch.core.records import Artifact, Failure, GeneratedC, Target
from schedsearch.core.trace import Trace
from schedsearch.evaluate.bench import Anchor, Bench, Evaluation, TimingPlan
from schedsearch.evaluate.builder import Builder
from schedsearch.search.turns import make_turn, measuring_slot
from schedsearch.transforms.expand import Expander, Expansion, Replay
from schedsearch.transforms.fixed_sizes import specialize
from schedsearch.transforms.instruction_sets import load_again
from schedsearch.transforms.loader import load_source
from schedsearch.transforms.registry import select
from schedsearch.transforms.replay import Replayer

BUILD_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class ExpandJob:
    """Enumerate the children of a trace, or one of several parts of them -> Expansion, or
    ReplayFailed."""

    trace: Trace
    part: int = 0
    parts: int = 1


@dataclass(frozen=True)
class ReplayJob:
    """Follow a trace that no expansion made, from the node that its first `known` steps
    lead to -> Replay, or ReplayFailed."""

    trace: Trace
    known: int


@dataclass(frozen=True)
class BuildJob:
    """Compile -> Built."""

    code: GeneratedC


@dataclass(frozen=True)
class MeasureJob:
    """Verify, then time against the anchor -> Evaluation."""

    artifact: Artifact
    plan: TimingPlan
    anchor: Anchor


Job = ExpandJob | ReplayJob | BuildJob | MeasureJob


@dataclass(frozen=True)
class ReplayFailed:
    """A trace that is known does not replay: the store is from another schedsearch."""

    message: str


@dataclass(frozen=True)
class Built:
    result: Artifact | Failure
    build_s: float


@dataclass(frozen=True)
class Lost:
    """The worker died; nothing is known of the job."""

    message: str


Result = Expansion | ReplayFailed | Replay | Built | Evaluation | Lost


@dataclass(frozen=True)
class WorkSpec:
    """All that workers need to know: data only, because procedures cannot be sent.

    `fixed` are the sizes that are constants.
    """

    source: Path
    source_sha: str
    proc: str
    target: Target
    transforms: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    builder: Builder
    fixed: tuple[tuple[str, int], ...] = ()


class ExpandWorker:
    """Expands and follows traces. Loads the procedure when first needed."""

    def __init__(self, spec: WorkSpec) -> None:
        self.spec = spec
        self.turn = make_turn(spec.target)

    @cached_property
    def expander(self) -> Expander:
        source = load_source(self.spec.source)
        if source.sha != self.spec.source_sha:
            raise UserError(f"{self.spec.source} changed while it was being tuned; run it again")
        load_again(self.spec.target.instructions)
        replayer = Replayer(specialize(source.procs[self.spec.proc], dict(self.spec.fixed)))
        transforms = select(self.spec.transforms)
        sizes = dict(self.spec.sizes)
        return Expander(replayer, self.spec.target, transforms, sizes, self.turn.offer)

    def run(self, job: ExpandJob | ReplayJob) -> Expansion | ReplayFailed | Replay:
        try:
            with self.turn:
                if isinstance(job, ReplayJob):
                    return self.expander.follow(job.trace, job.known)
                return self.expander.expand(job.trace, job.part, job.parts)
        except ReplayError as error:
            return ReplayFailed(str(error))


class BuildWorker:
    """Compiles."""

    def __init__(self, spec: WorkSpec) -> None:
        self.builder = spec.builder
        self.turn = make_turn(spec.target)

    def run(self, job: BuildJob) -> Built:
        with self.turn:
            start = time.perf_counter()
            result = self.builder.build(job.code, BUILD_TIMEOUT_S)
            return Built(result, time.perf_counter() - start)


class BenchWorker:
    """Measures. Workers of several runs on one machine take turns."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def run(self, job: MeasureJob) -> Evaluation:
        with measuring_slot():
            return self.bench.evaluate(job.artifact, job.plan, job.anchor)

"""Units of work an executor runs, and the workers that run them, one kind each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path

from schedsearch.core import ast as q
from schedsearch.core.errors import CodegenError, ReplayError, UserError
from schedsearch.core.records import Artifact, Failure, GeneratedC, Outcome, Target
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.oracle.reach import Reacher
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.runner import was_killed
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.workers.building import build, make_reacher
from schedsearch.search.workers.core_sharing import make_turn, measuring_slot
from schedsearch.transforms.children import Expansion, Replay
from schedsearch.transforms.codegen import CodeGenerator
from schedsearch.transforms.exo.fixed_sizes import specialize
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.expand import Expander
from schedsearch.transforms.own import install
from schedsearch.transforms.registry import Transform, select
from schedsearch.transforms.replay import Replayer
from schedsearch.transforms.vector.instruction_sets import load_sets


@dataclass(frozen=True)
class ExpandJob:
    """Make the children of a trace, or one of several parts of them -> Expansion, or ReplayFailed.

    `made` need not be made again. After `patience_s` seconds, the rest is left.
    """

    trace: Trace
    part: int = 0
    parts: int = 1
    made: tuple[Rewrite, ...] = ()
    patience_s: float = inf


@dataclass(frozen=True)
class ReplayJob:
    """Follow a trace that no expansion made, from the node that its first `known` steps
    lead to, or one as much like it as is legal -> Replay, or ReplayFailed.

    `adapt`: it is of another procedure or target, and has to be fitted from the root on.
    """

    trace: Trace
    known: int
    adapt: bool = False


@dataclass(frozen=True)
class NormaliseJob:
    """Go on from a trace to the normal form -> Replay."""

    trace: Trace
    patience_s: float


@dataclass(frozen=True)
class BuildJob:
    """Generate C, unless it is known (`code`), and compile it -> Built. `kernel` is the query AST
    at the end of the trace; None to replay it."""

    trace: Trace
    code: GeneratedC | None = None
    kernel: q.Proc | None = None


@dataclass(frozen=True)
class MeasureJob:
    """Verify, then time against the anchor -> Evaluation."""

    artifact: Artifact
    plan: TimingPlan
    anchor: Anchor


Enumeration = ExpandJob | ReplayJob | NormaliseJob
"""What makes schedules."""

Job = Enumeration | BuildJob | MeasureJob


@dataclass(frozen=True)
class ReplayFailed:
    """A trace that is known does not replay: the store is from another schedsearch."""

    message: str


@dataclass(frozen=True)
class Built:
    """`code` is None if there was none to compile."""

    result: Artifact | Failure
    code: GeneratedC | None
    stage_s: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Lost:
    """The worker died, or its child or compiler was killed; nothing is known of the job."""

    message: str


Result = Expansion | ReplayFailed | Replay | Built | Evaluation | Lost


@dataclass(frozen=True)
class WorkSpec:
    """All that workers need to know: data only, because procedures cannot be sent.

    `fixed` are the sizes that are constants, `own` the transforms that are not in the library.
    """

    source: Path
    source_sha: str
    proc: str
    target: Target
    transforms: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    builder: Builder
    fixed: tuple[tuple[str, int], ...] = ()
    own: tuple[Transform, ...] = ()


class Loaded:
    """The procedure of a WorkSpec, loaded when first needed; its transforms are at once."""

    def __init__(self, spec: WorkSpec) -> None:
        self.spec = spec
        install(spec.own)

    @cached_property
    def replayer(self) -> Replayer:
        """Raises UserError if the source has changed."""
        source = load_source(self.spec.source)
        if source.sha != self.spec.source_sha:
            raise UserError(f"{self.spec.source} changed while it was being tuned; run it again")
        load_sets(self.spec.target.instructions)
        procedure = specialize(source.named(self.spec.proc), dict(self.spec.fixed))
        return Replayer(procedure, fp=self.spec.target.fp)

    @cached_property
    def reacher(self) -> Reacher:
        general = mirror(self.replayer.root)
        fixed = dict(self.spec.fixed)
        timed = bind(general, {name: v for name, v in self.spec.sizes if name not in fixed})
        return make_reacher(general, timed)


class ExpandWorker:
    """Makes schedules."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.turn = make_turn(loaded.spec.target)

    def load(self, spec: WorkSpec) -> None:
        """Go on with another procedure."""
        self.loaded = Loaded(spec)
        vars(self).pop("expander", None)

    @cached_property
    def expander(self) -> Expander:
        spec, transforms = self.loaded.spec, select(self.loaded.spec.transforms)
        sizes = dict(spec.sizes)
        return Expander(self.loaded.replayer, spec.target, transforms, sizes, self.turn.offer)

    def run(self, job: Enumeration) -> Expansion | ReplayFailed | Replay:
        try:
            with self.turn:
                if isinstance(job, NormaliseJob):
                    return self.expander.normalise(job.patience_s, job.trace)
                if isinstance(job, ReplayJob) and job.adapt:
                    return self.expander.adapt(job.trace)
                if isinstance(job, ReplayJob):
                    return self.expander.follow(job.trace, job.known)
                return self.expander.expand(
                    job.trace, job.part, job.parts, made=job.made, patience_s=job.patience_s
                )
        except ReplayError as error:
            return ReplayFailed(str(error))


class BuildWorker:
    """Generates C and compiles it."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.turn = make_turn(loaded.spec.target)

    def load(self, spec: WorkSpec) -> None:
        """Go on with another procedure."""
        self.loaded = Loaded(spec)
        vars(self).pop("generator", None)

    @cached_property
    def generator(self) -> CodeGenerator:
        return CodeGenerator(self.loaded.replayer)

    def run(self, job: BuildJob) -> Built | Lost:
        with self.turn:
            start = time.perf_counter()
            try:
                code = job.code or self.generator.generate(job.trace)
                kernel = job.kernel or self.loaded.replayer.state(job.trace).ast
            except ReplayError as error:
                return Built(Failure(Outcome.ILLEGAL, str(error)), None, ())
            except CodegenError as error:
                return Built(Failure(Outcome.CODEGEN_ERROR, str(error)), None, ())
            generated = time.perf_counter()
            result = build(self.loaded.spec.builder, code, kernel, self.loaded.reacher)
            built = time.perf_counter()
        if isinstance(result, Failure) and was_killed(result):
            return Lost(f"the compiler was {result.message}")
        stage_s = ("codegen", generated - start), ("build", built - generated)
        return Built(result, code, stage_s)


class BenchWorker:
    """Measures. Workers of several runs on one machine take turns."""

    def __init__(self, bench: Bench) -> None:
        self.load(bench)

    def load(self, bench: Bench) -> None:
        self.bench = bench

    def run(self, job: MeasureJob) -> Evaluation | Lost:
        with measuring_slot():
            evaluation = self.bench.evaluate(job.artifact, job.plan, job.anchor)
        if isinstance(evaluation.result, Failure) and was_killed(evaluation.result):
            return Lost(f"the measuring process was {evaluation.result.message}")
        return evaluation

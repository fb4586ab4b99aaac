"""Data of tuning: workloads, targets, candidates with their outcomes, measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np

from schedsearch.core.alignment import ALLOCATED, UNKNOWN, is_alignment
from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.decision import MARGIN, Decision, decide
from schedsearch.core.fields import Fields
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.isa import V3, best_isa
from schedsearch.core.keys import digest_of
from schedsearch.core.standings import alone
from schedsearch.core.stats import Estimate, median_with_interval
from schedsearch.core.trace import Trace


class Outcome(StrEnum):
    """The outcome of a candidate. A failure is one of these, never a sentinel number.

    `refused`: it tried something that the sandbox does not allow. `unverified`: some of its code
    runs only in calls that are too large to verify.
    """

    CORRECT = "correct"
    ILLEGAL = "illegal"
    DUPLICATE = "duplicate"
    CODEGEN_ERROR = "codegen_error"
    COMPILE_ERROR = "compile_error"
    TIMEOUT = "timeout"
    CRASH = "crash"
    REFUSED = "refused"
    INCORRECT = "incorrect"
    UNVERIFIED = "unverified"
    PRUNED = "pruned"


class TimingKind(StrEnum):
    """What a timing was for.

    `screen`: while searching. `race`: among the fastest at the end. `confirm`: of the winner, on
    fresh rounds. `pair`: against another schedule that the user named. `baseline`, `noise`: a
    kernel against itself. `elsewhere`: against itself on arrays of another alignment. `minimal`:
    a shortened schedule against the whole one. `guard`: today's C against the pinned one. `part`:
    how much of a slow procedure can be timed. `verify`: nothing is timed.
    """

    SCREEN = "screen"
    RACE = "race"
    CONFIRM = "confirm"
    PAIR = "pair"
    BASELINE = "baseline"
    NOISE = "noise"
    ELSEWHERE = "elsewhere"
    MINIMAL = "minimal"
    GUARD = "guard"
    PART = "part"
    VERIFY = "verify"


class RunStatus(StrEnum):
    """State of a run; INTERRUPTED also covers a process that died without saying so."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


def specialized_name(name: str, fixed: Mapping[str, int]) -> str:
    """`gemm`, M=64, N=8 -> `gemm_M64_N8`: it has another signature, and both may be linked."""
    return "_".join([name, *(f"{size}{value}" for size, value in fixed.items())])


@dataclass(frozen=True)
class Workload:
    """The procedure to tune: from a source file, with its sizes bound.

    `proc_key` identifies the procedure's text (names included, because traces refer to loops by
    name); `source` and `source_sha` name the file and are not part of the identity. `specialized`
    names the sizes that are constants of the procedure that is tuned, so that schedules are valid
    for those alone. `signature` describes coarsely what the procedure computes
    (`analysis/signature.py`).
    """

    proc: str
    proc_key: str
    sizes: tuple[tuple[str, int], ...]
    source: str = field(compare=False)
    source_sha: str = field(compare=False)
    specialized: tuple[str, ...] = ()
    signature: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def key(self) -> str:
        """Identifies the procedure with its sizes."""
        own = [list(self.specialized)] if self.specialized else []
        return digest_of([self.proc, self.proc_key, list(self.sizes), *own])

    @property
    def fixed(self) -> dict[str, int]:
        """The sizes that are constants, by name."""
        return {name: value for name, value in self.sizes if name in self.specialized}

    @property
    def function(self) -> str:
        """The name of the C function."""
        return specialized_name(self.proc, self.fixed)


@dataclass(frozen=True)
class Compiler:
    """A C compiler: `kind` is `gcc` or `clang`; `path` is not part of the identity."""

    kind: str
    version: str
    path: str = field(compare=False)

    @property
    def release(self) -> str:
        """`12.2` of version 12.2.0: patch levels mend bugs and leave the optimiser alone."""
        return ".".join(self.version.split(".")[:2])


def choose_compiler(compilers: Sequence[Compiler], build: Build) -> Compiler | None:
    """The one of `compilers`, the default first, that `build` asks for; None if it is missing."""
    return next((c for c in compilers if build.compiler in ("", c.kind)), None)


@dataclass(frozen=True)
class InstructionSet:
    """A set of Exo instructions: `digest` identifies its text. `path`, of the user's file, is not
    part of the identity; sets of this package have none."""

    name: str
    digest: str
    path: str = field(compare=False)


@dataclass(frozen=True)
class Target:
    """Where a workload is tuned. `identity` has all that can change an answer.

    Sizes are in bytes, `vector_bits` in bits (0: no vectors). `isa` names one of `isa.KNOWN`; width
    and number of registers are its own unless the user chose others. There is no host name and no
    path, so equal machines share records. `compiler` builds every kernel that does not ask for one
    of the `other_compilers`. `fp` says how far results may differ from those of the procedure as
    written. `align` is the alignment, in bytes, of the arrays that kernels are timed on
    (`alignment.py`). `build` is the options of the candidate at hand, for transforms to see; it is
    no part of the target itself.
    """

    cpu: str
    features: tuple[str, ...]
    isa: str
    vector_bits: int
    vector_registers: int
    line_bytes: int
    cache_bytes: tuple[int, ...]
    cores: int
    compiler: Compiler
    flags: tuple[str, ...]
    exo_version: str
    z3_version: str
    threads: int = 1
    instructions: tuple[InstructionSet, ...] = ()
    other_compilers: tuple[Compiler, ...] = ()
    fp: FloatingPoint = FloatingPoint.FAST
    align: int = ALLOCATED
    build: Build = field(default=DEFAULT_BUILD, compare=False)

    @cached_property
    def key(self) -> str:
        """Identifies all of the target that can change an answer."""
        return digest_of(self.identity)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Targets that share this share a search tree.

        Compilers count by their release. A kernel of one thread runs the same however many cores
        its process may use. For kernels with threads the number of cores counts: it decides whether
        two threads share a core's hardware, and whether other programs run on their cores.
        """
        data = self.to_json(paths=False)
        for named in (data["compiler"], *data["other_compilers"]):
            named["version"] = Compiler(**named, path="").release
        if self.threads == 1:
            del data["cores"]
        if self.fp is FloatingPoint.FAST:  # all targets were, before there was a choice
            del data["fp"]
        if self.align == UNKNOWN:
            del data["align"]
        return data

    @property
    def circumstances(self) -> dict[str, Any]:
        """Circumstances that may differ between runs on one target; each run stores its own."""
        versions = {each.kind: each.version for each in (self.compiler, *self.other_compilers)}
        return {"cores": self.cores, "compilers": versions}

    def under(self, circumstances: Mapping[str, Any]) -> Target:
        """This target as a run that kept these had it. Raises UserError for malformed ones."""
        given = Fields(dict(circumstances), "environment")
        versions = given.table("compilers") if given.has("compilers") else Fields({}, "compilers")

        def then(compiler: Compiler) -> Compiler:
            version = versions.text(compiler.kind, default=compiler.version)
            return replace(compiler, version=version)

        return replace(
            self,
            cores=given.integer("cores", default=self.cores),
            compiler=then(self.compiler),
            other_compilers=tuple(map(then, self.other_compilers)),
        )

    def to_json(self, paths: bool = True) -> dict[str, Any]:
        """As the store has it; without `paths`, nothing of it names files of this machine."""
        data = asdict(self)
        del data["build"]
        if not paths:
            for named in (data["compiler"], *data["other_compilers"], *data["instructions"]):
                del named["path"]
        return data

    def compiler_for(self, build: Build) -> Compiler | None:
        """The compiler that build options ask for; None if this target has no such one."""
        return choose_compiler((self.compiler, *self.other_compilers), build)

    @staticmethod
    def from_json(data: Any) -> Target:
        """Raises UserError for anything else (it may come from anywhere).

        Stores of version 0.1 have no ISA: it follows from the features. Older ones have no
        floating-point contract: it was `fast`. They have no alignment either: it is unknown.
        """
        given = Fields(data, "target")
        features = given.texts("features")
        align = given.integer("align", default=UNKNOWN)
        if align != UNKNOWN and not is_alignment(align):
            raise given.wrong("align", "a power of two from 16 to 4096", align)
        asked_then = {"avx2", "fma"}  # of all that V3 asks today
        isa = best_isa({*features, *V3} if asked_then <= {*features} else features)
        found = Target(
            cpu=given.text("cpu"),
            features=features,
            isa=given.text("isa", default=isa.name),
            vector_bits=given.integer("vector_bits"),
            vector_registers=given.integer("vector_registers", default=isa.vector_registers),
            line_bytes=given.integer("line_bytes"),
            cache_bytes=given.integers("cache_bytes"),
            cores=given.integer("cores"),
            compiler=_compiler(given.table("compiler")),
            flags=given.texts("flags"),
            exo_version=given.text("exo_version"),
            z3_version=given.text("z3_version"),
            threads=given.integer("threads", default=1),
            instructions=tuple(
                InstructionSet(
                    each.text("name"), each.text("digest"), each.text("path", default="")
                )
                for each in given.tables("instructions", default=())
            ),
            other_compilers=tuple(map(_compiler, given.tables("other_compilers", default=()))),
            fp=given.choice("fp", FloatingPoint, default=FloatingPoint.FAST),
            align=align,
        )
        given.end()
        return found


def _compiler(given: Fields) -> Compiler:
    return Compiler(given.text("kind"), given.text("version"), given.text("path", ""))


@dataclass(frozen=True)
class GeneratedC:
    """Canonical C of one procedure: `header` declares, `source` defines (and includes nothing).

    `build` says how it is compiled. `key` (the `code_key`) covers all three.
    """

    proc: str
    header: str
    source: str
    key: str
    build: Build = DEFAULT_BUILD


@dataclass(frozen=True)
class Artifact:
    """A built shared object; `binary_key` identifies its machine code. `calls` are the calls that
    run all of its code, besides those that verify every kernel."""

    path: str
    binary_key: str
    code_key: str
    calls: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Why a stage did not produce its result."""

    outcome: Outcome
    message: str


@dataclass(frozen=True)
class Round:
    """One interleaved round: nanoseconds per call of candidate and reference samples."""

    candidate_ns: tuple[float, ...]
    reference_ns: tuple[float, ...]

    @property
    def speedup(self) -> float:
        """Ratio of minima: the speed-up over the reference in this round."""
        return min(self.reference_ns) / min(self.candidate_ns)


OF_ITSELF = (TimingKind.BASELINE, TimingKind.NOISE)
"""Kinds of timings of a kernel against itself."""


@dataclass(frozen=True)
class Measurement:
    """Raw samples of one timing; all statistics are derived.

    `calls` is the number of calls per candidate sample; `host` is the state of the machine.
    `reference` is the code_key of the anchor, and `reference_speedup` the anchor's assumed speed-up
    over the baseline (1.0 if it is the baseline): good for ordering, but it has no interval.
    `joint` is the speed-up by all timings that the store has, if it was read from one
    (`core/standings.py`).
    """

    kind: TimingKind
    rounds: tuple[Round, ...]
    calls: int
    host: tuple[tuple[str, str], ...] = ()
    reference: str = ""
    reference_speedup: float = 1.0
    joint: Estimate | None = field(default=None, compare=False)

    @property
    def confirmed(self) -> bool:
        """Whether it was made after its candidate was chosen, against the baseline. So neither luck
        counts nor the assumed speed-up of another schedule."""
        return self.kind == TimingKind.CONFIRM and self.as_written

    @property
    def as_written(self) -> bool:
        """Whether the anchor was the baseline."""
        return self.reference_speedup == 1.0

    @cached_property
    def ratio(self) -> Estimate:
        """Over the reference: median over rounds of ratios of minima, bootstrap interval."""
        return median_with_interval([r.speedup for r in self.rounds])

    @property
    def speedup(self) -> Estimate:
        """Over the baseline, in other sessions too; without an interval if nothing is known but
        that it was timed against another schedule."""
        if self.joint is not None:
            return self.joint
        if self.kind in OF_ITSELF:
            return self.ratio
        if not self.as_written:
            return Estimate(self.middle)
        found = alone([r.speedup for r in self.rounds], fresh=self.kind != TimingKind.SCREEN)
        return replace(found, value=self.middle)

    @property
    def middle(self) -> float:
        """`speedup.value` alone: a resumed search asks for thousands, and intervals take long."""
        if self.joint is not None:
            return self.joint.value
        return median([r.speedup for r in self.rounds]) * self.reference_speedup

    def decision(self, margin: float = MARGIN) -> Decision:
        """Whether it is faster than its reference, by more than `margin` (relative)."""
        return decide([each.speedup for each in self.rounds], margin)

    def verdict(self, margin: float = MARGIN) -> Decision:
        """Whether it is faster than the baseline: only rounds against the baseline tell."""
        return self.decision(margin) if self.as_written else Decision.INCONCLUSIVE

    def pooled(self, later: Measurement) -> Measurement:
        """Both as one; the later one if they were not against the same reference."""
        own = (self.kind, self.reference, self.reference_speedup)
        if own != (later.kind, later.reference, later.reference_speedup):
            return later
        return replace(later, rounds=(*self.rounds, *later.rounds))

    @property
    def candidate_ns(self) -> float:
        """Median over rounds of the candidate's per-round minimum."""
        return float(np.median([min(r.candidate_ns) for r in self.rounds]))

    @property
    def reference_ns(self) -> float:
        """Nanoseconds of a call of the anchor: the median over rounds."""
        return float(np.median([min(r.reference_ns) for r in self.rounds]))

    def to_json(self) -> dict[str, Any]:
        """As the store and JSON outputs have it; times in nanoseconds."""
        return {
            "kind": self.kind,
            "rounds": [[list(r.candidate_ns), list(r.reference_ns)] for r in self.rounds],
            "calls": self.calls,
            "host": dict(self.host),
            "reference": self.reference,
            "reference_speedup": self.reference_speedup,
        }

    @staticmethod
    def from_json(data: Any) -> Measurement:
        """Raises UserError for anything else (it may come from anywhere)."""
        given = Fields(data, "measurement")
        rounds = given.value("rounds", list, "a list of rounds")
        host = given.table("host")
        try:
            found = tuple(Round(_samples(c), _samples(r)) for c, r in rounds)
        except (TypeError, ValueError) as error:
            raise given.wrong("rounds", "a list of rounds of two samples", rounds) from error
        if not found:
            raise given.wrong("rounds", "a list of one round or more", rounds)
        return Measurement(
            given.choice("kind", TimingKind),
            found,
            given.integer("calls"),
            tuple((name, host.text(name)) for name in host.names()),
            given.text("reference"),
            given.number("reference_speedup"),
        )


def _samples(values: Iterable[Any]) -> tuple[float, ...]:
    """Nanoseconds. Raises TypeError or ValueError if they are none."""
    found = tuple(values)
    if not found or not all(0 < value < math.inf for value in found):
        raise ValueError("not times")
    return found


@dataclass(frozen=True, slots=True)
class PeerComparison:
    """The speed-up of a kernel over a peer (`ratio`), seconds per call of both, and what exactly
    ran; or the reason why there is no ratio (`failure`).

    `text` is the code derived for the peer from the procedure. `configurations` were tried, with
    seconds per call. `without` names the variables of the environment that the peer did not get.
    `off`: the largest difference of results, relative to the largest value.
    """

    peer: str
    ran: str = ""
    ratio: Estimate | None = None
    decision: Decision = Decision.INCONCLUSIVE
    rounds: int = 0
    ours_s: float = 0.0
    theirs_s: float = 0.0
    off: float = 0.0
    failure: str = ""
    text: str = ""
    configurations: Mapping[str, float] = field(default_factory=dict)
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Keys:
    """The identities of a candidate, cheapest first; None where not reached."""

    ast: str | None = None
    code: str | None = None
    binary: str | None = None


@dataclass(frozen=True, slots=True)
class TuningRecord:
    """One candidate and everything known of it.

    `duplicate_of` is the trace key of the first candidate with the same key at
    `duplicate_level` (`ast`, `code` or `binary`). `stage_s` maps stage names to
    seconds. An `outcome` of None means: legal, not yet measured. `predicted` is the
    log speed-up over its parent that the cost estimate promised.
    """

    trace: Trace
    outcome: Outcome | None
    keys: Keys = field(default_factory=Keys)
    message: str = ""
    duplicate_of: str | None = None
    duplicate_level: str | None = None
    measurement: Measurement | None = None
    stage_s: tuple[tuple[str, float], ...] = ()
    predicted: float | None = None

    @property
    def speedup(self) -> float | None:
        return self.measurement.middle if self.measurement else None

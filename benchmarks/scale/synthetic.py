"""An endless made-up search space, and an executor that answers from it at once.

Everything follows from digests of traces, so that nothing has to be remembered and every
run sees the same space. The proportions are those of runs on f32 matmul: some 60
children per expansion, of which one in seven is a duplicate, five measurements per
expansion, three kilobytes of C, up to ten rewrites.
"""

from __future__ import annotations

import heapq
import random
from math import exp

from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact, GeneratedC, Keys, Measurement, Round
from schedsearch.core.trace import AS_WRITTEN, Rewrite, Trace
from schedsearch.evaluate.run.bench import Bench, Evaluation
from schedsearch.search.workers.jobs import (
    BuildJob,
    Built,
    Enumeration,
    ExpandJob,
    Job,
    MeasureJob,
    NormaliseJob,
    ReplayJob,
    Result,
)
from schedsearch.transforms.children import Child, Expansion, Replay

CHILDREN = 60
DUPLICATES = 1 / 7
MEASUREMENTS_PER_EXPANSION = 5
TRANSFORMS = 30
PLACES = 40
DEPTH = 10
FACTORS = (2, 4, 8, 16, 32)

BASELINE = Artifact("baseline.so", digest("baseline"), digest("baseline C"))


def children(trace: Trace) -> list[Child]:
    """The same for the same trace, in any process; none where schedules end."""
    if len(trace) == DEPTH:
        return []
    rng = random.Random(trace.key)
    moves = {
        (rng.randrange(TRANSFORMS), rng.randrange(PLACES), rng.choice(FACTORS))
        for _ in range(CHILDREN)
    }
    return [_child(trace, *move, duplicate=rng.random() < DUPLICATES) for move in sorted(moves)]


def _child(trace: Trace, transform: int, place: int, factor: int, duplicate: bool) -> Child:
    label = f"for i{place} in seq(0, {16 * place})"
    args = (("factor", factor), ("tail", "cut"))
    rewrite = Rewrite(f"transform_{transform}", 1, (place // 8, place % 8), label, args)
    # A duplicate is one of its parent, which every search knows.
    own = trace if duplicate else trace.then(rewrite)
    return Child(rewrite, Keys(digest(f"ast {own.key}")), predicted=_gain(rewrite, len(trace) + 1))


def code(trace: Trace) -> GeneratedC:
    """Text of the usual length, which compresses as C does. Its last line is the speed-up,
    which is all that measuring has to know."""
    loops = (f"for (int_fast32_t i = 0; i < 0x{trace.key[n : n + 4]}; i++)" for n in range(28))
    source = "\n".join([*loops, repr(speedup(trace))])
    return GeneratedC("kernel", "#include <stdint.h>\n" * 50, source, digest(f"code {trace.key}"))


def _gain(rewrite: Rewrite, depth: int) -> float:
    """Log speed-up of a rewrite, less in deeper nodes: the tree grows broad, as real ones."""
    share = int(digest(str(rewrite))[:8], 16) / 0xFFFFFFFF
    return 0.7 * (share - 0.6) * 0.6**depth


def speedup(trace: Trace) -> float:
    """Over the root."""
    return exp(sum(_gain(rewrite, depth) for depth, rewrite in enumerate(trace.steps, 1)))


class SyntheticExecutor:
    """One worker expands while one slot measures; measuring takes a fifth of the time of
    expanding. `stop_at`: interrupts once so many children have been made."""

    slots = 1

    def __init__(self, stop_at: int) -> None:
        self.stop_at, self.made = stop_at, 0
        self._clock = 0
        self._free = {"expand": 0, "measure": 0}
        self._jobs: list[tuple[int, int, Job]] = []
        self._tickets = 0

    def attach(self, bench: Bench) -> None:
        """Nothing to prepare."""

    def submit(self, job: Job) -> int:
        self._tickets += 1
        match job:
            case ExpandJob() | ReplayJob() | NormaliseJob():
                empty = len(job.trace) == DEPTH
                end = self._take("expand", 0 if empty else MEASUREMENTS_PER_EXPANSION)
            case BuildJob():
                end = self._clock
            case MeasureJob():
                end = self._take("measure", 1)
        heapq.heappush(self._jobs, (end, self._tickets, job))
        return self._tickets

    def _take(self, what: str, duration: int) -> int:
        self._free[what] = max(self._free[what], self._clock) + duration
        return self._free[what]

    def wait(self, timeout_s: float) -> list[tuple[int, Result]]:
        if self.made >= self.stop_at:
            raise KeyboardInterrupt
        self._clock, ticket, job = heapq.heappop(self._jobs)
        return [(ticket, self._answer(job))]

    def drop_expansions(self) -> list[int]:
        dropped = [n for _, n, job in self._jobs if isinstance(job, Enumeration)]
        self._jobs = [item for item in self._jobs if item[1] not in dropped]
        return dropped

    def close(self) -> None:
        self._jobs.clear()

    def _answer(self, job: Job) -> Result:
        match job:
            case NormaliseJob():
                return Replay(AS_WRITTEN, (), ())
            case ExpandJob():
                found = children(job.trace)
                self.made += len(found)
                return Expansion(job.trace, tuple(found), (("rewrite", 0.1), ("ast_key", 0.1)))
            case ReplayJob():
                return Replay(Trace(job.trace.steps[: job.known]), (), ())
            case BuildJob():
                made = job.code or code(job.trace)
                path = made.source.rpartition("\n")[2]
                artifact = Artifact(path, digest(made.key), made.key)
                return Built(artifact, made, (("codegen", 0.1), ("build", 0.1)))
            case MeasureJob():
                return Evaluation(_measured(job), 0.1, 0.1)


def _measured(job: MeasureJob) -> Measurement:
    rounds = (Round((1e6 / float(job.artifact.path),), (1e6 / job.anchor.speedup,)),)
    host = (("huge_pages", "always [madvise] never"), ("load", "1.00"), ("pages", "huge"))
    return Measurement(
        job.plan.kind,
        rounds * job.plan.min_rounds,
        4,
        host,
        job.anchor.code_key,
        job.anchor.speedup,
    )

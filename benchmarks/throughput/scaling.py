"""Two expansion workers against one: the same traces, expanded through Ray.

The traces are what a seeded random walk over the primitive rewrites expands. Nothing
is built or measured meanwhile, and workers may use every core. Starting them, and the
first expansion of each, does not count. What two workers do twice (replaying) shows in
their CPU time, also on a busy machine, where the ratio says little.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.suite.case import Case
from benchmarks.throughput.expansion import PRIMITIVES, Explorer
from benchmarks.throughput.usage import by_role, tree_usage
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.bench import Bench
from schedsearch.search.setup.subject import Subject, bench_of
from schedsearch.search.workers.jobs import ExpandJob, WorkSpec
from schedsearch.search.workers.ray_executor import RayExecutor
from schedsearch.transforms.children import Expansion
from schedsearch.transforms.expand import Expander
from schedsearch.transforms.registry import select
from schedsearch.transforms.replay import Replayer


@dataclass(frozen=True)
class Team:
    """So many workers: seconds of wall clock and, all together, of CPU; `replay` is the
    share of their time in which they replay."""

    workers: int
    wall_s: float
    cpu_s: float
    replay: float


@dataclass(frozen=True)
class Scaling:
    """One and two workers on the same traces."""

    kernel: str
    traces: int
    distinct: int
    one: Team
    two: Team

    @property
    def ratio(self) -> float:
        return self.one.wall_s / self.two.wall_s


def compare(case: Case, attempts: int, seed: int) -> Scaling:
    subject = case.load()
    traces = _walk(subject, attempts, seed)
    bench = bench_of(subject)
    spec = _spec(case, subject)
    one, expansions = _expand(spec, bench, 1, traces)
    two, _ = _expand(spec, bench, 2, traces)
    keys = {child.keys.ast for e in expansions for child in e.children if child.outcome is None}
    return Scaling(case.name, len(traces), len(keys), one, two)


def _walk(subject: Subject, attempts: int, seed: int) -> list[Trace]:
    """Traces in the order in which a walk expands them, parents before children."""
    sizes = dict(subject.workload.sizes)
    replayer = Replayer(subject.procedure)
    expander = Expander(replayer, subject.target, select(PRIMITIVES), sizes)
    explorer, traces = Explorer(seed), []
    while explorer.todo and explorer.counts["attempts"] < attempts:
        traces.append(explorer.next())
        explorer.take(expander.expand(traces[-1]))
    return traces


def _spec(case: Case, subject: Subject) -> WorkSpec:
    """A target whose kernels would use every core: then no core is kept free of workers."""
    return WorkSpec(
        case.file.resolve(),
        subject.source.sha,
        subject.name,
        replace(subject.target, threads=subject.target.cores),
        PRIMITIVES,
        subject.workload.sizes,
        subject.builder,
        tuple(subject.workload.fixed.items()),
    )


def _expand(
    spec: WorkSpec, bench: Bench, workers: int, traces: Sequence[Trace]
) -> tuple[Team, list[Expansion]]:
    executor = RayExecutor(spec, workers)
    try:
        executor.attach(bench)
        for part in range(workers):
            executor.submit(ExpandJob(Trace(), part, workers))
        warm = 0
        while warm < workers:
            warm += len(executor.wait(60.0))
        before, start = tree_usage(), time.perf_counter()
        results: list[Expansion] = []
        waiting, running = deque(traces), 0
        while waiting or running:
            while waiting and running < workers:
                executor.submit(ExpandJob(waiting.popleft()))
                running += 1
            for _, result in executor.wait(60.0):
                assert isinstance(result, Expansion), result
                results.append(result)
                running -= 1
        wall_s = time.perf_counter() - start
        cpu_s = by_role(before, tree_usage())["expand"]
    finally:
        executor.close()
    replay_s = sum(dict(expansion.stage_s)["replay"] for expansion in results)
    return Team(workers, wall_s, cpu_s, replay_s / (workers * wall_s)), results

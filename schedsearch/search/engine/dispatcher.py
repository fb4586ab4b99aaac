"""The dispatcher sends jobs to the executor and books their results."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import replace

from schedsearch.core.interrupts import deferred_interrupts
from schedsearch.core.records import Failure, Outcome
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.bench import Anchor, Evaluation
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.engine.ledger import Ledger
from schedsearch.search.engine.pending import Pending, attempts
from schedsearch.search.engine.plans import (
    ANCHOR,
    CONFIRM,
    PROCESS_S,
    SAMPLED_ONCE_S,
    SCREEN,
    SLOW_S,
    screen,
)
from schedsearch.search.workers.executor import Executor
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
from schedsearch.transforms.children import Child, Expansion, Made, Replay, merge

RE_ANCHOR = 1.5
"""A candidate this many times faster than the anchor becomes the anchor, so that a slow baseline
does not eat the budget. It is first measured well against the baseline, unless that takes too
long or has just been done. Confirmations always use the baseline."""

PORTION_S = 1.0
"""Children of a node are made for so long, then it is asked again which node is worth it most."""

MOST_MADE = 500
"""Children whose C and query AST are kept to build them: 100 KB each."""

PIPELINE = 3
"""Candidates that are built, or wait, while one is measured."""

LONG_S = 0.6
"""If measuring takes longer, there is time to build one meanwhile."""


class Dispatcher:
    """Knows the jobs that are under way, and the anchor that candidates are measured against.

    Built kernels wait for the measuring slot; the most promising comes first, after what compilers
    make of the procedure as written. `waited` is called after every wait for the executor; an
    exception that it raises ends the work.
    """

    def __init__(
        self, executor: Executor, ledger: Ledger, baseline: Anchor, waited: Callable[[], None]
    ) -> None:
        self.executor, self.ledger, self.waited = executor, ledger, waited
        self.baseline = self.anchor = baseline
        self.measured = 0  # nodes that this run screened
        self.round_s = PROCESS_S  # of the last timing, with a process for each round
        self._measuring_s = baseline.call_s * baseline.scale  # of the last candidate
        self._pending: dict[int, Pending] = {}
        self._to_measure: deque[Pending] = deque()
        self._parts: defaultdict[str, dict[int, Expansion | Failure]] = defaultdict(dict)
        self._expanded: set[str] = set()
        self._made: OrderedDict[str, Made] = OrderedDict()

    @property
    def expanded(self) -> int:
        """Nodes that this run made children of."""
        return len(self._expanded)

    @property
    def idle(self) -> bool:
        """Whether no job is under way."""
        return not self._pending

    @property
    def measuring(self) -> bool:
        """Whether a candidate is built, measured, or waits for that."""
        running = self._running()
        return bool(self._to_measure or running[BuildJob] or running[MeasureJob])

    @property
    def normalising(self) -> bool:
        """Whether the normal form is looked for."""
        return self._running()[NormaliseJob] > 0

    @property
    def free(self) -> int:
        """Workers that make no schedules."""
        busy = sum(isinstance(pending.job, Enumeration) for pending in self._pending.values())
        return self.executor.slots - busy

    @property
    def wanted(self) -> int:
        """Further candidates to build, so that one is ready when the measuring slot gets free.
        While one is measured for long, better ones may be found: no others are built by then."""
        ahead = len(self._to_measure) + self._running()[BuildJob]
        return max((1 if self._measuring_s > LONG_S else PIPELINE) - ahead, 0)

    # -- sending ------------------------------------------------------------------

    def expand(self, key: str, part: int, parts: int) -> None:
        """Make the next portion of one of several parts of a node's children."""
        made = self.ledger.made(key)
        self._submit(Pending(ExpandJob(self._trace(key), part, parts, made, PORTION_S), key))

    def normalise(self, key: str, patience_s: float) -> None:
        """Go on from a node to the normal form."""
        self._submit(Pending(NormaliseJob(self._trace(key), patience_s), key))

    def adapt(self, trace: Trace) -> None:
        """Fit a schedule of something else."""
        self._submit(Pending(ReplayJob(trace, 0, adapt=True), trace.key))

    def build(self, key: str) -> None:
        """Build a node, to be screened."""
        self._submit(Pending(self._build_job(key), key))

    def measure_next(self) -> None:
        """Measure the most promising kernel that waits, if the measuring slot is free."""
        if self._to_measure and not self._running()[MeasureJob]:
            best = max(self._to_measure, key=self._urgency)
            self._to_measure.remove(best)
            self._submit(best)

    def _urgency(self, pending: Pending) -> tuple[bool, bool, float]:
        node = self.ledger.tree.nodes[pending.key]
        return pending.rebase, node.as_written, node.promise()

    def complete(self, job: Enumeration) -> None:
        """Run a job and the jobs that follow from it, and wait for all of them."""
        self._complete(Pending(job, job.trace.key))

    def time(self, key: str, plan: TimingPlan, anchor: Anchor) -> None:
        """Measure a node again, and wait for it."""
        self._complete(Pending(self._build_job(key), key, timing=(plan, anchor)))

    def screen(self, key: str) -> None:
        """Build a node, screen it, and wait for it."""
        self._complete(Pending(self._build_job(key), key))

    def wait(self, timeout_s: float) -> None:
        """Book what the executor finishes within that time."""
        finished = self.executor.wait(timeout_s)
        with deferred_interrupts():  # the books are the store's, or they are false
            for ticket, result in finished:
                self._book(self._pending.pop(ticket), result)
        self.waited()

    def finish(self, patience_s: float = 0.0) -> None:
        """Give up kernels that wait for the measuring slot, and expansions that take more than
        `patience_s` seconds; wait for the rest."""
        patient = time.monotonic() + patience_s
        while self._pending and time.monotonic() < patient:
            self.wait(0.2)
        for ticket in self.executor.drop_expansions():
            del self._pending[ticket]
        while self._pending:
            self.wait(1.0)
        self._to_measure.clear()

    def give_up(self) -> None:
        """Forget all jobs."""
        self._pending.clear()
        self._to_measure.clear()

    def _complete(self, pending: Pending) -> None:
        self._submit(pending)
        while self._pending or self._to_measure:
            if self._to_measure:
                self._submit(self._to_measure.popleft())
            self.wait(1.0)

    def _submit(self, pending: Pending) -> None:
        if isinstance(pending.job, MeasureJob) and pending.job.plan == SCREEN:
            plan = screen(give_up_below=self.ledger.best_speedup)
            job = replace(pending.job, plan=plan, anchor=self.anchor)
            pending = replace(pending, job=job)
        self._pending[self.executor.submit(pending.job)] = pending

    def _running(self) -> Counter[type[Job]]:
        return Counter(type(pending.job) for pending in self._pending.values())

    def _trace(self, key: str) -> Trace:
        return self.ledger.tree.nodes[key].trace

    def _build_job(self, key: str) -> BuildJob:
        made = self._made.get(key)  # kept: it may be measured again by workers that started later
        if made is not None:
            return BuildJob(self._trace(key), made.code, made.ast)
        return BuildJob(self._trace(key), self.ledger.code(key))

    # -- booking ------------------------------------------------------------------

    def _book(self, pending: Pending, result: Result) -> None:
        key = pending.key
        match result:
            case Lost() if pending.attempt < attempts(pending.job):
                self._submit(replace(pending, attempt=pending.attempt + 1))
            case Lost() if isinstance(pending.job, ExpandJob):
                self._on_expansion(pending, Failure(Outcome.CRASH, result.message))
            case Lost() | ReplayFailed() if isinstance(pending.job, ReplayJob | NormaliseJob):
                pass  # its worker died, or what it begins with does not replay
            case Replay():
                trace = result.start
                for child in result.steps:
                    trace = trace.then(child.rewrite)
                    self._keep(trace, child)
                self.ledger.replayed(result)
            case Lost():
                self.ledger.failed(key, Failure(Outcome.CRASH, result.message))
            case ReplayFailed():
                self._on_expansion(pending, Failure(Outcome.ILLEGAL, result.message))
            case Expansion():
                self._on_expansion(pending, result)
            case Built():
                self._on_built(pending, result)
            case Evaluation():
                self._on_evaluation(pending, result)

    def _on_expansion(self, pending: Pending, result: Expansion | Failure) -> None:
        """Book an expansion once all its parts are there."""
        assert isinstance(pending.job, ExpandJob)
        parts = self._parts[pending.key]
        parts[pending.job.part] = result
        if len(parts) < pending.job.parts:
            return
        del self._parts[pending.key]
        failures = [part for part in parts.values() if isinstance(part, Failure)]
        if failures:
            self.ledger.not_expanded(pending.key, failures[0])
            return
        in_order = [part for _, part in sorted(parts.items()) if isinstance(part, Expansion)]
        expansion = merge(in_order)
        for child in expansion.children:
            self._keep(expansion.trace.then(child.rewrite), child)
        self.ledger.expanded(pending.key, expansion)
        self._expanded.add(pending.key)

    def _keep(self, trace: Trace, child: Child) -> None:
        """What building it needs, if it was made."""
        if child.made is not None:
            self._made[trace.key] = child.made
        while len(self._made) > MOST_MADE:
            self._made.popitem(last=False)

    def _on_built(self, pending: Pending, built: Built) -> None:
        key = pending.key
        if built.code is not None:
            self.ledger.generated(key, built.code)
        if isinstance(built.result, Failure):
            self.ledger.failed(key, built.result, built.stage_s)
        elif self.ledger.built(key, built.result, built.stage_s):
            plan, anchor = pending.timing or (SCREEN, self.anchor)
            self._to_measure.append(Pending(MeasureJob(built.result, plan, anchor), key))

    def _on_evaluation(self, pending: Pending, evaluation: Evaluation) -> None:
        assert isinstance(pending.job, MeasureJob)
        stages = (("verify", evaluation.verify_s), ("time", evaluation.time_s))
        self._measuring_s = evaluation.verify_s + evaluation.time_s
        if isinstance(evaluation.result, Failure):
            self.ledger.failed(pending.key, evaluation.result, stages)
            return
        self.ledger.measured(pending.key, evaluation.result, stages)
        rounds, plan = len(evaluation.result.rounds), pending.job.plan
        first_s = evaluation.verify_s / (rounds if plan.fresh else 1)
        self.round_s = max(first_s + evaluation.time_s / rounds, PROCESS_S)
        artifact = pending.job.artifact
        anchor = Anchor.of(artifact, evaluation.result)
        kind = plan.kind
        if pending.rebase or kind == CONFIRM.kind:
            self.anchor = anchor
        elif kind == SCREEN.kind:
            self.measured += 1
            if anchor.speedup <= RE_ANCHOR * self.anchor.speedup:
                return
            baseline_s = self.baseline.call_s * self.baseline.scale
            against_it = pending.job.anchor == self.baseline and baseline_s > SAMPLED_ONCE_S
            if against_it or baseline_s > SLOW_S:
                self.anchor = anchor
            else:
                job = MeasureJob(artifact, ANCHOR, self.baseline)
                self._to_measure.appendleft(Pending(job, pending.key, rebase=True))

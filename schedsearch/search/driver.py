"""The driver: asks the strategy, keeps the executor busy, books every result."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event

from schedsearch.core.records import Failure, Outcome
from schedsearch.core.trace import Trace
from schedsearch.evaluate.bench import Anchor, Evaluation, TimingPlan
from schedsearch.search.budget import Budget, Stop
from schedsearch.search.executor import Executor
from schedsearch.search.inspection import Inspect, Inspection, not_inspected
from schedsearch.search.interrupts import noticed_interrupts
from schedsearch.search.jobs import (
    BuildJob,
    Built,
    ExpandJob,
    Job,
    Lost,
    MeasureJob,
    ReplayFailed,
    ReplayJob,
    Result,
)
from schedsearch.search.ledger import Ledger
from schedsearch.search.plans import ANCHOR, CLOSING_S, CONFIRM, SCREEN, SLOW_S, confirm, screen
from schedsearch.search.progress import Observer, Progress
from schedsearch.search.race import CONTENDERS, HEAT, HEATS, field, survivors
from schedsearch.search.ranker import Ranker
from schedsearch.search.strategy import Strategy
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate
from schedsearch.transforms.expand import Expansion, Replay, merge

RE_ANCHOR = 1.5
"""A candidate this many times faster than the anchor becomes the anchor, so that a
slow baseline does not eat the budget. It is measured against the baseline first,
unless that takes too long: confirmations are against the baseline in any case."""

PIPELINE = 3
"""Candidates being built or waiting for the measuring slot, at most."""

MAX_ATTEMPTS = 2
"""A job whose worker died is tried once more."""


@dataclass(frozen=True)
class _Pending:
    """A job for the node, or trace, `key`. `rebase`: it is measured to become the anchor."""

    job: Job
    key: str
    attempt: int = 1
    rebase: bool = False


class Search:
    """One run, from what the store knew (`resumed`) until its budget is spent.

    `baseline` is the unscheduled procedure, of speed-up 1. `foreign` are schedules of
    something else, which are fitted to this before anything is expanded, after those of
    `first`, which are of this procedure. `inspect` looks for faults of the kernel that the
    run ends with. `closing_s` is how long the end is expected to take.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        run_id: int,
        executor: Executor,
        strategy: Strategy,
        budget: Budget,
        baseline: Anchor,
        resumed: Iterable[StoredCandidate],
        observer: Observer,
        ranker: Ranker,
        foreign: Sequence[Trace] = (),
        inspect: Inspect = not_inspected,
        closing_s: float = CLOSING_S,
        first: Sequence[Trace] = (),
    ) -> None:
        self.executor, self.strategy, self.budget = executor, strategy, budget
        self.baseline = self.anchor = baseline
        self.observer = observer
        self.pending: dict[int, _Pending] = {}
        self.parts: defaultdict[str, dict[int, Expansion | Failure]] = defaultdict(dict)
        self.to_measure: deque[_Pending] = deque()
        self.foreign, self.first = deque(foreign), deque(first)
        self.inspect = inspect
        self.inspection: Inspection | None = None  # of the best
        self.again: tuple[TimingPlan, Anchor] | None = None  # how to time after the search
        self.measured = self.expanded = 0
        self.phase = "searching"
        self.closing_s = closing_s
        self.closing_since: float | None = None
        self.started = time.monotonic()
        self.interrupted = Event()
        self.ledger = Ledger(store, scope, run_id, strategy, self.elapsed, ranker)
        self.ledger.resume(resumed)

    def elapsed(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self.started

    def closed_in(self) -> float:
        """Seconds since the end of the search began; 0 before."""
        return self.elapsed() - self.closing_since if self.closing_since is not None else 0.0

    def run(self) -> Stop:
        """Search until the budget is spent, then confirm the fastest on fresh rounds.

        Ctrl-C ends it at once: what was found is kept, unconfirmed.
        """
        with noticed_interrupts() as self.interrupted:
            try:
                stop = self._search()
                self._confirm()
            except KeyboardInterrupt:
                stop = Stop.INTERRUPTED
        return stop

    def progress(self) -> Progress:
        ledger = self.ledger
        return Progress(
            self.phase,
            self.elapsed(),
            self.budget.seconds,
            {outcome: count for outcome, count in ledger.outcomes.items() if count},
            self.measured,
            self.expanded,
            ledger.best,
            tuple(ledger.curve),
            max(self.closing_s - self.closed_in(), 0.0),
            ledger.ranker.standing(),
            self.inspection,
        )

    # -- the loop ---------------------------------------------------------------

    def _search(self) -> Stop:
        while True:
            stop = self.budget.spent(self.elapsed(), self.measured, self.ledger.best_speedup)
            if stop is not None:
                return stop
            self._fill()
            if not self.pending:
                return Stop.EXHAUSTED
            self.ledger.rerank()  # while the workers are busy
            self._collect(0.2)

    def _fill(self) -> None:
        running = Counter(type(pending.job) for pending in self.pending.values())
        if self.to_measure and not running[MeasureJob]:
            self._submit(self.to_measure.popleft())
        ahead = len(self.to_measure) + running[BuildJob]
        for key in self.strategy.ask_measure(max(PIPELINE - ahead, 0)):
            self._submit(_Pending(self._build_job(key), key))
        idle = self.executor.slots - running[ExpandJob] - running[ReplayJob]
        idle -= self._fill_replays(idle)
        keys = self.strategy.ask_expand(idle)
        for key in keys:
            parts = idle // len(keys)  # near the root there are fewer nodes than workers
            for part in range(parts):
                job = ExpandJob(self.ledger.tree.nodes[key].trace, part, parts)
                self._submit(_Pending(job, key))

    def _fill_replays(self, idle: int) -> int:
        """Keep at most `idle` workers busy with whole traces; returns how many."""
        jobs: list[ReplayJob] = []
        while self.first and len(jobs) < idle:
            trace = self.first.popleft()
            jobs.append(ReplayJob(trace, self.ledger.tree.known(trace)))
        while self.foreign and len(jobs) < idle:
            jobs.append(ReplayJob(self.foreign.popleft(), known=0, adapt=True))
        for trace in self.strategy.ask_replay(idle - len(jobs)):
            jobs.append(ReplayJob(trace, self.ledger.tree.known(trace)))
        for job in jobs:
            self._submit(_Pending(job, job.trace.key))
        return len(jobs)

    def _build_job(self, key: str) -> BuildJob:
        node = self.ledger.tree.nodes[key]
        code = self.ledger.store.code(node.keys.code) if node.keys.code else None
        return BuildJob(node.trace, code)

    def _submit(self, pending: _Pending) -> None:
        if isinstance(pending.job, MeasureJob) and pending.job.plan == SCREEN:
            plan = screen(give_up_below=self.ledger.best_speedup)
            job = replace(pending.job, plan=plan, anchor=self.anchor)
            pending = replace(pending, job=job)
        self.pending[self.executor.submit(pending.job)] = pending

    def _collect(self, timeout_s: float) -> None:
        for ticket, result in self.executor.wait(timeout_s):
            self._handle(self.pending.pop(ticket), result)
        if self.interrupted.is_set():
            raise KeyboardInterrupt
        self.observer(self.progress())

    def _handle(self, pending: _Pending, result: Result) -> None:
        key = pending.key
        match result:
            case Lost() if pending.attempt < MAX_ATTEMPTS:
                self._submit(replace(pending, attempt=pending.attempt + 1))
            case Lost() if isinstance(pending.job, ExpandJob):
                self._on_expansion(pending, Failure(Outcome.CRASH, result.message))
            case Lost() | ReplayFailed() if isinstance(pending.job, ReplayJob):
                self.ledger.not_replayed(key)
            case Replay():
                self.ledger.replayed(key, result)
            case Lost():
                self.ledger.failed(key, Failure(Outcome.CRASH, result.message))
            case ReplayFailed():
                self._on_expansion(pending, Failure(Outcome.ILLEGAL, result.message))
            case Expansion():
                self._on_expansion(pending, result)
            case Built():
                self._on_built(key, result)
            case Evaluation():
                self._on_evaluation(pending, result)

    def _on_expansion(self, pending: _Pending, result: Expansion | Failure) -> None:
        """Book an expansion once all its parts are there."""
        assert isinstance(pending.job, ExpandJob)
        parts = self.parts[pending.key]
        parts[pending.job.part] = result
        if len(parts) < pending.job.parts:
            return
        del self.parts[pending.key]
        failures = [part for part in parts.values() if isinstance(part, Failure)]
        if failures:
            self.ledger.not_expanded(pending.key, failures[0])
            return
        in_order = [part for _, part in sorted(parts.items()) if isinstance(part, Expansion)]
        self.ledger.expanded(pending.key, merge(in_order))
        self.expanded += 1

    def _on_built(self, key: str, built: Built) -> None:
        if built.code is not None:
            self.ledger.generated(key, built.code)
        if isinstance(built.result, Failure):
            self.ledger.failed(key, built.result, built.stage_s)
        elif self.ledger.built(key, built.result, built.stage_s):
            plan, anchor = self.again or (SCREEN, self.anchor)
            self.to_measure.append(_Pending(MeasureJob(built.result, plan, anchor), key))

    def _on_evaluation(self, pending: _Pending, evaluation: Evaluation) -> None:
        assert isinstance(pending.job, MeasureJob)
        stages = (("verify", evaluation.verify_s), ("time", evaluation.time_s))
        if isinstance(evaluation.result, Failure):
            self.ledger.failed(pending.key, evaluation.result, stages)
            return
        self.ledger.measured(pending.key, evaluation.result, stages)
        artifact, speedup = pending.job.artifact, evaluation.result.speedup.value
        call_s = evaluation.result.candidate_ns * 1e-9
        anchor = Anchor(artifact, artifact.code_key, speedup, call_s)
        kind = pending.job.plan.kind
        if pending.rebase or kind == CONFIRM.kind:
            self.anchor = anchor
        elif kind == SCREEN.kind:
            self.measured += 1
            if speedup <= RE_ANCHOR * self.anchor.speedup:
                return
            if self.baseline.call_s > SLOW_S:
                self.anchor = anchor
            else:
                job = MeasureJob(artifact, ANCHOR, self.baseline)
                self.to_measure.appendleft(_Pending(job, pending.key, rebase=True))

    # -- confirmation -------------------------------------------------------------

    def _confirm(self) -> None:
        """Measure the fastest again, against the baseline, with nothing else running.

        What has been confirmed before is not measured again, but for the best of it, if
        another is confirmed: against that one. A slow baseline takes 900 us in one minute
        and 1,250 in another, and two speed-ups over it do not say which kernel is faster.
        """
        self.phase, self.closing_since = "finishing", self.elapsed()
        for ticket in self.executor.drop_expansions():
            del self.pending[ticket]
        while self.pending:
            self._collect(1.0)
        self.to_measure.clear()
        nodes = self.ledger.tree.nodes
        faster = self.ledger.tree.faster()
        before = next((key for key, node in faster if node.confirmed), None)
        raced = self._race()
        self.phase = "confirming"
        against = self.baseline
        for key in raced or self._fastest():
            if not nodes[key].confirmed:
                against = self._confirm_one(key, against)
            if nodes[key].confirmed and (raced or self._fastest()[:1] == [key]):
                break
        if before is not None and against is not self.baseline:
            self._confirm_one(before, against)
        self.ledger.settle()
        self._inspect()

    def _confirm_one(self, key: str, against: Anchor) -> Anchor:
        """Returns what others compare with from now on: this one, if it is the first."""
        self._time(key, confirm(against.call_s), against)
        first = against is self.baseline and self.ledger.tree.nodes[key].confirmed
        return self.anchor if first else against

    def _inspect(self) -> None:
        """Look for what data do not show. A winner in which something is found is retracted,
        and the next one is confirmed and inspected."""
        while True:
            best = self.ledger.best
            if best is None and not (fastest := self._fastest()):
                return
            if best is None:
                self.phase = "confirming"
                self._confirm_one(fastest[0], self.baseline)
                self.ledger.settle()
                continue
            self.phase = "inspecting"
            self.observer(self.progress())
            code = self._build_job(best.key).code
            assert code is not None, "it was built"
            self.inspection = self.inspect(code)
            if (found := self.inspection.failure) is None:
                return
            self.ledger.failed(best.key, Failure(Outcome.INCORRECT, found))
            self.ledger.settle()

    def _fastest(self) -> list[str]:
        """The fastest that look faster than the baseline."""
        return [key for key, _ in self.ledger.tree.faster()[:CONTENDERS]]

    def _race(self) -> list[str]:
        """Those that raced and look faster than the baseline, the winner first; empty if
        nothing is close."""
        self.phase = "racing"
        tree = self.ledger.tree
        racing = field([(key, node.measurement) for key, node in tree.faster()])
        order = list(racing)
        for left in HEATS:
            if len(racing) < 2:
                break
            for key in racing:
                self._time(key, HEAT, self.anchor)
            raced = {key: m for key in racing if (m := tree.nodes[key].measurement)}
            racing = survivors(raced, left)
            order = [*racing, *(key for key in order if key not in racing)]
        return [key for key in order if (tree.nodes[key].speedup or 0.0) > 1.0]

    def _time(self, key: str, plan: TimingPlan, anchor: Anchor) -> None:
        """Measure a node again, and wait for it."""
        self.again = (plan, anchor)
        self._complete(self._build_job(key), key)

    def _complete(self, job: Job, key: str) -> None:
        """Run a job and what follows from it, and wait for that."""
        self._submit(_Pending(job, key))
        while self.pending or self.to_measure:
            if self.to_measure:
                self._submit(self.to_measure.popleft())
            self._collect(1.0)

    # -- by hand, instead of `run` (stepping.py) -------------------------------------

    def complete(self, job: ExpandJob | ReplayJob) -> None:
        """Enumerate children, or follow a trace, and book what came of it."""
        with self._by_hand():
            self._complete(job, job.trace.key)

    def measure(self, key: str, plan: TimingPlan, against: Anchor) -> None:
        """Verify a node and time it against `against`."""
        with self._by_hand():
            self._time(key, plan, against)

    @contextmanager
    def _by_hand(self) -> Iterator[None]:
        """Ctrl-C gives up what is under way."""
        with noticed_interrupts() as self.interrupted:
            try:
                yield
            finally:
                self.pending.clear()
                self.to_measure.clear()

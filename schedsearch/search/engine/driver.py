"""The driver: asks the strategy, keeps the executor busy until the budget is spent."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Event

from schedsearch.core.interrupts import noticed_interrupts
from schedsearch.core.trace import AS_WRITTEN, Trace
from schedsearch.evaluate.run.bench import Anchor
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.engine.confirmation import Confirmation, Inspect, not_inspected
from schedsearch.search.engine.dispatcher import PORTION_S, Dispatcher
from schedsearch.search.engine.ending import Time, search_until
from schedsearch.search.engine.ledger import Ledger
from schedsearch.search.engine.minimal import Shorten, as_it_is
from schedsearch.search.engine.plans import CLOSING_S
from schedsearch.search.engine.progress import Observer, Progress
from schedsearch.search.setup.budget import Budget, Stop
from schedsearch.search.strategies.protocol import Node, Strategy
from schedsearch.search.workers.executor import Executor
from schedsearch.search.workers.jobs import Enumeration, ReplayJob
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate
from schedsearch.transforms.registry import comes_next

NORMAL_FORM = 1 / 2
"""Share of the time to search that the way to the normal form may take."""
NORMAL_FORM_S = 2.0
"""It may take so many seconds of a short one."""
OVERTIME_S = 3.0
"""The first candidate may be measured so late, rather than none at all."""
OVERTIME = 0.4
"""The same as a share of the budget: on a busy machine, everything takes longer."""


def normal_form_s(left_s: float) -> float:
    """Seconds that the way to the normal form may take, of those that there are to search."""
    return max(left_s * NORMAL_FORM, min(left_s, NORMAL_FORM_S))


def way_so_far(node: Node) -> Node:
    """How far the way to the normal form goes that begins at a node. What was looked through, but
    for the procedure as written, is not on it any more: the search went on from there."""
    if len(node.children) > 1 and node.steps:
        return node
    ahead = [child for child in node.children if comes_next(child.rewrite, node.steps)]
    return max([node, *map(way_so_far, ahead)], key=lambda each: len(each.steps))


class Search:
    """One run, from what the store knew (`resumed`) until its budget is spent.

    `baseline` is the unscheduled procedure, of speed-up 1. `foreign` are schedules of
    something else, which are fitted to this before anything is expanded, after those of
    `first`, which are of this procedure. `inspect` looks for faults of the kernel that the
    run ends with, `shorten` leaves out what makes no difference in its schedule. `began` is when
    the run did (`time.monotonic`): its budget holds everything from then on, of which the end
    has `closing_s`, and searches before this one had `searched_s`. The strategy is asked for what
    follows `start`, and given `seed`.
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
        foreign: Sequence[Trace] = (),
        inspect: Inspect = not_inspected,
        closing_s: float = CLOSING_S,
        first: Sequence[Trace] = (),
        shorten: Shorten = as_it_is,
        began: float | None = None,
        seed: int = 0,
        start: Trace = AS_WRITTEN,
        searched_s: float = 0.0,
    ) -> None:
        self.budget, self.observer = budget, observer
        self.foreign, self.first = deque(foreign), first
        self.phase = "searching"
        self.started = time.monotonic() if began is None else began
        self.before_s = self.elapsed()
        self.search_s = search_until(budget.seconds, closing_s, self.before_s - searched_s)
        self.closing_since: float | None = None
        self.interrupted = Event()
        self.ledger = Ledger(store, scope, run_id, self.elapsed)
        self.work = Dispatcher(executor, self.ledger, baseline, self._waited)
        self.confirmation = Confirmation(self.work, inspect, shorten, self._enter)
        self.ledger.resume(resumed, strategy, start, seed)

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.started

    @property
    def until_s(self) -> float:
        """When the search ends: time is left to confirm the fastest, once there is one. If it took
        long to begin, it ends later than the budget."""
        return self.search_s if self._found else max(self.search_s, self.budget.seconds)

    @property
    def _found(self) -> bool:
        return self.work.measured > 0 or self.ledger.best is not None

    def closed_in(self) -> float:
        """Seconds since the end of the search began; 0 before."""
        return self.elapsed() - self.closing_since if self.closing_since is not None else 0.0

    def left(self) -> Time:
        """For what is measured after the search."""
        return Time(self.budget.seconds - self.elapsed(), self.work.round_s)

    def progress(self) -> Progress:
        ledger = self.ledger
        return Progress(
            self.phase,
            self.elapsed(),
            self.budget.seconds,
            {outcome: count for outcome, count in ledger.outcomes.items() if count},
            self.work.measured,
            self.work.expanded,
            ledger.best,
            tuple(ledger.curve),
            self.search_s,
            self.confirmation.inspection,
            self.work.baseline.call_s * self.work.baseline.scale,
            ledger.shortened_from,
            self.before_s,
            tuple(ledger.faults),
        )

    # -- by itself ------------------------------------------------------------------

    def run(self, confirm: bool = True) -> Stop:
        """Search until the budget is spent, then `confirm` the fastest on fresh rounds.

        Ctrl-C ends it at once: what was found is kept, unconfirmed.
        """
        with noticed_interrupts() as self.interrupted:
            try:
                stop = self._search()
                self.phase, self.closing_since = "finishing", self.elapsed()
                if confirm:
                    self.confirmation.run(self.budget.seconds)
                else:
                    self.work.finish(2 * PORTION_S)
            except KeyboardInterrupt:
                stop = Stop.INTERRUPTED
        return stop

    def _search(self) -> Stop:
        self._follow_first(replace(self.budget, seconds=self.search_s))
        self._normalise()
        while True:
            best = self.ledger.best_speedup
            search = replace(self.budget, seconds=self.until_s)
            stop = search.spent(self.elapsed(), self.work.measured, best)
            if stop is not None and not (stop is Stop.TIME and self._pursues_first()):
                return stop
            self._fill(expanding=stop is None)
            if self.work.idle:
                return Stop.EXHAUSTED
            self.work.wait(0.2)

    def _pursues_first(self) -> bool:
        """See to it that a first candidate is built and measured all the same. False if there is
        one, nothing to make one of, or no time left even so."""
        most_s = max(OVERTIME_S, OVERTIME * self.budget.seconds) if self.budget.seconds else 0.0
        if self._found or self.elapsed() > self.until_s + most_s:
            return False
        if not (self.work.measuring or self.work.normalising):
            for node in self.ledger.frontier.to_measure(1):
                self.work.build(node.key)
        return self.work.measuring or self.work.normalising

    def _follow_first(self, budget: Budget) -> None:
        """Replay and measure the schedules to begin with: the first of them even if the time to
        search is over."""
        for number, trace in enumerate(self.first):
            if number and budget.spent(self.elapsed(), self.work.measured, 0.0):
                break
            self.work.complete(ReplayJob(trace, self.ledger.tree.known(trace)))
            if (node := self.ledger.frontier.replay_to_measure()) is not None:
                self.work.screen(node.key)

    def _normalise(self) -> None:
        """Look for the normal form before anything else, or go on where an earlier run ended."""
        root = self.ledger.tree.nodes[AS_WRITTEN.key]
        left_s = self.until_s - self.elapsed()
        if not (self.ledger.frontier.normal_form_first and root.told and left_s > 0):
            return
        node = way_so_far(root)
        if not (node.expanding or self.ledger.made(node.key)):
            self.work.normalise(node.key, normal_form_s(left_s))

    def _fill(self, expanding: bool) -> None:
        work, frontier = self.work, self.ledger.frontier
        work.measure_next()
        if not expanding:
            return
        for node in frontier.to_measure(work.wanted):
            work.build(node.key)
        self._fill_replays()
        idle = work.free
        nodes = frontier.to_expand(idle)
        for node in nodes:
            parts = idle // len(nodes)  # near the root there are fewer nodes than workers
            for part in range(parts):
                work.expand(node.key, part, parts)

    def _fill_replays(self) -> None:
        """Keep at most the free workers busy with whole traces."""
        work = self.work
        while self.foreign and work.free > 0:
            work.adapt(self.foreign.popleft())

    def _waited(self) -> None:
        if self.interrupted.is_set():
            raise KeyboardInterrupt
        self.observer(self.progress())

    def _enter(self, phase: str) -> None:
        self.phase = phase

    # -- by hand, instead of `run` (stepping.py) -------------------------------------

    def complete(self, job: Enumeration) -> None:
        """Enumerate children, or follow a trace, and book what came of it."""
        with self._by_hand():
            self.work.complete(job)

    def measure(self, key: str, plan: TimingPlan, against: Anchor) -> None:
        """Verify a node and time it against `against`."""
        with self._by_hand():
            self.work.time(key, plan, against)

    @contextmanager
    def _by_hand(self) -> Iterator[None]:
        """Ctrl-C gives up what is under way."""
        with noticed_interrupts() as self.interrupted:
            try:
                yield
            finally:
                self.work.give_up()

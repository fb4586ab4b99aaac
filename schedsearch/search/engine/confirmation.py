"""The end of a search: the fastest schedules race, the winner is shortened, confirmed on fresh
rounds, and inspected.

Before the race the leaders have few rounds each, measured at different times, against different
anchors, and each in one process. A kernel is some percent faster or slower in each process,
depending on where its memory happens to lie, and more rounds in the same process do not show that
(`benchmarks/racing` has recorded it). So the leaders race in heats. Each heat gives every schedule
one round in a new process, against one anchor, and rounds are pooled over heats. After each heat
the slowest leave (successive halving in smaller steps: Karnin, Koren, Somekh, "Almost optimal
exploration in multi-armed bandits", ICML 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from schedsearch.core.records import Failure, GeneratedC, Measurement, Outcome, TimingKind
from schedsearch.core.trace import Trace
from schedsearch.evaluate.oracle.reach import Reach
from schedsearch.evaluate.run.sanitize import COVERAGE, SLOW_RUN_S, Inspector
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.engine.dispatcher import Dispatcher
from schedsearch.search.engine.minimal import Shorten
from schedsearch.search.engine.plans import FEW, confirm, pair
from schedsearch.search.setup.run_summary import Inspection, RunSummary
from schedsearch.search.workers.jobs import ReplayJob
from schedsearch.store.database import Store
from schedsearch.store.views import Scope

LEAST_S = 3.0
"""Seconds for the end of a search, even if the budget is spent."""

RACED, SHORTENED, CONFIRMED = 0.3, 0.5, 0.8
"""Shares of the end of a search after which race, shortening and confirmation stop. Sanitizers and
the noise measurement have the rest."""

SHORTENING = 0.15
"""The largest share of the budget that shortening the winner may take."""

CONTENDERS = 3
"""At least so many of the fastest race, even if one of them leads by far. It may owe the lead to
luck, or to the anchors that it was screened against."""

FIELD = 12
"""At most so many race. One round of one schedule takes a process and a verification, about
0.15 s."""

CLOSE = 0.1
"""A schedule that was screened slower than the leader by this fraction does not race. Screenings of
equal kernels differ by 2 to 3 % (standard deviation)."""

HEAT = TimingPlan(TimingKind.RACE, 1, 1, samples=FEW)
"""One round for each. A second round in the same process tells less than the first of another."""

FAR = 0.2
"""A schedule that is slower than the fastest of a heat by this fraction leaves at once."""

HEATS = (12, 8, 6, 5, 5, 5, 5)
"""At most so many are left after each heat: one process alone decides nothing. The last five stay,
so that the report can rank them all."""

HEAT_S = 5.0
"""Limit of the first heat, in seconds. Fewer schedules race if kernels are slow."""

Inspect = Callable[[GeneratedC, Trace, float], Inspection]
"""Inspects the C of a schedule. Checks that may be left out have so many seconds."""


class Confirmation:
    """Names the best schedule that was measured, while nothing else runs.

    `inspect` looks for faults of the winner, `shorten` leaves out rewrites that make no difference,
    and `enter` hears of each phase that begins.
    """

    def __init__(
        self, work: Dispatcher, inspect: Inspect, shorten: Shorten, enter: Callable[[str], None]
    ) -> None:
        self.work, self.ledger, self.enter = work, work.ledger, enter
        self.inspect, self.shorten = inspect, shorten
        self.inspection: Inspection | None = None  # of the best
        self.minimal: set[str] = set()  # schedules that cannot be shortened
        self._confirmed: set[str] = set()  # confirmed in this run, or tried
        self._budget_s = self._begin = self._whole_s = 0.0

    def run(self, budget_s: float) -> None:
        """Measure the fastest again, against the procedure as written, until the run is `budget_s`
        seconds old.

        The best of earlier runs is timed against a schedule that this run confirmed. A slow
        baseline takes 900 us in one minute and 1,250 us in another, so two speed-ups over it do not
        say which kernel is faster. The best of both is then confirmed in this run too, so that its
        interval covers several sessions.
        """
        self._budget_s, self._begin = budget_s, self.ledger.clock()
        self._whole_s = max(budget_s - self._begin, LEAST_S)
        self.work.finish()
        nodes = self.ledger.tree.nodes
        before = next((key for key, node in self.ledger.faster() if node.confirmed), None)
        raced = self._race()
        for key in raced or self._fastest():
            short = key if nodes[key].confirmed else self._confirm_shortest(key)
            if nodes[short].confirmed and (raced or self._fastest()[:1] == [short]):
                break
        anew = any(nodes[key].confirmed for key in self._confirmed)
        if before is not None and before not in self._confirmed and anew:
            anchor = self.work.anchor
            plan = pair(anchor.call_s, self._until(CONFIRMED), self.work.round_s)
            self.work.time(before, plan, anchor)
        self.ledger.settle()
        while (best := self.ledger.best) is not None and best.key not in self._confirmed:
            self._confirm_shortest(best.key)
            self.ledger.settle()
        self._inspect()

    def _until(self, share: float) -> float:
        """Seconds until this share of the end is over."""
        return self._begin + share * self._whole_s - self.ledger.clock()

    def _confirm(self, key: str) -> None:
        self.enter("confirming")
        self._confirmed.add(key)
        baseline = self.work.baseline
        plan = confirm(baseline.call_s, self._until(CONFIRMED), self.work.round_s)
        self.work.time(key, plan, baseline)

    def _confirm_shortest(self, key: str) -> str:
        """Confirm a shorter form of `key`, else `key` itself. Returns the one that is confirmed."""
        short, nodes = self._shortest(key), self.ledger.tree.nodes
        for each in dict.fromkeys((short, key)):
            if each not in self._confirmed:
                self._confirm(each)
            if nodes[each].confirmed:
                return each
        return key

    def _shortest(self, key: str) -> str:
        """A schedule with fewer rewrites that is as fast, if there is time to find one."""
        seconds = min(self._until(SHORTENED), SHORTENING * self._budget_s)
        trace = self.ledger.tree.nodes[key].trace
        if seconds < 0 or key in self.minimal or len(trace) < 2:
            return key

        def go_on() -> bool:
            self.work.waited()
            return True

        self.enter("shortening")
        short = self.shorten(trace, seconds, go_on, self.work.round_s)
        if short is None:
            return key
        if short.trace.key != key:
            known = self.ledger.tree.known(short.trace)
            self.work.complete(ReplayJob(short.trace, known))
            key = self.ledger.shortened(key, short)
        if short.minimal:
            self.minimal.add(key)
        return key

    def _fastest(self) -> list[str]:
        """The fastest that look faster than the baseline."""
        return [key for key, _ in self.ledger.faster()[:CONTENDERS]]

    def _race(self) -> list[str]:
        """Schedules that raced and look faster than the baseline, the winner first. Empty if no
        schedule is close to the leader."""
        self.enter("racing")
        tree = self.ledger.tree
        ranked = [(key, node.measurement) for key, node in self.ledger.faster()]
        racing = field(ranked, self._until(RACED) / 2)
        order = list(racing)
        for left in HEATS:
            if len(racing) < 2 or self._until(RACED) < len(racing) * self.work.round_s:
                break
            for key in racing:
                self.work.time(key, HEAT, self.work.anchor)
            raced = {key: m for key in racing if (m := tree.nodes[key].measurement)}
            racing = survivors(raced, left)
            order = [*racing, *(key for key in order if key not in racing)]
        return [key for key in order if (tree.nodes[key].speedup or 0.0) > 1.0]

    def _inspect(self) -> None:
        """Look for faults that verification does not show. A winner with a fault is retracted; then
        the next one is confirmed and inspected."""
        while True:
            best = self.ledger.best
            if best is None and not (fastest := self._fastest()):
                return
            if best is None:
                self._confirm(fastest[0])
                self.ledger.settle()
                continue
            self.enter("inspecting")
            self.work.waited()  # nothing else says so: no job is under way
            code = self.ledger.code(best.key)
            if code is None:  # it was confirmed in an earlier run, and `gc` dropped its C since
                self._confirm(best.key)
                self.ledger.settle()
                continue
            self.inspection = self.inspect(code, best.trace, self._until(1.0))
            if (found := self.inspection.failure) is None:
                return
            self.ledger.failed(best.key, Failure(Outcome.INCORRECT, found))
            self.ledger.settle()


def field(ranked: Sequence[tuple[str, Measurement | None]], seconds: float = HEAT_S) -> list[str]:
    """The screened schedules that may be as fast as the leader, of all that were measured
    (`ranked`, the fastest first). Empty if there is only one, or if two do not fit into `seconds`.

    Schedules that raced or were confirmed in an earlier run do not race again.
    """
    timed = [(key, m) for key, m in ranked[: 2 * FIELD] if m is not None]
    if not timed:
        return []
    leader = timed[0][1]
    slowest = (1.0 - CLOSE) * leader.middle
    screened = [(key, m) for key, m in timed if m.kind == TimingKind.SCREEN]
    anyway = CONTENDERS if leader.kind == TimingKind.SCREEN else 0
    close = [key for n, (key, m) in enumerate(screened) if n < anyway or m.middle > slowest]
    affordable = int(min(seconds, HEAT_S) / (HEAT.max_rounds * _round_s(leader)))
    racing = close[: min(FIELD, affordable)]
    return racing if len(racing) > 1 else []


def _round_s(leader: Measurement) -> float:
    """Seconds for a round of two kernels that are about as fast."""
    return 2 * leader.calls * sum(leader.rounds[-1].candidate_ns) * 1e-9


def survivors(raced: Mapping[str, Measurement], left: int) -> list[str]:
    """At most `left` schedules, the fastest first, without those that are far behind."""
    ranked = sorted(raced, key=lambda key: raced[key].middle, reverse=True)
    return [
        key for key in ranked[:left] if raced[key].middle > (1.0 - FAR) * raced[ranked[0]].middle
    ]


def not_inspected(code: GeneratedC, trace: Trace, seconds: float) -> Inspection:
    """For searches in which nothing is compiled."""
    return Inspection(code.key)


def once(
    inspector: Inspector, store: Store, scope: Scope, reach: Callable[[Trace], Reach]
) -> Inspect:
    """Inspect kernels that no earlier run of this scope inspected completely. `reach` says which
    calls run all of a schedule's code."""
    earlier: dict[str, Inspection] = {}
    for run in store.runs(scope):
        if found := RunSummary.of(run).inspection:
            whole = not any(check.in_part for check in found.checks)
            if whole and any(check.what == COVERAGE for check in found.checks):
                earlier[found.code_key] = found

    def inspect(code: GeneratedC, trace: Trace, seconds: float) -> Inspection:
        if known := earlier.get(code.key):
            return known
        hurried = replace(inspector, slow_s=min(seconds, SLOW_RUN_S))
        return Inspection(code.key, hurried.inspect(code, reach(trace)))

    return inspect

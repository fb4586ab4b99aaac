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
"""What the end of a search has, even if the budget is spent."""

RACED, SHORTENED, CONFIRMED = 0.3, 0.5, 0.8
"""Shares of the end of a search, after which each is over; then sanitizers, and the noise."""

SHORTENING = 0.15
"""The largest share of the budget that shortening the winner may take."""

CONTENDERS = 3
"""How many of the fastest race even if one of them leads by far: it may owe that to luck, or to
the anchors that it was screened against."""

FIELD = 12
"""How many race, at most: each visit takes a process and a verification, and some 0.15 s."""

CLOSE = 0.1
"""What was screened slower than the leader by this part of it or more is not the fastest:
screenings of equal kernels differ by 2 to 3 % (standard deviation)."""

HEAT = TimingPlan(TimingKind.RACE, 1, 1, samples=FEW)
"""One round for each. The second in the same process tells less than the first of another."""

FAR = 0.2
"""What is slower than the fastest of a heat by this part of it leaves at once."""

HEATS = (12, 8, 6, 5, 5, 5, 5)
"""How many are left after each heat, at most: one process alone decides nothing. The last five
stay, so that their order is known as well as the winner's."""

HEAT_S = 5.0
"""What the first heat may take: of slow kernels fewer race."""

Inspect = Callable[[GeneratedC, Trace, float], Inspection]
"""Of the C of a schedule; what may be left out has that many seconds."""


class Confirmation:
    """Names the best of what has been measured, with nothing else running.

    `inspect` looks for faults of the kernel that the run ends with, `shorten` leaves out rewrites
    that make no difference; `enter` is told of each phase that begins.
    """

    def __init__(
        self, work: Dispatcher, inspect: Inspect, shorten: Shorten, enter: Callable[[str], None]
    ) -> None:
        self.work, self.ledger, self.enter = work, work.ledger, enter
        self.inspect, self.shorten = inspect, shorten
        self.inspection: Inspection | None = None  # of the best
        self.minimal: set[str] = set()  # what nothing can be left out of
        self._confirmed: set[str] = set()  # in this run, or tried to
        self._budget_s = self._begin = self._whole_s = 0.0

    def run(self, budget_s: float) -> None:
        """Measure the fastest again, against the procedure as written, in what is left of
        `budget_s` seconds.

        The best of earlier runs is timed against what is confirmed now: a slow baseline takes
        900 us in one minute and 1,250 in another, and two speed-ups over it do not say which
        kernel is faster. What is best then is confirmed in this run too, so that its interval
        knows of several sessions.
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
        """Confirm what has fewer rewrites than `key`, or else that itself; what was confirmed."""
        short, nodes = self._shortest(key), self.ledger.tree.nodes
        for each in dict.fromkeys((short, key)):
            if each not in self._confirmed:
                self._confirm(each)
            if nodes[each].confirmed:
                return each
        return key

    def _shortest(self, key: str) -> str:
        """What is as fast with fewer rewrites, as far as there is time to find out."""
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
        """Those that raced and look faster than the baseline, the winner first; empty if
        nothing is close."""
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
        """Look for what data do not show. A winner in which something is found is retracted,
        and the next one is confirmed and inspected."""
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
    """What races, of all that were measured, given the fastest first: the screened ones that
    may be as fast as the leader. Empty if it is one, or the first heat takes longer than `seconds`.

    What raced or was confirmed before (in an earlier run) is not measured again.
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
    """Of two kernels that are about as fast."""
    return 2 * leader.calls * sum(leader.rounds[-1].candidate_ns) * 1e-9


def survivors(raced: Mapping[str, Measurement], left: int) -> list[str]:
    """At most `left`, the fastest first; none that is far behind."""
    ranked = sorted(raced, key=lambda key: raced[key].middle, reverse=True)
    return [
        key for key in ranked[:left] if raced[key].middle > (1.0 - FAR) * raced[ranked[0]].middle
    ]


def not_inspected(code: GeneratedC, trace: Trace, seconds: float) -> Inspection:
    """Where nothing is compiled."""
    return Inspection(code.key)


def once(
    inspector: Inspector, store: Store, scope: Scope, reach: Callable[[Trace], Reach]
) -> Inspect:
    """Inspect what the store's runs of this scope did not, or in part; `reach` says which calls
    run all of a schedule's code."""
    earlier: dict[str, Inspection] = {}
    for run in store.runs(scope):
        if found := RunSummary.of(run).inspection:
            whole = not any(check.in_part for check in found.checks)
            if whole and any(check.what == COVERAGE for check in found.checks):
                earlier[found.code_key] = found

    def inspect(code: GeneratedC, trace: Trace, seconds: float) -> Inspection:
        slow_s = min(seconds, SLOW_RUN_S)
        known = earlier.get(code.key)
        return known or Inspection(code.key, inspector.inspect(code, reach(trace), slow_s))

    return inspect

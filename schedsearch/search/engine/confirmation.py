"""The end of a search: the fastest race; the winner is shortened, confirmed on fresh rounds, and
inspected."""

from __future__ import annotations

from collections.abc import Callable

from schedsearch.core.records import Failure, Outcome
from schedsearch.search.engine.dispatcher import Dispatcher
from schedsearch.search.engine.inspection import Inspect
from schedsearch.search.engine.minimal import Shorten
from schedsearch.search.engine.plans import confirm, pair
from schedsearch.search.engine.race import CONTENDERS, HEAT, HEATS, field, survivors
from schedsearch.search.setup.run_summary import Inspection
from schedsearch.search.workers.jobs import ReplayJob

LEAST_S = 3.0
"""What the end of a search has, even if the budget is spent."""

RACED, SHORTENED, CONFIRMED = 0.3, 0.5, 0.8
"""Shares of the end of a search, after which each is over; then sanitizers, and the noise."""

SHORTENING = 0.15
"""The largest share of the budget that shortening the winner may take."""


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

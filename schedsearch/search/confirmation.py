"""The end of a search: the fastest race, are confirmed on fresh rounds, and are inspected."""

from __future__ import annotations

from collections.abc import Callable

from schedsearch.core.records import Failure, Outcome
from schedsearch.search.dispatcher import Dispatcher
from schedsearch.search.inspection import Inspect, Inspection
from schedsearch.search.plans import confirm, pair
from schedsearch.search.race import CONTENDERS, HEAT, HEATS, field, survivors


class Confirmation:
    """Names the best of what has been measured, with nothing else running.

    `inspect` looks for faults of the kernel that the run ends with; `enter` is told of each
    phase that begins.
    """

    def __init__(self, work: Dispatcher, inspect: Inspect, enter: Callable[[str], None]) -> None:
        self.work, self.ledger, self.inspect, self.enter = work, work.ledger, inspect, enter
        self.inspection: Inspection | None = None  # of the best
        self._confirmed: set[str] = set()  # in this run, or tried to

    def run(self) -> None:
        """Measure the fastest again, against the procedure as written.

        The best of earlier runs is timed against what is confirmed now: a slow baseline takes
        900 us in one minute and 1,250 in another, and two speed-ups over it do not say which
        kernel is faster. What is best then is confirmed in this run too, so that its interval
        knows of several sessions.
        """
        self.work.finish()
        nodes = self.ledger.tree.nodes
        faster = self.ledger.tree.faster()
        before = next((key for key, node in faster if node.confirmed), None)
        raced = self._race()
        self.enter("confirming")
        for key in raced or self._fastest():
            if not nodes[key].confirmed:
                self._confirm(key)
            if nodes[key].confirmed and (raced or self._fastest()[:1] == [key]):
                break
        if before is not None and any(nodes[key].confirmed for key in self._confirmed):
            self.work.time(before, pair(self.work.anchor.call_s), self.work.anchor)
        self.ledger.settle()
        while (best := self.ledger.best) is not None and best.key not in self._confirmed:
            self._confirm(best.key)
            self.ledger.settle()
        self._inspect()

    def _confirm(self, key: str) -> None:
        self._confirmed.add(key)
        baseline = self.work.baseline
        self.work.time(key, confirm(baseline.call_s), baseline)

    def _fastest(self) -> list[str]:
        """The fastest that look faster than the baseline."""
        return [key for key, _ in self.ledger.tree.faster()[:CONTENDERS]]

    def _race(self) -> list[str]:
        """Those that raced and look faster than the baseline, the winner first; empty if
        nothing is close."""
        self.enter("racing")
        tree = self.ledger.tree
        racing = field([(key, node.measurement) for key, node in tree.faster()])
        order = list(racing)
        for left in HEATS:
            if len(racing) < 2:
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
                self.enter("confirming")
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
            self.inspection = self.inspect(code, best.trace)
            if (found := self.inspection.failure) is None:
                return
            self.ledger.failed(best.key, Failure(Outcome.INCORRECT, found))
            self.ledger.settle()

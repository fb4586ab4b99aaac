"""What a run knows: the tree, the counts, the best. Every change goes to the store first,
then to the strategy, so that a killed run resumes with the same knowledge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from schedsearch.core.records import (
    Artifact,
    Failure,
    Measurement,
    Outcome,
    TuningRecord,
)
from schedsearch.search.progress import Best
from schedsearch.search.strategy import ChildInfo, Expanded, Measured, Strategy
from schedsearch.search.tree import Tree
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate
from schedsearch.transforms.expand import Expansion

Stages = tuple[tuple[str, float], ...]


class Ledger:
    """Books of one run. `clock` gives seconds since its start."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        run_id: int,
        strategy: Strategy,
        clock: Callable[[], float],
    ) -> None:
        self.store, self.scope, self.run_id = store, scope, run_id
        self.strategy, self.clock = strategy, clock
        self.tree = Tree()
        self.outcomes: Counter[Outcome | None] = Counter()
        self.best: Best | None = None
        self.confirmed: dict[str, Measurement] = {}
        self.curve: list[tuple[float, float]] = []

    @property
    def best_speedup(self) -> float:
        return self.best.measurement.speedup.value if self.best else 1.0

    # -- what was known before ------------------------------------------------

    def resume(self, known: Sequence[StoredCandidate]) -> None:
        """Take in the store's candidates: expansions are told first, then measurements."""
        children: dict[int, list[ChildInfo]] = {}
        for candidate in known:
            self.tree.add(candidate.trace_key, candidate.record)
            self.outcomes[candidate.record.outcome] += 1
            if candidate.parent_id is not None and candidate.trace_key in self.tree.nodes:
                transform = candidate.record.trace.steps[-1].transform
                info = ChildInfo(candidate.trace_key, transform)
                children.setdefault(candidate.parent_id, []).append(info)
        for candidate in known:
            if candidate.expanded:
                infos = tuple(children.get(candidate.id, ()))
                self.strategy.tell(Expanded(candidate.trace_key, infos))
        for candidate in known:
            if candidate.trace_key in self.tree.nodes and candidate.record.outcome is not None:
                self._tell(candidate.trace_key, candidate.record)
            if candidate.record.outcome is Outcome.CORRECT:
                for measurement in candidate.measurements:
                    self._consider(candidate.trace_key, measurement)
        self.settle()

    # -- what is found out -----------------------------------------------------

    def expanded(self, key: str, expansion: Expansion) -> None:
        children = self.tree.classify(expansion)
        records = [record for _, record in children]
        self.store.add_code(child.code for child in expansion.children if child.code is not None)
        self.store.add_expansion(self.scope, self.run_id, key, records, dict(expansion.stage_s))
        self.outcomes.update(record.outcome for record in records)
        new = tuple(
            ChildInfo(child_key, record.trace.steps[-1].transform)
            for child_key, record in children
            if record.outcome is None
        )
        self.strategy.tell(Expanded(key, new))

    def built(self, key: str, artifact: Artifact, stages: Stages) -> bool:
        """Note the machine code of a node; False if another node has the same."""
        node = self.tree.nodes[key]
        keys = replace(node.keys, binary=artifact.binary_key)
        owner = self.tree.claim_binary(key, artifact.binary_key)
        if owner is None:
            found = TuningRecord(node.trace, None, keys, stage_s=stages)
            self.store.record(self.scope, self.run_id, found)
            return True
        self._record(
            key,
            TuningRecord(
                node.trace,
                Outcome.DUPLICATE,
                keys,
                duplicate_of=owner,
                duplicate_level="binary",
                stage_s=stages,
            ),
        )
        return False

    def measured(self, key: str, measurement: Measurement, stages: Stages) -> None:
        node = self.tree.nodes[key]
        record = TuningRecord(
            node.trace, Outcome.CORRECT, node.keys, measurement=measurement, stage_s=stages
        )
        self._record(key, record)
        self._consider(key, measurement)

    def failed(self, key: str, failure: Failure, stages: Stages = ()) -> None:
        node = self.tree.nodes[key]
        record = TuningRecord(
            node.trace, failure.outcome, node.keys, failure.message, stage_s=stages
        )
        self._record(key, record)
        self.confirmed.pop(key, None)
        if self.best is not None and self.best.key == key:
            self._find_best()

    def settle(self) -> None:
        """Name the best among the confirmed: screenings flatter whoever leads them."""
        if self.confirmed:
            key = max(self.confirmed, key=lambda k: self.confirmed[k].speedup.value)
            self.best = Best(key, self.tree.nodes[key].trace, self.confirmed[key])

    # -- one place each ----------------------------------------------------------

    def _record(self, key: str, record: TuningRecord) -> None:
        first = self.tree.nodes[key].speedup is None
        self.store.record(self.scope, self.run_id, record)
        if first:
            self.outcomes[None] -= 1
            self.outcomes[record.outcome] += 1
            self._tell(key, record)
        elif record.speedup is not None:
            self.tree.set_speedup(key, record.speedup)

    def _tell(self, key: str, record: TuningRecord) -> None:
        """A binary duplicate is as fast as its owner, but may have other children."""
        speedup = record.speedup if record.outcome is Outcome.CORRECT else None
        if record.duplicate_level == "binary" and record.duplicate_of in self.tree.nodes:
            speedup = self.tree.nodes[record.duplicate_of].speedup
        elif speedup is not None:
            self.tree.set_speedup(key, speedup)
        self.strategy.tell(Measured(key, speedup))

    def _consider(self, key: str, measurement: Measurement) -> None:
        """Update the best; a confirmation replaces the screening it confirms."""
        if measurement.kind == "confirm":
            self.confirmed[key] = measurement
        elif key in self.confirmed:
            return
        trace = self.tree.nodes[key].trace
        speedup = measurement.speedup.value
        if trace.steps and speedup > self.best_speedup:
            self.best = Best(key, trace, measurement)
            self.curve.append((self.clock(), speedup))
        elif self.best is not None and self.best.key == key:
            self.best = Best(key, trace, measurement)
            self._find_best()

    def _find_best(self) -> None:
        """The best was not as fast as it looked, or is wrong: who is best now?"""
        self.best = None
        for candidate in self.store.best(self.scope, 2):
            measurement = candidate.record.measurement
            if candidate.record.trace.steps and measurement is not None:
                if measurement.speedup.value > 1.0:
                    self.best = Best(candidate.trace_key, candidate.record.trace, measurement)
                return

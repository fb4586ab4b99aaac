"""What a run knows: the tree, the counts, the best. Every change goes to the store first,
then to the strategy, so that a killed run resumes with the same knowledge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from schedsearch.core.build import COMPILE_WITH
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
        self.curve: list[tuple[float, float]] = []
        # Duplicates of machine code whose owner is not measured yet, by owner.
        self._followers: dict[str, list[str]] = {}

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
                info = _child_info(candidate.trace_key, candidate.record)
                children.setdefault(candidate.parent_id, []).append(info)
        for candidate in known:
            if candidate.expanded:
                infos = tuple(children.get(candidate.id, ()))
                self.strategy.tell(Expanded(candidate.trace_key, infos))
        for candidate in known:
            record = candidate.record
            if candidate.trace_key not in self.tree.nodes or record.outcome is None:
                continue
            if record.duplicate_of is not None:
                self._tell_duplicate(candidate.trace_key, record.duplicate_of)
            else:
                self._tell(candidate.trace_key)
        self.best = self._fastest(confirmed=True) or self._fastest()
        if self.best is not None:
            self.curve.append((self.clock(), self.best_speedup))

    # -- what is found out -----------------------------------------------------

    def expanded(self, key: str, expansion: Expansion) -> None:
        children = self.tree.classify(expansion)
        records = [record for _, record in children]
        self.store.add_code(child.code for child in expansion.children if child.code is not None)
        self.store.add_expansion(self.scope, self.run_id, key, records, dict(expansion.stage_s))
        self.outcomes.update(record.outcome for record in records)
        new = tuple(
            _child_info(child_key, record)
            for child_key, record in children
            if record.outcome is None
        )
        self.strategy.tell(Expanded(key, new))

    def not_expanded(self, key: str, failure: Failure) -> None:
        """It has no children in this run; what its own kernel was found to be, it stays."""
        node = self.tree.nodes[key]
        message = f"cannot be expanded: {failure.message}"
        self._record(key, TuningRecord(node.trace, None, node.keys, message), node.measurement)
        self.strategy.tell(Expanded(key, ()))

    def built(self, key: str, artifact: Artifact, stages: Stages) -> bool:
        """Note the machine code of a node; False if another node has the same."""
        node = self.tree.nodes[key]
        keys = replace(node.keys, binary=artifact.binary_key)
        self.tree.update(key, keys=keys)
        owner = self.tree.claim_binary(key, artifact.binary_key)
        if owner is None:
            found = TuningRecord(node.trace, None, keys, stage_s=stages)
            self.store.record(self.scope, self.run_id, found)
            return True
        duplicate = TuningRecord(
            node.trace,
            Outcome.DUPLICATE,
            keys,
            duplicate_of=owner,
            duplicate_level="binary",
            stage_s=stages,
        )
        self._record(key, duplicate, node.measurement)
        self._tell_duplicate(key, owner)
        return False

    def measured(self, key: str, measurement: Measurement, stages: Stages) -> None:
        """A confirmation replaces the screening it confirms."""
        node = self.tree.nodes[key]
        first = node.speedup is None
        found = TuningRecord(
            node.trace, Outcome.CORRECT, node.keys, measurement=measurement, stage_s=stages
        )
        self._record(key, found, measurement)
        if first:
            self._tell(key)
        if self.best is not None and self.best.key == key:
            self.best = self._fastest()
        elif node.trace.steps and measurement.speedup.value > self.best_speedup:
            self.best = Best(key, node.trace, measurement)
            self.curve.append((self.clock(), self.best_speedup))

    def failed(self, key: str, failure: Failure, stages: Stages = ()) -> None:
        """It cannot be built, is wrong, or died: whatever was measured before, it is not best."""
        node = self.tree.nodes[key]
        found = TuningRecord(
            node.trace, failure.outcome, node.keys, failure.message, stage_s=stages
        )
        self._record(key, found, None)
        if node.speedup is None:
            self._tell(key)
        elif self.best is not None and self.best.key == key:
            self.best = self._fastest()

    def settle(self) -> None:
        """Name the best among the confirmed: screenings flatter whoever leads them."""
        self.best = self._fastest(confirmed=True)

    # -- one place each ----------------------------------------------------------

    def _record(self, key: str, record: TuningRecord, measurement: Measurement | None) -> None:
        """Store `record`; the node takes the outcome that the store settles on."""
        outcome = self.store.record(self.scope, self.run_id, record)
        self.outcomes[self.tree.nodes[key].outcome] -= 1
        self.outcomes[outcome] += 1
        self.tree.update(key, outcome=outcome, measurement=measurement)

    def _tell(self, key: str) -> None:
        speedup = self.tree.nodes[key].speedup
        for follower in self._followers.pop(key, ()):
            self.strategy.tell(Measured(follower, speedup))
        self.strategy.tell(Measured(key, speedup))

    def _tell_duplicate(self, key: str, owner: str) -> None:
        """Equal machine code is equally fast, but another schedule may have other children.

        The owner may be measured later: then its duplicates are told again.
        """
        node = self.tree.nodes[owner]
        if node.outcome is None:
            self._followers.setdefault(owner, []).append(key)
        self.strategy.tell(Measured(key, node.speedup))

    def _fastest(self, confirmed: bool = False) -> Best | None:
        for key, node in self.tree.faster():
            if node.measurement is not None and (node.confirmed or not confirmed):
                return Best(key, node.trace, node.measurement)
        return None


def _child_info(key: str, record: TuningRecord) -> ChildInfo:
    transform = record.trace.steps[-1].transform
    return ChildInfo(key, transform, record.predicted or 0.0, transform == COMPILE_WITH)

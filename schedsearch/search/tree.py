"""The search tree in memory: distinct nodes, and who had each identity first."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from schedsearch.core.records import Keys, Measurement, Outcome, TuningRecord
from schedsearch.core.trace import Trace
from schedsearch.transforms.expand import Child


@dataclass(frozen=True)
class Node:
    """A distinct, legal schedule. `measurement` is the one that ranks it, None if it has
    none or failed after it."""

    trace: Trace
    keys: Keys
    outcome: Outcome | None = None
    measurement: Measurement | None = None

    @property
    def speedup(self) -> float | None:
        """Over the unscheduled procedure."""
        return self.measurement.speedup.value if self.measurement else None

    @property
    def confirmed(self) -> bool:
        return self.measurement is not None and self.measurement.kind == "confirm"


@dataclass
class Tree:
    """Nodes by trace key; owners of identities by `(level, key)`."""

    nodes: dict[str, Node] = field(default_factory=dict)
    owners: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, key: str, record: TuningRecord) -> None:
        """Take a stored or newly classified record in. An illegal rewrite makes no schedule;
        a schedule without C is one: it may lead to others that have some."""
        if record.keys.ast is None:
            return
        if record.duplicate_level in (None, "binary"):
            correct = record.outcome is Outcome.CORRECT
            measurement = record.measurement if correct else None
            self.nodes[key] = Node(record.trace, record.keys, record.outcome, measurement)
        self._claim("ast", record.keys.ast, key)
        if record.duplicate_level is None:
            self._claim("binary", record.keys.binary, key)

    def update(self, key: str, **changes: Any) -> None:
        """Replace attributes of a node."""
        self.nodes[key] = replace(self.nodes[key], **changes)

    def known(self, trace: Trace) -> int:
        """How many first steps of `trace` lead to a node."""
        prefixes = (length for length in range(len(trace), 0, -1))
        return next((n for n in prefixes if Trace(trace.steps[:n]).key in self.nodes), 0)

    def classify(self, trace: Trace, child: Child) -> TuningRecord:
        """The record of a new schedule."""
        if child.outcome is not None:
            return TuningRecord(trace, child.outcome, child.keys, child.message)
        owner = self.owner("ast", child.keys.ast)
        if owner is not None:
            return TuningRecord(
                trace,
                Outcome.DUPLICATE,
                child.keys,
                duplicate_of=owner,
                duplicate_level="ast",
            )
        return TuningRecord(trace, None, child.keys, predicted=child.predicted)

    def owner(self, level: str, identity: str | None) -> str | None:
        """Trace key of the first node with this identity."""
        return self.owners.get((level, identity)) if identity else None

    def claim_binary(self, key: str, binary: str) -> str | None:
        """Note the machine code of a node; returns the other node that had it first."""
        owner = self._claim("binary", binary, key)
        return owner if owner != key else None

    def _claim(self, level: str, identity: str | None, key: str) -> str | None:
        return self.owners.setdefault((level, identity), key) if identity else None

    def faster(self) -> list[tuple[str, Node]]:
        """Schedules measured to be faster than the unscheduled procedure, the fastest first."""
        found = [
            (speedup, key)
            for key, node in self.nodes.items()
            if node.trace.steps and (speedup := node.speedup) is not None and speedup > 1.0
        ]
        return [(key, self.nodes[key]) for _, key in sorted(found, reverse=True)]

"""The search tree in memory: distinct nodes, and who had each identity first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from schedsearch.core.records import Keys, Outcome, TuningRecord
from schedsearch.core.trace import Trace
from schedsearch.transforms.expand import Child, Expansion


@dataclass(frozen=True)
class Node:
    """A distinct, legal schedule; `speedup` is over the unscheduled procedure."""

    trace: Trace
    keys: Keys
    speedup: float | None = None


@dataclass
class Tree:
    """Nodes by trace key; owners of identities by `(level, key)`."""

    nodes: dict[str, Node] = field(default_factory=dict)
    owners: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, key: str, record: TuningRecord) -> None:
        """Take a stored or newly classified record in. Rejected ones leave nothing."""
        if record.outcome in (Outcome.ILLEGAL, Outcome.CODEGEN_ERROR):
            return
        if record.duplicate_level in (None, "binary"):
            self.nodes[key] = Node(record.trace, record.keys, record.speedup)
        self._claim("ast", record.keys.ast, key)
        self._claim("code", record.keys.code, key)
        if record.duplicate_level is None:
            self._claim("binary", record.keys.binary, key)

    def set_speedup(self, key: str, speedup: float) -> None:
        self.nodes[key] = replace(self.nodes[key], speedup=speedup)

    def classify(self, expansion: Expansion) -> list[tuple[str, TuningRecord]]:
        """Records of an expansion's children with their trace keys; takes new ones in."""
        records = []
        for child in expansion.children:
            trace = expansion.trace.then(child.rewrite)
            record = self._classify(trace, child)
            key = trace.key
            self.add(key, record)
            records.append((key, record))
        return records

    def _classify(self, trace: Trace, child: Child) -> TuningRecord:
        if child.outcome is not None:
            return TuningRecord(trace, child.outcome, child.keys, child.message)
        for level, identity in (("ast", child.keys.ast), ("code", child.keys.code)):
            owner = self.owner(level, identity)
            if owner is not None:
                return TuningRecord(
                    trace,
                    Outcome.DUPLICATE,
                    child.keys,
                    duplicate_of=owner,
                    duplicate_level=level,
                )
        return TuningRecord(trace, None, child.keys)

    def owner(self, level: str, identity: str | None) -> str | None:
        """Trace key of the first node with this identity."""
        return self.owners.get((level, identity)) if identity else None

    def claim_binary(self, key: str, binary: str) -> str | None:
        """Note the machine code of a node; returns the other node that had it first."""
        owner = self._claim("binary", binary, key)
        return owner if owner != key else None

    def _claim(self, level: str, identity: str | None, key: str) -> str | None:
        return self.owners.setdefault((level, identity), key) if identity else None

    def fastest(self) -> Iterable[tuple[str, Node]]:
        """Measured nodes, the fastest first."""
        measured = [(key, node) for key, node in self.nodes.items() if node.speedup is not None]
        return sorted(measured, key=lambda item: -(item[1].speedup or 0.0))

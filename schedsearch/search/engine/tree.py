"""The search tree in memory: distinct nodes, and which had each identity first."""

from __future__ import annotations

from dataclasses import dataclass, field

from schedsearch.core.records import Measurement, Outcome, TuningRecord
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.search.strategies.protocol import Node
from schedsearch.transforms.expand import Child


@dataclass
class Tree:
    """Nodes by trace key."""

    nodes: dict[str, Node] = field(default_factory=dict)
    # Which had an identity first, by `ast_key` and by `binary_key`.
    _by_ast: dict[str, str] = field(default_factory=dict)
    _by_binary: dict[str, str] = field(default_factory=dict)
    _measured: set[str] = field(default_factory=set)
    _rewrites: dict[Rewrite, Rewrite] = field(default_factory=dict)

    def add(self, key: str, record: TuningRecord, parent: Node | None) -> Node | None:
        """Take a stored or newly classified record in; its node, None if it is none. An illegal
        rewrite makes no schedule; a schedule without C is one: it may lead to others that have
        some."""
        if record.keys.ast is None:
            return None
        for rewrite in record.trace.steps[-1:]:
            self.shared(rewrite)
        node = None
        if record.duplicate_level in (None, "binary"):
            node = self.place(key, record, parent)
        self._by_ast.setdefault(record.keys.ast, key)
        if record.duplicate_level is None and record.keys.binary is not None:
            self._by_binary.setdefault(record.keys.binary, key)
        return node

    def place(self, key: str, record: TuningRecord, parent: Node | None) -> Node:
        """A node of its own, whatever it shares with others."""
        node = self.nodes[key] = Node(key, record.trace.steps, parent, record.predicted or 0.0)
        node.keys, node.outcome = record.keys, record.outcome
        self.rank(node, record.measurement if record.outcome is Outcome.CORRECT else None)
        return node

    def shared(self, rewrite: Rewrite) -> Rewrite:
        """An equal rewrite, the same for all nodes: most occur in many places of the tree."""
        return self._rewrites.setdefault(rewrite, rewrite)

    def rank(self, node: Node, measurement: Measurement | None) -> None:
        """From now on this measurement ranks the node; None if it failed after all."""
        node.measurement = measurement
        if measurement is not None:
            self._measured.add(node.key)

    def known(self, trace: Trace) -> int:
        """How many first steps of `trace` lead to a node."""
        prefixes = (length for length in range(len(trace), 0, -1))
        return next((n for n in prefixes if Trace(trace.steps[:n]).key in self.nodes), 0)

    def classify(self, trace: Trace, child: Child) -> TuningRecord:
        """The record of a new schedule."""
        if child.outcome is not None:
            return TuningRecord(trace, child.outcome, child.keys, child.message)
        owner = self._by_ast.get(child.keys.ast or "")
        if owner is not None:
            return TuningRecord(
                trace,
                Outcome.DUPLICATE,
                child.keys,
                duplicate_of=owner,
                duplicate_level="ast",
            )
        return TuningRecord(trace, None, child.keys, predicted=child.predicted)

    def claim_binary(self, key: str, binary: str) -> str | None:
        """Note the machine code of a node; returns the other node that had it first."""
        owner = self._by_binary.setdefault(binary, key)
        return owner if owner != key else None

    def faster(self) -> list[tuple[str, Node]]:
        """Schedules measured to be faster than the unscheduled procedure, the fastest first."""
        found = [
            (speedup, key)
            for key in self._measured
            if (node := self.nodes[key]).steps
            and (speedup := node.speedup) is not None
            and speedup > 1.0
        ]
        return [(key, self.nodes[key]) for _, key in sorted(found, reverse=True)]

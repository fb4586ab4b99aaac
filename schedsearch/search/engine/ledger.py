"""The books of a run: the tree, the counts, the best. Every change goes to the store first, then to
the strategy, so that a killed run resumes with the same knowledge."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate

from schedsearch.core.records import (
    Artifact,
    Failure,
    GeneratedC,
    Keys,
    Measurement,
    Outcome,
    TimingKind,
    TuningRecord,
)
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.search.engine.minimal import Shortened
from schedsearch.search.engine.plans import PAIR
from schedsearch.search.engine.progress import Best
from schedsearch.search.strategies.frontier import Frontier
from schedsearch.search.strategies.protocol import Node, Strategy
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate
from schedsearch.transforms.children import Child, Expansion, Replay


@dataclass
class Tree:
    """Nodes by trace key."""

    nodes: dict[str, Node] = field(default_factory=dict)
    # The trace key that had an identity first, by `ast_key` and by `binary_key`.
    _by_ast: dict[str, str] = field(default_factory=dict)
    _by_binary: dict[str, str] = field(default_factory=dict)
    _measured: set[str] = field(default_factory=set)
    _rewrites: dict[Rewrite, Rewrite] = field(default_factory=dict)

    def add(self, key: str, record: TuningRecord, parent: Node | None) -> Node | None:
        """Take in a record, stored or newly classified. Returns its node, None for an illegal
        rewrite and for a second schedule with the same query AST. A schedule without C has a node:
        it may lead to schedules that have C."""
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
        """Make a node, even if another one has the same identity."""
        node = self.nodes[key] = Node(key, record.trace.steps, parent, record.predicted or 0.0)
        node.keys, node.outcome = record.keys, record.outcome
        self.rank(node, record.measurement if record.outcome is Outcome.CORRECT else None)
        return node

    def shared(self, rewrite: Rewrite) -> Rewrite:
        """The one copy of an equal rewrite: most occur in many places of the tree."""
        return self._rewrites.setdefault(rewrite, rewrite)

    def rank(self, node: Node, measurement: Measurement | None) -> None:
        """Rank the node by this measurement from now on; None if the node failed after all."""
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


Stages = tuple[tuple[str, float], ...]


class Ledger:
    """The books of one run. `clock` gives seconds since its start."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        run_id: int,
        clock: Callable[[], float],
    ) -> None:
        self.store, self.scope, self.run_id = store, scope, run_id
        self.clock = clock
        self.tree = Tree()
        self.frontier: Frontier  # once the run is resumed
        self.outcomes: Counter[Outcome | None] = Counter()
        self.best: Best | None = None
        self.curve: list[tuple[float, float]] = []
        self.superseded: dict[str, str] = {}  # by a shorter schedule that is as fast
        self.faults: dict[str, None] = {}
        """Mistakes of transforms, in words."""
        # Trace keys that replays found. An expansion may find them again.
        self._early: set[str] = set()
        # The children, illegal ones too, of nodes that are not expanded or not entirely.
        self._made: defaultdict[str, list[Rewrite]] = defaultdict(list)
        # Duplicates of machine code whose owner is not measured yet, by owner.
        self._followers: dict[str, list[Node]] = {}

    @property
    def best_speedup(self) -> float:
        return self.best.measurement.middle if self.best else 1.0

    @property
    def shortened_from(self) -> int:
        """Rewrites of the longest schedule that the best supersedes; 0 if it does none."""
        own, nodes = self.best.key if self.best else "", self.tree.nodes
        longer = [key for key, short in self.superseded.items() if short == own and key in nodes]
        return max((len(nodes[key].steps) for key in longer), default=0)

    def code(self, key: str) -> GeneratedC | None:
        """C of a node; None if none was generated yet."""
        known = self.tree.nodes[key].keys.code
        return self.store.code(known) if known else None

    # -- what was known before ------------------------------------------------

    def resume(
        self, known: Iterable[StoredCandidate], strategy: Strategy, start: Trace, seed: int
    ) -> None:
        """Take in the store's candidates, parents first, and begin the strategy below `start`: it
        is told of all nodes, then of measurements."""
        nodes = self.tree.nodes
        twins: dict[str, str] = {}
        expanded: set[int] = set()
        above: dict[int, Node | None] = {}  # by id, of candidates that have children
        keys: dict[int, str] = {}  # of the same
        for candidate in known:
            key, record, parent_id = candidate.trace_key, candidate.record, candidate.parent_id
            node = self.tree.add(key, record, above.get(parent_id or 0))
            self.outcomes[record.outcome] += 1
            if candidate.expanded:
                expanded.add(candidate.id)
                if node is not None:
                    node.expanding = True
            if candidate.has_children:
                above[candidate.id] = node or nodes.get(record.duplicate_of or "")
                keys[candidate.id] = key
            if parent_id is not None and parent_id not in expanded:
                self._early.add(key)
                self._made[keys[parent_id]].append(record.trace.steps[-1])
            if node is not None and record.duplicate_of is not None:
                twins[key] = record.duplicate_of
        self.frontier = Frontier(strategy, nodes[start.key], seed)
        self.frontier.found(nodes.values())
        for key, node in nodes.items():
            if node.outcome is None:
                continue
            if key in twins:
                self._tell_duplicate(node, twins[key])
            else:
                self._tell_measured(node)
        self.best = self._fastest(confirmed=True) or self._fastest()
        if self.best is not None:
            self.curve.append((self.clock(), self.best_speedup))

    def made(self, key: str) -> tuple[Rewrite, ...]:
        """The last rewrites of the children that a node has so far."""
        return tuple(self._made.get(key, ()))

    # -- what is found out -----------------------------------------------------

    def expanded(self, key: str, expansion: Expansion) -> None:
        """Take in children, but those that a replay found before."""
        records, new = [], []
        self.faults.update(dict.fromkeys(expansion.faults))
        # The node's own steps, not the copies that came back from a worker.
        node = self.tree.nodes[key]
        parent = node.trace
        for child in expansion.children:
            trace = parent.then(self.tree.shared(child.rewrite))
            child_key = trace.key
            if child_key in self._early:
                continue
            record = self.tree.classify(trace, child)
            found = self.tree.add(child_key, record, node)
            records.append(record)
            if found is not None and record.outcome is None:
                new.append(found)
        whole = expansion.left == 0
        stage_s = dict(expansion.stage_s)
        self.store.add_expansion(self.scope, self.run_id, key, records, stage_s, whole=whole)
        self.outcomes.update(record.outcome for record in records)
        node.expanding = True
        self.frontier.found(new)
        if whole:
            self._made.pop(key, None)
        else:
            self._made[key].extend(self.tree.shared(child.rewrite) for child in expansion.children)
            self.frontier.more(node)

    def replayed(self, replay: Replay) -> None:
        """Take in the steps of a replay that are new, up to one that leads nowhere."""
        self.faults.update(dict.fromkeys(replay.faults))
        rewrites = (self.tree.shared(child.rewrite) for child in replay.steps)
        traces = list(accumulate(rewrites, Trace.then, initial=replay.start))
        keys = [trace.key for trace in traces]
        stored = self.store.known(self.scope, keys)
        records: list[TuningRecord] = []
        new: list[Node] = []
        at = self.tree.nodes.get(keys[0])
        for trace, key, child in zip(traces[1:], keys[1:], replay.steps, strict=True):
            if key in self.tree.nodes:
                at = self.tree.nodes[key]
                continue
            record = self.tree.classify(trace, child)
            if key not in stored:
                records.append(record)
                self._early.add(key)
            found = None
            if record.outcome is None and key not in stored:
                found = self.tree.add(key, record, at)
            if found is not None:
                new.append(found)
            at = found or self.tree.nodes.get(record.duplicate_of or "")
            if at is None:
                break
        self.store.add_replay(self.scope, self.run_id, records, dict(replay.stage_s))
        self.outcomes.update(record.outcome for record in records)
        self.frontier.found(new)
        if at is not None:
            self.frontier.replayed(at)

    def not_expanded(self, key: str, failure: Failure) -> None:
        """Note that a node cannot be expanded. The outcome of its own kernel stays."""
        node = self.tree.nodes[key]
        message = f"cannot be expanded: {failure.message}"
        self._record(node, TuningRecord(node.trace, None, node.keys, message), node.measurement)
        node.expanding = True

    def generated(self, key: str, code: GeneratedC) -> None:
        """Keep the C of a node. Its key is stored with the result of the build."""
        self.store.add_code([code])
        node = self.tree.nodes[key]
        node.keys = replace(node.keys, code=code.key)

    def built(self, key: str, artifact: Artifact, stages: Stages) -> bool:
        """Note the machine code of a node. Returns False if another node has the same."""
        node = self.tree.nodes[key]
        node.keys = replace(node.keys, binary=artifact.binary_key)
        owner = self.tree.claim_binary(key, artifact.binary_key)
        # A shortened schedule is measured under its own name (minimal.py).
        if owner is None or node.measurement is not None:
            found = TuningRecord(node.trace, None, node.keys, stage_s=stages)
            self.store.record(self.scope, self.run_id, found)
            return True
        duplicate = TuningRecord(
            node.trace,
            Outcome.DUPLICATE,
            node.keys,
            duplicate_of=owner,
            duplicate_level="binary",
            stage_s=stages,
        )
        self._record(node, duplicate, node.measurement)
        self._tell_duplicate(node, owner)
        return False

    def shortened(self, key: str, short: Shortened) -> str:
        """Let a shorter schedule, which is as fast and was replayed, take the place of `key`, even
        if it has the C or the query AST of another node. Returns the key that counts."""
        new, nodes = short.trace.key, self.tree.nodes
        if not self.store.known(self.scope, [new]):
            return key  # the worker died
        known = nodes.get(new)
        if known is not None and known.outcome not in (None, Outcome.CORRECT):
            return key  # it was found to be wrong, or does not end, in an earlier run
        self.superseded[key] = new
        if known is None or known.measurement is None:
            self.store.add_code([short.code])
            timed = nodes[key].measurement
            assert timed is not None, "it was compared with it"
            keys = Keys(short.ast_key, short.code.key)
            taken = replace(timed, kind=TimingKind.SCREEN)
            outcome = known.outcome if known else Outcome.DUPLICATE
            if known is None:
                record = TuningRecord(short.trace, outcome, keys)
                known = self.tree.place(new, record, nodes[key].parent)
            known.keys = keys
            self.tree.rank(known, taken)
        return new

    def measured(self, key: str, measurement: Measurement, stages: Stages) -> None:
        """Book a measurement. A race replaces the screening, and a confirmation replaces both; a
        pair does not replace a confirmation. Heats of a race add up: each stored heat has the
        rounds of those before."""
        node = self.tree.nodes[key]
        first = node.speedup is None
        ranking = measurement
        if measurement.kind == TimingKind.RACE and node.measurement is not None:
            ranking = node.measurement.pooled(measurement)
        found = TuningRecord(
            node.trace, Outcome.CORRECT, node.keys, measurement=ranking, stage_s=stages
        )
        if node.confirmed and node.measurement is not None and ranking.kind == PAIR.kind:
            ranking = node.measurement
        self._record(node, found, ranking)
        if first:
            self._tell_measured(node)
        if self.best is not None and self.best.key == key:
            self.best = self._fastest()
        elif node.trace.steps and ranking.middle > self.best_speedup:
            self.best = Best(key, node.trace, ranking)
            self.curve.append((self.clock(), self.best_speedup))

    def failed(self, key: str, failure: Failure, stages: Stages = ()) -> None:
        """Book that a node cannot be built, is wrong, or crashed. It cannot be the best any more,
        whatever was measured before."""
        node = self.tree.nodes[key]
        first = node.speedup is None
        found = TuningRecord(
            node.trace, failure.outcome, node.keys, failure.message, stage_s=stages
        )
        self._record(node, found, None)
        if first:
            self._tell_measured(node)
        elif self.best is not None and self.best.key == key:
            self.best = self._fastest()

    def settle(self) -> None:
        """Name the best of the confirmed schedules, by all timings together. Screenings flatter
        their leader."""
        for key, speedup in self.store.joint(self.scope).items():
            node = self.tree.nodes.get(key)
            if node is not None and node.measurement is not None:
                self.tree.rank(node, replace(node.measurement, joint=speedup))
        self.best = self._fastest(confirmed=True)

    # -- one place each ----------------------------------------------------------

    def _tell_measured(self, node: Node) -> None:
        """Tell the strategy the speed-up of a node and its duplicates, or that they have none."""
        for each in (*self._followers.pop(node.key, ()), node):
            self.frontier.measured(each, node.speedup)

    def _tell_duplicate(self, node: Node, owner: str) -> None:
        """Equal machine code is equally fast, but another schedule may have other children.

        The owner may be measured later: then its duplicates are told again.
        """
        first = self.tree.nodes[owner]
        if first.outcome is None:
            self._followers.setdefault(owner, []).append(node)
        self.frontier.measured(node, first.speedup)

    def _record(self, node: Node, record: TuningRecord, measurement: Measurement | None) -> None:
        """Store `record`; the node takes the outcome that the store settles on."""
        outcome = self.store.record(self.scope, self.run_id, record)
        self.outcomes[node.outcome] -= 1
        self.outcomes[outcome] += 1
        node.outcome = outcome
        self.tree.rank(node, measurement)

    def _fastest(self, confirmed: bool = False) -> Best | None:
        for key, node in self.faster():
            if node.measurement is not None and (node.confirmed or not confirmed):
                return Best(key, node.trace, node.measurement)
        return None

    def faster(self) -> list[tuple[str, Node]]:
        """Schedules that were measured faster than the procedure as written, the fastest first,
        without those that a shorter one supersedes."""
        nodes = self.tree.nodes

        def holds(key: str) -> bool:
            short = nodes.get(self.superseded.get(key, ""))
            return short is None or (short.speedup or 0.0) <= 1.0

        return [(key, node) for key, node in self.tree.faster() if holds(key)]

"""What a strategy is told of the candidates that a store knows, before measurements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.core.build import COMPILE_WITH
from schedsearch.core.records import TuningRecord
from schedsearch.search.strategies.protocol import ChildInfo, Expanded, Replayed
from schedsearch.store.views import StoredCandidate


def child_info(key: str, record: TuningRecord) -> ChildInfo:
    """What a strategy hears of a new node."""
    rewrite = record.trace.steps[-1]
    return ChildInfo(key, rewrite, record.predicted or 0.0, rewrite.transform == COMPILE_WITH)


@dataclass(frozen=True)
class _Step:
    """A candidate that a replay found. `node` is the key of the node that has its schedule,
    None if there is none; `info` None if that is not itself."""

    key: str
    parent_id: int
    node: str | None
    info: ChildInfo | None


class History:
    """Collects the tree while the store hands out one candidate after the other, parents
    first, and keeps no more of each than the strategy will."""

    def __init__(self) -> None:
        self._expanded: dict[int, str] = {}  # trace keys by id
        self._children: defaultdict[int, list[ChildInfo]] = defaultdict(list)
        self._steps: dict[int, _Step] = {}
        self._above: dict[int, str | None] = {}  # nodes of those that steps may follow

    def add(self, candidate: StoredCandidate, is_node: bool) -> bool:
        """Take one in; `is_node`: it is a distinct, legal schedule. Returns whether a replay
        found it: its parent is not expanded."""
        key, record, parent_id = candidate.trace_key, candidate.record, candidate.parent_id
        node = key if is_node else record.duplicate_of
        if candidate.expanded:
            self._expanded[candidate.id] = key
        if candidate.has_children:
            self._above[candidate.id] = node
        if parent_id is None:
            return False
        info = child_info(key, record) if is_node else None
        if parent_id not in self._expanded:
            self._steps[candidate.id] = _Step(key, parent_id, node, info)
            return True
        if info is not None:
            self._children[parent_id].append(info)
        return False

    def expansions(self) -> Iterator[Expanded]:
        """One event per expanded candidate."""
        for candidate_id, key in self._expanded.items():
            yield Expanded(key, tuple(self._children.pop(candidate_id, ())))

    def replays(self) -> Iterator[Replayed]:
        """One event per end of a replayed trace; nodes on the way to several ends are told
        once."""
        inner = {step.parent_id for step in self._steps.values()}
        told: set[int] = set()
        for end_id, end in self._steps.items():
            if end_id in inner:
                continue
            chain: list[tuple[str, ChildInfo]] = []
            at: int = end_id
            while (step := self._steps.get(at)) is not None and at not in told:
                told.add(at)
                if step.info is not None:
                    above = self._above[step.parent_id]
                    assert above is not None, "nothing follows a step that failed"
                    chain.append((above, step.info))
                at = step.parent_id
            yield Replayed(tuple(reversed(chain)), end.node)

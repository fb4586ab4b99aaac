"""What a strategy is told of the candidates that a store knows, before measurements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence

from schedsearch.core.build import COMPILE_WITH
from schedsearch.core.records import TuningRecord
from schedsearch.search.strategy import ChildInfo, Expanded, Replayed
from schedsearch.store.views import StoredCandidate


def child_info(key: str, record: TuningRecord) -> ChildInfo:
    """What a strategy hears of a new node."""
    rewrite = record.trace.steps[-1]
    return ChildInfo(key, rewrite, record.predicted or 0.0, rewrite.transform == COMPILE_WITH)


def early(known: Sequence[StoredCandidate]) -> dict[int, StoredCandidate]:
    """Candidates by id that replays found: their parents are not expanded."""
    expanded = {candidate.id for candidate in known if candidate.expanded}
    return {c.id: c for c in known if c.parent_id is not None and c.parent_id not in expanded}


def expansions(known: Sequence[StoredCandidate], nodes: Container[str]) -> Iterator[Expanded]:
    """One event per expanded candidate. `nodes` are the keys of distinct, legal schedules."""
    children: defaultdict[int | None, list[ChildInfo]] = defaultdict(list)
    for candidate in known:
        if candidate.parent_id is not None and candidate.trace_key in nodes:
            info = child_info(candidate.trace_key, candidate.record)
            children[candidate.parent_id].append(info)
    for candidate in known:
        if candidate.expanded:
            yield Expanded(candidate.trace_key, tuple(children.get(candidate.id, ())))


def replays(known: Sequence[StoredCandidate], nodes: Container[str]) -> Iterator[Replayed]:
    """One event per end of a replayed trace; nodes on the way to several ends are told once."""
    found = early(known)
    by_id = {c.id: c for c in known} if found else {}
    inner = {candidate.parent_id for candidate in found.values()}
    told: set[int] = set()
    for end in found.values():
        if end.id in inner:
            continue
        chain: list[tuple[str, ChildInfo]] = []
        step = end
        while step.id in found and step.id not in told:
            told.add(step.id)
            assert step.parent_id is not None, "a replayed step comes after another"
            parent = by_id[step.parent_id]
            if step.trace_key in nodes:
                above = _node(parent, nodes)
                assert above is not None, "nothing follows a step that failed"
                chain.append((above, child_info(step.trace_key, step.record)))
            step = parent
        yield Replayed(end.trace_key, tuple(reversed(chain)), _node(end, nodes))


def _node(candidate: StoredCandidate, nodes: Container[str]) -> str | None:
    """The node that has a candidate's schedule; None if there is none."""
    key = candidate.trace_key
    return key if key in nodes else candidate.record.duplicate_of

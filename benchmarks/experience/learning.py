"""Experience from stores: means over kernels, each of which counts alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import log, sqrt
from statistics import fmean

from schedsearch.search.strategies.best_first import surpluses
from schedsearch.search.strategies.experience import OPTIMISM, SPREAD, Situation, Worth
from schedsearch.search.strategies.protocol import Node
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

MOST = 1.0
"""A surplus counts as no more than this, up or down: one candidate must not decide."""
KERNELS = 3
"""Kernels that what is assumed without experience weighs as much as."""

Lessons = Mapping[Situation, list[float]]


def lessons(store: Store) -> Iterator[tuple[str, Lessons]]:
    """The surpluses of every search of a store, with the name of its procedure."""
    for scope in store.scopes():
        found: defaultdict[Situation, list[float]] = defaultdict(list)
        for situation, surplus in surpluses(nodes(store.walk(scope))):
            found[situation].append(min(max(surplus, -MOST), MOST))
        yield store.workload(scope).proc, found


def nodes(candidates: Iterable[StoredCandidate]) -> Iterator[Node]:
    """As a search would have told of them; their values are those of first measurements."""
    made: dict[int, Node] = {}
    for each in candidates:
        parent = made.get(each.parent_id) if each.parent_id is not None else None
        node = Node(each.trace_key, each.record.trace.steps, parent, each.record.predicted or 0.0)
        if each.measurements:
            node.value = log(each.measurements[0].middle)
        made[each.id] = node
        yield node


def learned(kernels: Iterable[Lessons]) -> dict[Situation, Worth]:
    """What situations are worth, by kernels' surpluses in them."""
    known: defaultdict[Situation, list[list[float]]] = defaultdict(list)
    for kernel in kernels:
        for situation, found in kernel.items():
            known[situation].append(found)
    return {situation: _worth(each) for situation, each in known.items()}


def _worth(kernels: list[list[float]]) -> Worth:
    count = len(kernels)
    mean = fmean(map(fmean, kernels))
    spread = sqrt(fmean(fmean((x - mean) ** 2 for x in found) for found in kernels))
    return Worth(
        (mean * count + OPTIMISM * KERNELS) / (count + KERNELS),
        (spread * count + SPREAD * KERNELS) / (count + KERNELS),
    )

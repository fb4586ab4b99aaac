"""Stores of several machines in one."""

from __future__ import annotations

from collections import deque

from schedsearch.core.errors import UserError
from schedsearch.evaluate.run.timing import Cache
from schedsearch.store.database import Store
from schedsearch.store.views import Merged, Scope


def merge_into(store: Store, other: Store) -> Merged:
    """Add everything `other` has to `store`. Raises UserError, having changed nothing, if they
    timed a procedure in ways that do not compare, or if `other` holds what cannot be read:
    merging copies rows as they are, and would spoil `store` with it.

    Searches with different transforms may meet: what is known stays known, and all may be
    expanded again.
    """
    for scope in other.scopes():
        workload, target = other.workload(scope), other.target(scope)
        own = store.find_scope(workload, target)
        modes = _cache_modes(other, scope) | (_cache_modes(store, own) if own else set())
        if len(modes) > 1:
            raise UserError(
                f"{other.name} and {store.name} do not compare: {workload.proc} is timed with "
                f"{' and with '.join(sorted(modes))} caches; nothing was changed; merge into "
                "another --store"
            )
        for tree in other.trees(scope):
            deque(other.walk(tree), maxlen=0)
    merged = store.merge(other)
    met = (store.find_scope(other.workload(each), other.target(each)) for each in other.scopes())
    for scope in filter(None, met):
        for tree in store.trees(scope):
            if len({frozenset(run.settings.get("transforms", ())) for run in store.runs(tree)}) > 1:
                store.reopen(tree)
    return merged


def _cache_modes(store: Store, scope: Scope) -> set[str]:
    runs = (run for tree in store.trees(scope) for run in store.runs(tree))
    return {run.settings.get("cache", Cache.WARM) for run in runs}

"""Two schedules of one procedure: what they share, where they part, which one is faster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from schedsearch.core.errors import UserError
from schedsearch.core.outline import changes, outline
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.search.pairs import Ratio, ratio, standing_for
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate
from schedsearch.transforms.replay import Replayer


@dataclass(frozen=True)
class Versus:
    """`shared` rewrites, then each one's `own`. `nest` are the lines that change from the
    first's loop nest to the second's (`core/outline.py`)."""

    shared: tuple[Rewrite, ...]
    own: tuple[tuple[Rewrite, ...], tuple[Rewrite, ...]]
    nest: tuple[str, ...]


def versus(replayer: Replayer, first: Trace, second: Trace) -> Versus:
    """Raises ReplayError if one of them does not replay."""
    count = 0
    for one, other in zip(first.steps, second.steps, strict=False):
        if one != other:
            break
        count += 1
    before, after = (outline(replayer.state(trace).ast) for trace in (first, second))
    own = (first.steps[count:], second.steps[count:])
    return Versus(first.steps[:count], own, changes(before, after))


def recorded_ratio(store: Store, first: StoredCandidate, second: StoredCandidate) -> Ratio | None:
    """How many times faster the second is than the first, by what the store has of each; None
    if it has nothing.

    Raises UserError if they are of different workloads or targets: a ratio would mean nothing.
    """
    require_comparable(first, second)
    one, other = (standing_for(store, each.scope, each.trace_key) for each in (first, second))
    return ratio(one, other)


def require_comparable(first: StoredCandidate, second: StoredCandidate) -> None:
    """Raises UserError if they are of different workloads or targets."""
    if replace(first.scope, tree=second.scope.tree) != second.scope:
        raise UserError(
            f"candidates {first.id} and {second.id} are of different procedures, sizes or "
            "targets; `schedsearch best` lists what belongs together"
        )

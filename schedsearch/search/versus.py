"""Two schedules of one procedure: what they share, where they part, which one is faster."""

from __future__ import annotations

from dataclasses import dataclass

from schedsearch.core.errors import UserError
from schedsearch.core.outline import changes, outline
from schedsearch.core.records import Measurement
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Rewrite, Trace
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


def recorded_ratio(first: StoredCandidate, second: StoredCandidate) -> Estimate | None:
    """How many times faster the second is than the first, by what the store has of each.

    Both are known over a third kernel, at other times: the interval is that of the worst
    case of both. None if one of them was not measured. Raises UserError if they are of
    different workloads or targets: those ratios would mean nothing.
    """
    if first.scope != second.scope:
        raise UserError(
            f"candidates {first.id} and {second.id} are of different procedures, sizes or "
            "targets; `schedsearch best` lists what belongs together"
        )
    one, other = first.record.measurement, second.record.measurement
    return apart(one, other) if one and other else None


def apart(first: Measurement, second: Measurement) -> Estimate:
    """Ratio of two speed-ups that were measured apart."""
    one, other = first.speedup, second.speedup
    return Estimate(other.value / one.value, other.low / one.high, other.high / one.low)

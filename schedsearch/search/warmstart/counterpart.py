"""The same sizes bound the other way: constants for arguments, arguments for constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from schedsearch.core.errors import UserError
from schedsearch.core.records import Measurement
from schedsearch.search.setup.subject import Subject, bind_workload
from schedsearch.store.database import Store


@dataclass(frozen=True)
class Counterpart:
    """The best schedule that the store has for the same sizes, general or specialised.

    It was measured by an earlier run, the last of which started at `when`, and not
    interleaved with what it stands beside; `measurement` is over its own baseline.
    """

    specialized: bool
    candidate_id: int
    measurement: Measurement
    when: datetime


def find_counterpart(
    store: Store, subject: Subject, sizes: Mapping[str, int]
) -> Counterpart | None:
    """None if there are no sizes to bind, or the store has no schedule for it.

    `sizes` are what the user gave for `subject`.
    """
    specialized = not subject.workload.specialized
    try:
        general = subject.source.named(subject.name)
        _, _, other = bind_workload(subject.source, general, sizes, specialized)
    except UserError:  # this procedure cannot be specialised to these sizes
        return None
    scope = store.find_scope(other, subject.target)
    if scope is None:
        return None
    for best in store.best(scope, 1):
        measurement, runs = best.record.measurement, store.runs(scope)
        if best.record.trace.steps and measurement is not None and runs:
            return Counterpart(specialized, best.id, measurement, runs[-1].started_at)
    return None

"""Records that the store returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schedsearch.core.records import Measurement, RunStatus, TimingKind, TuningRecord


@dataclass(frozen=True, slots=True)
class Scope:
    """One search tree: of a workload on a target, and which of those, from 1 on; all but the
    first were begun afresh."""

    workload_id: int
    target_id: int
    tree: int = 1


@dataclass(frozen=True, slots=True)
class StoredCandidate:
    """A candidate as stored.

    `trace_key` is `record.trace.key`, which is slow to compute. `measurements`
    are all of them, oldest first; `record.measurement` is the one that ranks
    the candidate (`ranking.py`). `has_children`: some are stored,
    though it may not be `expanded` (replays found them).
    """

    id: int
    scope: Scope
    trace_key: str
    parent_id: int | None
    run_id: int
    expanded: bool
    has_children: bool
    record: TuningRecord
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True)
class Timed:
    """When a measurement was made, and what it said: a speed-up and nanoseconds per call."""

    at: datetime
    run_id: int
    candidate_id: int
    kind: TimingKind
    speedup: float
    candidate_ns: float


@dataclass(frozen=True)
class Run:
    """One run of a search on `host` (empty: of an earlier version). `status` is INTERRUPTED if
    its process died unannounced; of other hosts' processes that is not known here."""

    id: int
    scope: Scope
    seed: int
    strategy: str
    settings: Mapping[str, Any]
    environment: Mapping[str, Any]
    host: str
    status: RunStatus
    started_at: datetime
    finished_at: datetime | None
    summary: Mapping[str, Any] | None


@dataclass(frozen=True)
class Table:
    """Columns by name, and rows with a value for each."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]

    def dicts(self) -> Iterator[dict[str, Any]]:
        """Rows by column name."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


@dataclass(frozen=True)
class Merged:
    """Numbers of rows that a merge added. `changed` known candidates have more data now."""

    runs: int
    candidates: int
    measurements: int
    changed: int

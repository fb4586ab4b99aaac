"""What is known, as tables: for data frames. No traces, no raw samples, few queries.

Each function runs inside the caller's transaction.
"""

from __future__ import annotations

import json
from functools import lru_cache
from math import inf
from typing import Any

from sqlalchemy import ColumnElement, Connection, Text, and_, cast, select

from schedsearch.core.records import OF_ITSELF, Outcome
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Rewrite
from schedsearch.store.joint import joint
from schedsearch.store.schema import CandidateRow, MeasurementRow, RunRow, StageTimeRow
from schedsearch.store.scopes import in_scope, run_in_scope
from schedsearch.store.views import Scope, Table

_CANDIDATES = select(
    CandidateRow.id,
    CandidateRow.parent_id,
    CandidateRow.run_id,
    CandidateRow.depth,
    CandidateRow.outcome,
    CandidateRow.predicted,
    CandidateRow.expanded_at.is_not(None).label("expanded"),
    CandidateRow.duplicate_of,
    CandidateRow.duplicate_level,
    CandidateRow.message,
    CandidateRow.trace_key,
    CandidateRow.ast_key,
    CandidateRow.code_key,
    CandidateRow.binary_key,
    cast(CandidateRow.rewrite, Text).label("step"),
).order_by(CandidateRow.id)

_MEASUREMENTS = (
    select(
        MeasurementRow.id,
        MeasurementRow.candidate_id,
        MeasurementRow.run_id,
        MeasurementRow.kind,
        MeasurementRow.created_at,
        MeasurementRow.speedup,
        MeasurementRow.low,
        MeasurementRow.high,
        MeasurementRow.candidate_ns,
    )
    .join(CandidateRow, CandidateRow.id == MeasurementRow.candidate_id)
    .order_by(MeasurementRow.created_at, MeasurementRow.id)
)

_TIMED = ("speedup", "low", "high", "candidate_ns", "kind")


def candidates(connection: Connection, scope: Scope, parent_id: int | None = None) -> Table:
    """One row per candidate, or per child of one, parents first. `rewrite` is its last step as
    text, `transform` that step's name, both empty for the root; speed-ups are by all timings
    together, else of the measurement that ranks it (without an interval, if that was against
    another schedule), None if it was not measured or failed after it."""
    where = in_scope(scope)
    if parent_id is not None:
        where = and_(where, CandidateRow.parent_id == parent_id)
    ranking = _ranking(connection, where)
    together = joint(connection, scope)

    @lru_cache(maxsize=1 << 14)
    def read(step: str | None) -> tuple[str, str]:
        data = json.loads(step) if step else None
        rewrite = Rewrite.from_json(data) if data else None
        return (rewrite.transform, str(rewrite)) if rewrite else ("", "")

    def row(found: Any) -> tuple[Any, ...]:
        known, step = found[:-1], found[-1]
        timed = ranking.get(found.id) if found.outcome is Outcome.CORRECT else None
        said = tuple(getattr(timed, name, None) for name in _TIMED)
        if timed is not None:
            own = Estimate(timed.speedup, timed.low, timed.high)
            if timed.kind not in OF_ITSELF:
                own = together.get(found.id, Estimate(timed.speedup))
            said = (*own.to_json().values(), *said[3:])
        return (*known, *read(step), *said)

    result = connection.execute(_CANDIDATES.where(where))
    *names, _ = result.keys()
    return Table((*names, "transform", "rewrite", *_TIMED), [row(found) for found in result])


def _ranking(connection: Connection, where: ColumnElement[bool]) -> dict[int, Any]:
    """By candidate: its latest confirmation, else its latest measurement."""
    found: dict[int, Any] = {}
    for row in connection.execute(_MEASUREMENTS.where(where)):
        known = found.get(row.candidate_id)
        if known is None or row.kind == "confirm" or known.kind != "confirm":
            found[row.candidate_id] = row
    return found


def measurements(connection: Connection, scope: Scope) -> Table:
    """One row per timing, the oldest first; `candidate_ns` is of one call. Intervals are of that
    timing alone, None if it was against another schedule."""
    found = _table(connection, _MEASUREMENTS.where(in_scope(scope)))
    at = found.columns.index("high")
    rows = [(*r[: at - 1], None, None, *r[at + 1 :]) if r[at] == inf else r for r in found.rows]
    return Table(found.columns, rows)


def stages(connection: Connection, scope: Scope) -> Table:
    """Seconds by run and stage, and on how many pieces of work they were spent."""
    columns = (StageTimeRow.run_id, StageTimeRow.stage, StageTimeRow.seconds, StageTimeRow.count)
    runs = select(*columns).join(RunRow, RunRow.id == StageTimeRow.run_id)
    own = runs.where(run_in_scope(scope))
    return _table(connection, own.order_by(StageTimeRow.run_id, StageTimeRow.stage))


def _table(connection: Connection, statement: Any) -> Table:
    result = connection.execute(statement)
    return Table(tuple(result.keys()), [tuple(row) for row in result])

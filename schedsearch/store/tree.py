"""Writing rows of a search tree, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from schedsearch.core.records import Measurement, Outcome, TuningRecord
from schedsearch.core.stats import Estimate
from schedsearch.store.backend import upsert
from schedsearch.store.schema import (
    CandidateRow,
    MeasurementRow,
    StageTimeRow,
    in_scope,
    utc_now,
)
from schedsearch.store.views import Scope

# Statements that every candidate needs are made once: making one takes SQLAlchemy longer
# than SQLite takes to execute it.
_FIND = select(
    CandidateRow.id,
    CandidateRow.outcome,
    CandidateRow.message,
    CandidateRow.stage_s,
    CandidateRow.expanded_at,
).where(
    CandidateRow.workload_id == bindparam("workload_id"),
    CandidateRow.target_id == bindparam("target_id"),
    CandidateRow.trace_key == bindparam("trace_key"),
    CandidateRow.tree == bindparam("tree"),
)
_UPDATE = update(CandidateRow).where(CandidateRow.id == bindparam("known_id"))
_ADD_MEASUREMENT = insert(MeasurementRow)
_LAST_MEASURED = select(func.max(MeasurementRow.created_at)).where(
    MeasurementRow.candidate_id == bindparam("candidate_id")
)


def settle(known: Outcome | None, found: Outcome | None) -> Outcome | None:
    """The outcome to keep: `incorrect` is final, `correct` yields to nothing else.

    Any other outcome is about an attempt (a timeout, a crash of the machine's
    making), so a later attempt replaces it.
    """
    if found is None or known is Outcome.INCORRECT:
        return known
    if known is Outcome.CORRECT and found is not Outcome.INCORRECT:
        return known
    return found


def find(connection: Connection, scope: Scope, trace_key: str) -> Row[Any] | None:
    return connection.execute(_FIND, {**asdict(scope), "trace_key": trace_key}).one_or_none()


def get(connection: Connection, scope: Scope, trace_key: str) -> Row[Any]:
    row = find(connection, scope, trace_key)
    if row is None:
        raise LookupError(f"no candidate with trace key {trace_key} in {scope}")
    return row


def change(connection: Connection, candidate_id: int, **values: Any) -> None:
    connection.execute(_UPDATE, {"known_id": candidate_id, **values})


def revised(connection: Connection, scope: Scope, known: Row[Any], found: TuningRecord) -> Any:
    """The columns of a candidate that change with what was found out about it."""
    outcome = settle(known.outcome, found.outcome)
    values: dict[str, Any] = {"outcome": outcome, "message": known.message}
    if found.outcome in (outcome, None):
        values |= _keys(found)
        # What was said of a candidate not yet measured (it cannot be expanded) stays true.
        if found.message or (outcome != known.outcome and known.outcome is not None):
            values["message"] = found.message
        if found.outcome is not None:
            original = found.duplicate_of and get(connection, scope, found.duplicate_of).id
            values |= {"duplicate_of": original, "duplicate_level": found.duplicate_level}
    else:
        later = f"later {found.outcome}: {found.message}"
        values["message"] = f"{known.message}\n{later}" if known.message else later
    stage_s = dict(known.stage_s)
    for stage, seconds in found.stage_s:
        stage_s[stage] = stage_s.get(stage, 0.0) + seconds
    return {**values, "stage_s": stage_s}


def add_candidates(
    connection: Connection,
    scope: Scope,
    run_id: int,
    records: Sequence[TuningRecord],
    parent_id: int | None,
) -> None:
    last = connection.execute(select(func.max(CandidateRow.id))).scalar() or 0
    ids = {r.trace.key: last + n for n, r in enumerate(records, start=1)}
    if len(ids) < len(records):
        raise ValueError("two children have the same trace")
    wanted = sorted({r.duplicate_of for r in records if r.duplicate_of} - ids.keys())
    stored = select(CandidateRow.trace_key, CandidateRow.id).where(
        in_scope(CandidateRow, scope), CandidateRow.trace_key.in_(wanted)
    )
    known = ids | dict(connection.execute(stored).all())
    rows = []
    measurements = []
    place = asdict(scope)
    for (trace_key, candidate_id), item in zip(ids.items(), records, strict=True):
        if item.duplicate_of is not None and item.duplicate_of not in known:
            raise LookupError(f"{trace_key} duplicates an unknown candidate {item.duplicate_of}")
        rows.append(
            {
                "id": candidate_id,
                **place,
                "parent_id": parent_id,
                "run_id": run_id,
                "rewrite": item.trace.steps[-1].to_json() if item.trace.steps else None,
                "trace_key": trace_key,
                "depth": len(item.trace),
                "outcome": item.outcome,
                "message": item.message,
                "ast_key": item.keys.ast,
                "code_key": item.keys.code,
                "binary_key": item.keys.binary,
                "duplicate_of": item.duplicate_of and known[item.duplicate_of],
                "duplicate_level": item.duplicate_level,
                "stage_s": dict(item.stage_s),
                "predicted": item.predicted,
            }
        )
        if item.measurement is not None:
            measurements.append(_measurement(candidate_id, run_id, item.measurement, utc_now()))
    connection.execute(insert(CandidateRow), rows)
    if measurements:
        connection.execute(_ADD_MEASUREMENT, measurements)


def _keys(record: TuningRecord) -> dict[str, str]:
    keys = {
        "ast_key": record.keys.ast,
        "code_key": record.keys.code,
        "binary_key": record.keys.binary,
    }
    return {name: key for name, key in keys.items() if key is not None}


def _measurement(
    candidate_id: int, run_id: int, measurement: Measurement, at: datetime
) -> dict[str, Any]:
    # Of this timing alone: other sessions are not in its interval.
    own = measurement.ratio if measurement.as_written else Estimate(measurement.middle)
    return {
        "candidate_id": candidate_id,
        "run_id": run_id,
        "kind": measurement.kind,
        "samples": measurement.to_json(),
        "speedup": own.value,
        "low": own.low,
        "high": own.high,
        "candidate_ns": measurement.candidate_ns,
        "created_at": at,
    }


def add_measurement(
    connection: Connection, candidate_id: int, run_id: int, measurement: Measurement
) -> None:
    """The later one ranks, also if the clock was set back."""
    last = connection.execute(_LAST_MEASURED, {"candidate_id": candidate_id}).scalar()
    at = max(utc_now(), last + timedelta(microseconds=1)) if last else utc_now()
    connection.execute(_ADD_MEASUREMENT, [_measurement(candidate_id, run_id, measurement, at)])


@cache
def _adding_seconds(dialect: str) -> Any:
    row = upsert(dialect, StageTimeRow)
    return row.on_conflict_do_update(
        index_elements=["run_id", "stage"],
        set_={
            "seconds": StageTimeRow.seconds + row.excluded.seconds,
            "count": StageTimeRow.count + row.excluded.count,
        },
    )


def add_stage_seconds(
    connection: Connection, run_id: int, spent: Iterable[tuple[str, float]]
) -> None:
    totals: dict[str, tuple[float, int]] = {}
    for stage, seconds in spent:
        total, count = totals.get(stage, (0.0, 0))
        totals[stage] = (total + seconds, count + 1)
    rows = [
        {"run_id": run_id, "stage": stage, "seconds": seconds, "count": count}
        for stage, (seconds, count) in totals.items()
    ]
    if rows:
        connection.execute(_adding_seconds(connection.dialect.name), rows)

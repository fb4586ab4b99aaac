"""Writing the tree of candidates, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from schedsearch.core.records import Measurement, Outcome, TuningRecord
from schedsearch.core.stats import Estimate
from schedsearch.store.backend import upsert
from schedsearch.store.runs import add_stage_seconds
from schedsearch.store.schema import CandidateRow, FeatureRow, MeasurementRow, utc_now
from schedsearch.store.scopes import in_scope
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


def add_root(connection: Connection, scope: Scope, run_id: int, record: TuningRecord) -> bool:
    if record.trace.steps:
        raise ValueError(f"the root has no rewrites, this trace has {len(record.trace)}")
    if _find(connection, scope, record.trace.key) is not None:
        return False
    _insert(connection, scope, run_id, [record], parent_id=None)
    add_stage_seconds(connection, run_id, record.stage_s)
    return True


def add_expansion(
    connection: Connection,
    scope: Scope,
    run_id: int,
    parent_key: str,
    children: Sequence[TuningRecord],
    stage_s: Mapping[str, float],
) -> bool:
    parent = _get(connection, scope, parent_key)
    if parent.expanded_at is not None:
        return False
    if children:
        # One hash, then tuple comparisons: all share the parent's steps.
        above = children[0].trace.parent
        if above is None or above.key != parent_key:
            raise ValueError(f"not a child of {parent_key}: {children[0].trace.key}")
        for child in children:
            if child.trace.parent != above:
                raise ValueError(f"not a child of {parent_key}: {child.trace.key}")
        replayed = set(
            connection.scalars(
                select(CandidateRow.trace_key).where(CandidateRow.parent_id == parent.id)
            )
        )
        new = [c for c in children if not replayed or c.trace.key not in replayed]
        if new:
            _insert(connection, scope, run_id, new, parent_id=parent.id)
    connection.execute(_UPDATE, {"known_id": parent.id, "expanded_at": utc_now()})
    spent = [*stage_s.items(), *(item for child in children for item in child.stage_s)]
    add_stage_seconds(connection, run_id, spent)
    return True


def add_replay(
    connection: Connection,
    scope: Scope,
    run_id: int,
    steps: Sequence[TuningRecord],
    stage_s: Mapping[str, float],
) -> None:
    for step in steps:
        above = step.trace.parent
        if above is None:
            raise ValueError("the root is not a step of a replay")
        parent = _get(connection, scope, above.key)
        if _find(connection, scope, step.trace.key) is None:
            _insert(connection, scope, run_id, [step], parent_id=parent.id)
    spent = [*stage_s.items(), *(item for step in steps for item in step.stage_s)]
    add_stage_seconds(connection, run_id, spent)


def record(
    connection: Connection, scope: Scope, run_id: int, found: TuningRecord
) -> Outcome | None:
    known = _get(connection, scope, found.trace.key)
    outcome = settle(known.outcome, found.outcome)
    values: dict[str, Any] = {"outcome": outcome, "message": known.message}
    if found.outcome in (outcome, None):
        values |= _keys(found)
        # What was said of a candidate not yet measured (it cannot be expanded) stays true.
        if found.message or (outcome != known.outcome and known.outcome is not None):
            values["message"] = found.message
        if found.outcome is not None:
            original = found.duplicate_of and _get(connection, scope, found.duplicate_of).id
            values |= {"duplicate_of": original, "duplicate_level": found.duplicate_level}
    else:
        later = f"later {found.outcome}: {found.message}"
        values["message"] = f"{known.message}\n{later}" if known.message else later
    stage_s = dict(known.stage_s)
    for stage, seconds in found.stage_s:
        stage_s[stage] = stage_s.get(stage, 0.0) + seconds
    values["stage_s"] = stage_s
    connection.execute(_UPDATE, {"known_id": known.id, **values})
    if found.measurement is not None:
        # The later one ranks, also if the clock was set back.
        last = connection.execute(_LAST_MEASURED, {"candidate_id": known.id}).scalar()
        at = max(utc_now(), last + timedelta(microseconds=1)) if last else utc_now()
        measured = _measurement(known.id, run_id, found.measurement, at)
        connection.execute(_ADD_MEASUREMENT, [measured])
    add_stage_seconds(connection, run_id, found.stage_s)
    return outcome


def add_features(
    connection: Connection, scope: Scope, vectors: Mapping[str, bytes], version: int
) -> None:
    for trace_key, vector in vectors.items():
        values = {"version": version, "vector": vector}
        row = upsert(connection.dialect.name, FeatureRow).values(
            candidate_id=_get(connection, scope, trace_key).id, **values
        )
        connection.execute(row.on_conflict_do_update(index_elements=["candidate_id"], set_=values))


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


def _find(connection: Connection, scope: Scope, trace_key: str) -> Row[Any] | None:
    return connection.execute(_FIND, {**asdict(scope), "trace_key": trace_key}).one_or_none()


def _get(connection: Connection, scope: Scope, trace_key: str) -> Row[Any]:
    row = _find(connection, scope, trace_key)
    if row is None:
        raise LookupError(f"no candidate with trace key {trace_key} in {scope}")
    return row


def _insert(
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
        in_scope(scope), CandidateRow.trace_key.in_(wanted)
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

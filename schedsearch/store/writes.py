"""Statements that change the store; each function runs inside the caller's transaction."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from schedsearch.core.records import (
    GeneratedC,
    Measurement,
    Outcome,
    Target,
    TuningRecord,
    Workload,
)
from schedsearch.store import process
from schedsearch.store.schema import (
    CandidateRow,
    CodeRow,
    MeasurementRow,
    RunRow,
    RunStatus,
    StageTimeRow,
    TargetRow,
    WorkloadRow,
    utc_now,
)
from schedsearch.store.views import Scope

IN_CHUNK = 10_000
"""Values per IN list; SQLite allows 32766 bound values in a statement."""


def register(connection: Connection, workload: Workload, target: Target, source_text: str) -> Scope:
    workload_id = _register(
        connection,
        WorkloadRow,
        workload.key,
        {
            "proc": workload.proc,
            "proc_key": workload.proc_key,
            "sizes": workload.sizes,
            "source": workload.source,
            "source_sha": workload.source_sha,
            "source_text": source_text,
        },
    )
    target_id = _register(connection, TargetRow, target.key, {"description": target.to_json()})
    return Scope(workload_id, target_id)


def _register(
    connection: Connection,
    table: type[WorkloadRow | TargetRow],
    key: str,
    values: Mapping[str, Any],
) -> int:
    statement = upsert(table).values(key=key, **values)
    statement = statement.on_conflict_do_update(index_elements=["key"], set_=dict(values))
    return connection.execute(statement.returning(table.id)).scalar_one()


def start_run(
    connection: Connection,
    scope: Scope,
    seed: int,
    strategy: str,
    settings: Mapping[str, Any],
    environment: Mapping[str, Any],
) -> int:
    statement = insert(RunRow).values(
        **asdict(scope),
        seed=seed,
        strategy=strategy,
        settings=dict(settings),
        environment=dict(environment),
        process=process.token(os.getpid()),
        status=RunStatus.RUNNING,
        started_at=utc_now(),
    )
    return connection.execute(statement.returning(RunRow.id)).scalar_one()


def finish_run(
    connection: Connection, run_id: int, status: RunStatus, summary: Mapping[str, Any]
) -> None:
    statement = update(RunRow).where(RunRow.id == run_id)
    values = {"status": status, "finished_at": utc_now(), "summary": dict(summary)}
    if connection.execute(statement.values(values)).rowcount == 0:
        raise LookupError(f"no run {run_id}")


def add_root(connection: Connection, scope: Scope, run_id: int, record: TuningRecord) -> bool:
    if record.trace.steps:
        raise ValueError(f"the root has no rewrites, this trace has {len(record.trace)}")
    if _find(connection, scope, record.trace.key) is not None:
        return False
    _insert(connection, scope, run_id, [record], parent_id=None)
    _add_stage_seconds(connection, run_id, record.stage_s)
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
        _insert(connection, scope, run_id, children, parent_id=parent.id)
    connection.execute(
        update(CandidateRow).where(CandidateRow.id == parent.id).values(expanded_at=utc_now())
    )
    spent = [*stage_s.items(), *(item for child in children for item in child.stage_s)]
    _add_stage_seconds(connection, run_id, spent)
    return True


def record(
    connection: Connection, scope: Scope, run_id: int, found: TuningRecord
) -> Outcome | None:
    known = _get(connection, scope, found.trace.key)
    outcome = settle(known.outcome, found.outcome)
    values: dict[str, Any] = {"outcome": outcome, "message": known.message}
    if found.outcome in (outcome, None):
        values |= _keys(found)
        if found.message or outcome != known.outcome:
            values["message"] = found.message
        if outcome != known.outcome:
            original = found.duplicate_of and _get(connection, scope, found.duplicate_of).id
            values |= {"duplicate_of": original, "duplicate_level": found.duplicate_level}
    else:
        later = f"later {found.outcome}: {found.message}"
        values["message"] = f"{known.message}\n{later}" if known.message else later
    stage_s = dict(known.stage_s)
    for stage, seconds in found.stage_s:
        stage_s[stage] = stage_s.get(stage, 0.0) + seconds
    values["stage_s"] = stage_s
    connection.execute(update(CandidateRow).where(CandidateRow.id == known.id).values(values))
    if found.measurement is not None:
        values = _measurement(known.id, run_id, found.measurement)
        connection.execute(insert(MeasurementRow), [values])
    _add_stage_seconds(connection, run_id, found.stage_s)
    return outcome


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


def add_code(connection: Connection, codes: Iterable[GeneratedC]) -> None:
    rows = [
        {"code_key": c.key, "proc": c.proc, "header": c.header, "source": c.source} for c in codes
    ]
    if rows:
        connection.execute(upsert(CodeRow).on_conflict_do_nothing(), rows)


def in_scope(scope: Scope) -> ColumnElement[bool]:
    return and_(
        CandidateRow.workload_id == scope.workload_id, CandidateRow.target_id == scope.target_id
    )


def _find(connection: Connection, scope: Scope, trace_key: str) -> Row[Any] | None:
    table = CandidateRow.__table__
    where = and_(in_scope(scope), CandidateRow.trace_key == trace_key)
    return connection.execute(select(table).where(where)).one_or_none()


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
    wanted = sorted({r.duplicate_of for r in records if r.duplicate_of} - ids.keys())
    known = dict(ids)
    for start in range(0, len(wanted), IN_CHUNK):
        keys = wanted[start : start + IN_CHUNK]
        found = select(CandidateRow.trace_key, CandidateRow.id).where(
            in_scope(scope), CandidateRow.trace_key.in_(keys)
        )
        known |= connection.execute(found).tuples().all()
    rows = []
    measurements = []
    for (trace_key, candidate_id), item in zip(ids.items(), records, strict=True):
        if item.duplicate_of is not None and item.duplicate_of not in known:
            raise LookupError(f"{trace_key} duplicates an unknown candidate {item.duplicate_of}")
        rows.append(
            {
                "id": candidate_id,
                **asdict(scope),
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
            }
        )
        if item.measurement is not None:
            measurements.append(_measurement(candidate_id, run_id, item.measurement))
    connection.execute(insert(CandidateRow), rows)
    if measurements:
        connection.execute(insert(MeasurementRow), measurements)


def _keys(record: TuningRecord) -> dict[str, str]:
    keys = {
        "ast_key": record.keys.ast,
        "code_key": record.keys.code,
        "binary_key": record.keys.binary,
    }
    return {name: key for name, key in keys.items() if key is not None}


def _measurement(candidate_id: int, run_id: int, measurement: Measurement) -> dict[str, Any]:
    estimate = measurement.speedup
    return {
        "candidate_id": candidate_id,
        "run_id": run_id,
        "kind": measurement.kind,
        "samples": measurement.to_json(),
        "speedup": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "candidate_ns": measurement.candidate_ns,
        "created_at": utc_now(),
    }


def _add_stage_seconds(
    connection: Connection, run_id: int, spent: Iterable[tuple[str, float]]
) -> None:
    totals: dict[str, tuple[float, int]] = {}
    for stage, seconds in spent:
        total, count = totals.get(stage, (0.0, 0))
        totals[stage] = (total + seconds, count + 1)
    for stage, (seconds, count) in totals.items():
        statement = upsert(StageTimeRow).values(
            run_id=run_id, stage=stage, seconds=seconds, count=count
        )
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["run_id", "stage"],
                set_={
                    "seconds": StageTimeRow.seconds + statement.excluded.seconds,
                    "count": StageTimeRow.count + statement.excluded.count,
                },
            )
        )

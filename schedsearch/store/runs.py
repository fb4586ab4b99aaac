"""Writing what is tuned, runs, stage times and code, inside the caller's transaction."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from schedsearch.core.build import DEFAULT_BUILD
from schedsearch.core.records import (
    GeneratedC,
    Target,
    Workload,
)
from schedsearch.store import process
from schedsearch.store.backend import upsert
from schedsearch.store.ranking import best_ids
from schedsearch.store.schema import (
    CandidateRow,
    CodeRow,
    RunRow,
    RunStatus,
    StageTimeRow,
    TargetRow,
    WorkloadRow,
    utc_now,
)
from schedsearch.store.scopes import newest
from schedsearch.store.views import Scope


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
            "specialized": list(workload.specialized) or None,
            "signature": list(workload.signature) or None,
        },
    )
    target_id = _register(connection, TargetRow, target.key, {"description": target.to_json()})
    return newest(connection, workload_id, target_id)


def _register(
    connection: Connection,
    table: type[WorkloadRow | TargetRow],
    key: str,
    values: Mapping[str, Any],
) -> int:
    statement = upsert(connection.dialect.name, table).values(key=key, **values)
    statement = statement.on_conflict_do_update(index_elements=["key"], set_=dict(values))
    found: int = connection.execute(statement.returning(table.id)).scalar_one()
    return found


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
        uuid=uuid.uuid4().hex,
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


def add_code(connection: Connection, codes: Iterable[GeneratedC]) -> None:
    rows = [
        {
            "code_key": c.key,
            "proc": c.proc,
            "header": c.header,
            "source": c.source,
            "build": c.build.to_json() if c.build != DEFAULT_BUILD else None,
        }
        for c in codes
    ]
    if rows:
        new = upsert(connection.dialect.name, CodeRow).on_conflict_do_nothing()
        connection.execute(new, rows)


def drop_code(connection: Connection, keep: int, dry_run: bool) -> int:
    needed = select(CandidateRow.code_key).where(
        CandidateRow.code_key.is_not(None),
        or_(CandidateRow.parent_id.is_(None), CandidateRow.id.in_(best_ids(connection, keep))),
    )
    dropped = CodeRow.code_key.not_in(needed)
    count = connection.execute(select(func.count()).select_from(CodeRow).where(dropped))
    if not dry_run:
        connection.execute(delete(CodeRow).where(dropped))
    return count.scalar_one()


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

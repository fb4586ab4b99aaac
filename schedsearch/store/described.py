"""Runs, workloads, targets and C, read inside the caller's transaction."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.fields import LARGEST, Fields
from schedsearch.core.records import GeneratedC, Target, Workload
from schedsearch.core.shown import shown
from schedsearch.store import process
from schedsearch.store.ranking import RANKING_FIRST
from schedsearch.store.schema import (
    CodeRow,
    MeasurementRow,
    RunRow,
    RunStatus,
    TargetRow,
    WorkloadRow,
)
from schedsearch.store.scopes import run_in_scope
from schedsearch.store.views import Run, Scope, StoredCandidate

_CODE = select(CodeRow.__table__).where(CodeRow.code_key == bindparam("code_key"))


def workload(connection: Connection, scope: Scope) -> Workload:
    table = WorkloadRow.__table__
    row = connection.execute(select(table).where(table.c.id == scope.workload_id)).one()
    given = Fields(dict(row.sizes), f"sizes of {row.proc}")
    sizes = tuple((name, given.integer(name, least=-LARGEST)) for name, _ in row.sizes)
    lists = {"specialized": row.specialized or [], "signature": row.signature or []}
    texts = Fields(lists, str(row.proc))
    names, signature = texts.texts("specialized"), texts.texts("signature")
    return Workload(row.proc, row.proc_key, sizes, row.source, row.source_sha, names, signature)


def source(connection: Connection, scope: Scope) -> str:
    text = select(WorkloadRow.source_text).where(WorkloadRow.id == scope.workload_id)
    return connection.execute(text).scalar_one()


def target(connection: Connection, scope: Scope, run_id: int | None = None) -> Target:
    description = select(TargetRow.description).where(TargetRow.id == scope.target_id)
    found = Target.from_json(connection.execute(description).scalar_one())
    if run_id is None:
        return found
    environment = select(RunRow.environment).where(RunRow.id == run_id)
    return found.under(_table(connection.execute(environment).scalar_one()))


def target_of(connection: Connection, candidate: StoredCandidate) -> Target:
    measured = select(MeasurementRow.run_id).where(MeasurementRow.candidate_id == candidate.id)
    run_id = connection.scalar(measured.order_by(*RANKING_FIRST).limit(1))
    return target(connection, candidate.scope, run_id or candidate.run_id)


def code(connection: Connection, code_key: str) -> GeneratedC | None:
    row = connection.execute(_CODE, {"code_key": code_key}).one_or_none()
    if row is None:
        return None
    build = Build.from_json(row.build) if row.build else DEFAULT_BUILD
    return GeneratedC(row.proc, row.header, row.source, row.code_key, build)


def runs(connection: Connection, scope: Scope | None) -> list[Run]:
    statement = select(RunRow.__table__).order_by(RunRow.id)
    if scope is not None:
        statement = statement.where(run_in_scope(scope))
    return [_run(row) for row in connection.execute(statement)]


def _run(row: Row[Any]) -> Run:
    status = row.status
    if status is RunStatus.RUNNING and process.is_dead(row.process):
        status = RunStatus.INTERRUPTED
    return Run(
        id=row.id,
        scope=Scope(row.workload_id, row.target_id, row.tree),
        seed=row.seed,
        strategy=row.strategy,
        settings=_table(row.settings),
        environment=_table(row.environment),
        host=process.host(row.process),
        status=status,
        started_at=row.started_at,
        finished_at=row.finished_at,
        summary=None if row.summary is None else _table(row.summary),
    )


def _table(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TypeError("a run is described by tables")
    return {name: _shown(value) for name, value in data.items()}


def _shown(data: Any) -> Any:
    """With all texts fit to be shown."""
    match data:
        case str():
            return shown(data)
        case list():
            return [_shown(item) for item in data]
        case dict():
            return {shown(name): _shown(value) for name, value in data.items()}
        case _:
            return data

"""Counting what a search tree has, inside the caller's transaction."""

from __future__ import annotations

from sqlalchemy import Connection, exists, func, select

from schedsearch.core.records import Outcome
from schedsearch.store.schema import CandidateRow, MeasurementRow, RunRow, StageTimeRow
from schedsearch.store.scopes import in_scope, run_in_scope
from schedsearch.store.views import Scope


def counts(connection: Connection, scope: Scope) -> tuple[int, int]:
    measured = exists().where(MeasurementRow.candidate_id == CandidateRow.id)
    statement = select(func.count(), func.count().filter(measured)).where(in_scope(scope))
    candidates, timed = connection.execute(statement.select_from(CandidateRow)).one()
    return candidates, timed


def outcomes(connection: Connection, scope: Scope) -> dict[Outcome | None, int]:
    outcome = CandidateRow.outcome
    counts = select(outcome, func.count()).where(in_scope(scope)).group_by(outcome)
    return dict(connection.execute(counts).all())


def duplicates(connection: Connection, scope: Scope) -> dict[str, int]:
    level = CandidateRow.duplicate_level
    counts = select(level, func.count()).where(in_scope(scope), level.is_not(None)).group_by(level)
    return {level: count for level, count in connection.execute(counts) if level is not None}


def stage_seconds(connection: Connection, scope: Scope) -> dict[str, float]:
    totals = (
        select(StageTimeRow.stage, func.sum(StageTimeRow.seconds))
        .join(RunRow)
        .where(run_in_scope(scope))
        .group_by(StageTimeRow.stage)
    )
    return dict(connection.execute(totals).all())


def expanded(connection: Connection, run_id: int) -> int:
    parents = select(func.count(CandidateRow.parent_id.distinct()))
    return connection.execute(parents.where(CandidateRow.run_id == run_id)).scalar_one()

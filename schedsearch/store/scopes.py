"""Search trees: which there are, and what is of them; inside the caller's transaction."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, and_, func, select

from schedsearch.store.schema import CandidateRow, RunRow, TargetRow, WorkloadRow
from schedsearch.store.views import Scope


def in_scope(scope: Scope) -> ColumnElement[bool]:
    return and_(of_pair(CandidateRow, scope), CandidateRow.tree == scope.tree)


def run_in_scope(scope: Scope) -> ColumnElement[bool]:
    return and_(of_pair(RunRow, scope), RunRow.tree == scope.tree)


def of_pair(table: type[CandidateRow | RunRow], scope: Scope) -> ColumnElement[bool]:
    """Of the scope's workload and target, whatever the tree."""
    return and_(table.workload_id == scope.workload_id, table.target_id == scope.target_id)


def scopes(connection: Connection) -> list[Scope]:
    pair = (RunRow.workload_id, RunRow.target_id)
    newest = select(*pair, func.max(RunRow.tree)).group_by(*pair).order_by(*pair)
    return [Scope(*row) for row in connection.execute(newest)]


def trees(connection: Connection, scope: Scope) -> list[Scope]:
    known = select(RunRow.tree).where(of_pair(RunRow, scope)).distinct().order_by(RunRow.tree)
    return [replace(scope, tree=tree) for tree in connection.scalars(known)]


def newest(connection: Connection, workload_id: int, target_id: int) -> Scope:
    """The tree begun last, the first one if there is none."""
    known = trees(connection, Scope(workload_id, target_id))
    return known[-1] if known else Scope(workload_id, target_id)


def find_scope(connection: Connection, workload_key: str, target_key: str) -> Scope | None:
    workload_id = connection.scalar(select(WorkloadRow.id).where(WorkloadRow.key == workload_key))
    target_id = connection.scalar(select(TargetRow.id).where(TargetRow.key == target_key))
    return newest(connection, workload_id, target_id) if workload_id and target_id else None

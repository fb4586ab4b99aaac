"""Measurements and what they say of candidates, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import (
    ColumnElement,
    Connection,
    Subquery,
    and_,
    case,
    exists,
    func,
    or_,
    select,
)
from sqlalchemy.orm import aliased

from schedsearch.core.records import Outcome
from schedsearch.store.candidates import select_candidates
from schedsearch.store.joint import joint
from schedsearch.store.schema import CandidateRow, FeatureRow, MeasurementRow
from schedsearch.store.scopes import in_scope, of_pair, scopes
from schedsearch.store.views import Sample, Scope, StoredCandidate, Timed

_CLOSE_LOOK = 50
"""Of those that were only screened."""

_Parent = aliased(CandidateRow)
_Later = aliased(CandidateRow)

RANKING_FIRST = (
    case((MeasurementRow.kind == "confirm", 0), else_=1),
    MeasurementRow.created_at.desc(),
    MeasurementRow.id.desc(),
)
"""Order of a candidate's measurements in which the one that ranks it comes first."""


def best(connection: Connection, scope: Scope, limit: int) -> list[StoredCandidate]:
    ids = _best_ids(connection, scope, limit)
    found = {c.id: c for c in select_candidates(connection, CandidateRow.id.in_(ids))}
    return [found[id_] for id_ in ids]


def best_ids(connection: Connection, limit: int) -> list[int]:
    """Of every workload and target the best."""
    return [id_ for scope in scopes(connection) for id_ in _best_ids(connection, scope, limit)]


def _best_ids(connection: Connection, scope: Scope, limit: int) -> Sequence[int]:
    """By what all timings say together. What was only screened and is not among the fastest stays
    behind: its place is by that screening."""
    ranked = _ranked(of_pair(CandidateRow, scope))
    alone = (
        select(ranked.c.candidate_id, ranked.c.speedup)
        .where(ranked.c.rank == 1)
        .order_by(ranked.c.speedup.desc(), ranked.c.candidate_id)
    )
    speedups = {row.candidate_id: row.speedup for row in connection.execute(alone)}
    together = joint(connection, scope, list(speedups)[: max(limit, _CLOSE_LOOK)])
    speedups |= {id_: found.value for id_, found in together.items() if id_ in speedups}
    return sorted(speedups, key=lambda id_: (-speedups[id_], id_))[:limit]


def timeline(connection: Connection, scope: Scope) -> list[Timed]:
    columns = (
        MeasurementRow.created_at,
        MeasurementRow.run_id,
        MeasurementRow.candidate_id,
        MeasurementRow.kind,
        MeasurementRow.speedup,
        MeasurementRow.candidate_ns,
    )
    verified = and_(in_scope(scope), CandidateRow.outcome == Outcome.CORRECT)
    statement = select(*columns).join(CandidateRow).where(verified)
    statement = statement.order_by(MeasurementRow.created_at, MeasurementRow.id)
    return [Timed(*row) for row in connection.execute(statement)]


def samples(connection: Connection, scope: Scope, version: int) -> list[Sample]:
    own_tree = or_(CandidateRow.workload_id != scope.workload_id, CandidateRow.tree == scope.tree)
    ranked = _ranked(and_(CandidateRow.target_id == scope.target_id, own_tree))
    statement = (
        select(
            CandidateRow.workload_id,
            CandidateRow.trace_key,
            FeatureRow.vector,
            ranked.c.speedup,
            _Parent.trace_key,
        )
        .join(FeatureRow, FeatureRow.candidate_id == CandidateRow.id)
        .join(ranked, ranked.c.candidate_id == CandidateRow.id)
        .outerjoin(_Parent, CandidateRow.parent_id == _Parent.id)
        .where(FeatureRow.version == version, ranked.c.rank == 1)
        .order_by(ranked.c.first, CandidateRow.id)
    )
    return [Sample(*row) for row in connection.execute(statement)]


def _ranked(where: ColumnElement[bool]) -> Subquery:
    """Measurements of correct candidates; `rank` 1 is the one that ranks its candidate, and
    `first` is when the candidate's first was made. What a later tree found out about the same
    schedule stands for it."""
    own = MeasurementRow.candidate_id
    rank = func.row_number().over(partition_by=own, order_by=RANKING_FIRST)
    first = func.min(MeasurementRow.created_at).over(partition_by=own)
    later = exists().where(
        _Later.workload_id == CandidateRow.workload_id,
        _Later.target_id == CandidateRow.target_id,
        _Later.trace_key == CandidateRow.trace_key,
        _Later.tree > CandidateRow.tree,
        _Later.outcome.is_not(None),
    )
    return (
        select(own, MeasurementRow.speedup, rank.label("rank"), first.label("first"))
        .join(CandidateRow)
        .where(where, CandidateRow.outcome == Outcome.CORRECT, ~later)
        .subquery()
    )

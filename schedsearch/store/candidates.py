"""Reading candidates with their traces, inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Text, cast, exists, select
from sqlalchemy.orm import aliased

from schedsearch.core.records import Keys, Measurement, Outcome, TuningRecord
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import MOST_STEPS, Rewrite, Trace
from schedsearch.store.ranking import RANKS, joint
from schedsearch.store.schema import CandidateRow, MeasurementRow
from schedsearch.store.views import Scope, StoredCandidate

_Original = aliased(CandidateRow)
_Child = aliased(CandidateRow)
_Member = aliased(CandidateRow)

_ROWS_AT_ONCE = 1000
"""Of a walk: PostgreSQL would send, and its client keep, the whole tree."""

_COLUMNS = (
    CandidateRow.id,
    CandidateRow.workload_id,
    CandidateRow.target_id,
    CandidateRow.tree,
    CandidateRow.parent_id,
    CandidateRow.run_id,
    cast(CandidateRow.rewrite, Text).label("step"),
    CandidateRow.trace_key,
    CandidateRow.outcome,
    CandidateRow.message,
    CandidateRow.ast_key,
    CandidateRow.code_key,
    CandidateRow.binary_key,
    CandidateRow.duplicate_level,
    CandidateRow.stage_s,
    CandidateRow.expanded_at.is_not(None).label("expanded"),
    CandidateRow.predicted,
    _Original.trace_key.label("original_key"),
    exists().where(_Child.parent_id == CandidateRow.id).label("has_children"),
)


def walk(connection: Connection, scope: Scope) -> Iterator[StoredCandidate]:
    """The whole tree: every ancestor comes before its descendants."""
    # Ids are looked up first: sorting whole rows of a large tree takes more than reading them.
    members = select(_Member.id).where(
        _Member.workload_id == scope.workload_id,
        _Member.target_id == scope.target_id,
        _Member.tree == scope.tree,
    )
    where = CandidateRow.id.in_(members)
    return _candidates(connection, where, {}, _rewrites())


def select_candidates(connection: Connection, where: ColumnElement[bool]) -> list[StoredCandidate]:
    """Candidates that satisfy `where`, by id."""
    ids = list(connection.scalars(select(CandidateRow.id).where(where)))
    step = select(
        CandidateRow.id,
        CandidateRow.parent_id,
        cast(CandidateRow.rewrite, Text).label("step"),
    )
    lineage = step.where(where).cte("lineage", recursive=True)
    lineage = lineage.union(step.join(lineage, CandidateRow.id == lineage.c.parent_id))
    traces: dict[int, Trace] = {}
    rewrites = _rewrites()
    for row in connection.execute(select(lineage).order_by(lineage.c.id)):
        traces[row.id] = _trace(row, traces, rewrites)
    return list(_candidates(connection, where, traces, rewrites, also=ids))


def _candidates(
    connection: Connection,
    where: ColumnElement[bool],
    traces: dict[int, Trace],
    rewrites: Callable[[str], Rewrite],
    also: Collection[int] = (),
) -> Iterator[StoredCandidate]:
    """Candidates by id, one at a time; `traces` has their parents' (of those not among them)
    and gets theirs, as long as they have children. `also` are ids of those that have an interval
    though they were only screened (`ranking.joint`)."""
    options = {"yield_per": _ROWS_AT_ONCE}
    samples = (
        select(MeasurementRow.candidate_id, MeasurementRow.samples, RANKS.label("ranks"))
        .where(MeasurementRow.candidate_id.in_(select(CandidateRow.id).where(where)))
        .order_by(MeasurementRow.candidate_id, MeasurementRow.created_at, MeasurementRow.id)
    )
    rows = connection.execute(samples, execution_options=options)
    by_candidate = groupby(rows, key=lambda row: row.candidate_id)
    measured_id, group = next(by_candidate, (None, iter(())))
    known: dict[tuple[int, int], Mapping[int, Estimate]] = {}
    statement = (
        select(*_COLUMNS)
        .outerjoin(_Original, CandidateRow.duplicate_of == _Original.id)
        .where(where)
        .order_by(CandidateRow.id)
    )
    for row in connection.execute(statement, execution_options=options):
        trace = _trace(row, traces, rewrites)
        if row.has_children:
            traces[row.id] = trace
        measurements: tuple[Measurement, ...] = ()
        ranking = None
        if row.id == measured_id:
            found = [(Measurement.from_json(each.samples), each.ranks) for each in group]
            measurements = tuple(measurement for measurement, _ in found)
            ranking = next(measurement for measurement, ranks in found if ranks)
            measured_id, group = next(by_candidate, (None, iter(())))
        if ranking is not None and row.outcome is Outcome.CORRECT:
            pair = row.workload_id, row.target_id
            if pair not in known:
                known[pair] = joint(connection, Scope(*pair), also)
            ranking = replace(ranking, joint=known[pair].get(row.id))
        record = TuningRecord(
            trace=trace,
            outcome=row.outcome,
            keys=Keys(row.ast_key, row.code_key, row.binary_key),
            message=row.message,
            duplicate_of=row.original_key,
            duplicate_level=row.duplicate_level,
            measurement=ranking,
            stage_s=tuple(row.stage_s.items()),
            predicted=row.predicted,
        )
        yield StoredCandidate(
            id=row.id,
            scope=Scope(row.workload_id, row.target_id, row.tree),
            trace_key=row.trace_key,
            parent_id=row.parent_id,
            run_id=row.run_id,
            expanded=row.expanded,
            has_children=row.has_children,
            record=record,
            measurements=measurements,
        )


def _trace(row: Row[Any], traces: Mapping[int, Trace], rewrites: Callable[[str], Rewrite]) -> Trace:
    """The parent's trace, one of `traces` by candidate id, and this row's rewrite."""
    if row.parent_id is None:
        return Trace()
    above = traces[row.parent_id]
    if len(above) >= MOST_STEPS:
        raise ValueError(f"candidate {row.id} has more than {MOST_STEPS} rewrites")
    return above.then(rewrites(row.step))


def _rewrites() -> Callable[[str], Rewrite]:
    """Reads rewrites from JSON; equal ones are mostly one object, because there are few among
    many candidates."""

    @lru_cache(maxsize=1 << 14)
    def read(text: str) -> Rewrite:
        return Rewrite.from_json(json.loads(text))

    return read

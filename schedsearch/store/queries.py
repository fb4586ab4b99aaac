"""Statements that read the store; each function runs inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from types import MappingProxyType
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Subquery,
    Text,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    or_,
    select,
)
from sqlalchemy.orm import aliased

from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.fields import LARGEST, Fields
from schedsearch.core.records import (
    GeneratedC,
    Keys,
    Measurement,
    Outcome,
    Target,
    TuningRecord,
    Workload,
)
from schedsearch.core.shown import shown
from schedsearch.core.trace import MOST_STEPS, Rewrite, Trace
from schedsearch.store import process
from schedsearch.store.schema import (
    CandidateRow,
    CodeRow,
    FeatureRow,
    MeasurementRow,
    RunRow,
    RunStatus,
    StageTimeRow,
    TargetRow,
    WorkloadRow,
)
from schedsearch.store.views import Run, Sample, Scope, StoredCandidate, Timed

_Original = aliased(CandidateRow)
_Parent = aliased(CandidateRow)
_Child = aliased(CandidateRow)
_Member = aliased(CandidateRow)
_ROWS_AT_ONCE = 1000
"""Of a walk: PostgreSQL would send, and its client keep, the whole tree."""
_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
_CODE = select(CodeRow.__table__).where(CodeRow.code_key == bindparam("code_key"))


def in_scope(scope: Scope) -> ColumnElement[bool]:
    return and_(_of_pair(CandidateRow, scope), CandidateRow.tree == scope.tree)


def run_in_scope(scope: Scope) -> ColumnElement[bool]:
    return and_(_of_pair(RunRow, scope), RunRow.tree == scope.tree)


def _of_pair(table: type[CandidateRow | RunRow], scope: Scope) -> ColumnElement[bool]:
    """Of the scope's workload and target, whatever the tree."""
    return and_(table.workload_id == scope.workload_id, table.target_id == scope.target_id)


def walk(connection: Connection, scope: Scope) -> Iterator[StoredCandidate]:
    # The whole tree: every ancestor comes before its descendants. Ids are looked up first:
    # sorting whole rows of a large tree takes more than reading them.
    members = select(_Member.id).where(
        _Member.workload_id == scope.workload_id,
        _Member.target_id == scope.target_id,
        _Member.tree == scope.tree,
    )
    where = CandidateRow.id.in_(members)
    return _candidates(connection, where, {}, _rewrites(), {"yield_per": _ROWS_AT_ONCE})


def select_candidates(connection: Connection, where: ColumnElement[bool]) -> list[StoredCandidate]:
    """Candidates that satisfy `where`, by id."""
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
    return list(_candidates(connection, where, traces, rewrites))


def counts(connection: Connection, scope: Scope) -> tuple[int, int]:
    measured = exists().where(MeasurementRow.candidate_id == CandidateRow.id)
    statement = select(func.count(), func.count().filter(measured)).where(in_scope(scope))
    candidates, timed = connection.execute(statement.select_from(CandidateRow)).one()
    return candidates, timed


def known(connection: Connection, scope: Scope, trace_keys: Sequence[str]) -> set[str]:
    found = select(CandidateRow.trace_key).where(
        in_scope(scope), CandidateRow.trace_key.in_(trace_keys)
    )
    return set(connection.scalars(found))


def find(connection: Connection, scope: Scope, trace_keys: Sequence[str]) -> list[StoredCandidate]:
    return select_candidates(
        connection, and_(in_scope(scope), CandidateRow.trace_key.in_(trace_keys))
    )


def _ranked(where: ColumnElement[bool]) -> Subquery:
    """Measurements of correct candidates; `rank` 1 is the one that ranks its candidate, and
    `first` is when the candidate's first was made. What a later tree found out about the same
    schedule stands for it."""
    own = MeasurementRow.candidate_id
    confirmed_first = case((MeasurementRow.kind == "confirm", 0), else_=1)
    rank = func.row_number().over(
        partition_by=own,
        order_by=(confirmed_first, MeasurementRow.created_at.desc(), MeasurementRow.id.desc()),
    )
    first = func.min(MeasurementRow.created_at).over(partition_by=own)
    later = exists().where(
        _Member.workload_id == CandidateRow.workload_id,
        _Member.target_id == CandidateRow.target_id,
        _Member.trace_key == CandidateRow.trace_key,
        _Member.tree > CandidateRow.tree,
        _Member.outcome.is_not(None),
    )
    return (
        select(own, MeasurementRow.speedup, rank.label("rank"), first.label("first"))
        .join(CandidateRow)
        .where(where, CandidateRow.outcome == Outcome.CORRECT, ~later)
        .subquery()
    )


def best(connection: Connection, scope: Scope, limit: int) -> list[StoredCandidate]:
    ids = _best_ids(connection, scope, limit)
    found = {c.id: c for c in select_candidates(connection, CandidateRow.id.in_(ids))}
    return [found[id_] for id_ in ids]


def expanded(connection: Connection, run_id: int) -> int:
    parents = select(func.count(CandidateRow.parent_id.distinct()))
    return connection.execute(parents.where(CandidateRow.run_id == run_id)).scalar_one()


def best_ids(connection: Connection, limit: int) -> list[int]:
    """Of every workload and target the best."""
    return [id_ for scope in scopes(connection) for id_ in _best_ids(connection, scope, limit)]


def _best_ids(connection: Connection, scope: Scope, limit: int) -> Sequence[int]:
    ranked = _ranked(_of_pair(CandidateRow, scope))
    return connection.scalars(
        select(ranked.c.candidate_id)
        .where(ranked.c.rank == 1)
        .order_by(ranked.c.speedup.desc(), ranked.c.candidate_id)
        .limit(limit)
    ).all()


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


def runs(connection: Connection, scope: Scope | None) -> list[Run]:
    statement = select(RunRow.__table__).order_by(RunRow.id)
    if scope is not None:
        statement = statement.where(run_in_scope(scope))
    return [_run(row) for row in connection.execute(statement)]


def scopes(connection: Connection) -> list[Scope]:
    pair = (RunRow.workload_id, RunRow.target_id)
    newest = select(*pair, func.max(RunRow.tree)).group_by(*pair).order_by(*pair)
    return [Scope(*row) for row in connection.execute(newest)]


def trees(connection: Connection, scope: Scope) -> list[Scope]:
    known = select(RunRow.tree).where(_of_pair(RunRow, scope)).distinct().order_by(RunRow.tree)
    return [replace(scope, tree=tree) for tree in connection.scalars(known)]


def newest(connection: Connection, workload_id: int, target_id: int) -> Scope:
    """The tree begun last, the first one if there is none."""
    known = trees(connection, Scope(workload_id, target_id))
    return known[-1] if known else Scope(workload_id, target_id)


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


def find_scope(connection: Connection, workload_key: str, target_key: str) -> Scope | None:
    workload_id = connection.scalar(select(WorkloadRow.id).where(WorkloadRow.key == workload_key))
    target_id = connection.scalar(select(TargetRow.id).where(TargetRow.key == target_key))
    return newest(connection, workload_id, target_id) if workload_id and target_id else None


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


def target(connection: Connection, scope: Scope) -> Target:
    description = select(TargetRow.description).where(TargetRow.id == scope.target_id)
    return Target.from_json(connection.execute(description).scalar_one())


def code(connection: Connection, code_key: str) -> GeneratedC | None:
    row = connection.execute(_CODE, {"code_key": code_key}).one_or_none()
    if row is None:
        return None
    build = Build.from_json(row.build) if row.build else DEFAULT_BUILD
    return GeneratedC(row.proc, row.header, row.source, row.code_key, build)


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


def _rewrites() -> Callable[[str], Rewrite]:
    """Reads rewrites from JSON; equal ones are mostly one object, because there are few among
    many candidates."""

    @lru_cache(maxsize=1 << 14)
    def read(text: str) -> Rewrite:
        return Rewrite.from_json(json.loads(text))

    return read


def _trace(row: Row[Any], traces: Mapping[int, Trace], rewrites: Callable[[str], Rewrite]) -> Trace:
    """The parent's trace, one of `traces` by candidate id, and this row's rewrite."""
    if row.parent_id is None:
        return Trace()
    above = traces[row.parent_id]
    if len(above) >= MOST_STEPS:
        raise ValueError(f"candidate {row.id} has more than {MOST_STEPS} rewrites")
    return above.then(rewrites(row.step))


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


def _candidates(
    connection: Connection,
    where: ColumnElement[bool],
    traces: dict[int, Trace],
    rewrites: Callable[[str], Rewrite],
    options: Mapping[str, Any] = _NO_OPTIONS,
) -> Iterator[StoredCandidate]:
    """Candidates by id, one at a time; `traces` has their parents' (of those not among them)
    and gets theirs, as long as they have children. `options` say how rows are fetched."""
    samples = (
        select(MeasurementRow.candidate_id, MeasurementRow.samples)
        .where(MeasurementRow.candidate_id.in_(select(CandidateRow.id).where(where)))
        .order_by(MeasurementRow.candidate_id, MeasurementRow.created_at, MeasurementRow.id)
    )
    rows = connection.execute(samples, execution_options=options)
    by_candidate = groupby(rows, key=lambda row: row.candidate_id)
    measured_id, group = next(by_candidate, (None, iter(())))
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
        if row.id == measured_id:
            measurements = tuple(Measurement.from_json(data) for _, data in group)
            measured_id, group = next(by_candidate, (None, iter(())))
        yield _candidate(row, trace, measurements)


def _candidate(
    row: Row[Any], trace: Trace, measurements: tuple[Measurement, ...]
) -> StoredCandidate:
    confirmed = [m for m in measurements if m.kind == "confirm"]
    ranking = confirmed or measurements
    record = TuningRecord(
        trace=trace,
        outcome=row.outcome,
        keys=Keys(row.ast_key, row.code_key, row.binary_key),
        message=row.message,
        duplicate_of=row.original_key,
        duplicate_level=row.duplicate_level,
        measurement=ranking[-1] if ranking else None,
        stage_s=tuple(row.stage_s.items()),
        predicted=row.predicted,
    )
    return StoredCandidate(
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

"""Joining two stores, inside the caller's transactions: one that reads, one that writes.

A key, a trace or a UUID identifies a row in every store; ids are each store's own. Two versions
of a row become one that depends on both alike. So stores can be merged in any order, and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.orm import aliased

from schedsearch.core.keys import canonical_json
from schedsearch.core.records import Outcome
from schedsearch.store.backend import upsert
from schedsearch.store.schema import (
    Base,
    CandidateRow,
    CodeRow,
    MeasurementRow,
    RunRow,
    StageTimeRow,
    TargetRow,
    WorkloadRow,
)
from schedsearch.store.views import Merged

_ROWS_AT_ONCE = 500
_NEVER = datetime.min.replace(tzinfo=UTC)

_Original = aliased(CandidateRow)

_CANDIDATES = select(CandidateRow.__table__, _Original.trace_key.label("original_key")).outerjoin(
    _Original, CandidateRow.duplicate_of == _Original.id
)
"""Candidates with the trace key of what they duplicate."""

_FINAL = {Outcome.INCORRECT: 2, Outcome.CORRECT: 1}
_KEYS = ("ast_key", "code_key", "binary_key")
_LEAST = float("-inf")

Ids = dict[int, int]
"""From the ids of the store that is read to those of the one that is written."""


def merge(source: Connection, into: Connection) -> Merged:
    """Add everything that `source` has and `into` has not."""
    workloads = _merge_registered(source, into, WorkloadRow, RunRow.workload_id)
    targets = _merge_registered(source, into, TargetRow, RunRow.target_id)
    before = _count(into, RunRow)
    runs = _merge_runs(source, into, workloads, targets)
    _merge_stage_times(source, into, runs)
    new_code = upsert(into.dialect.name, CodeRow).on_conflict_do_nothing()
    for codes in _batches(_read(source, select(CodeRow.__table__))):
        into.execute(new_code, codes)
    candidates, old = _place_candidates(source, into, workloads, targets)
    changed = _merge_candidates(source, into, workloads, targets, runs, candidates, old)
    measurements = _merge_measurements(source, into, runs, candidates)
    new_runs = _count(into, RunRow) - before
    return Merged(new_runs, len(candidates) - len(old), measurements, changed)


def _merge_registered(
    source: Connection, into: Connection, table: type[WorkloadRow | TargetRow], used: Any
) -> Ids:
    """Of what is not part of its identity, the version that was run last stays."""

    def known(connection: Connection) -> dict[str, tuple[datetime, dict[str, Any]]]:
        last: dict[int, datetime] = {}
        for row in connection.execute(select(used, func.max(RunRow.started_at)).group_by(used)):
            last[row[0]] = row[1]
        rows = connection.execute(select(table.__table__)).mappings()
        return {row["key"]: (last.get(row["id"], _NEVER), dict(row)) for row in rows}

    ids: Ids = {}
    ours = known(into)
    for key, (last, theirs) in known(source).items():
        their_id = theirs.pop("id")
        if key not in ours:
            added = insert(table).values(theirs).returning(table.id)
            ids[their_id] = into.execute(added).scalar_one()
            continue
        our_last, own = ours[key]
        ids[their_id] = our_id = own.pop("id")
        if (last, canonical_json(theirs)) > (our_last, canonical_json(own)):
            into.execute(update(table).where(table.id == our_id).values(theirs))
    return ids


def _merge_runs(source: Connection, into: Connection, workloads: Ids, targets: Ids) -> Ids:
    """A run that has ended in one of them has ended."""
    ids: Ids = {}
    ours = {row.uuid: row for row in into.execute(select(RunRow.__table__))}
    for row in _read(source, select(RunRow.__table__).order_by(RunRow.id)):
        theirs = dict(row)
        their_id = theirs.pop("id")
        theirs["workload_id"] = workloads[theirs["workload_id"]]
        theirs["target_id"] = targets[theirs["target_id"]]
        own = ours.get(theirs["uuid"])
        if own is None:
            added = insert(RunRow).values(theirs).returning(RunRow.id)
            ids[their_id] = into.execute(added).scalar_one()
            continue
        ids[their_id] = own.id
        end = {name: theirs[name] for name in ("status", "finished_at", "summary")}
        if _end(theirs) > _end(own._mapping):
            into.execute(update(RunRow).where(RunRow.id == own.id).values(end))
    return ids


def _end(run: Mapping[Any, Any]) -> tuple[Any, ...]:
    return (run["finished_at"] or _NEVER, run["status"].value, canonical_json(run["summary"]))


def _merge_stage_times(source: Connection, into: Connection, runs: Ids) -> None:
    """Copies of one run's times: the one with more additions is the later."""
    ours = {
        (row.run_id, row.stage): (row.count, row.seconds)
        for row in into.execute(select(StageTimeRow.__table__))
    }
    later = []
    for row in _read(source, select(StageTimeRow.__table__)):
        theirs = {**row, "run_id": runs[row["run_id"]]}
        if (row["count"], row["seconds"]) > ours.get((theirs["run_id"], row["stage"]), (0, 0.0)):
            later.append(theirs)
    statement = upsert(into.dialect.name, StageTimeRow)
    values = {"seconds": statement.excluded.seconds, "count": statement.excluded.count}
    statement = statement.on_conflict_do_update(index_elements=["run_id", "stage"], set_=values)
    for rows in _batches(later):
        into.execute(statement, rows)


def _place_candidates(
    source: Connection, into: Connection, workloads: Ids, targets: Ids
) -> tuple[Ids, set[int]]:
    """Where each candidate of the source belongs, and those of its ids that are known already.

    In the order of ids, parents before their children: new ones get ids larger than any.
    """
    names = (CandidateRow.workload_id, CandidateRow.target_id, CandidateRow.tree)
    place = select(CandidateRow.id, *names, CandidateRow.trace_key)
    ours = {tuple(row[1:]): row[0] for row in into.execute(place)}
    last = into.execute(select(func.max(CandidateRow.id))).scalar() or 0
    ids: Ids = {}
    old = set()
    for their_id, workload, target, tree, trace_key in source.execute(
        place.order_by(CandidateRow.id)
    ):
        known = ours.get((workloads[workload], targets[target], tree, trace_key))
        if known is None:
            last += 1
        else:
            old.add(their_id)
        ids[their_id] = known or last
    return ids, old


def _merge_candidates(
    source: Connection,
    into: Connection,
    workloads: Ids,
    targets: Ids,
    runs: Ids,
    candidates: Ids,
    old: set[int],
) -> int:
    """Returns how many known ones were changed."""
    found_by = {
        row.id: (row.started_at, row.uuid) for row in into.execute(select(RunRow.__table__))
    }
    changed = 0
    for rows in _batches(_read(source, _CANDIDATES.order_by(CandidateRow.id))):
        new, known = [], {}
        for row in rows:
            theirs = {
                **row,
                "id": candidates[row["id"]],
                "workload_id": workloads[row["workload_id"]],
                "target_id": targets[row["target_id"]],
                "run_id": runs[row["run_id"]],
                "parent_id": row["parent_id"] and candidates[row["parent_id"]],
                "duplicate_of": row["duplicate_of"] and candidates[row["duplicate_of"]],
            }
            if row["id"] in old:
                known[theirs["id"]] = theirs
            else:
                del theirs["original_key"]
                new.append(theirs)
        if new:
            into.execute(insert(CandidateRow), new)
        ours = _CANDIDATES.where(CandidateRow.id.in_(known))
        for own in into.execute(ours).mappings().all():
            theirs = known[own["id"]]
            values = joined(own, theirs)
            values["run_id"] = min((own["run_id"], theirs["run_id"]), key=found_by.__getitem__)
            if any(own[name] != value for name, value in values.items()):
                into.execute(
                    update(CandidateRow).where(CandidateRow.id == own["id"]).values(values)
                )
                changed += 1
    return changed


def joined(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> dict[str, Any]:
    """The columns that two rows of `_CANDIDATES` for the same candidate, with ids of the same
    store, may differ in; the same whichever comes first.

    `incorrect` wins, then `correct`, as in one store; of the rest no time is kept: the record on
    which more time was spent wins. A schedule that is a node of the tree in one store (it may have
    children) stays one. Duplicates yield to all that an original can be, and so never form a
    circle.
    """
    loser, winner = sorted((one, other), key=_standing)
    values = {
        name: winner[name] for name in ("outcome", "message", "duplicate_of", "duplicate_level")
    }
    for name in (*_KEYS, "predicted"):
        values[name] = winner[name] if winner[name] is not None else loser[name]
    # Each store counted what it spent itself, or what both have from a third: not to be added.
    values["stage_s"] = {
        stage: max(row["stage_s"].get(stage, 0.0) for row in (one, other))
        for stage in {**one["stage_s"], **other["stage_s"]}
    }
    values["expanded_at"] = min(
        (at for at in (one["expanded_at"], other["expanded_at"]) if at is not None), default=None
    )
    return values


def _standing(row: Mapping[Any, Any]) -> tuple[Any, ...]:
    outcome = row["outcome"]
    is_node = row["ast_key"] is not None and row["duplicate_level"] in (None, "binary")
    if outcome is None:
        attempt = 2 if row["binary_key"] is not None else 0
    else:
        attempt = 1 if outcome is Outcome.DUPLICATE else 3
    # Of two copies of one record, the later has more time in it.
    spent = sum(row["stage_s"].values())
    texts = (row["message"], *(row[name] or "" for name in (*_KEYS, "original_key")))
    predicted = _LEAST if row["predicted"] is None else row["predicted"]
    return (_FINAL.get(outcome, 0), is_node, attempt, spent, outcome or "", texts, predicted)


def _merge_measurements(source: Connection, into: Connection, runs: Ids, candidates: Ids) -> int:
    """Returns how many were added. Time and run tell a candidate's measurements apart."""
    told = (MeasurementRow.candidate_id, MeasurementRow.run_id, MeasurementRow.created_at)
    ours = {tuple(row) for row in into.execute(select(*told))}
    new = []
    for row in _read(source, select(MeasurementRow.__table__).order_by(MeasurementRow.id)):
        theirs = dict(row)
        del theirs["id"]
        theirs["candidate_id"] = candidates[row["candidate_id"]]
        theirs["run_id"] = runs[row["run_id"]]
        if tuple(theirs[column.key] for column in told) not in ours:
            new.append(theirs)
    for rows in _batches(new):
        into.execute(insert(MeasurementRow), rows)
    return len(new)


def _read(connection: Connection, statement: Any) -> Iterable[Mapping[Any, Any]]:
    return connection.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE}).mappings()


def _batches(rows: Iterable[Mapping[Any, Any]]) -> Iterable[list[dict[Any, Any]]]:
    left = iter(rows)
    while batch := [dict(row) for row in islice(left, _ROWS_AT_ONCE)]:
        yield batch


def _count(connection: Connection, table: type[Base]) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()

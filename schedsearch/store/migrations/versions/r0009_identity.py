"""Cores that nothing runs on and patch levels of compilers are no part of a target's identity.

Runs keep both for themselves. Targets that were told apart by them alone become one: their
search trees are joined as those of two stores are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Connection

from schedsearch.core.errors import UserError
from schedsearch.core.records import Outcome, Target
from schedsearch.store.merge import joined as joined_rows

revision = "0009"
down_revision = "0008"

_ROWS_AT_ONCE = 500
_JOINED = (
    "outcome", "message", "ast_key", "code_key", "binary_key", "duplicate_of", "duplicate_level",
    "stage_s", "expanded_at", "predicted",
)  # fmt: skip

TARGET = sa.table("target", sa.column("id"), sa.column("key"), sa.column("description", sa.JSON()))
RUN = sa.table(
    "run",
    *map(sa.column, ("id", "workload_id", "target_id", "tree", "uuid")),
    sa.column("started_at", sa.DateTime()),
    *(sa.column(name, sa.JSON()) for name in ("settings", "environment")),
)
CANDIDATE = sa.table(
    "candidate",
    *map(sa.column, ("id", "workload_id", "target_id", "tree", "parent_id", "run_id", "trace_key")),
    *(sa.column(name) for name in _JOINED if name not in ("stage_s", "expanded_at")),
    sa.column("stage_s", sa.JSON()),
    sa.column("expanded_at", sa.DateTime()),
)
MEASUREMENT = sa.table("measurement", sa.column("id"), sa.column("candidate_id"))
FEATURE = sa.table("feature", *map(sa.column, ("candidate_id", "version", "vector")))


def upgrade() -> None:
    connection = op.get_bind()
    targets = dict(_readable(connection))
    _tell_runs(connection, targets)
    same: defaultdict[str, list[int]] = defaultdict(list)
    for target_id in _last_run_first(connection, targets):
        same[targets[target_id].key].append(target_id)
    for key, (kept, *others) in same.items():
        for other in others:
            _join(connection, other, kept)
        connection.execute(sa.update(TARGET).where(TARGET.c.id == kept).values(key=key))


def _readable(connection: Connection) -> Iterable[tuple[int, Target]]:
    for row in connection.execute(sa.select(TARGET)).all():
        try:
            yield row.id, Target.from_json(row.description)
        except UserError:
            continue  # it is refused when it is used, as before


def _tell_runs(connection: Connection, targets: Mapping[int, Target]) -> None:
    for row in connection.execute(sa.select(RUN.c.id, RUN.c.target_id, RUN.c.environment)).all():
        if row.target_id in targets and isinstance(row.environment, dict):
            values = {"environment": targets[row.target_id].circumstances | row.environment}
            connection.execute(sa.update(RUN).where(RUN.c.id == row.id).values(values))


def _last_run_first(connection: Connection, targets: Mapping[int, Target]) -> list[int]:
    """What is not part of the identity is as the last run had it. A key that is right already
    stays with its target."""
    statement = sa.select(RUN.c.target_id, sa.func.max(RUN.c.started_at)).group_by(RUN.c.target_id)
    last = {row[0]: str(row[1]) for row in connection.execute(statement)}
    keys = {row.id: row.key for row in connection.execute(sa.select(TARGET.c.id, TARGET.c.key))}
    return sorted(
        targets,
        key=lambda each: (targets[each].key == keys[each], last.get(each, ""), each),
        reverse=True,
    )


def _join(connection: Connection, other: int, kept: int) -> None:
    """What was searched in ways that do not go together stays with the other target."""
    of_other = sa.select(RUN.c.workload_id).where(RUN.c.target_id == other).distinct()
    apart = False
    for workload in connection.scalars(of_other).all():
        if not _agree(_runs(connection, workload, other), _runs(connection, workload, kept)):
            apart = True
            continue
        _join_candidates(connection, workload, other, kept)
        for table in (CANDIDATE, RUN):
            own = sa.and_(table.c.workload_id == workload, table.c.target_id == other)
            connection.execute(sa.update(table).where(own).values(target_id=kept))
    if not apart:
        connection.execute(sa.delete(TARGET).where(TARGET.c.id == other))


def _runs(connection: Connection, workload: int, target: int) -> list[tuple[int, dict[str, Any]]]:
    own = sa.and_(RUN.c.workload_id == workload, RUN.c.target_id == target)
    rows = connection.execute(sa.select(RUN.c.tree, RUN.c.settings).where(own)).all()
    return [(row.tree, row.settings if isinstance(row.settings, dict) else {}) for row in rows]


def _agree(
    ours: list[tuple[int, dict[str, Any]]], theirs: list[tuple[int, dict[str, Any]]]
) -> bool:
    """Whether a run could go on with both: the same caches, in each tree the same transforms."""
    caches = {settings.get("cache", "warm") for _, settings in (*ours, *theirs)}
    return len(caches) <= 1 and all(
        _transforms(settings) == _transforms(other)
        for tree, settings in ours
        for other_tree, other in theirs
        if tree == other_tree
    )


def _transforms(settings: dict[str, Any]) -> tuple[object, ...]:
    return sorted(settings.get("transforms", ())), settings.get("own_transforms", {})


def _join_candidates(connection: Connection, workload: int, other: int, kept: int) -> None:
    """Of two rows for one schedule the lower id stays: parents' are lower than their children's."""
    one, two = CANDIDATE.alias(), CANDIDATE.alias()
    same = sa.and_(
        one.c.workload_id == workload,
        two.c.workload_id == workload,
        one.c.target_id == kept,
        two.c.target_id == other,
        one.c.tree == two.c.tree,
        one.c.trace_key == two.c.trace_key,
    )
    pairs = connection.execute(sa.select(one.c.id, two.c.id).select_from(one.join(two, same))).all()
    moved = {max(pair): min(pair) for pair in pairs}
    if not moved:
        return
    values = [row for ids in _batches(moved.items()) for row in _verdicts(connection, dict(ids))]
    for column in (CANDIDATE.c.parent_id, CANDIDATE.c.duplicate_of, MEASUREMENT.c.candidate_id):
        _repoint(connection, column, moved)
    _join_features(connection, moved)
    for table, column in ((FEATURE, FEATURE.c.candidate_id), (CANDIDATE, CANDIDATE.c.id)):
        gone = sa.delete(table).where(column == sa.bindparam("gone"))
        connection.execute(gone, [{"gone": each} for each in moved])
    names = ("run_id", *_JOINED)
    update = sa.update(CANDIDATE).where(CANDIDATE.c.id == sa.bindparam("kept"))
    update = update.values({name: sa.bindparam(f"new_{name}") for name in names})
    for row in values:
        row["new_duplicate_of"] = moved.get(row["new_duplicate_of"], row["new_duplicate_of"])
    connection.execute(update, values)


def _verdicts(connection: Connection, moved: Mapping[int, int]) -> list[dict[str, Any]]:
    """What is known of the rows that stay, and of those that go into them."""
    original = CANDIDATE.alias()
    statement = (
        sa.select(
            CANDIDATE, original.c.trace_key.label("original_key"), RUN.c.started_at, RUN.c.uuid
        )
        .outerjoin(original, CANDIDATE.c.duplicate_of == original.c.id)
        .join(RUN, RUN.c.id == CANDIDATE.c.run_id)
        .where(CANDIDATE.c.id.in_([*moved, *moved.values()]))
    )
    rows = {}
    for row in connection.execute(statement).mappings():
        outcome = None if row["outcome"] is None else Outcome(row["outcome"])
        rows[row["id"]] = {**row, "outcome": outcome}
    found = []
    for gone, kept in moved.items():
        pair = (rows[kept], rows[gone])
        joined = joined_rows(*pair)
        joined["outcome"] = joined["outcome"] and joined["outcome"].value
        first = min(pair, key=lambda row: (row["started_at"], row["uuid"]))
        values = {**{name: joined[name] for name in _JOINED}, "run_id": first["run_id"]}
        found.append({"kept": kept, **{f"new_{name}": value for name, value in values.items()}})
    return found


def _repoint(connection: Connection, column: Any, moved: Mapping[int, int]) -> None:
    table = column.table
    rows = connection.execute(sa.select(table.c.id, column).where(column.is_not(None)))
    changed = [{"row": id_, "to": moved[old]} for id_, old in rows if old in moved]
    if changed:
        update = sa.update(table).where(table.c.id == sa.bindparam("row"))
        connection.execute(update.values({column.name: sa.bindparam("to")}), changed)


def _join_features(connection: Connection, moved: Mapping[int, int]) -> None:
    """Those of the newest version stay."""
    known = {row.candidate_id: row for row in connection.execute(sa.select(FEATURE))}
    for gone, kept in moved.items():
        if gone not in known:
            continue
        theirs, own = known[gone], known.get(kept)
        if own is not None and (theirs.version, theirs.vector) > (own.version, own.vector):
            connection.execute(sa.delete(FEATURE).where(FEATURE.c.candidate_id == kept))
        elif own is not None:
            continue
        mine = FEATURE.c.candidate_id == gone
        connection.execute(sa.update(FEATURE).where(mine).values(candidate_id=kept))


def _batches(pairs: Iterable[tuple[int, int]]) -> Iterable[list[tuple[int, int]]]:
    left = list(pairs)
    return (left[at : at + _ROWS_AT_ONCE] for at in range(0, len(left), _ROWS_AT_ONCE))

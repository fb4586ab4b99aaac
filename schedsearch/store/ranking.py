"""How fast candidates are: which measurement ranks one, and what all timings say together.

Functions run inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import inf
from typing import Any

from sqlalchemy import Connection, Row, case, exists, select
from sqlalchemy.orm import aliased

from schedsearch.core.records import Measurement, Outcome, TimingKind
from schedsearch.core.standings import Comparison, linked, standings
from schedsearch.core.stats import Estimate
from schedsearch.store.schema import CandidateRow, MeasurementRow, of_pair
from schedsearch.store.views import Scope

_Other = aliased(MeasurementRow)
_Later = aliased(CandidateRow)

RANKS = MeasurementRow.id == (
    select(_Other.id)
    .where(_Other.candidate_id == MeasurementRow.candidate_id)
    .order_by(
        case((_Other.kind != TimingKind.CONFIRM, 2), (_Other.high == inf, 1), else_=0),
        _Other.created_at.desc(),
        _Other.id.desc(),
    )
    .limit(1)
    .scalar_subquery()
)
"""Whether a measurement is the one that ranks its candidate: the latest confirmation against the
procedure as written, else the latest confirmation (earlier versions confirmed against other
schedules), else the latest."""

_CLOSE_LOOK = 50
"""Of those that were only screened."""

_THOROUGH = (TimingKind.CONFIRM, TimingKind.RACE, TimingKind.PAIR)
"""Their rounds are of processes of their own."""

_WRITTEN = "as written"
"""In place of the root's keys."""

_TIMINGS = (
    select(
        MeasurementRow.id,
        MeasurementRow.candidate_id,
        MeasurementRow.run_id,
        MeasurementRow.samples,
        CandidateRow.code_key,
        CandidateRow.binary_key,
    )
    .join(CandidateRow, CandidateRow.id == MeasurementRow.candidate_id)
    .order_by(MeasurementRow.created_at, MeasurementRow.id)
)


def best_ids(connection: Connection, scope: Scope, limit: int) -> list[int]:
    """The fastest of all trees of the scope's workload and target, by all their timings together.
    A candidate that was only screened, and is not among the fastest, is ranked by that screening.
    If several trees have the same schedule, the latest one's timings count.

    The fastest that was confirmed comes before all that were not and are not surely faster: among
    many that are equal, luck puts one of the others first.
    """
    later = exists().where(
        _Later.workload_id == CandidateRow.workload_id,
        _Later.target_id == CandidateRow.target_id,
        _Later.trace_key == CandidateRow.trace_key,
        _Later.tree > CandidateRow.tree,
        _Later.outcome.is_not(None),
    )
    alone = (
        select(
            MeasurementRow.candidate_id,
            MeasurementRow.kind,
            MeasurementRow.speedup,
            MeasurementRow.low,
            CandidateRow.parent_id,
        )
        .join(CandidateRow)
        .where(of_pair(CandidateRow, scope), CandidateRow.outcome == Outcome.CORRECT, ~later, RANKS)
        .order_by(MeasurementRow.speedup.desc(), MeasurementRow.candidate_id)
    )
    rows = {row.candidate_id: row for row in connection.execute(alone)}
    speedups = {id_: Estimate(row.speedup, row.low) for id_, row in rows.items()}
    together = joint(connection, scope, list(rows)[: max(limit, _CLOSE_LOOK)])
    speedups |= {id_: found for id_, found in together.items() if id_ in rows}
    confirmed = {id_ for id_, row in rows.items() if row.kind == TimingKind.CONFIRM}
    top = max((speedups[id_].value for id_ in confirmed), default=0.0)

    def place(id_: int) -> tuple[float, bool, float, int]:
        found, root = speedups[id_], rows[id_].parent_id is None
        lucky = id_ not in confirmed and not root and found.low <= top < found.value
        return -top if lucky else -found.value, lucky, -found.value, id_

    return sorted(rows, key=place)[:limit]


def joint(
    connection: Connection, scope: Scope, also: Collection[int] = ()
) -> Mapping[int, Estimate]:
    """By id, of all verified candidates that were timed thoroughly, and of those of `also` that
    were screened: how many times faster than the procedure as written they are, if that can be
    told (`core/standings.py`). Sessions are runs.

    A screening is of one process, and the leader owes its place to luck: it counts where nothing
    else links a kernel to the procedure as written.
    """
    verified = of_pair(CandidateRow, scope) & (CandidateRow.outcome == Outcome.CORRECT)
    verified &= CandidateRow.code_key.is_not(None)

    def timings(*where: Any) -> dict[int, Row[Any]]:
        return {row.id: row for row in connection.execute(_TIMINGS.where(verified, *where))}

    rows = timings(MeasurementRow.kind.in_(_THOROUGH))
    only_screened = sorted(set(also) - {row.candidate_id for row in rows.values()})
    screened = MeasurementRow.kind == TimingKind.SCREEN
    asked = timings(screened, CandidateRow.id.in_(only_screened)).values()
    # The last of each, so that asking for one changes nothing for the others.
    rows |= {row.id: row for row in {row.candidate_id: row for row in asked}.values()}
    root = of_pair(CandidateRow, scope) & CandidateRow.parent_id.is_(None)
    written = [key for key in connection.scalars(select(CandidateRow.code_key).where(root)) if key]
    looked: set[str] = set()
    while True:
        comparisons = _comparisons(rows.values(), written)
        names = {name for each in comparisons.values() for name in (each.kernel, each.reference)}
        lost = names - linked(comparisons.values(), _WRITTEN) - looked
        if not lost:
            break
        looked |= lost
        rows |= timings(screened, CandidateRow.code_key.in_(sorted(lost)))
    found = standings(comparisons.values(), _WRITTEN)
    same = _by_binary(rows.values())
    codes = {row.candidate_id: same.get(row.code_key, row.code_key) for row in rows.values()}
    return {id_: found[code] for id_, code in codes.items() if code in found}


def _comparisons(rows: Iterable[Row[Any]], written: Collection[str]) -> dict[Any, Comparison]:
    """Of the heats of a race the last, which has the rounds of those before."""
    rows = list(rows)
    same = _by_binary(rows) | dict.fromkeys(written, _WRITTEN)
    found = {}
    for row in rows:
        timed = Measurement.from_json(row.samples)
        kernel, reference = (same.get(code, code) for code in (row.code_key, timed.reference))
        ratios = [each.speedup for each in timed.rounds]
        heats = timed.kind == TimingKind.RACE
        found[(row.candidate_id, row.run_id, reference) if heats else row.id] = Comparison.of(
            row.run_id, kernel, reference, ratios, fresh=timed.kind != TimingKind.SCREEN
        )
    return found


def _by_binary(rows: Iterable[Row[Any]]) -> dict[str, str]:
    """By code, one name of all that have the same machine code."""
    first: dict[str, str] = {}
    return {
        row.code_key: first.setdefault(row.binary_key, row.code_key)
        for row in rows
        if row.binary_key
    }

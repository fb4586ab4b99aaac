"""What becomes of a candidate of which two stores say different things.

`incorrect` wins, then `correct`, as in one store; of the rest no time is kept: the record on which
more time was spent wins. A schedule that is a node of the tree in one store (it may have children)
stays one. Duplicates yield to all that an original can be, and so never form a circle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import aliased

from schedsearch.core.records import Outcome
from schedsearch.store.schema import CandidateRow

_Original = aliased(CandidateRow)

CANDIDATES = select(CandidateRow.__table__, _Original.trace_key.label("original_key")).outerjoin(
    _Original, CandidateRow.duplicate_of == _Original.id
)
"""Candidates with the trace key of what they duplicate."""

_FINAL = {Outcome.INCORRECT: 2, Outcome.CORRECT: 1}
_KEYS = ("ast_key", "code_key", "binary_key")
_LEAST = float("-inf")


def joined(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> dict[str, Any]:
    """The columns that two rows of `CANDIDATES` for the same candidate, with ids of the same
    store, may differ in; the same whichever comes first."""
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

"""A search tree as compact JSON for `present/web/tree.js`: columns of numbers, each text once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from schedsearch.core.records import Outcome
from schedsearch.evaluate.roofline import Roof
from schedsearch.store.views import Table

NOTHING: Mapping[int, Any] = MappingProxyType({})

LONGEST = 400
"""Characters of one text: compilers' messages can be pages."""


class _Strings:
    """Texts by number."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        shown = text if len(text) <= LONGEST else text[:LONGEST] + " …"
        return self.known.setdefault(shown, len(self.known))


def tree_data(
    table: Table, details: Mapping[int, Any] = NOTHING, roof: Roof | None = None
) -> dict[str, Any]:
    """Of a store's `candidate_table`: columns with one entry per candidate, parents first;
    `parent`, `original` and `best` are positions, -1 for none. `details` is what more is shown
    of some, by candidate id.

    Text columns (`rewrite`, `outcome`, `message`, `kind`) are positions in `strings`. Speed-ups
    are over the procedure as written, `ns` of one call, `predicted` the log speed-up over the
    parent that the cost estimate promised, `roof_ns` the least that a call can take.
    """
    rows = list(table.dicts())
    position = {row["id"]: number for number, row in enumerate(rows)}
    text = _Strings()
    fastest = max((row["speedup"] or 0.0 for row in rows), default=0.0)
    best = next((n for n, row in enumerate(rows) if fastest and row["speedup"] == fastest), -1)
    return {
        "id": [row["id"] for row in rows],
        "parent": [position.get(row["parent_id"], -1) for row in rows],
        "original": [position.get(row["duplicate_of"], -1) for row in rows],
        "rewrite": [text(row["rewrite"]) for row in rows],
        "outcome": [text(said(row["outcome"], row["duplicate_level"])) for row in rows],
        "message": [text(row["message"]) for row in rows],
        "kind": [text(row["kind"] or "") for row in rows],
        "speedup": [_short(row["speedup"]) for row in rows],
        "low": [_short(row["low"]) for row in rows],
        "high": [_short(row["high"]) for row in rows],
        "ns": [_short(row["candidate_ns"]) for row in rows],
        "predicted": [_short(row["predicted"]) for row in rows],
        "best": best,
        "details": {str(position[key]): value for key, value in details.items()},
        "left_out": _left_out(rows, details),
        "roof_ns": _short(roof.least_s * 1e9) if roof and roof.least_s else None,
        "strings": list(text.known),
    }


def _left_out(rows: Sequence[Mapping[str, Any]], details: Mapping[int, Any]) -> str:
    measured = sum(row["speedup"] is not None for row in rows)
    with_code = sum(bool(each["diffs"]) for each in details.values())
    return (
        f"Of {len(rows)} candidates, {measured} of them measured, this page has code of "
        f"{with_code}: the fastest and those on the way to them. `schedsearch show` and "
        "`schedsearch replay` have it of every one."
    )


def said(outcome: Outcome | None, duplicate_level: str | None) -> str:
    """`compile error`, `duplicate (same code)`, `legal, not measured`"""
    if outcome is None:
        return "legal, not measured"
    level = f" (same {duplicate_level})" if duplicate_level else ""
    return outcome.value.replace("_", " ") + level


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")

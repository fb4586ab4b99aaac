"""A search tree as compact JSON: columns of numbers, and each text once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from schedsearch.core.given import given_path
from schedsearch.core.records import Outcome
from schedsearch.core.text_file import write_text
from schedsearch.store.views import Table

HEIGHT = 900
"""Pixels, in a notebook."""

LONGEST = 400
"""Characters of one text: compilers' messages can be pages."""


@dataclass(frozen=True)
class TreeView:
    """`page` is HTML that needs nothing else."""

    title: str
    page: str

    def save(self, path: str | Path) -> None:
        """Write it as one HTML file. Raises UserError if it cannot be written."""
        write_text(given_path("path=", path), self.page)

    def __repr__(self) -> str:
        return f"{self.title}; shown by notebooks, and by a browser: .save(FILE)"

    def _repr_html_(self) -> str:
        """A frame of its own: the page's policy and style are not the notebook's."""
        frame = '<iframe srcdoc="{}" title="{}" style="width:100%;height:{}px;border:0"></iframe>'
        return Markup(frame).format(str(self.page), self.title, HEIGHT)


class Strings:
    """Texts by number, each once."""

    def __init__(self, longest: int | None = None) -> None:
        self._longest = longest
        self.known: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        cut = self._longest is not None and len(text) > self._longest
        shown = f"{text[: self._longest]} …" if cut else text
        return self.known.setdefault(shown, len(self.known))


def tree_data(table: Table) -> dict[str, Any]:
    """Of a store's `candidate_table`: columns with one entry per candidate, parents first;
    `parent`, `original` and `best` are positions, -1 for none.

    Text columns (`rewrite`, `transform`, `outcome`, `message`, `kind`) are positions in `strings`.
    Speed-ups are over the procedure as written, `ns` of one call, `predicted` the log speed-up
    over the parent that the cost estimate promised.
    """
    rows = list(table.dicts())
    position = {row["id"]: number for number, row in enumerate(rows)}
    text = Strings(LONGEST)
    fastest = max((row["speedup"] or 0.0 for row in rows), default=0.0)
    best = next((n for n, row in enumerate(rows) if fastest and row["speedup"] == fastest), -1)
    return {
        "id": [row["id"] for row in rows],
        "parent": [position.get(row["parent_id"], -1) for row in rows],
        "original": [position.get(row["duplicate_of"], -1) for row in rows],
        "rewrite": [text(row["rewrite"]) for row in rows],
        "transform": [text(row["transform"]) for row in rows],
        "outcome": [text(said(row["outcome"], row["duplicate_level"])) for row in rows],
        "message": [text(row["message"]) for row in rows],
        "kind": [text(row["kind"] or "") for row in rows],
        "speedup": [short(row["speedup"]) for row in rows],
        "low": [short(row["low"]) for row in rows],
        "high": [short(row["high"]) for row in rows],
        "ns": [short(row["candidate_ns"]) for row in rows],
        "predicted": [short(row["predicted"]) for row in rows],
        "best": best,
        "strings": list(text.known),
    }


def said(outcome: Outcome | None, duplicate_level: str | None) -> str:
    """`compile error`, `duplicate (same code)`, `legal, not measured`"""
    if outcome is None:
        return "legal, not measured"
    level = f" (same {duplicate_level})" if duplicate_level else ""
    return outcome.value.replace("_", " ") + level


def short(value: float | None) -> float | None:
    """With four digits."""
    return None if value is None else float(f"{value:.4g}")

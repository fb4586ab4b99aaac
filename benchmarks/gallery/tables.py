"""Tables of the documentation's result pages, as data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "docs" / "results"

_RATIO = re.compile(r"([\d.]+) \[")
"""The number before an interval, as in `torch 1.06 [1.01, 1.09]`."""


def rows(page: str, column: str) -> Iterator[dict[str, str]]:
    """The rows of the first table of a page that has this column."""
    names: list[str] = []
    for line in (RESULTS / f"{page}.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line[:1] == "|" else []
        if names and not cells:
            return
        if names and not cells[0].startswith("---"):
            yield dict(zip(names, cells, strict=True))
        elif column in cells:
            names = cells


def against_best(page: str) -> dict[str, float]:
    """By kernel, the time of its best peer over ours."""
    return {row["kernel"]: ratio(row["best peer"]) for row in rows(page, "best peer")}


def ratio(cell: str) -> float:
    """Of a cell with an interval. Raises ValueError if it has none."""
    found = _RATIO.search(cell)
    if found is None:
        raise ValueError(f"no ratio with an interval: {cell}")
    return float(found[1])

"""The suite's table, and its summary."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table

from benchmarks.suite.contenders import OURS, OWN, RECORD
from benchmarks.suite.measure import agrees_with_itself
from benchmarks.suite.records import FINDING
from schedsearch.present.format import duration

Row = dict[str, Any]

BEST = "best peer"
WIDE = 220
"""Columns that all intervals need."""


def geometric_mean(rows: Sequence[Row]) -> tuple[float, int] | None:
    """Over the kernels that were compared: our speed relative to the best peer of each, and
    how many kernels that are. None if there are none."""
    best = [row["ratios"][row["best_peer"]]["value"] for row in rows if row.get("best_peer")]
    if not best:
        return None
    return math.exp(sum(map(math.log, best)) / len(best)), len(best)


def table(rows: Sequence[Row], width: int = WIDE) -> RenderableType:
    """One line per kernel; above 1 we are faster, intervals are 95 %.

    Below `WIDE` columns only the speed-up and the best peer's ratio keep theirs.
    """
    peers = list(dict.fromkeys(name for row in rows for name in row.get("ratios", {})))
    out = Table(box=None, header_style="bold", pad_edge=False)
    out.add_column("kernel", no_wrap=True)
    for title in ("time", "speed-up", *peers, BEST):
        out.add_column(title, justify="right", no_wrap=width >= WIDE)
    out.add_column("", no_wrap=True)
    out.add_column("% of roofline", justify="right", no_wrap=True)
    if any(RECORD in row for row in rows):
        out.add_column("of the record", justify="right", no_wrap=True)
    for row in rows:
        out.add_row(*_cells(row, peers, width >= WIDE))
    return out


def _cells(row: Row, peers: Sequence[str], intervals: bool) -> list[str]:
    if "ratios" not in row:
        return [row["kernel"], "-", f"[red]{_escaped(_problem(row).splitlines()[0][:60])}[/]"]
    ratios, best = row["ratios"], row["best_peer"]
    cells = [row["kernel"], duration(row["seconds"][OURS]), _judged(row["speedup"])]
    for peer in peers:
        if peer in ratios:
            cells.append(_ratio(ratios[peer], intervals))
        else:
            cells.append("wrong" if peer in row["wrong"] else "-")
    cells += [_judged(ratios[best]), best] if best else ["-", ""]
    doubt = " [red]too high[/]" if row.get("over_roof") else ""
    cells.append(f"{row['roofline']:.0%} {row['limit']}{doubt}")
    if RECORD in row:
        cells.append(_ratio(row[RECORD], False))
    return cells


def _ran(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Peers with what computed, each once."""
    pairs = (pair for row in rows for pair in row.get("ran", {}).items())
    return sorted({(name, ran) for name, ran in pairs if name not in OWN and ran})


def _problem(row: Row) -> str:
    """Why a row has no ratios."""
    return str(row.get("error") or row["absent"].get(OURS) or row["wrong"].get(OURS))


def _judged(estimate: dict[str, float]) -> str:
    """A ratio in green if it is clearly above 1, in red if clearly below."""
    tone = "green" if estimate["low"] >= 1 else "red" if estimate["high"] < 1 else "yellow"
    return f"[{tone}]{_ratio(estimate, True)}[/]"


def _ratio(estimate: dict[str, float], interval: bool) -> str:
    """`1.23 [1.20, 1.25]`"""
    digits = 2 if estimate["value"] < 10 else 1 if estimate["value"] < 100 else 0
    value, low, high = (f"{estimate[part]:.{digits}f}" for part in ("value", "low", "high"))
    return _escaped(f"{value} [{low}, {high}]" if interval else value)


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


def show(console: Console, rows: Sequence[Row], total: int) -> None:
    """Print the table, what is absent or wrong, and the geometric mean."""
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    console.print(table(rows, console.width))
    console.print(
        "\nRatios: time of the peer / ours, medians over interleaved rounds with 95 % intervals. "
        "Roofline: multiply-add peak of the types, or bandwidth of just the kernel's loads and "
        "stores, whichever binds; what is above it is measured or counted wrongly.",
        soft_wrap=True,
    )
    for name, ran in _ran(rows):
        console.print(f"ran: {name}: {ran}", markup=False, soft_wrap=True)
    missing = {name: reason for row in rows for name, reason in row.get("absent", {}).items()}
    for name, reason in missing.items():
        if name != OURS:
            console.print(f"absent: {name} ({reason})", markup=False, soft_wrap=True)
    for row in rows:
        for name, problem in row.get("wrong", {}).items():
            text = f"wrong, not timed: {name} on {row['kernel']}: {problem}"
            console.print(text, markup=False, soft_wrap=True)
        if "ratios" not in row:
            console.print(f"{row['kernel']}: {_problem(row)}", markup=False, soft_wrap=True)
    for row in rows:
        if over := row.get("over_one_thread"):
            times = f"{row['threads']} threads over one: {_ratio(over, True)}"
            console.print(f"{row['kernel']}: {times}", soft_wrap=True)
    for row in rows:
        if RECORD in row and row[RECORD]["high"] < FINDING:
            text = (
                f"below {FINDING:.0%} of its record: {row['kernel']}, {_ratio(row[RECORD], True)}"
            )
            console.print(text, soft_wrap=True)
    if mean := geometric_mean(rows):
        off = [abs(row["noise"]["value"] - 1) for row in rows if "noise" in row]
        console.print(
            f"noise (our schedule against itself): {statistics.median(off):.1%} at the median, "
            f"{max(off):.1%} at worst"
        )
        if unequal := [row["kernel"] for row in rows if not agrees_with_itself(row)]:
            console.print(f"our schedule differs from itself: {', '.join(unequal)}")
        slower = [row["kernel"] for row in rows if row.get("speedup", {}).get("high", 1) < 1]
        console.print(
            f"[bold]geometric mean against the best peer: {mean[0]:.2f}x[/] "
            f"over {mean[1]} of {total} kernels; "
            f"slower than as written: {', '.join(slower) or 'none'}",
            soft_wrap=True,
        )


def as_json(rows: Sequence[Row], total: int) -> dict[str, Any]:
    """Everything, for programs; `schema` is raised when a field changes its meaning."""
    mean = geometric_mean(rows)
    return {
        "schema": 1,
        "kernels": total,
        "geometric_mean": {"value": mean[0], "kernels": mean[1]} if mean else None,
        "rows": list(rows),
    }

"""The suite's table, and its summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table

from schedsearch.cli.format import duration

Row = dict[str, Any]

BEST = "best peer"


def geometric_mean(rows: Sequence[Row]) -> tuple[float, int] | None:
    """Over the kernels that were compared: our speed relative to the best peer of each, and
    how many kernels that are. None if there are none."""
    best = [row["ratios"][row["best_peer"]]["value"] for row in rows if row.get("best_peer")]
    if not best:
        return None
    return math.exp(sum(map(math.log, best)) / len(best)), len(best)


def table(rows: Sequence[Row]) -> RenderableType:
    """One line per kernel; above 1 we are faster, intervals are 95 %."""
    peers = list(dict.fromkeys(name for row in rows for name in row.get("ratios", {})))
    out = Table(box=None, header_style="bold", pad_edge=False)
    out.add_column("kernel", no_wrap=True)
    for title in ("time", "speed-up", *peers):
        out.add_column(title, justify="right", no_wrap=True)
    out.add_column(BEST, no_wrap=True)
    out.add_column("roof", justify="right", no_wrap=True)
    for row in rows:
        out.add_row(*_cells(row, peers))
    return out


def _cells(row: Row, peers: Sequence[str]) -> list[str]:
    if "ratios" not in row:
        reason = row.get("error") or row["absent"].get("schedsearch") or row["wrong"]["schedsearch"]
        return [row["kernel"], "-", f"[red]{_escaped(reason.splitlines()[0][:60])}[/]"]
    ratios = row["ratios"]
    cells = [row["kernel"], duration(row["seconds"]["schedsearch"]), _ratio(row["speedup"])]
    for peer in peers:
        if peer in ratios:
            cells.append(_ratio(ratios[peer], colour=peer == row["best_peer"]))
        else:
            cells.append("wrong" if peer in row["wrong"] else "-")
    cells.append(row["best_peer"] or "-")
    cells.append(f"{row['roofline']:.0%} {row['limit'][:3]}")
    return cells


def _ratio(estimate: dict[str, float], colour: bool = False) -> str:
    """`1.23 [1.20, 1.25]`; green if clearly faster than the best peer, red if slower."""
    digits = 2 if estimate["value"] < 10 else 1 if estimate["value"] < 100 else 0
    numbers = [f"{estimate[part]:.{digits}f}" for part in ("value", "low", "high")]
    text = _escaped(f"{numbers[0]} [{numbers[1]}, {numbers[2]}]")
    if not colour:
        return text
    tone = "green" if estimate["low"] >= 1 else "red" if estimate["high"] < 1 else "yellow"
    return f"[{tone}]{text}[/]"


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


def show(console: Console, rows: Sequence[Row], total: int) -> None:
    """Print the table, what is absent or wrong, and the geometric mean."""
    console.print(table(rows), soft_wrap=True)
    console.print(
        "\nRatios: time of the peer / ours, median over interleaved rounds with its 95 % "
        "interval; roof: share of the roofline (multiply-add peak, copy bandwidth).",
        soft_wrap=True,
    )
    missing = {name: reason for row in rows for name, reason in row.get("absent", {}).items()}
    for name, reason in missing.items():
        if name != "schedsearch":
            console.print(f"absent: {name} ({reason})", markup=False, soft_wrap=True)
    for row in rows:
        for name, problem in row.get("wrong", {}).items():
            console.print(f"wrong, not timed: {name} on {row['kernel']}: {problem}", markup=False)
    if mean := geometric_mean(rows):
        console.print(
            f"[bold]geometric mean against the best peer: {mean[0]:.2f}x[/] "
            f"over {mean[1]} of {total} kernels"
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

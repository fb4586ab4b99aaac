"""Report a check as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from schedsearch.core.shown import shown
from schedsearch.core.stats import Estimate
from schedsearch.locks.result import Checked, Status, exit_code
from schedsearch.present import format as fmt
from schedsearch.present.against import AGAINST, against_json, against_lines

SCHEMA = 2
"""Raised when a field changes its meaning; described in docs/check.schema.json."""

STYLES = {
    Status.PASSED: "green",
    Status.WRONG: "bold red",
    Status.REGRESSION: "red",
    Status.ERROR: "red",
    Status.STALE: "yellow",
    Status.INCONCLUSIVE: "yellow",
    Status.SKIPPED: "dim",
}
PLAIN_COLUMNS = 120
"""For logs, which have no width of their own."""


def show(console: Console, results: Sequence[Checked]) -> None:
    """One line for each entry, then the details of those that did not just pass."""
    if not console.is_terminal:
        console.width = max(console.width, PLAIN_COLUMNS)
    table = Table(box=None, header_style="bold")
    for title in ("kernel", "file", "status", *COMPARED, "took"):
        table.add_column(title, overflow="fold", justify="left")
    for each in results:
        table.add_row(
            escape(shown(kernel(each))),
            escape(each.entry.workload.source),
            f"[{STYLES[each.status]}]{each.status}[/]",
            *(escape(cell) or "-" for cell in compared(each)),
            f"{each.seconds:.1f} s",
        )
    console.print(table)
    for each in results:
        if each.status is not Status.PASSED or each.notes:
            name = escape(shown(each.entry.name))
            console.print(f"\n[{STYLES[each.status]}]{each.status}[/] {name}")
            for line in (each.summary, *each.notes):
                console.print(f"  {shown(line)}", markup=False, soft_wrap=True)
    for each in results:
        if each.against:
            console.print(f"\n{shown(kernel(each))} {AGAINST}:", markup=False, soft_wrap=True)
            for line in against_lines(each.against):
                console.print(f"  {shown(line)}", markup=False, soft_wrap=True)
    console.print(f"\n{headline(results)}", markup=False)


def kernel(result: Checked) -> str:
    """`gemv (K=512)`"""
    return fmt.kernel(result.entry.workload)


COMPARED = ("pinned C", "today", "change")


def compared(result: Checked) -> tuple[str, str, str]:
    """Before, after, and what changed: `COMPARED`; empty where nothing was compared."""
    timing, count = result.timing, result.instructions
    if result.same:
        return "", "", "same machine code"
    if count is not None:
        rise = count.call / count.pinned - 1.0
        return f"{count.pinned:,} instr.", f"{count.call:,} instr.", f"{rise:+.1%}"
    if timing is not None:
        before, after = timing.pinned_ns * 1e-9, timing.call_ns * 1e-9
        return fmt.duration(before), fmt.duration(after), fmt.speedup(timing.ratio)
    return "", "", ""


def headline(results: Sequence[Checked]) -> str:
    """`3 schedules: 2 passed, 1 regression`"""
    counts = {status: sum(each.status is status for each in results) for status in Status}
    parts = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return f"{fmt.count(len(results), 'schedule')}: {parts or 'nothing was checked'}"


def as_json(lock: Path, results: Sequence[Checked], interrupted: bool = False) -> dict[str, Any]:
    """The same for programs."""
    return {
        "schema": SCHEMA,
        "lock": str(lock),
        "exit_code": exit_code(results),
        "interrupted": interrupted,
        "results": [_result(each) for each in results],
    }


def _result(result: Checked) -> dict[str, Any]:
    own, timing, count = result.entry.workload, result.timing, result.instructions
    return {
        "proc": own.proc,
        "source": own.source,
        "line": result.line or None,
        "sizes": dict(own.sizes),
        "specialized": list(own.specialized),
        "target": {
            "cpu": result.entry.target.cpu,
            "isa": result.entry.target.isa,
            "fp": result.entry.target.fp,
            "threads": result.entry.target.threads,
        },
        "status": str(result.status),
        "summary": result.summary,
        "notes": list(result.notes),
        "same_code": result.same,
        "locked": _estimate(result.entry.speed.ratio),
        "timing": None
        if timing is None
        else {
            "ratio": _estimate(timing.ratio),
            "least": timing.least,
            "visits": timing.visits,
            "call_ns": timing.call_ns,
            "pinned_ns": timing.pinned_ns,
        },
        "instructions": asdict(count) if count else None,
        "visits": [asdict(visit) for visit in result.visits],
        "against": against_json(result.against),
        "seconds": result.seconds,
    }


def _estimate(estimate: Estimate) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}

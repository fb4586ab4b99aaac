"""`python -m benchmarks.roofs`: is any plain loop faster than its roofline?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import run_command
from benchmarks.roofs.measure import NAMES, Reached, compare
from schedsearch.core.errors import UserError

WIDE = 120  # columns of the table


def roofs(
    only: Annotated[
        str, typer.Option(metavar="A,B,...", help=f"Loops: {', '.join(NAMES)}.")
    ] = ",".join(NAMES),
    json_: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write everything here.")
    ] = None,
) -> None:
    """Hold loops that only move memory, as the compiler makes them, against their rooflines.

    A roofline that a plain loop exceeds is measured badly. Each loop is timed as the product
    times kernels, with its arrays in parts of each cache level and in memory; its roofline is
    measured before and after. Three minutes; on a machine that is otherwise idle.

    Example: [bold]python -m benchmarks.roofs --only copy,axpy[/]
    """
    kernels = only.split(",")
    if unknown := [name for name in kernels if name not in NAMES]:
        raise UserError(f"no loop {', '.join(unknown)}; known: {', '.join(NAMES)}")
    console = Console(highlight=False)
    found: list[Reached] = []
    with console.status("measuring ...") as status:
        for reached in compare(kernels):
            found.append(reached)
            status.update(f"{reached.kernel}, {reached.place}: {reached.share:.0%}")
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    console.print(table(found))
    highest = max(found, key=lambda reached: reached.share)
    flagged = sum(reached.exceeded for reached in found)
    console.print(
        f"Highest: {highest.share:.0%} ({highest.kernel}, {highest.place}); "
        f"{flagged} of {len(found)} above their roofline, beyond its own error."
    )
    if json_:
        json_.write_text(json.dumps(as_json(found), indent=1))


def table(found: list[Reached]) -> Table:
    """Share of the roofline by loop and place."""
    out = Table(title="share of the roofline, GB/s", box=None, header_style="bold", pad_edge=False)
    out.add_column("loop")
    by_kernel: dict[str, list[Reached]] = {}
    for reached in found:
        by_kernel.setdefault(reached.kernel, []).append(reached)
    for place in dict.fromkeys(reached.place for reached in found):
        out.add_column(place, justify="right", no_wrap=True)
    for kernel, own in by_kernel.items():
        out.add_row(kernel, *map(_cell, own))
    return out


def _cell(reached: Reached) -> str:
    text = f"{reached.share:.0%} of {reached.roof.bandwidth:.3g}"
    return f"[red]{text} (!)[/]" if reached.exceeded else text


def as_json(found: list[Reached]) -> dict[str, Any]:
    """Everything, for programs; `schema` is raised when a field changes its meaning."""
    return {
        "schema": 1,
        "rows": [
            {
                "kernel": reached.kernel,
                "place": reached.place,
                "seconds": reached.seconds,
                "share": reached.share,
                "exceeded": reached.exceeded,
                "roof": reached.roof.to_json(),
            }
            for reached in found
        ],
    }


if __name__ == "__main__":
    run_command(roofs)

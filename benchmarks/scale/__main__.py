"""`python -m benchmarks.scale`: memory and time per candidate, from a thousand to a million."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import run_command
from benchmarks.scale.measure import Grown, grow
from schedsearch.search.strategies.make import make_strategy

SIZES = (1_000, 10_000, 100_000)
MILLION = 1_000_000


def run(
    strategy: Annotated[str, typer.Option(help="Strategy that is asked and told.")] = "best-first",
    full: Annotated[bool, typer.Option("--full", help="Also a million candidates.")] = False,
    largest: Annotated[int, typer.Option(min=1000, help="No more candidates than this.")] = MILLION,
    dir_: Annotated[
        Path | None, typer.Option("--dir", help="Where stores are made; default: temporary.")
    ] = None,
    json_: Annotated[
        Path | None, typer.Option("--json", help="Also write everything here.")
    ] = None,
) -> None:
    """Measure how memory and time per candidate grow with the number of candidates.

    Driver, strategy, tree and store are the real ones; a made-up space and an executor that
    answers at once stand for Exo, compiler and machine. Every size is a run of its own in a
    fresh process, resumed in another.

    [bold]bytes[/]: per candidate, of the driver's process beyond what it had at the start, of a
    process that resumes (in the end, and at its peak), and of the store's file.
    [bold]us[/]: microseconds of CPU time per call over the second half of a run (an expansion
    has 60 children), and of the driver itself per candidate.
    """
    make_strategy(strategy)
    console = Console(highlight=False)
    sizes = [n for n in (*SIZES, *([MILLION] if full else [])) if n <= largest]
    rows: list[Grown] = []
    with tempfile.TemporaryDirectory(dir=dir_) as folder:
        for size in sizes:
            rows.append(grow(size, strategy, Path(folder, f"{size}.sqlite")))
            row = rows[-1]
            console.print(
                f"{row.candidates} candidates in {row.run_s:.1f} s of CPU time", markup=False
            )
    console.print(table(strategy, rows))
    if json_:
        data = {"strategy": strategy, "runs": [asdict(row) for row in rows]}
        json_.write_text(json.dumps(data, indent=2))


def table(strategy: str, rows: list[Grown]) -> Table:
    """A column per size."""
    shown = Table(box=None, header_style="bold")
    shown.add_column(f"{strategy}, candidates")
    for row in rows:
        shown.add_column(f"{row.candidates:,}", justify="right")

    def line(title: str, values: list[float], digits: int = 0) -> None:
        shown.add_row(title, *(f"{value:,.{digits}f}" for value in values))

    line("measured", [row.measured for row in rows])
    line("driver, bytes per candidate", [row.driver_bytes for row in rows])
    line("resumed, bytes per candidate", [row.resume_bytes for row in rows])
    line("resuming, bytes at the peak", [row.resume_peak_bytes for row in rows])
    line("store, bytes per candidate", [row.store_bytes for row in rows])
    for name in sorted(rows[-1].each_us):
        line(f"{name}, us", [row.each_us.get(name, 0.0) for row in rows], 1)
    line("driver itself, us per candidate", [row.driver_us for row in rows], 1)
    line("whole run, CPU s", [row.run_s for row in rows], 1)
    line("resume, CPU s", [row.resume_s for row in rows], 1)
    return shown


if __name__ == "__main__":
    run_command(run)

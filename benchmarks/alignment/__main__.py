"""`python -m benchmarks.alignment`: what callers lose who do not align their arrays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.alignment.measure import LIMIT, Found, compare
from benchmarks.command import run_command
from benchmarks.suite.__main__ import DEFAULT_DIR, select
from schedsearch.core.errors import UserError
from schedsearch.core.numbers import duration, speedup

WIDE = 120  # columns of the table


def alignment(
    only: Annotated[
        str, typer.Option(metavar="A,B,...", help="Kernels, by name or pattern (`gemm*`).")
    ] = "*",
    base: Annotated[
        Path, typer.Option("--dir", help="Where the suite keeps what it tuned.")
    ] = DEFAULT_DIR,
    json_: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write everything here.")
    ] = None,
) -> None:
    """Time the suite's kernels on arrays 16 bytes past a page, where `malloc` and NumPy have
    large ones, and on arrays at a cache line: interleaved, in the same processes, on ordinary
    pages. As written, and with the schedules that `python -m benchmarks.suite tune` found.

    Example: [bold]python -m benchmarks.alignment --only 'gemv*,dot'[/]
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    found: list[Found] = []
    with console.status("measuring ...") as status:
        for case in select(only):
            status.update(f"timing {case.name} ...")
            try:
                found += compare(case, base)
            except UserError as error:  # the others are measured all the same
                console.print(f"left out: {error}", markup=False, soft_wrap=True)
    console.print(table(found))
    above = [each for each in found if each.slower]
    console.print(f"{len(above)} of {len(found)} take more than {LIMIT:g} times as long unaligned.")
    if json_:
        json_.write_text(json.dumps([as_json(each) for each in found], indent=1))


def table(found: list[Found]) -> Table:
    """Times on arrays as `malloc` gives them, and how many times as long that is."""
    out = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("kernel", "", "options", "at 16", "at 64", "times as long"):
        out.add_column(title, no_wrap=True)
    for each in found:
        measured = each.elsewhere.measurement
        out.add_row(
            each.kernel,
            "tuned" if each.tuned else "as written",
            each.build or "-",
            duration(measured.candidate_ns * 1e-9),
            duration(measured.reference_ns * 1e-9),
            speedup(each.elsewhere.speed).replace("[", r"\["),
            style="yellow" if each.slower else "",
        )
    return out


def as_json(found: Found) -> dict[str, Any]:
    measured = found.elsewhere.to_json()
    return {"kernel": found.kernel, "tuned": found.tuned, "build": found.build, **measured}


if __name__ == "__main__":
    run_command(alignment)

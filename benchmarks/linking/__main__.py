"""`python -m benchmarks.linking`: is an exported kernel as fast as it was measured?"""

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
from benchmarks.linking.measure import Timed, measure, procedures
from schedsearch.core.errors import UserError
from schedsearch.search.setup.targets import read_target, resolve_target

BUILDS = ("measured", "shared", "static", "object", "global helpers")


def linking(
    only: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Kernels; default: all.")
    ] = None,
    cc: Annotated[str | None, typer.Option(help="C compiler.")] = None,
    json_: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write everything here.")
    ] = None,
) -> None:
    """Time exported kernels in programs: with the library that is measured, and built by the
    header's lines as shared library, static library and object.

    The examples and two kernels with external functions, as written and with vector
    instructions. `global helpers`: a shared library of the C as Exo prints it. Two minutes;
    on a machine that is otherwise idle.

    Example: [bold]python -m benchmarks.linking --only conv_relu,gemv[/]
    """
    known = dict(procedures())
    wanted = only.split(",") if only else list(known)
    if unknown := [name for name in wanted if name not in known]:
        raise UserError(f"no kernel {', '.join(unknown)}; known: {', '.join(known)}")
    target = resolve_target(read_target(None), cc)
    console = Console(highlight=False)
    found: list[Timed] = []
    with tempfile.TemporaryDirectory() as folder, console.status("building ...") as status:
        for name in wanted:
            status.update(f"timing {name} ...")
            found += measure(name, known[name], target, Path(folder))
    console.print(table(found))
    if json_:
        json_.write_text(json.dumps([asdict(timed) for timed in found], indent=1))


def table(found: list[Timed]) -> Table:
    """Microseconds of the library that is measured, and how many times as long others take."""
    out = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("kernel", "", "us", *BUILDS[1:], "same code"):
        out.add_column(title, justify="left" if title in ("kernel", "") else "right")
    for timed in found:
        ratios = (f"{timed.ratio(build):.2f}" for build in BUILDS[1:])
        us = f"{timed.ns['measured'] / 1000:.3g}"
        out.add_row(timed.kernel, timed.way, us, *ratios, "yes" if timed.same else "no")
    return out


if __name__ == "__main__":
    run_command(linking)

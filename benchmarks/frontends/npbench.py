"""npbench's functions with only the decorator added: which are taken, and how fast they are.

npbench is not part of schedsearch: `--npbench` is a checkout of github.com/spcl/npbench.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import schedsearch
from benchmarks.command import undirected
from benchmarks.frontends.npbench_cases import Benchmark, compared, infos, small
from benchmarks.frontends.npbench_speed import Terms, rows, show
from schedsearch.core.errors import UserError


@dataclass(frozen=True)
class Row:
    """What became of a function: `reason` is empty where it is taken and right."""

    name: str
    reason: str
    error: float = 0.0
    seconds: float = 0.0


def tried(benchmark: Benchmark) -> Row:
    """Run the function as Python and as a kernel."""
    plain, ours = benchmark.copies(), benchmark.copies()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = benchmark.function(*plain)
    begin = perf_counter()
    try:
        found = schedsearch.jit(benchmark.function)(*ours)
    except (UserError, TypeError, ValueError) as error:
        return Row(benchmark.name, str(error).replace("\n", " "))
    seconds = perf_counter() - begin
    away, wrong = compared([wanted, *plain], [found, *ours])
    return Row(benchmark.name, f"wrong: {wrong}" if wrong else "", away, seconds)


def npbench(
    folder: Annotated[Path, typer.Option("--npbench", help="A checkout of npbench.")],
    only: Annotated[str, typer.Option(help="Names of functions, separated by commas.")] = "",
    budget: Annotated[
        float, typer.Option(min=0, help="Tune each for so many seconds, and time calls.")
    ] = 0,
    directory: Annotated[
        Path, typer.Option("--dir", help="For stores and rows; it goes on where it stopped.")
    ] = Path("npbench-results"),
    preset: Annotated[str, typer.Option(help="npbench's sizes that are timed.")] = "S",
    json_: Annotated[Path | None, typer.Option("--json", help="Write the rows there.")] = None,
) -> None:
    """How many of npbench's functions are taken with only the decorator added?

    With [bold]--budget[/] each is tuned, and calls from Python are timed beside NumPy's and those
    of npbench's numba versions: one thread on one core, in interleaved rounds, without variables
    that direct their libraries.

    Example: [bold]python -m benchmarks.frontends npbench --npbench npbench --budget 60[/]
    """
    if budget:
        undirected()
    known = infos(folder)
    names = only.split(",") if only else list(known)
    if unknown := [name for name in names if name not in known]:
        raise UserError(f"no function is {', '.join(unknown)}; known: {', '.join(known)}")
    console = Console(highlight=False)
    data: list[Any]
    if budget:
        terms = Terms(folder.resolve(), preset, budget, directory.resolve())
        data = []
        for row in rows(names, terms):
            console.print(f"{row['name']}: {row['error'] or 'timed'}", markup=False)
            data.append(row)
        show(console, data)
    else:
        found = [tried(small(folder, known[name])) for name in names]
        console.print(table(found))
        console.print(f"{sum(not each.reason for each in found)} of {len(found)} taken")
        data = [asdict(each) for each in found]
    if json_:
        json_.write_text(json.dumps(data, indent=1))


def table(found: list[Row]) -> Table:
    out = Table("function", "taken", "error", "first call", "reason")
    for each in found:
        yes = "no" if each.reason else "yes"
        numbers = ("", "") if each.reason else (f"{each.error:.0e}", f"{each.seconds:.1f} s")
        out.add_row(each.name, yes, *numbers, each.reason)
    return out

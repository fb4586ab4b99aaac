"""`python -m benchmarks.transfer`: what a store of similar kernels saves a first run."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import run_command
from benchmarks.efficiency.curve import Point
from benchmarks.suite.__main__ import select
from benchmarks.suite.folders import write_json
from benchmarks.transfer.saving import CLOSE, Saving, learn, save
from schedsearch.cli.parse import parse_seconds


def run(
    source: Annotated[str, typer.Option(help="The kernel of the suite that is known.")] = "gemm_nn",
    kernels: Annotated[
        str, typer.Option(metavar="A,B,...", help="Kernels tuned after it, by pattern.")
    ] = "gemm_nn_1024,gemm_nt",
    budget: Annotated[str, typer.Option(help="Time of each run: 60, 60s, 2m.")] = "40s",
    json_: Annotated[
        Path | None, typer.Option("--json", help="Also write everything here.")
    ] = None,
) -> None:
    """Tune a kernel, then others twice each: from an empty store, and from the one that
    knows it. Prints how many candidates were measured, and how long it took, until 95 % of
    the cold run's best was reached.

    Sizes (f32 matmul 1024 after 512) and forms (`A B^T` after `A B`) by default; five runs
    take about five minutes. With `--kernels 'gemm_f64,conv2d'`: types, other procedures.
    """
    console = Console(highlight=False)
    (known,) = select(source)
    budget_s = parse_seconds(budget)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        place = learn(known, base, budget_s)
        savings = [save(known.name, place, case, base, budget_s) for case in select(kernels)]
    console.print(table(savings))
    if json_:
        rows = [{**asdict(saving), "wanted": saving.wanted} for saving in savings]
        write_json(json_, {"schema": 1, "close": CLOSE, "savings": rows})


def table(savings: list[Saving]) -> Table:
    shown = Table(title=f"Until {CLOSE:.0%} of the cold run's best", title_justify="left")
    shown.add_column("kernel")
    shown.add_column("after")
    for title in ("cold: measured", "in", "best", "warm: measured", "in", "best", "saved"):
        shown.add_column(title, justify="right")
    for saving in savings:
        cold, warm = saving.cold_reached, saving.warm_reached
        saved = f"{cold.measured - warm.measured}" if cold and warm else "-"
        shown.add_row(
            saving.cold.kernel,
            saving.source,
            *_when(cold),
            _best(saving.cold.curve),
            *_when(warm),
            _best(saving.warm.curve),
            saved,
        )
    return shown


def _when(point: Point | None) -> tuple[str, str]:
    return (str(point.measured), f"{point.at_s:.0f} s") if point else ("never", "")


def _best(curve: tuple[Point, ...]) -> str:
    return f"{curve[-1].speedup:.1f}x" if curve else "-"


if __name__ == "__main__":
    run_command(run)

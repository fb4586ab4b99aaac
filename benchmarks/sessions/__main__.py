"""`python -m benchmarks.sessions`: do printed intervals hold in other sessions?"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import run_command
from benchmarks.sessions.coverage import Coverage, coverage, kendall
from schedsearch.core.records import Measurement
from schedsearch.store.database import Store

EXAMPLES = Path(__file__).parents[2] / "examples"
KERNELS = ("gemv", "blur", "matmul")
APART = 0.02
"""What is less apart, interleaved, is the same for every decision (`core/decision.py`)."""


def run(
    sessions: Annotated[int, typer.Option(help="Sessions of each kernel.")] = 20,
    budget: Annotated[float, typer.Option(help="Seconds of each search.")] = 30.0,
    pause: Annotated[float, typer.Option(help="Seconds between sessions.")] = 60.0,
    quick: Annotated[bool, typer.Option("--quick", help="4 sessions, 10 s, no pauses.")] = False,
    stores: Annotated[
        Path | None, typer.Option(help="Keep the stores here; known sessions count.")
    ] = None,
) -> None:
    """Search schedules of three kernels, confirm each best again in sessions of its own, and see
    which intervals hold the mean of all sessions. Then time the first of `best` against each other
    (places 1 to 5, 10, 20, 40), and compare the orders.
    """
    if quick:
        sessions, budget, pause = 4, 10.0, 0.0
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as scratch:
        place = stores or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        for kernel in KERNELS:
            console.print(f"searching {kernel} ...")
            _visit("search", EXAMPLES / f"{kernel}.py", kernel, _store(place, kernel), budget)
        for number in range(sessions - 1):
            console.print(f"session {number + 2} of {sessions} ...")
            for kernel in KERNELS:
                _visit("confirm", _store(place, kernel))
            time.sleep(pause)
        _show(console, [coverage(kernel, _confirmed(_store(place, kernel))) for kernel in KERNELS])
        for kernel in KERNELS:
            _order(console, kernel, _store(place, kernel))


def _store(place: Path, kernel: str) -> Path:
    return place / f"{kernel}.sqlite"


def _visit(*words: object) -> str:
    typed = [sys.executable, "-m", "benchmarks.sessions.visit", *map(str, words)]
    return subprocess.run(typed, check=True, stdout=subprocess.PIPE, text=True).stdout


def _confirmed(store: Path) -> list[Measurement]:
    """Of the schedule that was confirmed most often: the best may have changed meanwhile."""
    with Store.open(store, create=False) as opened:
        [scope] = opened.scopes()
        found = [[m for m in c.measurements if m.confirmed] for c in opened.walk(scope)]
    return max(found, key=len)


def _show(console: Console, found: list[Coverage]) -> None:
    table = Table(title="95 % intervals that hold the mean of all sessions", title_justify="left")
    table.add_column("kernel")
    for title in ("sessions", "mean", "between", "fresh", "continued", "rounds alone", "+-"):
        table.add_column(title, justify="right")
    for each in found:
        first, last = each.widths
        table.add_row(
            each.kernel,
            str(each.sessions),
            f"{each.mean:.3g}x",
            f"{each.spread:.1%}",
            f"{each.fresh:.0%}",
            f"{each.continued:.0%}",
            f"{each.rounds:.0%}",
            f"{first:.1%}, {last:.1%}",
        )
    console.print(table)


def _order(console: Console, kernel: str, store: Path) -> None:
    truth = [float(word) for word in _visit("podium", store).split()]
    tau = kendall([-float(place) for place in range(len(truth))], truth, APART)
    shown = " ".join(f"{value:.3f}" for value in truth)
    said = "all within 2 %" if tau is None else f"tau {tau:.2f} of those more than 2 % apart"
    console.print(f"{kernel}: the top of `best`, interleaved: {shown}; {said}")


if __name__ == "__main__":
    run_command(run)

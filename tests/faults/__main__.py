"""Kill searches, many times, and look whether anything is lost."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from faults.campaign import kill_drivers, processes
from faults.disturbance import disturb

console = Console(highlight=False)


def main(
    kills: Annotated[int, typer.Option(help="Processes to kill, at least.")] = 200,
    runs: Annotated[
        int, typer.Option(help="Whole runs with Ray to disturb: workers, heads, measuring.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="The first seed; the others follow it.")] = 0,
) -> None:
    """Kill the drivers of searches with SIGKILL at random moments, continue them, and compare
    what they find with what an undisturbed search of the same seed does.

    Run in the directory tests: python -m faults --kills 200

    The measuring is made up; driver, strategies and store are real. After every kill the store
    must open and be sound, and have all that was committed; in the end the search must have
    found the same schedules and name the same best. Each seed is another space and strategy.

    --runs also kills Ray's workers and heads, measuring processes and drivers of whole runs with
    real rewrites and compilers, where just the numbers measured are made up.
    """
    total: Counter[str] = Counter()
    for number in range(seed, seed + runs):
        with tempfile.TemporaryDirectory() as folder:
            total += disturb(Path(folder), number)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(total.items()))
        console.print(f"run {number}: killed {kinds}")
    if kills:
        _kill_drivers(kills, seed)


def _kill_drivers(kills: int, seed: int) -> None:
    context, started = processes(), time.monotonic()
    killed = commits = 0
    for number in count(seed):
        with tempfile.TemporaryDirectory() as folder:
            report = kill_drivers(context, Path(folder), number)
        killed, commits = killed + report.kills, commits + report.commits
        took = time.monotonic() - started
        console.print(f"seed {number}, {report.plan.strategy}: {killed} kills, {took:.0f} s")
        if killed >= kills:
            break
    console.print(f"{killed} kills; {commits} transactions were committed, and none was lost")


if __name__ == "__main__":  # not so in the processes it starts
    typer.run(main)

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
from faults.disturbance import Peaceful, disturb, undisturbed
from faults.nodes import CAUSES, lose
from faults.processes import KINDS

console = Console(highlight=False)


def main(
    kills: Annotated[
        int, typer.Option(help="Drivers of made-up searches to kill, at least.")
    ] = 200,
    each: Annotated[
        int, typer.Option(help="Processes of each kind of whole runs with Ray to kill, at least.")
    ] = 0,
    nodes: Annotated[
        int, typer.Option(help="As many times, kill a node, or the head, of a joined Ray cluster.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="The first seed; the others follow it.")] = 0,
) -> None:
    """Kill the drivers of searches with SIGKILL at random moments, continue them, and compare
    what they find with what an undisturbed search of the same seed does.

    Run in the directory tests: python -m faults --kills 200

    The measuring is made up; driver, strategies and store are real. After every kill the store
    must open and be sound, and have all that was committed; in the end the search must have
    found the same schedules and name the same best. Each seed is another space and strategy.

    --each also kills workers, compilers, measuring processes, Ray's raylets and gcs_servers, and
    drivers of whole runs with real rewrites and compilers, where just the numbers measured are
    made up. 25 of each take about half an hour.
    """
    if each or nodes:
        peaceful = undisturbed()
        _kill_each(each, seed, peaceful)
        _lose_nodes(nodes, seed, peaceful)
    if kills:
        _kill_drivers(kills, seed)


def _kill_each(least: int, seed: int, peaceful: Peaceful) -> None:
    started, total = time.monotonic(), Counter[str]()
    wanted = Counter(dict.fromkeys(KINDS, least))
    for number in count(seed):
        if total >= wanted:
            break
        total += disturb(number, peaceful, wanted - total)
        kinds = ", ".join(f"{total[kind]} {kind}" for kind in KINDS)
        took = time.monotonic() - started
        console.print(f"seed {number}: {total.total()} kills so far ({kinds}), {took:.0f} s")


def _lose_nodes(times: int, seed: int, peaceful: Peaceful) -> None:
    for number in range(seed, seed + times):
        for kind in CAUSES:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                lose(kind, Path(folder), number, peaceful)
            console.print(f"seed {number}: {kind} of a joined cluster killed")


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

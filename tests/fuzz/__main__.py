"""Random procedures, random legal schedules, and whether they compute the same."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from fuzz.campaign import run
from fuzz.examine import Finding, Report
from schedsearch.transforms.registry import registry

console = Console()


def main(
    pairs: Annotated[
        int, typer.Option(help="Distinct pairs of procedure and trace, at least.")
    ] = 200,
    seed: Annotated[int, typer.Option(help="The first seed; the others follow it.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    findings: Annotated[Path | None, typer.Option(help="A folder for what is found.")] = None,
    extremes: Annotated[
        bool, typer.Option(help="Contractions are mostly minima and maxima.")
    ] = False,
    shrink: Annotated[
        bool, typer.Option(help="Show the first finding of SEED, and ever smaller ones.")
    ] = False,
) -> None:
    """Fuzz the whole chain: random small procedures, random legal schedules of them by all
    transforms, C of every one, compiled and compared with what the procedure means.

    Run in the directory tests: python -m fuzz --pairs 2000 --jobs 2

    Every seed gives the same procedures and schedules again; to continue, start at the seed that
    the summary names. What is found is printed with its seed; --seed S --shrink shows ever
    smaller ones, for up to five minutes.
    """
    if shrink:
        found = []

        def smaller(finding: Finding) -> None:
            found.append(finding)
            console.print(f"{finding}\n", markup=False, highlight=False)

        run(seed, smaller=smaller, extremes=extremes)
        console.print("that is the smallest" if found else "nothing is wrong with this seed")
        raise typer.Exit(bool(found))
    total, started, following = Report(), time.monotonic(), seed
    for number, report in _reports(seed, jobs, extremes, lambda: len(total.pairs) < pairs):
        total.add(report)
        following = max(following, number + 1)
        rate = len(total.pairs) / (time.monotonic() - started)
        line = f"seed {number}: {len(total.pairs)} pairs, {rate:.1f} a second"
        console.print(f"{line}, {len(total.findings)} findings", highlight=False)
        for index, finding in enumerate(report.findings):
            console.print(f"{finding}\n", markup=False, highlight=False)
            if findings:
                findings.mkdir(parents=True, exist_ok=True)
                (findings / f"{number}_{index}.txt").write_text(str(finding))
    _summary(total)
    console.print(f"continue with --seed {following}")
    raise typer.Exit(bool(total.findings))


def _reports(first: int, jobs: int, extremes: bool, more: object) -> Iterator[tuple[int, Report]]:
    """Reports of seeds, from `first` on, as they come, as long as there should be more."""
    assert callable(more)
    each = partial(run, extremes=extremes)
    numbers = count(first)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        running = {
            pool.submit(each, number): number for number in (next(numbers) for _ in range(jobs))
        }
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()
                if more():
                    number = next(numbers)
                    running[pool.submit(each, number)] = number


def _summary(total: Report) -> None:
    table = Table("transform", "steps", "followed by", title="coverage, rarest first")
    followers = Counter(first for first, _ in total.consecutive)
    for name in sorted(registry(), key=lambda name: total.transforms[name]):
        table.add_row(name, str(total.transforms[name]), str(followers[name]))
    console.print(table)
    possible = len(registry()) ** 2
    console.print(
        f"{total.procedures} procedures, {len(total.pairs)} distinct pairs, "
        f"{total.compiled} texts of C, {total.carried} schedules replayed and exported, "
        f"{len(total.consecutive)} of {possible} pairs of consecutive transforms"
    )
    for reason, times in total.left_out.most_common(12):
        console.print(f"{times:6} left out: {reason}", markup=False, highlight=False)
    console.print(f"{len(total.findings)} findings")


if __name__ == "__main__":  # not so in the processes it starts
    typer.run(main)

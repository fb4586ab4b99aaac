"""Mutants of the suite, the examples and of fuzzed procedures: does verification refuse them?"""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mutation.campaign import verdicts
from mutation.judging import ALL, Fate, Verdicts
from mutation.operators import OPERATORS
from mutation.subjects import FILES

console = Console()


def main(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Files of procedures, if not suite and examples.")
    ] = None,
    fuzz: Annotated[int, typer.Option(help="Seeds of fuzzed procedures, instead of files.")] = 0,
    seed: Annotated[int, typer.Option(help="The first seed; the others follow it.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    most: Annotated[int, typer.Option(help="Mutants of a procedure, about.")] = ALL,
    accepted: Annotated[bool, typer.Option(help="Show all accepted mutants.")] = False,
) -> None:
    """Verify mutants of procedures, and say which ones verification accepts.

    Run in the directory tests: python -m mutation --jobs 2

    A mutant that is accepted is equivalent, if in double precision it differs from the procedure
    by no more than roundings on dense data of all sizes; or it changes what is said to be weakly
    verified; or nothing is defined on any of those data; or it survived, and verification is too
    weak.
    """
    started, found, failed = time.monotonic(), list[Verdicts](), list[str]()
    work = [("seed", str(seed + number)) for number in range(fuzz)]
    work = work or [("file", str(path)) for path in files or FILES]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for future in as_completed([pool.submit(verdicts, *each, most) for each in work]):
            own, errors = future.result()
            for each in own:
                _tell(each, accepted)
            for error in errors:
                console.print(error, markup=False, highlight=False)
            found += own
            failed += errors
    _summary(found, failed)
    console.print(f"{time.monotonic() - started:.0f} s")
    raise typer.Exit(bool(failed) or any(each.score < 1 for each in found))


def _tell(verdicts: Verdicts, accepted: bool) -> None:
    counts = Counter(each.fate for each in verdicts.judged)
    text = ", ".join(f"{counts[fate]} {fate}" for fate in Fate if counts[fate])
    console.print(f"{verdicts.name}: {text}", markup=False, highlight=False)
    for weak in verdicts.weak:
        console.print(f"    weakly verified: {weak}", markup=False, highlight=False)
    for each in verdicts.judged:
        if each.fate is Fate.SURVIVED or (accepted and each.fate is not Fate.REFUSED):
            reason = each.reason.replace("\n", "\n        ")
            text = f"    {each.fate}: {each.operator}: {reason}"
            console.print(text, markup=False, highlight=False)


def _summary(found: Sequence[Verdicts], failed: Sequence[str]) -> None:
    table = Table("operator", *Fate, title="mutants")
    counts = Counter((each.operator, each.fate) for own in found for each in own.judged)
    for operator in OPERATORS:
        table.add_row(operator, *(str(counts[operator, fate]) for fate in Fate))
    totals = [sum(counts[operator, fate] for operator in OPERATORS) for fate in Fate]
    table.add_row("all", *map(str, totals))
    console.print(table)
    weak = sum(bool(each.weak) for each in found)
    console.print(
        f"{len(found)} procedures, {weak} of them said to be weakly verified, "
        f"{len(failed)} not prepared"
    )


if __name__ == "__main__":  # not so in the processes it starts
    typer.run(main)

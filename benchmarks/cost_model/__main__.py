"""`python -m benchmarks.cost_model`: who ranks better, the static estimate or what was learned?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table as Grid

from benchmarks.command import run_command
from benchmarks.cost_model.ranking import Scores, scores
from benchmarks.cost_model.records import SPACES, kernels, table
from schedsearch.core.errors import UserError

COLUMNS = (
    *("estim.\nall", "\nsibl.", "5-fold\nall", "\nsibl.", "unseen\nall", "\nsibl."),
    *("gain\nestim.", "\nlearned"),
)


def run(
    records: Annotated[
        list[Path] | None,
        typer.Argument(help="Stores or space files. Default: the recorded spaces."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=50, help="Candidates of each kernel, at random if it has more.")
    ] = 400,
    seed: Annotated[int, typer.Option(help="Of training and of folds.")] = 0,
    json_: Annotated[Path | None, typer.Option("--json", help="Also write the numbers.")] = None,
) -> None:
    """Rank correlations (Spearman) with measured speed-ups: of the static estimate, of the
    model learned from four fifths of the kernel for the last fifth ("5-fold"), and of the
    model learned from the other kernels alone ("unseen"); each over all candidates and, as
    mean, within siblings. "gain" is over the parent, for candidates in the order recorded:
    learned from the other kernels and from those before.

    Features are counted anew by replaying traces, so the table is about the code as it is.
    Of kernels that are alike give one: the others would not be unseen.
    """
    paths = records or sorted(SPACES.glob("*.json.gz"))
    tables = [table(kernel, limit) for kernel in kernels(paths)]
    found = scores([one for one in tables if len(one) >= 50], seed)
    if not found:
        raise UserError("none of these has 50 measured candidates; run longer, or record spaces")
    Console(highlight=False).print(grid(found))
    if json_:
        data = {"schema": 1, "kernels": [asdict(one) for one in found]}
        json_.write_text(json.dumps(data, indent=1) + "\n")


def row(one: Scores) -> list[float | None]:
    pairs = (one.estimate, one.folds, one.others)
    values = [value for pair in pairs for value in (pair.overall, pair.siblings)]
    return [*values, one.estimate_gain, one.learned_gain]


def grid(found: Sequence[Scores]) -> Grid:
    """One line a kernel, and the means."""
    result = Grid(title="rank correlation with measurements", padding=(0, 1, 0, 0), box=None)
    result.add_column("kernel", no_wrap=True)
    for name in ("n", *COLUMNS):
        result.add_column(name, justify="right", no_wrap=True)
    for one in found:
        result.add_row(one.name, str(one.count), *map(_shown, row(one)))
    means = []
    for column in zip(*map(row, found), strict=True):
        known = [value for value in column if value is not None]
        means.append(_shown(float(np.mean(known)) if known else None))
    result.add_section()
    result.add_row("mean", str(sum(one.count for one in found)), *means)
    return result


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    run_command(run)

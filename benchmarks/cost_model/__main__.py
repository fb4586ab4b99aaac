"""`python -m benchmarks.cost_model`: is what was learned better than the static estimate?

python -m benchmarks.cost_model rank      # which ranks measured schedules better
python -m benchmarks.cost_model search    # whose searches are shorter; ten minutes
"""

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

from benchmarks.command import run_app
from benchmarks.cost_model.ranking import Scores, scores
from benchmarks.cost_model.records import SPACES, kernels, table
from benchmarks.cost_model.searching import Searched, searches, with_features
from schedsearch.core.errors import UserError
from schedsearch.search import space_file
from schedsearch.search.strategies import make_strategy

COLUMNS = (
    *("estim.\nall", "\nsibl.", "5-fold\nall", "\nsibl.", "unseen\nall", "\nsibl."),
    *("gain\nestim.", "\nlearned"),
)


app = typer.Typer(
    add_completion=False, help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False
)
console = Console(highlight=False)


@app.command("rank")
def rank(
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
    console.print(grid(found))
    if json_:
        data = {"schema": 1, "kernels": [asdict(one) for one in found]}
        json_.write_text(json.dumps(data, indent=1) + "\n")


@app.command("search")
def search(
    strategy: Annotated[str, typer.Option(help="The strategy.")] = "best-first",
    seeds: Annotated[int, typer.Option(min=1, help="Searches of each kind.")] = 25,
    trials: Annotated[int, typer.Option(min=1, help="Measured candidates of each.")] = 300,
    json_: Annotated[Path | None, typer.Option("--json", help="Also write the numbers.")] = None,
) -> None:
    """Search every recorded space with the static estimate alone, with the learned ranker as
    a first run has it, and with what was measured of the other kernels as a store has it.

    Trials until 90 and 95 % of the best known, medians with intervals and the share of
    searches that got there. "gain": what share of the way from the searches with the
    estimate alone to the best is saved, on average up to where those are at 95 %. "used":
    searches in which the ranker was, and from which trial on (median).
    """
    make_strategy(strategy, "", 0)
    known = []
    for path in sorted(SPACES.glob("*.json.gz")):
        console.print(f"counting features of {path.name}", markup=False)
        known.append(with_features(space_file.load(path)))
    found: list[Searched] = []
    for one in known:
        rest = [other for other in known if other is not one]
        found += searches(one, rest, strategy, seeds, trials)
    console.print(search_grid(found))
    if json_:
        data = {"schema": 1, "searches": [asdict(one) for one in found]}
        json_.write_text(json.dumps(data, indent=1) + "\n")


def search_grid(found: Sequence[Searched]) -> Grid:
    """A line per space and arm."""
    result = Grid(title=f"searches by {found[0].strategy}", padding=(0, 1, 0, 0), box=None)
    for name in ("space", "knows", *(f"to {r.level:.0%}" for r in found[0].reached)):
        result.add_column(name, no_wrap=True)
    for name in ("gain", "used"):
        result.add_column(name, justify="right", no_wrap=True)
    for one in found:
        cells = [
            f"{r.trials.value:.0f} [{r.trials.low:.0f}, {r.trials.high:.0f}] {r.share:.0%}"
            for r in one.reached
        ]
        used = f"{one.used:.0%}" + (f" from {one.used_from:.0f}" if one.used_from else "")
        result.add_row(one.space, one.arm, *cells, f"{one.gain:.2f}", used)
    return result


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
    run_app(app)

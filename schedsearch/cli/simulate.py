"""`schedsearch simulate`"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from schedsearch.cli.options import JsonOption
from schedsearch.core.errors import UserError
from schedsearch.present import format as fmt
from schedsearch.search import space_file
from schedsearch.search.comparison import BASELINE, Reached, Standing, compare
from schedsearch.search.space import Space, spaces_in
from schedsearch.search.strategies import STRATEGIES
from schedsearch.store.database import Store


def simulate(
    spaces: Annotated[
        list[str], typer.Argument(metavar="SPACE...", help="Space files or tuning stores.")
    ],
    strategy: Annotated[
        list[str] | None,
        typer.Option("--strategy", help="Compare this one (repeatable). Default: all."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=3, help="Runs per strategy and space.")] = 25,
    trials: Annotated[int, typer.Option(min=1, help="Trials a run may use.")] = 1000,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the one space given to a space file, and end."),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Compare search strategies on recorded spaces: no compiler, no noise.

    A space is a search in which every child of every expanded schedule was
    measured: [bold]schedsearch run FILE --strategy exhaustive --trials 2000[/]
    makes one in its store, and --save keeps it as a small file. Of any other
    store, only what is measured as completely is used.

    The record answers instead of compiler and machine. One slot measures, one
    worker expands, each for as long as recorded, so that expansions and
    measurements compete as in a run. Schedules that were not expanded in the
    record have no children; a replay that leaves it is an illegal one. A trial
    is a candidate that takes the measuring slot.

    Shown are the trials to 90 % and 95 % of the best known speed-up (median
    over seeds, its 95 % interval, and the share of seeds that got there if not
    all did), how many times sooner that is than with random search, and the
    score (strategy - random) / (optimum - random), averaged over trials until
    random search has 95 % (after Willemsen et al. 2024).

    Example: [bold]schedsearch simulate benchmarks/spaces/*.json.gz[/]
    """
    loaded = [space for path in spaces for space in _load(path)]
    if save is not None:
        if len(loaded) != 1:
            raise UserError(f"--save takes one space, {len(loaded)} were given")
        space_file.save(loaded[0], save)
        print(f"{save}: {_describe(loaded[0])}")
        return
    names = strategy or list(STRATEGIES)
    with Progress(transient=True, console=Console(stderr=True)) as progress:
        runs = len(dict.fromkeys((BASELINE, *names))) * seeds * len(loaded)
        task = progress.add_task("simulating", total=runs)
        found = [
            compare(space, names, seeds, trials, lambda: progress.advance(task)) for space in loaded
        ]
    if json_:
        everything = [asdict(standing) for standings in found for standing in standings]
        print(json.dumps({"seeds": seeds, "trials": trials, "standings": everything}, indent=2))
        return
    console = Console(highlight=False)
    for space, standings in zip(loaded, found, strict=True):
        console.print(f"[bold]{escape(space.name)}[/]: {escape(_describe(space))}")
        console.print(_table(standings, trials))
    if len(loaded) > 1:
        console.print(f"mean score: {_mean_scores(found)}")


def _load(where: str) -> list[Space]:
    """The space of a file, or those of a store."""
    if space_file.is_one(Path(where)):
        return [space_file.load(Path(where))]
    with Store.open(where, create=False) as store:
        spaces = spaces_in(store)
    if not spaces:
        raise UserError(
            f"{store.name} is empty; `schedsearch run FILE --strategy exhaustive` fills it"
        )
    return spaces


def _mean_scores(found: list[list[Standing]]) -> str:
    """`best-first 0.61, random 0.00`: over spaces, the best first."""
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for standing in (standing for standings in found for standing in standings):
        scores[standing.strategy].append(standing.score)
    ranked = sorted(scores, key=lambda name: -mean(scores[name]))
    return ", ".join(f"{name} {mean(scores[name]):.2f}" for name in ranked)


def _describe(space: Space) -> str:
    """`1987 candidates of 41 expansions, best 38.2x · zen5 ...`"""
    counted = f"{space.candidates} candidates of {fmt.count(len(space.moves), 'expansion')}"
    return f"{counted}, best {space.best:.3g}x · {fmt.target(space.target)}"


def _table(standings: list[Standing], trials: int) -> Table:
    table = Table(box=None, header_style="bold")
    table.add_column("strategy", no_wrap=True)
    for reached in standings[0].reached:
        table.add_column(f"trials to {reached.level:.0%}", justify="right", no_wrap=True)
        table.add_column("sooner", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    for standing in sorted(standings, key=lambda standing: -standing.score):
        cells = []
        for reached, ratio in zip(standing.reached, standing.ratios, strict=True):
            cells += [_trials(reached, trials), f"{ratio:.2g}x"]
        table.add_row(standing.strategy, *cells, f"{standing.score:.2f}")
    return table


def _trials(reached: Reached, trials: int) -> str:
    """`31 [22, 40]`, and the share of seeds that got there unless all did."""
    middle = f">{trials}" if reached.share <= 0.5 else f"{reached.trials.value:.0f}"
    interval = rf"\[{reached.trials.low:.0f}, {reached.trials.high:.0f}]"
    share = "" if reached.share == 1.0 else f" {reached.share:.0%}"
    return f"{middle} {interval}{share}"

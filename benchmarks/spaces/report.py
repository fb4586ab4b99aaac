"""Comparisons of strategies on recorded spaces, as text."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import mean

from rich.table import Table

from benchmarks.spaces import space_file
from benchmarks.spaces.comparison import Reached, Standing
from benchmarks.spaces.space import Space, spaces_in
from schedsearch.core.errors import UserError
from schedsearch.present import format as fmt
from schedsearch.store.database import Store


def load_spaces(where: str) -> list[Space]:
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


def mean_scores(found: list[list[Standing]]) -> str:
    """`best-first 0.61, random 0.00`: over spaces, the best first."""
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for standing in (standing for standings in found for standing in standings):
        scores[standing.strategy].append(standing.score)
    ranked = sorted(scores, key=lambda name: -mean(scores[name]))
    return ", ".join(f"{name} {mean(scores[name]):.2f}" for name in ranked)


def describe(space: Space) -> str:
    """`1987 candidates of 41 expansions, best 38.2x · zen5 ...`"""
    counted = f"{space.candidates} candidates of {fmt.count(len(space.moves), 'expansion')}"
    return f"{counted}, best {space.best:.3g}x · {fmt.target(space.target)}"


def table(standings: list[Standing], trials: int) -> Table:
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

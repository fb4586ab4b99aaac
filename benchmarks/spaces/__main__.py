"""`python -m benchmarks.spaces`: record spaces, and compare strategies in them.

python -m benchmarks.spaces record              # all kernels, some minutes each
python -m benchmarks.spaces record gemv --candidates 500
python -m benchmarks.spaces simulate benchmarks/spaces/*.json.gz
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from benchmarks.command import run_app
from benchmarks.spaces.again import confirm
from benchmarks.spaces.comparison import BASELINE, compare
from benchmarks.spaces.record import KERNELS, SOURCE, record
from benchmarks.spaces.report import describe, load_spaces, mean_scores, table
from benchmarks.spaces.space_file import load, save
from schedsearch.cli.options import JsonOption
from schedsearch.cli.parse import parse_seconds
from schedsearch.core.errors import UserError
from schedsearch.present.live import make_view
from schedsearch.search.result import Listener
from schedsearch.search.setup.subject import load_subject
from schedsearch.search.strategies.make import STRATEGIES

HERE = Path(__file__).parent

app = typer.Typer(
    add_completion=False,
    help=__doc__,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
console = Console(highlight=False)


@app.command("list")
def list_() -> None:
    """Name the kernels."""
    for name in KERNELS:
        console.print(name)


@app.command("record")
def record_(
    kernels: Annotated[list[str] | None, typer.Argument(help="Default: all.")] = None,
    candidates: Annotated[int, typer.Option(min=1, help="Measure this many.")] = 2000,
    limit: Annotated[str, typer.Option(help="But no longer than this: 90s, 8m.")] = "8m",
    seed: Annotated[int, typer.Option(help="Of the choice of what to expand.")] = 0,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write them.")] = HERE,
    stores: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep what is measured there, and continue from it."),
    ] = None,
    executor: Annotated[str, typer.Option(help="ray or inline.")] = "ray",
) -> None:
    """Search a kernel exhaustively, from a cold store unless told otherwise.

    Every child of every expanded schedule is measured; then all values are brought to one
    scale, and the fastest are measured again in several processes, until none of them owes
    its place to luck. Writes KERNEL.json.gz.
    """
    for name in _known(kernels):
        view = make_view(Console(stderr=True, highlight=False))
        listener = Listener(view.phase, view.started, view.progress)
        with tempfile.TemporaryDirectory() as scratch:
            try:
                store = Path(stores or scratch, f"{name}.sqlite")
                space = record(
                    name, store, candidates, parse_seconds(limit), seed, executor, listener
                )
            finally:
                view.stop()
        path = out / f"{name}.json.gz"
        save(space, path)
        console.print(
            f"{name}: {space.candidates} candidates of {len(space.moves)} expansions, "
            f"best {space.best:.3g}x, {path.stat().st_size / 1000:.0f} kB"
        )


@app.command("confirm")
def confirm_(
    kernels: Annotated[list[str] | None, typer.Argument(help="Default: all.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write them.")] = HERE,
) -> None:
    """Measure the fastest of kept spaces again, on the idle machine they were recorded on."""
    for name in _known(kernels):
        before = load(HERE / f"{name}.json.gz")
        after = confirm(before, load_subject(SOURCE, KERNELS[name][0], {}, cc=None))
        save(after, out / f"{name}.json.gz")
        console.print(f"{name}: best {before.best:.3g}x, now {after.best:.3g}x")


@app.command()
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
    save_: Annotated[
        Path | None,
        typer.Option(
            "--save", metavar="FILE", help="Write the one space given to a space file, and end."
        ),
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
    record have no children. A trial is a candidate that takes the measuring slot.

    Shown are the trials to 90 % and 95 % of the best known speed-up (median
    over seeds, its 95 % interval, and the share of seeds that got there if not
    all did), how many times sooner that is than with random search, and the
    score (strategy - random) / (optimum - random), averaged over trials until
    random search has 95 % (after Willemsen et al. 2024).
    """
    loaded = [space for path in spaces for space in load_spaces(path)]
    if save_ is not None:
        if len(loaded) != 1:
            raise UserError(f"--save takes one space, {len(loaded)} were given")
        save(loaded[0], save_)
        print(f"{save_}: {describe(loaded[0])}")
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
    for space, standings in zip(loaded, found, strict=True):
        console.print(f"[bold]{escape(space.name)}[/]: {escape(describe(space))}")
        console.print(table(standings, trials))
    if len(loaded) > 1:
        console.print(f"mean score: {mean_scores(found)}")


def _known(kernels: list[str] | None) -> list[str]:
    """Those asked for, or all. Raises UserError for others."""
    unknown = [name for name in kernels or () if name not in KERNELS]
    if unknown:
        raise UserError(f"no kernel {', '.join(unknown)}; known: {', '.join(KERNELS)}")
    return kernels or list(KERNELS)


if __name__ == "__main__":
    run_app(app)

"""`python -m benchmarks.spaces`: record spaces in which strategies are compared.

python -m benchmarks.spaces record              # all kernels, some minutes each
python -m benchmarks.spaces record gemv --candidates 500
schedsearch simulate benchmarks/spaces/*.json.gz
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.command import run_app
from benchmarks.spaces.again import confirm
from benchmarks.spaces.record import KERNELS, SOURCE, record
from schedsearch.cli.parse import parse_seconds
from schedsearch.core.errors import UserError
from schedsearch.present.live import make_view
from schedsearch.search.result import Listener
from schedsearch.search.space_file import load, save
from schedsearch.search.subject import load_subject

HERE = Path(__file__).parent

app = typer.Typer(
    add_completion=False, help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False
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


def _known(kernels: list[str] | None) -> list[str]:
    """Those asked for, or all. Raises UserError for others."""
    unknown = [name for name in kernels or () if name not in KERNELS]
    if unknown:
        raise UserError(f"no kernel {', '.join(unknown)}; known: {', '.join(KERNELS)}")
    return kernels or list(KERNELS)


if __name__ == "__main__":
    run_app(app)

"""`python -m benchmarks.racing`: does a race name the fastest of many close schedules?

python -m benchmarks.racing replay           # from the recordings here, some seconds
python -m benchmarks.racing record gemv      # three minutes; on a machine that is otherwise idle
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import run_app
from benchmarks.racing.record import record
from benchmarks.racing.recording import Recording, load, save
from benchmarks.racing.replay import Chance, Mean, chances
from benchmarks.spaces import space_file
from benchmarks.spaces.record import KERNELS
from schedsearch.core.errors import UserError

HERE = Path(__file__).parent
SPACES = HERE.parent / "spaces"

app = typer.Typer(
    add_completion=False, help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False
)
console = Console(highlight=False)


@app.command("record")
def record_(
    kernels: Annotated[list[str], typer.Argument(help="Of `benchmarks.spaces list`.")],
    leaders: Annotated[int, typer.Option(min=2, help="So many of the fastest.")] = 32,
    passes: Annotated[int, typer.Option(min=16, help="Processes for each.")] = 24,
    rounds: Annotated[int, typer.Option(min=3, help="Rounds of each process.")] = 3,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write them.")] = HERE,
) -> None:
    """Measure a recorded space's fastest schedules again and again, all against one of them,
    each in a new process every time. Writes KERNEL.json.gz."""
    unknown = [name for name in kernels if name not in KERNELS]
    if unknown:
        raise UserError(f"no kernel {', '.join(unknown)}; known: {', '.join(KERNELS)}")
    for name in kernels:
        space = space_file.load(SPACES / f"{name}.json.gz")
        recording = record(space, leaders, passes, rounds, console.print)
        save(recording, out / f"{name}.json.gz")
        console.print(table(recording, chances(recording, 100, 0)))


@app.command("replay")
def replay(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Recordings; default: those here.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Searches made up of each recording.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    json_: Annotated[Path | None, typer.Option("--json", help="Also write all of it here.")] = None,
) -> None:
    """How often the fastest schedule is named, by five ways to spend rounds after a search.

    A made-up search has one screening of each leader, from some process of the recording;
    whatever is timed afterwards comes from others, at most the rounds that a process has
    there. "named": the fastest over all processes. "lost": how much slower the named schedule
    is in processes that nobody has seen. Intervals are of the trials; recordings are one
    machine's.
    """
    rows = []
    for path in files or sorted(HERE.glob("*.json.gz")):
        recording = load(path)
        found = chances(recording, trials, seed)
        console.print(table(recording, found))
        rows += [{"kernel": recording.kernel, **asdict(chance)} for chance in found]
    if json_:
        json_.write_text(json.dumps({"schema": 2, "trials": trials, "rows": rows}, indent=1))


def table(recording: Recording, found: list[Chance]) -> Table:
    """A line per scheme."""
    title = (
        f"{recording.kernel}: {recording.leaders} schedules in {recording.passes} processes each"
    )
    shown = Table(title=title, title_justify="left")
    shown.add_column("after the search")
    for name in ("named", "lost", "rounds", "seconds"):
        shown.add_column(name, justify="right")
    for chance in found:
        shown.add_row(
            chance.scheme,
            _percent(chance.found, 0),
            _percent(chance.lost, 2),
            f"{chance.rounds.value:.0f}",
            f"{chance.seconds.value:.1f}",
        )
    return shown


def _percent(mean: Mean, digits: int) -> str:
    return f"{mean.value:.{digits}%} ± {mean.within:.{digits}%}"


if __name__ == "__main__":
    run_app(app)

"""`python -m benchmarks.guard`: false alarms of `schedsearch check`, and slowdowns it misses.

python -m benchmarks.guard tree /tmp/tree        # three kernels, tuned and pinned here: 3 minutes
python -m benchmarks.guard untouched /tmp/tree/schedules.lock --json raw.json
python -m benchmarks.guard trials /tmp/tree/schedules.lock
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.command import run_app
from benchmarks.guard.plants import Plant, compiler, equal, marked, plant
from benchmarks.guard.report import show_runs, trials_table
from benchmarks.guard.tree import make_tree
from benchmarks.guard.trials import Kind, Trial, run_trials
from benchmarks.guard.untouched import Run, run_checks
from benchmarks.noise.disturbance import disturbance
from schedsearch.cli.options import OnlyOption
from schedsearch.core.errors import UserError
from schedsearch.evaluate.build.compiler import find_compiler
from schedsearch.evaluate.build.host import host_state
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import choose_lock

WIDE = 180
"""Columns the tables need."""

app = typer.Typer(
    add_completion=False, help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False
)
console = Console(highlight=False)

LockArgument = Annotated[
    Path, typer.Argument(metavar="LOCK|KERNEL|DIR", help="What is pinned and checked.")
]
DisturbedOption = Annotated[
    bool, typer.Option("--disturbed", help="Let other programs come and go meanwhile.")
]
JsonOption = Annotated[
    Path | None,
    typer.Option("--json", help="Write raw data here; what is already there is kept."),
]


@app.command()
def tree(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Made; must not be there yet.")],
    budget: Annotated[str, typer.Option(help="Time to search for each kernel.")] = "20s",
) -> None:
    """Tune a matrix product, a matrix-vector product and a layer norm, and pin them: what there
    is to check. On a machine where nothing else runs, or what is pinned is wrong."""
    if folder.exists():
        raise UserError(f"{folder} is there already; give a new directory")
    console.print(f"written: {make_tree(folder, budget, console.print)}", soft_wrap=True)


@app.command()
def untouched(
    lock: LockArgument,
    times: Annotated[
        int, typer.Option(min=1, help="Checks; those that --json has already count.")
    ] = 50,
    seconds: Annotated[float, typer.Option(help="No check begins after so long.")] = 720.0,
    disturbed: DisturbedOption = False,
    json_: JsonOption = None,
) -> None:
    """Run `schedsearch check` as a process of its own, again and again, and count exit codes.
    All should be 0; what is behind every other is printed.

    Raw data has every process's results, and the machine's load. If the lock
    file or a kernel is changed meanwhile, it ends with an error.
    """
    path = choose_lock(lock).path
    kept = _kept(json_)
    runs = [Run(**each) for each in kept.get("runs", ())]

    def done(run: Run) -> None:
        runs.append(run)
        console.print(f"check {len(runs)}: exit code {run.code}, {run.seconds:.1f} s")
        _keep(json_, {**kept, "runs": [asdict(each) for each in runs]})

    with tempfile.TemporaryDirectory() as scratch, _disturbance(disturbed):
        run_checks(path, times - len(runs), seconds, disturbed, Path(scratch), done)
    _widen()
    show_runs(console, runs)


@app.command()
def trials(
    lock: LockArgument,
    only: OnlyOption = None,
    seconds: Annotated[float, typer.Option(help="No check begins after so long.")] = 180.0,
    untouched: Annotated[int, typer.Option(help="Checks of what is pinned.")] = 10,
    equal_: Annotated[
        int, typer.Option("--equal", help="Checks of other machine code that is as fast.")
    ] = 5,
    slower: Annotated[int, typer.Option(help="Checks of kernels that are made slower.")] = 5,
    by: Annotated[float, typer.Option(help="How much slower: 0.05 is 5 %.")] = 0.05,
    disturbed: DisturbedOption = False,
    json_: JsonOption = None,
) -> None:
    """Check a lock file again and again, in this process: as it is, by a compiler that makes other
    machine code of today's C, which is as fast (all should pass), and by one that makes it slower
    by just that much (all should be regressions). How much slower is measured before anything
    disturbs the machine.

    Every check loads, replays, verifies and times anew, as `schedsearch check` does.
    """
    chosen = choose_lock(lock, only or ())
    root = chosen.path.parent
    kept = _kept(json_)
    made = [Trial(**each) for each in kept.get("trials", ())]
    with tempfile.TemporaryDirectory() as scratch:
        plants = [plant(each, root, Path(scratch), by) for each in chosen.entries if slower]
        for each in plants:
            console.print(f"{each.kernel} made slower takes {each.times} times as long")
        path = find_compiler().path
        here = Where(named=(root,))

        def planted(plants: Sequence[Plant], name: str) -> Where:
            return replace(here, cc=str(compiler(path, plants, Path(scratch, name))))

        pinned = [marked(each) for each in chosen.entries]
        ways = {
            Kind.UNTOUCHED: (here, chosen.entries),
            Kind.EQUAL: (planted([equal(each) for each in chosen.entries], "equal"), pinned),
            Kind.SLOWER: (planted(plants, "slower"), pinned),
        }
        counts = {Kind.UNTOUCHED: untouched, Kind.EQUAL: equal_, Kind.SLOWER: slower}
        truths = [*kept.get("plants", ()), *({each.kernel: asdict(each.times)} for each in plants)]

        def done(trial: Trial) -> None:
            made.append(trial)
            data = {"plants": truths, "trials": [asdict(t) for t in made]}
            _keep(json_, {**kept, **data})

        plan = [(kind, *ways[kind]) for kind in mixed(counts)]
        with _disturbance(disturbed):
            count = run_trials(root, plan, seconds, done)
    _widen()
    console.print(trials_table(made))
    console.print(f"{count} of {len(plan)} checks were made in this time")


def mixed(counts: Mapping[Kind, int]) -> list[Kind]:
    """All kinds spread over the whole time."""
    places = [(n / count, kind) for kind, count in counts.items() for n in range(count)]
    return [kind for _, kind in sorted(places)]


def _disturbance(wanted: bool) -> AbstractContextManager[None]:
    return disturbance(0) if wanted else nullcontext()


def _kept(file: Path | None) -> dict[str, Any]:
    return dict(json.loads(file.read_text())) if file and file.exists() else {}


def _keep(file: Path | None, data: Mapping[str, Any]) -> None:
    """After each check: a long benchmark may be cut off."""
    if file:
        file.write_text(json.dumps({**data, "schema": 4, "host": dict(host_state())}))


def _widen() -> None:
    if not console.is_terminal:
        console.width = max(console.width, WIDE)


if __name__ == "__main__":
    run_app(app)

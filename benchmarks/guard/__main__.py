"""`python -m benchmarks.guard`: false alarms of `schedsearch check`, and slowdowns it misses."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import run_command
from benchmarks.guard.plants import compiler, plant
from benchmarks.guard.trials import Kind, Trial, run_trials
from benchmarks.noise.disturbance import disturbance
from schedsearch.core.checked import Status
from schedsearch.core.lockfile import LockEntry
from schedsearch.evaluate.compiler import find_compiler
from schedsearch.evaluate.host import host_state
from schedsearch.search.checking import PAUSES_S
from schedsearch.search.lock_choice import choose
from schedsearch.search.locked_kernel import Where

WIDE = 140
"""Columns the table needs."""


def run(
    lock: Annotated[
        Path, typer.Argument(metavar="LOCK|KERNEL|DIR", help="What is pinned and checked.")
    ],
    only: Annotated[str | None, typer.Option(metavar="GLOB", help="Some entries of it.")] = None,
    seconds: Annotated[float, typer.Option(help="No check begins after so long.")] = 180.0,
    untouched: Annotated[int, typer.Option(help="Checks of what is locked.")] = 10,
    rebuilt: Annotated[
        int, typer.Option(help="Checks of the same machine code by another compiler.")
    ] = 5,
    slower: Annotated[int, typer.Option(help="Checks of kernels that are made slower.")] = 5,
    by: Annotated[float, typer.Option(help="How much slower: 0.1 is 10 %.")] = 0.1,
    pauses: Annotated[
        bool, typer.Option(help="Pause before an alarm is repeated, as `check` does.")
    ] = True,
    disturbed: Annotated[
        bool, typer.Option(help="Let other programs come and go meanwhile.")
    ] = False,
    json_: Annotated[
        Path | None,
        typer.Option("--json", help="Write all trials here; those already there are kept."),
    ] = None,
) -> None:
    """Check a lock file again and again: as it is, rebuilt by a compiler that is called another
    version (all should pass), and by one that makes the schedules slower by just that much
    (all should be regressions). How much slower they are is measured before anything
    disturbs the machine.

    Every check loads, replays, verifies and times anew, as `schedsearch check` does.
    """
    chosen = choose([lock], only)
    root = chosen.path.parent
    kept = json.loads(json_.read_text()) if json_ and json_.exists() else {}
    trials = [Trial(**each) for each in kept.get("trials", ())]
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    with tempfile.TemporaryDirectory() as scratch:
        plants = [plant(each, root, Path(scratch), by) for each in chosen.entries if slower]
        for each in plants:
            console.print(f"{each.kernel} made slower takes {each.times} times as long")
        path = find_compiler().path
        wheres = {
            Kind.UNTOUCHED: Where(),
            Kind.REBUILT: Where(str(compiler(path, (), Path(scratch, "rebuilt")))),
            Kind.SLOWER: Where(str(compiler(path, plants, Path(scratch, "slower")))),
        }
        counts = {Kind.UNTOUCHED: untouched, Kind.REBUILT: rebuilt, Kind.SLOWER: slower}
        truths = [*kept.get("plants", ()), *({each.kernel: asdict(each.times)} for each in plants)]

        def done(trial: Trial) -> None:
            trials.append(trial)
            if json_:  # after each: a long benchmark may be cut off
                data = {
                    "schema": 2,
                    "host": dict(host_state()),
                    "locked": {e.workload.proc: _speed(e) for e in chosen.entries},
                    "plants": truths,
                    "trials": [asdict(t) for t in trials],
                }
                json_.write_text(json.dumps(data))

        plan = [(kind, wheres[kind]) for kind in mixed(counts)]
        pauses_s = PAUSES_S if pauses else tuple(0.0 for _ in PAUSES_S)
        with disturbance(0) if disturbed else nullcontext():
            made = run_trials(chosen.entries, root, plan, seconds, pauses_s, done)
    console.print(table(trials))
    console.print(f"{made} of {len(plan)} checks were made in this time")


def mixed(counts: Mapping[Kind, int]) -> list[Kind]:
    """All kinds spread over the whole time."""
    places = [(n / count, kind) for kind, count in counts.items() for n in range(count)]
    return [kind for _, kind in sorted(places)]


def _speed(entry: LockEntry) -> dict[str, float]:
    """What verdicts are of, to try other rules on the same visits."""
    speed = entry.speed
    return {"call_ns": speed.call_ns, **asdict(speed.ratio)}


def table(trials: Sequence[Trial]) -> Table:
    """How often each status, by kernel and kind."""
    shown = Table(
        title="Status of the same schedules, checked again and again", title_justify="left"
    )
    shown.add_column("kernel")
    for title in ("kind", "checks", *map(str, Status), "of them timed", "lowest", "time"):
        shown.add_column(title, justify="right")
    for kernel in sorted({trial.kernel for trial in trials}):
        for kind in Kind:
            own = [t for t in trials if (t.kernel, t.kind) == (kernel, kind)]
            if own:
                shown.add_row(kernel, str(kind), *_cells(own))
    return shown


def _cells(trials: Sequence[Trial]) -> list[str]:
    counts = [sum(t.status == status for t in trials) for status in Status]
    ratios = [t.ratio for t in trials if t.ratio is not None]
    return [
        str(len(trials)),
        *(str(count) if count else "" for count in counts),
        str(sum(t.timed for t in trials)),
        f"{min(ratios):.2f}" if ratios else "-",
        f"{sum(t.seconds for t in trials) / len(trials):.1f} s",
    ]


if __name__ == "__main__":
    run_command(run)

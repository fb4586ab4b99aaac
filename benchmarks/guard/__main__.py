"""`python -m benchmarks.guard`: false alarms of `schedsearch check`, and slowdowns it misses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import run_command
from benchmarks.guard.trials import Trial, run_trials
from benchmarks.noise.disturbance import disturbance
from schedsearch.core.checked import Status
from schedsearch.evaluate.host import host_state
from schedsearch.search.checking import PAUSES_S
from schedsearch.search.lock_choice import choose

WIDE = 140
"""Columns the table needs."""


def run(
    lock: Annotated[
        Path, typer.Argument(metavar="LOCK|KERNEL|DIR", help="What is pinned and checked.")
    ],
    only: Annotated[str | None, typer.Option(metavar="GLOB", help="Some entries of it.")] = None,
    seconds: Annotated[float, typer.Option(help="No check begins after so long.")] = 180.0,
    untouched: Annotated[int, typer.Option(help="Checks of what is locked.")] = 10,
    slower: Annotated[int, typer.Option(help="Checks as if schedules were slower now.")] = 5,
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
    """Check a lock file again and again: as it is (all should pass), and with locked speeds
    raised, so that today's schedules are slower by just that much (all should be regressions).

    Every check loads, replays, verifies and times anew, as `schedsearch check` does.
    """
    chosen = choose([lock], only)
    trials = _read(json_) if json_ and json_.exists() else []
    plan = _mixed(untouched, slower, by)

    def done(trial: Trial) -> None:
        trials.append(trial)
        if json_:  # after each: a long benchmark may be cut off
            data = {"schema": 1, "host": dict(host_state()), "trials": [asdict(t) for t in trials]}
            json_.write_text(json.dumps(data))

    with disturbance(0) if disturbed else nullcontext():
        pauses_s = PAUSES_S if pauses else tuple(0.0 for _ in PAUSES_S)
        made = run_trials(chosen.entries, chosen.path.parent, plan, seconds, pauses_s, done)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    console.print(table(trials))
    console.print(f"{made} of {len(plan)} checks were made in this time")


def _mixed(untouched: int, slower: int, by: float) -> list[float]:
    """Both kinds spread over the whole time."""
    places = [(n / max(untouched, 1), 0.0) for n in range(untouched)]
    places += [(n / max(slower, 1), by) for n in range(slower)]
    return [each for _, each in sorted(places)]


def _read(file: Path) -> list[Trial]:
    return [Trial(**each) for each in json.loads(file.read_text())["trials"]]


def table(trials: Sequence[Trial]) -> Table:
    """How often each status, by kernel and slowdown."""
    shown = Table(
        title="Status of the same schedules, checked again and again", title_justify="left"
    )
    shown.add_column("kernel")
    for title in ("slower by", "checks", *map(str, Status), "of them timed", "lowest", "time"):
        shown.add_column(title, justify="right")
    for kernel in sorted({trial.kernel for trial in trials}):
        for slower in sorted({trial.slower for trial in trials}):
            own = [t for t in trials if (t.kernel, t.slower) == (kernel, slower)]
            if own:
                shown.add_row(kernel, f"{slower:.0%}", *_cells(own))
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

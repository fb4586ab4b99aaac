"""`python -m benchmarks.noise`: are kernels that differ told apart, and only those?"""

from __future__ import annotations

import json
import tempfile
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.command import run_command
from benchmarks.noise.disturbance import disturbance
from benchmarks.noise.pairs import pairs
from benchmarks.noise.report import show
from benchmarks.noise.trials import Trial, run_trials
from schedsearch.evaluate.host import host_state


def run(
    seconds: Annotated[float, typer.Option(help="Time for trials.")] = 180.0,
    disturbed: Annotated[
        bool, typer.Option(help="Let other programs come and go meanwhile.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Of the order of trials, and of the disturbance.")] = 0,
    json_: Annotated[
        Path | None,
        typer.Option("--json", help="Write all trials here; those already there are kept."),
    ] = None,
) -> None:
    """Time kernels against themselves and against ones that are 1, 2, 5 or 10 % slower, with the
    protocol that confirms the winner of a search, and count right and wrong answers.

    The slower ones compute that many more rows with the same machine code but for one constant:
    their slowdown is known, not measured. Two other processes compute or copy memory in bursts
    of a second or so meanwhile.
    """
    console = Console(highlight=False)
    trials = _read(json_) if json_ and json_.exists() else []
    with tempfile.TemporaryDirectory() as scratch:
        console.print("building the kernels ...")
        ready = list(pairs(Path(scratch)))
        with disturbance(seed) if disturbed else nullcontext():
            run_trials(ready, seconds, seed, trials.append)
    show(console, trials)
    if json_:
        data = {"schema": 2, "host": dict(host_state()), "trials": [asdict(t) for t in trials]}
        json_.write_text(json.dumps(data))


def _read(file: Path) -> list[Trial]:
    trials = json.loads(file.read_text())["trials"]
    return [Trial(**{**each, "ratios": tuple(each["ratios"])}) for each in trials]


if __name__ == "__main__":
    run_command(run)

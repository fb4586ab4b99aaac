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
from benchmarks.noise.report import show, show_truth
from benchmarks.noise.trials import Trial, run_trials
from benchmarks.noise.truth import ROUNDS, Check, check, fit
from schedsearch.core.errors import UserError
from schedsearch.evaluate.build.host import host_state


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

    The slower ones do that many more units of the same work with the same machine code but for
    one constant. That they are as much slower is checked first, before anything disturbs the
    machine (half a minute more): of a kernel that is not, no trials are made. Then two
    other processes compute or copy memory in bursts of a second or so.
    """
    console = Console(highlight=False)
    checks, trials = _read(json_) if json_ and json_.exists() else ([], [])
    with tempfile.TemporaryDirectory() as scratch:
        console.print("building the kernels ...")
        ready = list(pairs(Path(scratch)))
        console.print(f"checking what the work of each says, {ROUNDS} rounds each ...")
        found = [check(pair) for pair in ready if pair.slowdown > 0]
        show_truth(console, found)
        usable = [pair for pair in ready if pair.kernel in fit(found)]
        if not usable:
            raise UserError("no kernel is fit; is something else running on this machine?")
        with disturbance(seed) if disturbed else nullcontext():
            run_trials(usable, seconds, seed, trials.append)
    checks += found
    show(console, trials)
    if json_:
        data = {
            "schema": 4,
            "host": dict(host_state()),
            "checks": [asdict(each) for each in checks],
            "trials": [asdict(each) for each in trials],
        }
        json_.write_text(json.dumps(data))


def _read(file: Path) -> tuple[list[Check], list[Trial]]:
    data = json.loads(file.read_text())
    trials = [Trial(**{**each, "ratios": tuple(each["ratios"])}) for each in data["trials"]]
    return [Check(**each) for each in data["checks"]], trials


if __name__ == "__main__":
    run_command(run)

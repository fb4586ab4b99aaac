"""`schedsearch run`"""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from schedsearch.cli import format as fmt
from schedsearch.cli.files import make_writable, write_schedule
from schedsearch.cli.live import make_view, rate
from schedsearch.cli.options import (
    DEFAULT_OUT,
    DEFAULT_STORE,
    CcOption,
    JsonOption,
    OutOption,
    StoreOption,
)
from schedsearch.cli.parse import parse_names, parse_seconds, parse_sizes
from schedsearch.core.errors import UserError
from schedsearch.search.budget import Budget, Stop
from schedsearch.search.progress import Best
from schedsearch.search.session import Listener, Options, Result, tune
from schedsearch.transforms.exo_compat import generate_c
from schedsearch.transforms.export import schedule_lines
from schedsearch.transforms.replay import Replayer

INTERRUPTED = 130


def run(
    file: Annotated[Path, typer.Argument(help="Python file that defines the Exo procedure.")],
    proc: Annotated[
        str | None, typer.Argument(help="Procedure to tune, if the file has several.")
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option("--size", metavar="NAME=VALUE", help="Bind a size for timing (repeatable)."),
    ] = None,
    budget: Annotated[
        str, typer.Option(help="Time to search: 90, 90s, 2m, 1h. Confirming comes on top.")
    ] = "2m",
    trials: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many measured candidates.")
    ] = None,
    target_speedup: Annotated[
        float | None,
        typer.Option(metavar="X", help="Stop once this many times faster than unscheduled."),
    ] = None,
    cc: CcOption = None,
    strategy: Annotated[str, typer.Option(help="best-first, beam or random.")] = "best-first",
    transforms: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Use only these rewrites, e.g. reorder,split,unroll."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Ray workers that rewrite and compile. Default: cores - 1."),
    ] = None,
    executor: Annotated[
        str, typer.Option(help="ray, or inline (one process, deterministic).")
    ] = "ray",
    store: StoreOption = DEFAULT_STORE,
    seed: Annotated[int, typer.Option(help="Seed of the search strategy.")] = 0,
    json_: JsonOption = False,
    out: OutOption = DEFAULT_OUT,
) -> None:
    """Search for a fast schedule of a procedure, and write it out.

    Every candidate is a chain of rewrites that Exo accepts; it is compiled,
    compared with the unscheduled procedure on seeded data, and only then timed,
    interleaved with it. The fastest few are measured again at the end. Ctrl-C
    stops early and keeps everything; the same command continues.

    Example: [bold]schedsearch run matmul.py --budget 2m[/]
    """
    if target_speedup is not None and target_speedup <= 1:
        raise UserError(
            f"--target-speedup {target_speedup:g} is what the procedure has as written; "
            "give a number above 1, for example 4"
        )
    options = Options(
        file=file,
        proc=proc,
        sizes=parse_sizes(size or []),
        budget=Budget(parse_seconds(budget), trials, target_speedup),
        store=store,
        cc=cc,
        strategy=strategy,
        executor=executor,
        workers=workers,
        seed=seed,
        transforms=parse_names(transforms),
    )
    make_writable(out)
    view = make_view(Console(stderr=True, highlight=False))
    try:
        # The user's file may print; standard output is for the result alone.
        with redirect_stdout(sys.stderr):
            result = tune(options, Listener(view.phase, view.started, view.progress))
    except KeyboardInterrupt:
        view.stop()
        print("interrupted; what was measured is kept, the same command continues", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        view.stop()
    paths = _write(result, out) if result.best else []
    if json_:
        print(json.dumps(_as_json(result, paths), indent=2))
    else:
        _report(Console(highlight=False), result, paths)
        if target_speedup and result.stop is Stop.TARGET and _speedup(result) < target_speedup:
            print("The target was reached while searching, but not confirmed: run again.")
    if result.stop is Stop.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)


def _write(result: Result, out: Path) -> list[Path]:
    assert result.best is not None
    subject = result.setting.subject
    state = Replayer(subject.procedure).state(result.best.trace)
    notes = [
        fmt.claim(result.best.measurement),
        f"on {fmt.target(subject.target)}",
        f"sizes: {fmt.sizes(subject.binding.values) or 'as written'}",
    ]
    code = generate_c(state.procedure)
    return write_schedule(out, subject.source, subject.name, result.best.trace, code, notes)


def _speedup(result: Result) -> float:
    return result.best.measurement.speedup.value if result.best else 1.0


def _times(best: Best) -> str:
    return fmt.speedup(best.measurement.speedup).replace("[", r"\[")


def _report(console: Console, result: Result, paths: list[Path]) -> None:
    subject, baseline = result.setting.subject, result.setting.baseline
    progress = result.progress
    console.print()
    if result.best is None:
        console.print(f"[bold]No schedule faster than {subject.name} as written[/] was found.")
    else:
        measurement = result.best.measurement
        clearly = measurement.speedup.low > 1.0
        console.print(
            f"[bold {'green' if clearly else 'yellow'}]{_times(result.best)}[/] the speed of "
            f"{subject.name} as written: {rate(subject, baseline, measurement.candidate_ns)}",
            soft_wrap=True,
        )
        if not clearly:
            console.print("The interval includes 1: not clearly faster.")
        rounds = f"{len(measurement.rounds)} interleaved rounds"
        if result.best.confirmed:
            console.print(f"Verified on data, confirmed on {rounds} after the search.")
        else:
            console.print(f"Verified on data, screened on {rounds}, not confirmed yet.")
        console.print(f"\nschedule ({fmt.count(len(result.best.trace), 'rewrite')}):")
        for line in schedule_lines(subject.procedure, result.best.trace):
            console.print(f"  {line}", markup=False, soft_wrap=True)
        console.print("\nwritten:")
        for path in paths:
            console.print(f"  {path}", markup=False, soft_wrap=True)
    console.print(
        f"\n{result.stop}: {progress.measured} measured, {progress.expanded} expanded "
        f"in {progress.elapsed_s:.0f} s"
    )
    console.print(f"candidates: {fmt.outcomes(progress.outcomes)}")
    if result.stop is not Stop.EXHAUSTED:
        console.print(f"continue: {_command()}", markup=False, soft_wrap=True)


def _command() -> str:
    """The command line as typed: running it again continues this search."""
    return shlex.join(["schedsearch", *sys.argv[1:]])


def _as_json(result: Result, paths: list[Path]) -> dict[str, Any]:
    subject, best = result.setting.subject, result.best
    found: dict[str, Any] | None = None
    if best is not None:
        speedup = best.measurement.speedup
        found = {
            "trace_key": best.key,
            "speedup": {"value": speedup.value, "low": speedup.low, "high": speedup.high},
            "confirmed": best.confirmed,
            "candidate_ns": best.measurement.candidate_ns,
            "trace": [step.to_json() for step in best.trace.steps],
            "files": [str(path) for path in paths],
        }
    return {
        "schema": 1,
        "proc": subject.name,
        "sizes": dict(subject.binding.values),
        "workload_key": subject.workload.key,
        "target_key": subject.target.key,
        "run": result.run_id,
        "stop": str(result.stop),
        "baseline_ns": result.setting.baseline.measurement.candidate_ns,
        "known": {
            "candidates": result.setting.known.candidates,
            "measured": result.setting.known.measured,
        },
        "measured": result.progress.measured,
        "expanded": result.progress.expanded,
        "elapsed_s": result.progress.elapsed_s,
        "outcomes": {
            outcome.value if outcome else "not_measured": count
            for outcome, count in result.progress.outcomes.items()
        },
        "curve": [list(point) for point in result.progress.curve],
        "best": found,
    }

"""`python -m benchmarks.efficiency`: how soon a cold run finds what."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.command import run_command
from benchmarks.efficiency import report
from benchmarks.efficiency.curve import watch
from benchmarks.suite.case import PYTHON_PEERS, Case
from benchmarks.suite.catalogue import CASES
from benchmarks.suite.folders import folder, write_json
from benchmarks.suite.measure import compare
from schedsearch.cli.parse import parse_seconds, parse_sizes
from schedsearch.core.errors import UserError
from schedsearch.evaluate.roof.roofline import measure_roof
from schedsearch.peers.rounds import Plan
from schedsearch.transforms.exo.loader import load_source, pick

PEER = "numpy"
PLAN = Plan(rounds=10, seconds=10.0)


def run(
    kernel: Annotated[
        str, typer.Argument(help="A kernel of the suite (gemm_nn is f32 matmul 512), or a file.")
    ],
    proc: Annotated[str | None, typer.Argument(help="Its procedure, if it is a file.")] = None,
    size: Annotated[
        list[str] | None,
        typer.Option("--size", metavar="NAME=VALUE", help="Of a file."),
    ] = None,
    budget: Annotated[str, typer.Option(help="Time to search: 90, 90s, 2m.")] = "60s",
    of_roof: Annotated[
        list[float] | None,
        typer.Option(
            metavar="RATIO", help="A threshold: 0.4 is 40 % of the roofline (repeatable)."
        ),
    ] = None,
    gflops: Annotated[
        list[float] | None,
        typer.Option(metavar="GFLOP/S", help="A threshold in GFLOP/s (repeatable)."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Passed on to `schedsearch run`, as --option=--seed=3 (repeatable)."),
    ] = None,
    json_: Annotated[
        Path | None, typer.Option("--json", help="Also write everything here.")
    ] = None,
) -> None:
    """Tune a kernel with `schedsearch run`, cold, and print the best so far over time and over
    measured candidates, when thresholds were passed, and where the time went.

    Time counts from the start of the command. The roofline is the multiply-add peak or the
    bandwidth, whichever limits the kernel, measured before and after. A kernel of the suite is
    compared with NumPy after the run, in interleaved rounds.
    """
    console = Console(highlight=False)
    case = find_case(kernel, proc, parse_sizes(size or []))
    subject = case.load()
    with tempfile.TemporaryDirectory() as base:
        roof = measure_roof(subject.builder, subject.target, subject.work)
        course = watch(case, folder(Path(base), case), parse_seconds(budget), option or ())
        roof = roof.highest(measure_roof(subject.builder, subject.target, subject.work))
        peers: dict[str, Any] = {}
        if case in CASES:
            peers = compare(case, Path(base), PLAN, threads=1).get("seconds", {})
    roof_s, limit = roof.least_s, roof.limit
    flops = subject.work.flops
    thresholds = {
        f"{ratio:.0%} of roofline ({limit})": roof_s / ratio for ratio in of_roof or (0.4, 0.8)
    }
    thresholds |= {f"{rate:g} GFLOP/s": flops / rate * 1e-9 for rate in gflops or ()}
    if PEER in peers:
        thresholds[PEER] = peers[PEER]
    console.print(report.curve_table(course, flops, roof_s))
    console.print(report.threshold_table(course, thresholds))
    console.print(report.stage_table(course))
    if json_:
        data = report.as_json(course, flops, roof_s, thresholds)
        write_json(json_, {"schema": 1, **data, "peers": peers})


def find_case(kernel: str, proc: str | None, sizes: dict[str, int]) -> Case:
    """A kernel of the suite, or a file's procedure, which has no peers."""
    for case in CASES:
        if case.name == kernel:
            return case
    file = Path(kernel)
    if not file.exists():
        raise UserError(f"{kernel} is neither a file nor a kernel of the suite")
    name = pick(load_source(file), proc).name()
    return Case(
        name=name,
        file=file,
        proc=name,
        form="",
        sizes=tuple(sizes.items()),
        without=PYTHON_PEERS,
    )


if __name__ == "__main__":
    run_command(run)

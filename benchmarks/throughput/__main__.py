"""`python -m benchmarks.throughput`: how fast candidates are made, and where the time goes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from rich.console import Console

from benchmarks.command import run_command
from benchmarks.suite.__main__ import select
from benchmarks.suite.folders import write_json
from benchmarks.throughput import goals, overhead, replaying, report, scaling
from benchmarks.throughput.expansion import ALPHABETS, as_a_worker, explore
from schedsearch.cli.parse import parse_names
from schedsearch.core.errors import UserError

P = ParamSpec("P")
R = TypeVar("R")

PARTS = ("expansion", "replay", "overhead", "scaling")
KERNELS = "gemm_nn,gemm_sizes,conv2d,layernorm,jacobi_2d"
REPEATS = 3
SCALING_ATTEMPTS = 2500
"""Some 40 traces: how the last ones fall to two workers must not decide."""


def run(
    parts: Annotated[
        str, typer.Option(metavar="A,B,...", help=f"Which parts: {', '.join(PARTS)}.")
    ] = ",".join(PARTS),
    kernels: Annotated[
        str,
        typer.Option(metavar="A,B,...", help="Kernels of `expansion`: the suite's, by pattern."),
    ] = KERNELS,
    kernel: Annotated[str, typer.Option(help="Kernel of `overhead` and `scaling`.")] = "gemm_nn",
    attempts: Annotated[
        int, typer.Option(min=1, help="Rewrites that are attempted per kernel and alphabet.")
    ] = 500,
    seconds: Annotated[float, typer.Option(help="Length of the run of `overhead`.")] = 60.0,
    workers: Annotated[int, typer.Option(min=1, help="Its expansion workers.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the order in which nodes are expanded.")] = 0,
    json_: Annotated[
        Path | None, typer.Option("--json", help="Also write everything here.")
    ] = None,
) -> None:
    """Measure how fast candidates are made, and where the time goes, beside the goals.

    [bold]expansion[/]: one process enumerates, applies, keys, estimates and generates C.
    [bold]replay[/]: a fast matrix product from the root, and one more rewrite after it.
    [bold]overhead[/]: a real run with Ray; what is neither Exo nor compiler nor benchmark.
    [bold]scaling[/]: two expansion workers against one, the same traces, nothing measured.

    Each kernel gets a process of its own. Rates are per second of CPU time. Takes about ten
    minutes, on an otherwise idle machine.
    """
    console = report.wide(Console(highlight=False))
    chosen = parse_names(parts) or ()
    if unknown := set(chosen) - set(PARTS):
        raise UserError(f"no part {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    (one,) = select(kernel)
    reached: list[goals.Goal] = []
    data: dict[str, Any] = {"schema": 1}

    if "expansion" in chosen:
        rows = [
            fresh(explore, case, alphabet, attempts, seed)
            for case in select(kernels)
            for alphabet in ALPHABETS
        ]
        console.print(report.expansion_table(rows))
        reached += goals.of_expansion(rows)
        data["expansion"] = [asdict(row) for row in rows]
    if "replay" in chosen:
        trace = fresh(replaying.fast_schedule)
        replayed = [fresh(replaying.replay_once, trace) for _ in range(REPEATS)]
        steps = fresh(replaying.one_more, trace)
        console.print(str(trace.steps[0]), markup=False, soft_wrap=True)
        console.print(report.replay_table(replayed), report.step_table(steps))
        reached += goals.of_replay(replayed, steps)
        data["replay"] = {
            "trace": [step.to_json() for step in trace.steps],
            "replayed": [asdict(item) for item in replayed],
            "one_more": [asdict(step) for step in steps],
        }
    if "overhead" in chosen:
        watched = fresh(overhead.watch_run, one, seconds, workers)
        console.print(*report.overhead_tables(watched))
        reached += goals.of_overhead(watched)
        data["overhead"] = asdict(watched)
    if "scaling" in chosen:
        compared = fresh(scaling.compare, one, SCALING_ATTEMPTS, seed)
        console.print(report.scaling_table(compared))
        reached += goals.of_scaling(compared)
        data["scaling"] = asdict(compared)

    console.print(report.goal_table(reached))
    data["goals"] = [{**asdict(goal), "met": goal.met} for goal in reached]
    if json_:
        write_json(json_, data)


def fresh(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call in a process that has done nothing before: what Exo remembers is part of its speed."""
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=as_a_worker) as pool:
        return pool.submit(function, *args, **kwargs).result()


if __name__ == "__main__":
    run_command(run)

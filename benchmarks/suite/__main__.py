"""`python -m benchmarks.suite`: tune the kernels, compare them with what is installed."""

from __future__ import annotations

import fnmatch
import shlex
import shutil
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.suite.case import Case
from benchmarks.suite.catalogue import CASES
from benchmarks.suite.folders import folder, read_rows, write_json
from benchmarks.suite.measure import compare as measured
from benchmarks.suite.records import BOOK, beats_record, place, write_record
from benchmarks.suite.report import as_json, show
from benchmarks.suite.stores import searched
from benchmarks.suite.tune import tune as tune_case
from schedsearch.cli.parse import parse_seconds
from schedsearch.core.errors import UserError
from schedsearch.peers.rounds import Plan

app = typer.Typer(
    add_completion=False, help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False
)
console = Console(highlight=False)

Only = Annotated[
    str,
    typer.Option(metavar="A,B,...", help="Kernels or groups, by name or pattern (`gemm*`)."),
]
Base = Annotated[Path, typer.Option("--dir", help="Where stores and results are kept.")]
Budget = Annotated[str, typer.Option(help="Search time per kernel: 60, 60s, 5m.")]
Override = Annotated[
    list[str] | None,
    typer.Option("--kernel-budget", metavar="KERNEL=TIME", help="Another budget (repeatable)."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Forget what is in --dir: a cold start.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads of every contender that has them.")]
RunOptions = Annotated[
    str, typer.Option(help="Further options of `schedsearch run`, e.g. '--strategy random'.")
]
Rounds = Annotated[int, typer.Option(min=1, help="Interleaved rounds per kernel, at most.")]
Seconds = Annotated[float, typer.Option(help="Time for the rounds of one kernel.")]
Json = Annotated[Path | None, typer.Option("--json", help="Also write everything here.")]

ExoBlas = Annotated[
    Path | None,
    typer.Option(
        "--exoblas",
        metavar="DIR",
        help="A checkout of ExoBLAS, whose schedules compete too; it is executed. Needs sympy, "
        "and minutes the first time.",
    ),
]

DEFAULT_DIR = Path("suite-results")


@app.command()
def tune(
    only: Only = "suite",
    base: Base = DEFAULT_DIR,
    budget: Budget = "60",
    kernel_budget: Override = None,
    fresh: Fresh = False,
    threads: Threads = 1,
    run_options: RunOptions = "",
) -> None:
    """Tune the kernels. Interrupted or repeated, it goes on where it stopped."""
    cases, budgets = select(only), budgets_of(budget, kernel_budget or [])
    for case in cases:
        _tune(case, base, budgets, fresh, threads, run_options)


@app.command()
def compare(
    only: Only = "suite",
    base: Base = DEFAULT_DIR,
    threads: Threads = 1,
    rounds: Rounds = 20,
    seconds: Seconds = 20.0,
    exoblas: ExoBlas = None,
    json_: Json = None,
) -> None:
    """Time what was tuned against every peer that is installed, and print the table."""
    cases = select(only)
    try:
        for case in cases:
            _compare(case, cases, base, threads, Plan(rounds, seconds), exoblas, json_)
    finally:
        show(console, read_rows(base, cases, threads), len(cases))


@app.command()
def run(
    only: Only = "suite",
    base: Base = DEFAULT_DIR,
    budget: Budget = "60",
    kernel_budget: Override = None,
    fresh: Fresh = False,
    threads: Threads = 1,
    run_options: RunOptions = "",
    rounds: Rounds = 20,
    seconds: Seconds = 20.0,
    exoblas: ExoBlas = None,
    json_: Json = None,
) -> None:
    """Tune each kernel, compare it, go to the next; print the table at the end.

    Interrupted or repeated, it goes on where it stopped.
    """
    cases, budgets = select(only), budgets_of(budget, kernel_budget or [])
    try:
        for case in cases:
            _tune(case, base, budgets, fresh, threads, run_options)
            place = folder(base, case, threads)
            if compared(place.read_row(), searched(place.store)[0]):
                console.print(f"{case.name:<20}compared already", markup=False)
                continue
            _compare(case, cases, base, threads, Plan(rounds, seconds), exoblas, json_)
    finally:
        show(console, read_rows(base, cases, threads), len(cases))


@app.command()
def table(
    only: Only = "suite", base: Base = DEFAULT_DIR, threads: Threads = 1, json_: Json = None
) -> None:
    """Print the table of what was compared before."""
    cases = select(only)
    show(console, read_rows(base, cases, threads), len(cases))
    if json_:
        write_json(json_, as_json(read_rows(base, cases, threads), len(cases)))


@app.command()
def keep(only: Only = "suite", base: Base = DEFAULT_DIR, threads: Threads = 1) -> None:
    """Write what beat the record book, or is not in it, into `benchmarks/records`."""
    for case in select(only):
        row = folder(base, case, threads).read_row()
        if row is None or not beats_record(row):
            continue
        target = case.load(threads).target
        page = place(case, target)
        if page.exists() and "record" not in row:
            console.print(
                f"{case.name:<20}compared without its record: `compare` again", markup=False
            )
            continue
        write_record(page, row, target)
        console.print(f"{case.name:<20}{page.relative_to(BOOK.parent)}", markup=False)


@app.command("list")
def list_() -> None:
    """Name the kernels, each with its group."""
    for case in CASES:
        sizes = " ".join(f"{name}={value}" for name, value in case.sizes)
        where = f"{case.file.name}:{case.proc} {sizes}"
        console.print(f"{case.group:<10}{case.name:<22}{where}", markup=False, soft_wrap=True)


def select(only: str) -> list[Case]:
    """The cases that any of the comma-separated patterns names, itself or by its group."""
    patterns = [pattern.strip() for pattern in only.split(",")]
    unknown = [p for p in patterns if not any(_named(case, p) for case in CASES)]
    if unknown:
        raise UserError(f"no kernel {', '.join(unknown)}; `list` names them")
    return [case for case in CASES if any(_named(case, p) for p in patterns)]


def _named(case: Case, pattern: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for name in (case.name, case.group))


def compared(row: dict[str, Any] | None, searched_s: float) -> bool:
    """Whether a row is of a store that has been searched for as long, and has no error."""
    return row is not None and "ratios" in row and row["searched_s"] == searched_s


def budgets_of(budget: str, overrides: list[str]) -> dict[str, float]:
    """Seconds of search by kernel."""
    budgets = dict.fromkeys((case.name for case in CASES), parse_seconds(budget))
    for override in overrides:
        pattern, _, value = override.partition("=")
        for case in select(pattern):
            budgets[case.name] = parse_seconds(value)
    return budgets


def _tune(
    case: Case,
    base: Path,
    budgets: dict[str, float],
    fresh: bool,
    threads: int,
    run_options: str,
) -> None:
    place = folder(base, case, threads)
    if fresh:
        shutil.rmtree(place.path, ignore_errors=True)
    console.print(f"{case.name:<20}tuning for {budgets[case.name]:.0f} s ...", markup=False)
    ended = tune_case(case, place, budgets[case.name], threads, shlex.split(run_options))
    console.print(f"{case.name:<20}{ended}", markup=False, soft_wrap=True)


def _compare(
    case: Case,
    cases: list[Case],
    base: Path,
    threads: int,
    plan: Plan,
    exoblas: Path | None,
    json_: Path | None,
) -> None:
    console.print(f"{case.name:<20}comparing ...", markup=False)
    row = measured(case, base, plan, threads, exoblas)
    folder(base, case, threads).write_row(row)
    if json_:
        write_json(json_, as_json(read_rows(base, cases, threads), len(cases)))
    if "ratios" in row:
        best = row["best_peer"]
        against = f", {row['ratios'][best]['value']:.2f}x {best}" if best else ""
        share = f"{row['roofline']:.0%} of its roofline"
        text = f"{row['speedup']['value']:.2f}x as written{against}, {share}"
    else:
        text = row.get("error") or "no tuned schedule"
    console.print(f"{case.name:<20}{text}", markup=False, soft_wrap=True)


def main() -> None:
    """Run the command line: exit code 2 for whatever the user can mend.

    Being terminated (by `timeout`, say) is as Ctrl-C, also where that is ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        app()
    except UserError as error:
        console.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        sys.exit(2)


if __name__ == "__main__":
    main()

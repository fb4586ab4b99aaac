"""The tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.throughput.expansion import Explored
from benchmarks.throughput.goals import Goal
from benchmarks.throughput.overhead import Overhead
from benchmarks.throughput.replaying import Replayed, Step
from benchmarks.throughput.scaling import Scaling

STAGES = ("replay", "propose", "rewrite", "ast_key", "predict", "codegen")


def expansion_table(rows: Sequence[Explored]) -> Table:
    """Rates are per second of CPU; stages are shares of the wall clock."""
    table = _table("Expansion in one process", "kernel", "rewrites")
    for title in ("attempts/s", "legal/s", "distinct/s", "attempts", "failed", "same", "same C"):
        table.add_column(title, justify="right")
    for stage in STAGES:
        table.add_column(stage, justify="right")
    for row in rows:
        rates = [f"{n / row.seconds:.1f}" for n in (row.attempts, row.legal, row.distinct)]
        total = sum(row.stage_s.values())
        failed = ", ".join(f"{count} {kind}" for kind, count in row.failed.items()) or "0"
        table.add_row(
            row.kernel,
            row.alphabet,
            *rates,
            str(row.attempts),
            failed,
            str(row.legal - row.distinct),
            str(row.same_code),
            *(f"{row.stage_s.get(stage, 0.0) / total:.1%}" for stage in STAGES),
        )
    return table


def replay_table(replayed: Sequence[Replayed]) -> Table:
    table = _table("Packed register block of a matrix product (f32, 512)", "", "CPU seconds")
    first = replayed[0]
    for what, values in (
        (f"from the root, {first.operators} operators", [r.first_s for r in replayed]),
        ("the same in a process that has done it before", [r.again_s for r in replayed]),
        ("its C", [r.codegen_s for r in replayed]),
    ):
        table.add_row(what, f"{median(values):.3f}  ({min(values):.3f} to {max(values):.3f})")
    return table


def step_table(steps: Sequence[Step]) -> Table:
    """Per transform, the slowest first."""
    table = _table("One more rewrite, from the cached parent (CPU ms)", "transform", "legal")
    for title in ("median", "longest", "median with keys and C"):
        table.add_column(title, justify="right")
    names = sorted({step.transform for step in steps}, key=lambda n: -_median_ms(steps, n))
    for name in names:
        mine = [step for step in steps if step.transform == name]
        table.add_row(
            name,
            str(len(mine)),
            f"{_median_ms(steps, name):.0f}",
            f"{1e3 * max(step.apply_s for step in mine):.0f}",
            f"{1e3 * median(step.seconds for step in mine):.0f}",
        )
    return table


def _median_ms(steps: Sequence[Step], transform: str) -> float:
    return 1e3 * median(step.apply_s for step in steps if step.transform == transform)


def overhead_tables(row: Overhead) -> list[Table]:
    slots = _table(
        f"A run on {row.kernel}: {row.slots} expansion worker(s), {row.wall_s:.0f} s, "
        f"{row.expansions} expansions",
        "wall clock",
        "share",
    )
    _shares(slots, row.slot_s, row.slots * row.wall_s)
    cpu = _table("All its processes", "CPU time", "share")
    _shares(cpu, row.cpu_s, sum(row.cpu_s.values()))
    return [slots, cpu]


def _shares(table: Table, seconds: Mapping[str, float], total: float) -> None:
    for name, value in seconds.items():
        table.add_row(name, f"{value / total:.1%}")


def scaling_table(row: Scaling) -> Table:
    table = _table(
        f"{row.kernel}: {row.traces} traces, {row.distinct} distinct candidates", "workers"
    )
    for title in ("seconds", "distinct/s", "CPU seconds", "replaying"):
        table.add_column(title, justify="right")
    for team in (row.one, row.two):
        table.add_row(
            str(team.workers),
            f"{team.wall_s:.1f}",
            f"{row.distinct / team.wall_s:.1f}",
            f"{team.cpu_s:.1f}",
            f"{team.replay:.1%}",
        )
    return table


def goal_table(goals: Sequence[Goal]) -> Table:
    table = _table("Goals", "what", "measured", "goal")
    for goal in goals:
        tone = "green" if goal.met else "red"
        sign = "<=" if goal.at_most else ">="
        table.add_row(
            goal.what,
            f"[{tone}]{goal.value:.3g}{goal.unit}[/]",
            f"{sign} {goal.bound:g}{goal.unit}",
        )
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=f"\n{title}",
        title_justify="left",
        min_width=len(title),  # else the title is wrapped to the columns' width
        box=None,
        header_style="bold",
        pad_edge=False,
    )
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def wide(console: Console, columns: int = 170) -> Console:
    """Tables are not cut where the output is no terminal."""
    if not console.is_terminal:
        console.width = max(console.width, columns)
    return console

"""The tables of the noise benchmark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binomtest

from benchmarks.noise.pairs import BOUND_BY
from benchmarks.noise.trials import WITHIN_S, Trial
from benchmarks.noise.truth import TOLERANCE, UNSEEN, Check, fit

ALL = "all"
WIDE = 140
"""Columns the table needs."""


def show_truth(console: Console, checks: Sequence[Check]) -> None:
    """A line per kernel: how far its times are off what its work says."""
    table = Table(title="Time over work, undisturbed", title_justify="left")
    table.add_column("kernel")
    slowdowns = sorted({each.slowdown for each in checks})
    for slowdown in slowdowns:
        table.add_column(f"{slowdown:.0%} more work", justify="right")
    table.add_column("")
    for kernel in dict.fromkeys(each.kernel for each in checks):
        own = {each.slowdown: each for each in checks if each.kernel == kernel}
        cells = [f"{c.off:+.2%} ({c.low:+.2%} to {c.high:+.2%})" for c in own.values()]
        verdict = "fit" if kernel in fit(checks) else "[red]unfit, not counted[/]"
        table.add_row(_name(kernel), *cells, verdict)
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    console.print(table)
    console.print(
        "how far the ratio of times is off the ratio of work; in brackets 99 % intervals. Unfit: "
        f"an interval is beyond {TOLERANCE:.1%}, or reaches {UNSEEN:.0%}.",
        soft_wrap=True,
        markup=False,
    )


def show(console: Console, trials: Sequence[Trial]) -> None:
    """Rates by kernel and slowdown, then the three goals."""
    table = Table(
        title="A kernel against itself, or against one that does more work", title_justify="left"
    )
    table.add_column("kernel")
    for title in (
        "more work",
        "trials",
        "told apart",
        "wrong",
        "same",
        "error",
        "answer after",
        "in all",
    ):
        table.add_column(title, justify="right")
    slowdowns = sorted({trial.slowdown for trial in trials})
    for kernel in (*BOUND_BY, ALL):
        for slowdown in slowdowns:
            own = [t for t in trials if t.slowdown == slowdown and kernel in (t.kernel, ALL)]
            if own:
                table.add_row(_name(kernel), f"{slowdown:.0%}", *_cells(own))
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
    console.print(table)
    console.print(
        f"told apart: faster or slower, correctly, within {WITHIN_S:g} s of measuring; wrong: told "
        "apart though equal, or the wrong way round; in brackets 95 % intervals (Clopper and "
        "Pearson). error: of the ratio, median of magnitudes. Seconds until the answer was clear, "
        "and of all rounds (more follow to narrow the interval): median and 95th percentile.",
        soft_wrap=True,
        markup=False,
    )
    equal = [trial for trial in trials if trial.slowdown == 0]
    five = [trial for trial in trials if trial.slowdown == 0.05]
    if equal and five:
        faster = [trial.decision == "faster" for trial in equal]
        goals = (
            ("equal kernels called faster", _rate(faster), np.mean(faster) <= 0.01, "<= 1 %"),
            ("5 % told apart", _rate([t.right for t in five]), _share(five) >= 0.95, ">= 95 %"),
            ("median error, equal", f"{_error(equal):.2%}", _error(equal) <= 0.005, "<= 0.5 %"),
        )
        for name, value, met, goal in goals:
            state = "[green]met[/]" if met else "[red]missed[/]"
            console.print(f"{name}: {value}, goal {goal}: {state}")


def _name(kernel: str) -> str:
    return f"{kernel} ({BOUND_BY[kernel]})" if kernel in BOUND_BY else kernel


def _cells(trials: Sequence[Trial]) -> list[str]:
    same = np.mean([trial.decision == "same" for trial in trials])
    return [
        str(len(trials)),
        _rate([trial.right for trial in trials]) if trials[0].slowdown else "",
        _rate([trial.wrong for trial in trials]),
        f"{same:.0%}",
        f"{_error(trials):.2%}",
        _times([trial.answer_s for trial in trials]),
        _times([trial.measuring_s for trial in trials]),
    ]


def _times(seconds: Sequence[float]) -> str:
    return f"{np.median(seconds):.2f} s, {np.quantile(seconds, 0.95):.2f} s"


def _share(trials: Sequence[Trial]) -> float:
    return float(np.mean([trial.right for trial in trials]))


def _error(trials: Sequence[Trial]) -> float:
    return float(np.median([abs(trial.error) for trial in trials]))


def _rate(hits: Sequence[bool]) -> str:
    """`97.5 % (92.0 to 99.6)`"""
    count, total = sum(hits), len(hits)
    low, high = binomtest(count, total).proportion_ci(method="exact")
    return f"{100 * count / total:.1f} % ({100 * low:.1f} to {100 * high:.1f})"

"""What checks said, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binomtest

from benchmarks.guard.trials import Kind, Trial
from benchmarks.guard.untouched import LIMIT_S, Run
from schedsearch.locks.result import Status

MEANINGS = {
    0: "passed",
    1: "regression",
    2: "usage or configuration",
    3: "inconclusive",
    4: "wrong result",
    5: "nothing runs here",
    6: "stale",
    70: "an error of schedsearch",
    None: f"no end within {LIMIT_S:.0f} s",
}


def show_runs(console: Console, runs: Sequence[Run]) -> None:
    """Exit codes, and what was behind every one that is not 0."""
    if not runs:
        return
    codes = Counter(run.code for run in runs)
    table = Table(title="Exit codes", title_justify="left")
    for title in ("exit code", "times", ""):
        table.add_column(title, justify="left" if not title else "right")
    for code, count in sorted(codes.items(), key=lambda item: -item[1]):
        shown = "-" if code is None else str(code)
        table.add_row(shown, str(count), MEANINGS.get(code, "ended by a signal"))
    console.print(table)
    for number, run in enumerate(runs, 1):
        if run.code != 0:
            console.print(f"check {number} at {run.began}, load {run.load:.1f}: {run.code}")
            for line in _reasons(run):
                console.print(f"  {line}", markup=False, soft_wrap=True)
    alarms = len(runs) - codes[0]
    seconds = [run.seconds for run in runs]
    # Clopper's and Pearson's (1934) one-sided interval for a share.
    most = binomtest(alarms, len(runs), alternative="less").proportion_ci(0.95).high
    console.print(
        f"{codes[0]} of {len(runs)} ended with 0: such checks fail in at most "
        f"{most:.1%} of cases (95 % confidence); "
        f"{np.median(seconds):.1f} s a check, {max(seconds):.1f} s at most"
    )


def _reasons(run: Run) -> list[str]:
    found = [each for each in run.results if each["status"] not in ("passed", "skipped")]
    reasons = [
        line
        for each in found
        for line in (f"{each['proc']}: {each['status']}: {each['summary']}", *each["notes"])
    ]
    return reasons or run.stderr.splitlines()[-10:]


def trials_table(trials: Sequence[Trial]) -> Table:
    """How often each status, by kernel and kind."""
    shown = Table(
        title="Status of the same schedules, checked again and again", title_justify="left"
    )
    shown.add_column("kernel")
    for title in (
        "kind",
        "checks",
        *map(str, Status),
        "by code",
        "by time",
        "by instructions",
        "lowest",
        "time",
    ):
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
        *(str(sum(t.by == by for t in trials)) for by in ("code", "time", "instructions")),
        f"{min(ratios):.2f}" if ratios else "-",
        f"{sum(t.seconds for t in trials) / len(trials):.1f} s",
    ]

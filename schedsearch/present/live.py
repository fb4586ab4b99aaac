"""How a running search looks: a calm panel on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.present import format as fmt
from schedsearch.search.baseline import Baseline
from schedsearch.search.engine.progress import Progress
from schedsearch.search.setup.subject import Subject
from schedsearch.search.warmstart.prior_runs import Known

PLAIN_EVERY_S = 10.0
PER_SECOND = 2
BAR = 32

CLOSING = {
    "finishing": "waiting for what is being measured",
    "racing": "the fastest are measured against the same anchor",
    "shortening": "rewrites that make no difference are left out of the winner",
    "confirming": "the fastest are measured again on fresh rounds",
    "inspecting": "sanitizers look at the winner",
}
"""Phases after the search, in this order."""


class View(Protocol):
    """Shows a run. `stop` leaves the terminal as it was and may be called twice."""

    def phase(self, name: str) -> None: ...

    def started(self, subject: Subject, baseline: Baseline, known: Known) -> None: ...

    def progress(self, progress: Progress) -> None: ...

    def stop(self) -> None: ...


def make_view(console: Console) -> View:
    """A terminal that cannot move its cursor (TERM=dumb) gets lines, as a log does."""
    return LiveView(console) if redraws(console) else PlainView(console)


def redraws(console: Console) -> bool:
    """Whether what was printed can be replaced."""
    return console.is_terminal and not console.is_dumb_terminal


def intro(subject: Subject, baseline: Baseline, known: Known) -> list[str]:
    """The procedure, the target, and what the search starts from."""
    bound = fmt.sizes(subject.workload.sizes, subject.workload.specialized)
    lines = [
        f"[bold]{subject.name}[/]{f' ({bound})' if bound else ''} from {subject.source.path}",
        f"on {fmt.target(subject.target)}",
        f"baseline{baseline.extrapolated}: "
        f"{rate(subject, baseline.roof, baseline.measurement.candidate_ns)}",
    ]
    if baseline.sandbox.warning:
        lines.append(f"[yellow]warning:[/] {baseline.sandbox.warning}")
    if known.candidates > 0:
        lines.append(
            f"resuming: {known.candidates} candidates known, {known.measured} measured; "
            "nothing known is measured again but the best, at the end"
        )
    for origin in known.origins:
        lines.append(
            f"trying first: candidate {origin.candidate_id}, {origin.speedup:.1f}x on "
            f"{fmt.kernel(origin.workload)}"
        )
    return lines


def rate(subject: Subject, roof: Roof, ns: float) -> str:
    """`1.36 ms, 198 GFLOP/s, 92 % of its roofline (f32 multiply-add peak, 214 GFLOP/s)`"""
    parts = [fmt.duration(ns * 1e-9)]
    if roof.limit == "memory" and subject.work.bytes:
        parts.append(f"{subject.work.bytes / ns:.3g} GB/s")
    elif subject.work.flops:
        parts.append(f"{subject.work.flops / ns:.3g} {roof.unit}")
    if roof.least_s:
        parts.append(fmt.of_roof(roof, ns * 1e-9))
    return ", ".join(parts)


Rate = Callable[[float], str]
"""How good nanoseconds per call are, in words."""


def unrated(ns: float) -> str:
    return fmt.duration(ns * 1e-9)


def facts(progress: Progress, rated: Rate) -> list[tuple[str, str]]:
    """The state of a search, line by line, each with its name if it has one. There are always as
    many lines, so that a view keeps its height."""
    best = progress.best
    speedup = fmt.so_far(best.measurement) if best else "nothing faster yet than as written"
    return [
        ("best", speedup),
        ("", rated(progress.best_ns) if progress.best_ns else ""),
        ("", fmt.sparkline([value for _, value in progress.curve])),
        ("schedule", fmt.count(len(best.trace), "rewrite") if best else "-"),
        ("candidates", fmt.outcomes(progress.outcomes)),
        ("this run", fmt.counted(progress)),
    ]


class PlainView:
    """One line per improvement, and one every ten seconds: for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._improvements = 0
        self._last = time.monotonic()

    def phase(self, name: str) -> None:
        self._console.print(f"{name} ...")

    def started(self, subject: Subject, baseline: Baseline, known: Known) -> None:
        for line in intro(subject, baseline, known):
            self._console.print(line, soft_wrap=True)

    def progress(self, progress: Progress) -> None:
        improved = len(progress.curve) > self._improvements
        if not improved and time.monotonic() - self._last < PLAIN_EVERY_S:
            return
        self._improvements = len(progress.curve)
        self._last = time.monotonic()
        self._console.print(plain_line(progress), soft_wrap=True, markup=False)

    def stop(self) -> None:
        pass


def plain_line(progress: Progress) -> str:
    """`   60 s  searching: best 12.5x, 321 measured, 45 expanded`"""
    best = fmt.so_far(progress.best.measurement) if progress.best else "none yet"
    return f"{progress.elapsed_s:5.0f} s  {progress.phase}: best {best}, {fmt.counted(progress)}"


class LiveView:
    """A panel of as many lines all the time, redrawn twice a second."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("loading")
        self._status.start()
        self._live: Live | None = None
        self._rate: Rate = unrated

    def phase(self, name: str) -> None:
        self._status.update(name)

    def started(self, subject: Subject, baseline: Baseline, known: Known) -> None:
        self._rate = partial(rate, subject, baseline.roof)
        for line in intro(subject, baseline, known):
            self._console.print(line)
        self._console.print()

    def progress(self, progress: Progress) -> None:
        shown = panel(progress, self._rate)
        if self._live is None:
            self._status.stop()
            self._live = Live(
                shown, console=self._console, refresh_per_second=PER_SECOND, transient=True
            )
            self._live.start()
        else:
            self._live.update(shown)

    def stop(self) -> None:
        self._status.stop()
        if self._live is not None:
            self._live.stop()
            self._live = None


def panel(progress: Progress, rated: Rate) -> Table:
    """The state of a search in nine lines, whatever there is to say: what is long is cut."""
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_row(progress.phase, _doing(progress))
    table.add_row("time left", time_left(progress))
    for name, said in facts(progress, rated):
        style = "bold green" if name == "best" and progress.best else ""
        table.add_row(name, Text(said, style=style))
    return table


def _doing(progress: Progress) -> ProgressBar | str:
    if progress.phase != "searching":
        step = list(CLOSING).index(progress.phase) + 1
        return f"{CLOSING[progress.phase]} (step {step} of {len(CLOSING)} of the end)"
    done = min(progress.elapsed_s, progress.search_s)
    return ProgressBar(total=progress.search_s, completed=done, width=BAR)


def time_left(progress: Progress) -> str:
    """`95 s to search, then about 20 s to confirm`; of the end only an estimate is known."""
    elapsed_s = progress.elapsed_s
    if progress.phase == "searching":
        search_s = max(progress.search_s - elapsed_s, 0.0)
        closing_s = max(progress.budget_s - max(progress.search_s, elapsed_s), 0.0)
        return f"{_rounded(search_s)} to search, then about {_rounded(closing_s)} to confirm"
    if progress.budget_s > elapsed_s:
        return f"about {_rounded(progress.budget_s - elapsed_s)}"
    return "longer than expected; almost done"


def _rounded(seconds: float) -> str:
    """Whole seconds; minutes as soon as those are hard to read."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"

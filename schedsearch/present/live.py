"""How a running search looks: a calm panel on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from schedsearch.evaluate.roofline import Roof
from schedsearch.present import format as fmt
from schedsearch.search.progress import Progress
from schedsearch.search.session import Baseline, Known
from schedsearch.search.subject import Subject

PLAIN_EVERY_S = 10.0

PHASES = {
    "finishing": "waiting for what is being measured",
    "racing": "the fastest are measured against the same anchor",
    "confirming": "the fastest are measured again on fresh rounds",
    "inspecting": "sanitizers look for what data do not show in the fastest",
}


class View(Protocol):
    """Shows a run. `stop` leaves the terminal as it was and may be called twice."""

    def phase(self, name: str) -> None: ...

    def started(self, subject: Subject, baseline: Baseline, known: Known) -> None: ...

    def progress(self, progress: Progress) -> None: ...

    def stop(self) -> None: ...


def make_view(console: Console) -> View:
    return LiveView(console) if console.is_terminal else PlainView(console)


def intro(subject: Subject, baseline: Baseline, known: Known) -> list[str]:
    """What is tuned, where, and from where it starts."""
    bound = fmt.sizes(subject.workload.sizes, subject.workload.specialized)
    lines = [
        f"[bold]{subject.name}[/]{f' ({bound})' if bound else ''} from {subject.source.path}",
        f"on {fmt.target(subject.target)}",
        f"baseline: {rate(subject, baseline.roof, baseline.measurement.candidate_ns)}",
    ]
    if baseline.sandbox.warning:
        lines.append(f"[yellow]warning:[/] {baseline.sandbox.warning}")
    if known.candidates > 0:
        lines.append(
            f"resuming: {known.candidates} candidates known, {known.measured} measured; "
            "nothing known is measured again"
        )
    for origin in known.origins:
        sizes = fmt.sizes(origin.workload.sizes, origin.workload.specialized)
        lines.append(
            f"trying first: candidate {origin.candidate_id}, {origin.speedup:.1f}x on "
            f"{origin.workload.proc}{f' ({sizes})' if sizes else ''}"
        )
    return lines


def rate(subject: Subject, roof: Roof, ns: float) -> str:
    """`1.36 ms, 198 GFLOP/s, 92 % of its roof (f32 multiply-add peak, 214 GFLOP/s)`"""
    parts = [fmt.duration(ns * 1e-9)]
    if roof.limit == "memory" and subject.work.bytes:
        parts.append(f"{subject.work.bytes / ns:.3g} GB/s")
    elif subject.work.flops:
        parts.append(f"{subject.work.flops / ns:.3g} {roof.unit}")
    if roof.least_s:
        parts.append(fmt.of_roof(roof, ns * 1e-9))
    return ", ".join(parts)


def facts(subject: Subject, baseline: Baseline, progress: Progress) -> list[tuple[str, str]]:
    """What a search has found, line by line, each with its name if it has one."""
    if progress.best is None:
        lines = [("best", "nothing faster than the baseline yet")]
    else:
        measurement = progress.best.measurement
        lines = [
            ("best", fmt.speedup(measurement.speedup)),
            ("", rate(subject, baseline.roof, measurement.candidate_ns)),
            ("", fmt.sparkline([value for _, value in progress.curve])),
            ("schedule", fmt.count(len(progress.best.trace), "rewrite")),
        ]
    if progress.ranker is not None:
        lines.append(("cost model", fmt.standing_short(progress.ranker)))
    lines.append(("candidates", fmt.outcomes(progress.outcomes)))
    lines.append(("this run", f"{progress.measured} measured, {progress.expanded} expanded"))
    return lines


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
        best = fmt.speedup(progress.best.measurement.speedup) if progress.best else "none yet"
        self._console.print(
            f"{progress.elapsed_s:5.0f} s  {progress.phase}: best {best}, "
            f"{progress.measured} measured, {progress.expanded} expanded",
            soft_wrap=True,
            markup=False,
        )

    def stop(self) -> None:
        pass


class LiveView:
    """A panel of a few lines, redrawn four times a second."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("loading")
        self._status.start()
        self._live: Live | None = None
        self._setting: tuple[Subject, Baseline] | None = None

    def phase(self, name: str) -> None:
        self._status.update(name)

    def started(self, subject: Subject, baseline: Baseline, known: Known) -> None:
        self._setting = (subject, baseline)
        for line in intro(subject, baseline, known):
            self._console.print(line)
        self._console.print()

    def progress(self, progress: Progress) -> None:
        panel = self._panel(progress)
        if self._live is None:
            self._status.stop()
            self._live = Live(panel, console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
        else:
            self._live.update(panel)

    def stop(self) -> None:
        self._status.stop()
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _panel(self, progress: Progress) -> Table:
        assert self._setting is not None
        subject, baseline = self._setting
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column()
        left = max(progress.budget_s - progress.elapsed_s, 0.0)
        if progress.phase == "searching":
            bar = ProgressBar(
                total=progress.budget_s,
                completed=min(progress.elapsed_s, progress.budget_s),
                width=32,
            )
            table.add_row("searching", Group(bar, Text(f"{left:.0f} s left")))
        else:
            table.add_row(progress.phase, PHASES[progress.phase])
        for name, said in facts(subject, baseline, progress):
            style = "bold green" if name == "best" and progress.best else ""
            table.add_row(name, Text(said, style=style))
        return table

"""How a run looks on a terminal and in a log."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from schedsearch.api.watching import NotebookView
from schedsearch.core.records import Measurement, Outcome, Round
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.evaluate.run.sandbox import NO_SANDBOX, Sandbox
from schedsearch.present.live import (
    CLOSING,
    LiveView,
    PlainView,
    View,
    facts,
    make_view,
    panel,
    plain_line,
    unrated,
)
from schedsearch.search.baseline import Baseline
from schedsearch.search.engine.progress import Best, Progress
from schedsearch.search.setup.subject import Subject, load_subject
from schedsearch.search.warmstart.prior_runs import Known

MATMUL = Path(__file__).parents[1] / "cli" / "kernels" / "matmul32.py"


WIDTH = 80


def timed(speedup: float) -> Measurement:
    """Of a kernel that takes 8 us as written."""
    return Measurement("screen", (Round((8e3 / speedup,), (8e3,)),) * 3, calls=100)


ROOF = Roof(2.0**16 / 140e9, 1e-7, peak=140.0, kind="f32", bandwidth=160.0, level="L1")
BASELINE = Baseline(timed(1.0), ROOF, Sandbox(True, 7, True))
REWRITE = Rewrite("reorder", 1, (0,), "for i in seq(0, 32)")


@pytest.fixture(scope="module")
def subject() -> Subject:
    return load_subject(MATMUL, None, {}, None)


def progress(
    phase: str = "searching", speedup: float | None = None, elapsed: float = 1.0
) -> Progress:
    best = Best("key", Trace((REWRITE,)), timed(speedup)) if speedup else None
    outcomes = {outcome: 1234 + n for n, outcome in enumerate(Outcome)} | {None: 56789}
    curve = tuple((float(n), 1.0 + n) for n in range(100)) if speedup else ()
    return Progress(
        phase, elapsed, 140.0, outcomes, 321, 45, best, curve, search_s=120.0, baseline_s=8e-6
    )


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=WIDTH, highlight=False)


def drawn(screen: Console) -> list[str]:
    """Every line as it was once drawn, without colours; redrawing erases line by line."""
    assert isinstance(screen.file, io.StringIO)
    lines = re.split(r"\r|\n|\x1b\[2K", screen.file.getvalue())
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip() for line in lines]


def test_an_incomplete_sandbox_is_said_once_before_the_search(subject: Subject) -> None:
    screen = console(terminal=False)
    view = PlainView(screen)
    view.started(subject, replace(BASELINE, sandbox=NO_SANDBOX), Known(0, 0))
    view.progress(progress(speedup=2.0))
    warnings = [line for line in drawn(screen) if line.startswith("warning: incomplete sandbox")]
    assert len(warnings) == 1
    assert "write your files" in warnings[0]


def play(view: View, subject: Subject) -> None:
    """Everything that can happen in a run."""
    view.phase("measuring the baseline")
    view.phase("starting workers")
    view.started(subject, BASELINE, Known(candidates=99999, measured=8888))
    view.progress(progress())
    view.progress(progress(speedup=12.5, elapsed=60.0))
    view.progress(progress("finishing", 12.5, 121.0))
    view.progress(progress("confirming", 12.5, 125.0))
    view.stop()
    view.stop()


def test_the_live_view_fits_the_terminal_and_shows_what_matters(subject: Subject) -> None:
    screen = console(terminal=True)
    view = make_view(screen)
    assert isinstance(view, LiveView)
    play(view, subject)
    shown = drawn(screen)
    assert max(map(len, shown)) <= WIDTH
    for text in ("matmul32", "8 us", "resuming: 99999 candidates", "8888 measured"):
        assert text in " ".join(" ".join(shown).split())


@pytest.mark.parametrize(
    ("state", "texts"),
    [
        (
            progress(),
            [
                "2.0 min to search, then about 20 s to confirm",
                "nothing faster yet than as written",
            ],
        ),
        (progress(speedup=12.5), ["12.5x", "640 ns", "█", "1 rewrite"]),
        (progress("finishing", 2.0, 121.0), ["finishing", "waiting for what is being measured"]),
        (progress("confirming", 2.0, 125.0), ["confirming", "again on fresh rounds", "2.00x"]),
        (progress("inspecting", 2.0, 130.0), ["sanitizers look at the winner", "about 10 s"]),
        (progress("inspecting", 2.0, 150.0), ["longer than expected"]),
    ],
)
def test_the_panel_of_every_phase(subject: Subject, state: Progress, texts: list[str]) -> None:
    screen = console(terminal=True)
    view = LiveView(screen)
    view.started(subject, BASELINE, Known(0, 0))
    view.progress(state)
    view.stop()
    shown = drawn(screen)
    assert max(map(len, shown)) <= WIDTH
    for text in texts:
        assert text in " ".join(" ".join(shown).split())


def test_time_and_speedup_of_the_best_agree_whenever_they_were_measured() -> None:
    """A screening in a minute in which everything takes twice as long, against an anchor."""
    rounds = (Round((1600.0,), (3200.0,)),) * 3
    slowed = Measurement("screen", rounds, 100, (), "anchor", 5.0)
    state = replace(progress(), best=Best("key", Trace((REWRITE,)), slowed))
    lines = dict(zip("ab", (said for _, said in facts(state, unrated)), strict=False))
    assert lines == {"a": "10.0x", "b": "800 ns"}
    assert "best 10.0x, 321" in plain_line(state)
    assert state.best_ns == pytest.approx(8e3 / 10.0)
    assert progress().best_ns is None


def test_a_confirmed_best_has_an_interval() -> None:
    confirmed = replace(timed(12.5), kind="confirm")
    state = replace(progress(), best=Best("key", Trace((REWRITE,)), confirmed))
    assert "12.5x [" in plain_line(state)


def test_a_dumb_terminal_gets_lines() -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    assert isinstance(make_view(screen), PlainView)


def test_the_panel_never_changes_its_height() -> None:
    states = [
        progress(),
        progress(speedup=12.5),
        *(progress(phase, 2.0, 125.0) for phase in CLOSING),
    ]
    for state in states:
        screen = console(terminal=False)
        screen.print(panel(state, unrated))
        assert len(drawn(screen)) == 8 + 1  # the last line ends


def test_an_interrupted_live_view_leaves_the_terminal_usable(subject: Subject) -> None:
    screen = console(terminal=True)
    view = LiveView(screen)
    view.phase("measuring the baseline")
    view.stop()
    assert isinstance(screen.file, io.StringIO)
    written = screen.file.getvalue()
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h")  # cursor hidden, shown


def test_a_log_has_one_line_per_improvement(subject: Subject) -> None:
    screen = console(terminal=False)
    view = make_view(screen)
    assert isinstance(view, PlainView)
    view.started(subject, BASELINE, Known(0, 0))
    for _ in range(5):
        view.progress(progress())
    for _ in range(5):
        view.progress(progress(speedup=12.5, elapsed=60.0))
    lines = drawn(screen)
    assert lines[0] == f"matmul32 from {Path(MATMUL)}"
    assert [line for line in lines if "searching" in line] == [
        "   60 s  searching: best 12.5x, 321 measured, 45 expanded"
    ]


def test_in_a_notebook_phases_go_and_progress_stays(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[object] = []

    class Handle:
        def update(self, what: object) -> None:
            shown.append(what)

    monkeypatch.setattr("IPython.display.display", lambda *what, **options: Handle())
    measuring, searching = NotebookView(), NotebookView()
    measuring.phase("timing step 1")
    assert repr(shown[-1]) == "timing step 1 ..."
    measuring.stop()
    assert repr(shown[-1]) == ""
    searching.started(subject, BASELINE, Known(0, 0))
    searching.progress(progress(speedup=2.0, elapsed=7.0))
    for _ in range(2):
        searching.stop()
        assert "ended  after 7 s" in repr(shown[-1])
        assert "time left" not in repr(shown[-1])

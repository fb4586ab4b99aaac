"""Shows the progress of a run that Python code starts: in a notebook's output, which is updated in
place, or as the command line does."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from schedsearch.present import html
from schedsearch.present.live import (
    CLOSING,
    Rate,
    View,
    facts,
    intro,
    make_view,
    rate,
    time_left,
    unrated,
)
from schedsearch.search.baseline import Baseline
from schedsearch.search.engine.progress import Progress
from schedsearch.search.result import Listener
from schedsearch.search.setup.subject import Subject
from schedsearch.search.warmstart.prior_runs import Known

EVERY_S = 0.5
"""Least time between updates: each is a message to the browser, and kept by it."""


class Shown:
    """HTML, with the same as text for where there is none."""

    def __init__(self, markup: str, text: str) -> None:
        self._markup, self._text = markup, text

    def _repr_html_(self) -> str:
        return self._markup

    def __repr__(self) -> str:
        return self._text


class NotebookView:
    """Shows a run in the output of the running cell."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle: Any = display(Shown("", "loading ..."), display_id=True)
        self._updated = 0.0
        self._intro: list[str] = []
        self._rate: Rate = unrated
        self._last: Progress | None = None
        self._ended = False

    def phase(self, name: str) -> None:
        self._update([f"{name} ..."])

    def started(self, subject: Subject, baseline: Baseline, known: Known) -> None:
        self._rate = partial(rate, subject, baseline.roof)
        self._intro = [Text.from_markup(line).plain for line in intro(subject, baseline, known)]

    def progress(self, progress: Progress) -> None:
        self._last = progress
        if time.monotonic() - self._updated >= EVERY_S:
            doing = CLOSING.get(progress.phase, "")
            self._show(progress, [(progress.phase, doing), ("time left", time_left(progress))])

    def stop(self) -> None:
        """The last state stays; phases alone, as of single measurements, go."""
        if self._ended:
            return
        self._ended = True
        if self._last is not None:
            self._show(self._last, [("ended", f"after {self._last.elapsed_s:.0f} s")])
        else:
            self._update(self._intro)

    def _show(self, progress: Progress, state: Sequence[tuple[str, str]]) -> None:
        self._update(self._intro, [*state, *facts(progress, self._rate)])
        self._updated = time.monotonic()

    def _update(self, head: list[str], lines: Sequence[tuple[str, str]] = ()) -> None:
        # Rows without a text would be flat, and grow later: what is below would jump.
        rows = [(html.dim(name), said or "\N{NO-BREAK SPACE}") for name, said in lines]
        text = [*head, *(f"{name:>10}  {said}" for name, said in lines)]
        markup = html.block([html.lines(head), html.table((), rows)])
        self._handle.update(Shown(markup, "\n".join(text)))


@contextmanager
def watched(progress: bool) -> Iterator[Listener]:
    """Shows a run where it is started: in a notebook's output, or as the command line does."""
    if not progress:
        yield Listener(lambda phase: None, lambda *start: None, lambda state: None)
        return
    notebook = Console().is_jupyter
    view: View = NotebookView() if notebook else make_view(Console(stderr=True, highlight=False))
    try:
        yield Listener(view.phase, view.started, view.progress)
    finally:
        view.stop()

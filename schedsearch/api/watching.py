"""Shows the progress of a run that Python code starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from schedsearch.present.live import View, make_view
from schedsearch.present.notebook import NotebookView
from schedsearch.search.result import Listener


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

"""What is going on while a command works, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def told() -> Iterator[Callable[[str], None]]:
    """One line that changes on a terminal, lines elsewhere."""
    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        with console.status("loading") as status:
            yield lambda text: status.update(text.replace("[", r"\["))
    else:
        yield lambda text: console.print(text, markup=False, soft_wrap=True)

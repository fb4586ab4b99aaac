"""Tells on standard error how a command gets on, and what to type next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from schedsearch.core.store_name import without_password


@contextmanager
def told() -> Iterator[Callable[[str], None]]:
    """One line that changes on a terminal, lines elsewhere."""
    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        with console.status("loading") as status:
            yield lambda text: status.update(text.replace("[", r"\["))
    else:
        yield lambda text: console.print(text, markup=False, soft_wrap=True)


def say(text: str) -> None:
    """A line of its own."""
    print(text, file=sys.stderr)


def typed(*more: str, without: str = "") -> str:
    """The command line as typed, but for passwords and the word `without`, and `more`."""
    words = [without_password(word) for word in sys.argv[1:] if word != without]
    return shlex.join(["schedsearch", *words, *more])

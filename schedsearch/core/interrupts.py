"""Ctrl-C that is not lost, and breaks nothing off that has to be whole.

Exo has bare `except:` clauses, which take a KeyboardInterrupt for a failed rewrite when it comes
while Exo runs in this process; and one that comes while an object of z3 is deleted is only printed.
(z3 would swallow the signal itself; `exo/compat.py` tells it not to.)"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any


@contextmanager
def noticed_interrupts() -> Iterator[Event]:
    """An event that is set from the first Ctrl-C on; KeyboardInterrupt is raised as ever.

    Where Ctrl-C does something else, or outside the main thread, it stays as it is.
    """
    noticed = Event()
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield noticed
        return

    def handle(number: int, frame: Any) -> None:
        noticed.set()
        signal.default_int_handler(number, frame)

    show = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            show(unraisable)

    signal.signal(signal.SIGINT, handle)
    sys.unraisablehook = hook
    try:
        yield noticed
    finally:
        sys.unraisablehook = show
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Ctrl-C during the block arrives at its end: what the block begins, it also finishes.

    Outside the main thread, which alone is interrupted, it does nothing; nor where a program that
    embeds Python handles the signal.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    arrived = Event()
    before = signal.signal(signal.SIGINT, lambda number, frame: arrived.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if arrived.is_set():
            signal.raise_signal(signal.SIGINT)


def take_back_sigterm() -> None:
    """Ray's library has a handler of its own for it, in C, that prints a stack and aborts; Python's
    knows nothing of that. Does nothing outside the main thread."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


@contextmanager
def raised_interrupts() -> Iterator[None]:
    """Raises KeyboardInterrupt at the end of the block if one was swallowed in it, or made
    another error of."""
    with noticed_interrupts() as noticed:
        try:
            yield
        finally:
            if noticed.is_set():
                raise KeyboardInterrupt

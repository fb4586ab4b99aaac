"""Ctrl-C that is not lost. Exo has bare `except:` clauses, which take a KeyboardInterrupt
for a failed rewrite when it comes while Exo runs in this process. (z3 would swallow the
signal itself; `exo_compat` tells it not to.)"""

from __future__ import annotations

import signal
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

    signal.signal(signal.SIGINT, handle)
    try:
        yield noticed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

"""The lock of first calls: `fork` waits while another thread holds it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.RLock()
_forking = set[int]()
"""Threads that fork, and have the lock."""


@contextmanager
def no_forks() -> Iterator[None]:
    """In Exo, in z3 or in a store, or while a cached property is computed: a child has no such
    thread, so nothing would release its copies of their locks. Exo and z3 are for one thread at a
    time anyway. Not during a search."""
    with _lock:
        yield


def _before() -> None:
    _lock.acquire()
    _forking.add(threading.get_ident())


def _in_parent() -> None:
    """Python forks without the lock, if Ctrl-C comes while `_before` waits for it."""
    if (thread := threading.get_ident()) in _forking:
        _forking.discard(thread)
        _lock.release()


def _in_child() -> None:
    global _lock
    _lock = threading.RLock()  # that other thread has the old one
    _forking.clear()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)

"""The lock of first calls: `fork` waits while another thread holds it."""

from __future__ import annotations

import os
import threading

NO_FORKS = threading.RLock()
"""Held by who is in Exo, in z3 or in a store, or computes a cached property: a child has no such
thread, so nothing would release its copies of their locks. Exo and z3 are for one thread at a time
anyway. It is not held during a search."""
os.register_at_fork(
    before=NO_FORKS.acquire, after_in_parent=NO_FORKS.release, after_in_child=NO_FORKS.release
)

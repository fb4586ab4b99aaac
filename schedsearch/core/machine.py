"""Which machine this is, and how its processes collect garbage."""

from __future__ import annotations

import gc
from functools import cache
from pathlib import Path


@cache
def boot_id() -> str:
    """Names this machine until it is started again; containers on it have the same."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def collect_rarely() -> None:
    """Let Python look for cycles of garbage less often; for processes that are schedsearch's own.

    Exo's visitors leave cycles, and its modules are a large heap to look through: a fifth of
    the time of an expansion went there. What is loaded by now stays; about 25 MB more are in
    use between collections.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)

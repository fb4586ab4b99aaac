"""Which machine this is."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def boot_id() -> str:
    """Names this machine until it is started again; containers on it have the same."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

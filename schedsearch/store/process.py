"""Which process wrote a run, and whether it still lives (Linux)."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def token(pid: int) -> str | None:
    """`boot/pid/start` of a living process, None if there is none.

    Start time (clock ticks since boot) and boot id tell a reused pid from the
    process that had it before.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name in parentheses may hold anything; see proc_pid_stat(5) for the rest.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else f"{_boot_id()}/{pid}/{fields[18]}"


def is_alive(process: str) -> bool:
    """Whether the process that had this token is still running."""
    return token(int(process.split("/")[1])) == process

"""Which process wrote a run, and whether it still lives (Linux).

A process of another machine, or container, cannot be looked at: it is taken to live.
"""

from __future__ import annotations

import socket
from pathlib import Path

from schedsearch.core.machine import boot_id


def token(pid: int) -> str | None:
    """`boot/pid/start/host` of a living process here, None if there is none.

    Start time (clock ticks since boot) and boot id tell a reused pid from the
    process that had it before.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name in parentheses may hold anything; see proc_pid_stat(5) for the rest.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else f"{boot_id()}/{pid}/{fields[18]}/{socket.gethostname()}"


def host(process: str) -> str:
    """Where the process with this token runs; empty for tokens of earlier versions."""
    return "/".join(process.split("/")[3:])


def is_dead(process: str) -> bool:
    """Whether the process with this token is known not to run any more."""
    if host(process) not in ("", socket.gethostname()):
        return False
    living = token(int(process.split("/")[1]))
    return living is None or living.split("/")[:3] != process.split("/")[:3]

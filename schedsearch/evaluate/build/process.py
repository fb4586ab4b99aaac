"""Child processes that are always ended as a group."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KILLED = "killed by somebody else (SIGKILL), as the system does when memory runs out"

WITHHELD: set[str] = set()
"""Variables in the environment of this process that its children here do not get: they mark
children of something else, which are to be killed with it."""

_SWEEPS = 100  # against children that start children meanwhile


@dataclass(frozen=True)
class Finished:
    code: int
    stdout: str
    stderr: str


def run_group(
    argv: Sequence[str | Path],
    *,
    text: str = "",
    timeout_s: float,
    scratch: str | None = None,
) -> Finished | None:
    """Run a command in its own session with `text` on stdin; None if it did not end in time.

    `scratch` is where it puts temporary files. Messages are in English whatever the
    user's locale is, because they are parsed and stored. Raises OSError if the command
    cannot be started.
    """
    place = {"TMPDIR": scratch} if scratch else {}
    child = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
        env=child_environment(place),
    )
    try:
        stdout, stderr = child.communicate(text, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        kill_group(child)
    return Finished(child.returncode, stdout, stderr)


def child_environment(own: Mapping[str, str]) -> dict[str, str]:
    """This process's and `own`, with messages in English."""
    known = {**os.environ, "LC_ALL": "C", **own}
    return {name: value for name, value in known.items() if name not in WITHHELD}


def limited(argv: Sequence[str | Path], memory: int, file: int) -> list[str | Path]:
    """The command with limits in bytes on each process: address space, and largest file.

    By a shell, since code between fork and exec is unsafe in a process with threads, and
    a limit set from outside comes too late for one compiler in thirty.
    """
    kinds = ((resource.RLIMIT_AS, memory, 1024), (resource.RLIMIT_FSIZE, file, 512))
    amounts = [str(_allowed(kind, most) // unit) for kind, most, unit in kinds]
    return ["/bin/sh", "-c", 'ulimit -v "$0"; ulimit -f "$1"; shift; exec "$@"', *amounts, *argv]


def _allowed(kind: int, most: int) -> int:
    """Limits can only be lowered."""
    _, hard = resource.getrlimit(kind)
    return most if hard == resource.RLIM_INFINITY else min(most, hard)


def kill_group(child: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Kill everything left in the session that `child` leads, then reap it."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # the group is already empty
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            stream.close()
    child.wait()


def has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Without reaping it: until then its number stays its group's, which `kill_group` may meet."""
    try:
        ended = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # reaped, where SIGCHLD is ignored
        return True
    return ended is not None


def count_threads(child: subprocess.Popen[bytes]) -> int:
    """Threads of a process; 0 if there is no telling (proc(5): field 20 of `stat`)."""
    try:
        stat = Path(f"/proc/{child.pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[17])


def kill_marked(mark: str, spared: int = 0) -> None:
    """Kill processes that have `mark` in the environment they were started with, and so are
    descendants, whatever sessions they made for themselves; all but the one that is `spared`."""
    for _ in range(_SWEEPS):
        found = [pid for pid in _processes() if mark.encode() in _environment(pid)]
        if not (found := [pid for pid in found if pid != spared]):
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _environment(pid: int) -> bytes:
    """Empty for zombies, kernel threads, and processes of others."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""

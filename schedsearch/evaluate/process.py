"""Child processes that are always ended as a group."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Finished:
    code: int
    stdout: str
    stderr: str


def run_group(argv: Sequence[str | Path], *, text: str = "", timeout_s: float) -> Finished | None:
    """Run a command in its own session with `text` on stdin; None if it did not end in time.

    Messages are in English whatever the user's locale is, because they are
    parsed and stored. Raises OSError if the command cannot be started.
    """
    child = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    try:
        stdout, stderr = child.communicate(text, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        kill_group(child)
    return Finished(child.returncode, stdout, stderr)


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

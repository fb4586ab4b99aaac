"""A command on a real terminal: a pseudo-terminal of 80 columns and 24 lines."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from .invoke import COMMAND, environment

ROWS, COLUMNS = 24, 80


def on_terminal(
    home: Path, args: Sequence[str], variables: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Exit code of `schedsearch ARGS`, and everything it wrote, escape sequences too."""
    own = {"TERM": "xterm-256color", **environment(home), **(variables or {})}
    del own["COLUMNS"]  # the terminal itself says
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(home)
        os.execve(COMMAND[0], [*COMMAND, *args], own)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    written = b""
    while True:
        try:
            chunk = os.read(terminal, 1 << 16)
        except OSError:  # EIO: the other end is closed
            break
        if not chunk:
            break
        written += chunk
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), written.decode(errors="replace")


def visible(written: str) -> list[str]:
    """Every line as it was once drawn, without colours and cursor movements."""
    lines = re.split(r"\r|\n|\x1b\[2K", written)
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip() for line in lines]

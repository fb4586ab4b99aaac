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
    home: Path,
    args: Sequence[str],
    variables: Mapping[str, str] | None = None,
    interrupted_at: str | None = None,
) -> tuple[int, str]:
    """Exit code of `schedsearch ARGS`, and everything it wrote, escape sequences too. Ctrl-C is
    typed once it has written `interrupted_at`."""
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
        if interrupted_at is not None and interrupted_at.encode() in written:
            os.write(terminal, b"\x03")
            interrupted_at = None
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), written.decode(errors="replace")


def visible(written: str) -> list[str]:
    """Every line as it was once drawn, without colours and cursor movements."""
    lines = re.split(r"\r|\n|\x1b\[2K", written)
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip() for line in lines]


_STEP = re.compile(
    r"\x1b\[(?P<count>\d*)(?P<move>[AK])|\x1b\[[0-9;?]*[A-Za-z]|(?P<text>[^\x1b])", re.DOTALL
)


def screen(written: str) -> list[str]:
    """The lines that are left: what was erased, or written over, is gone. The terminal has as many
    lines as are needed."""
    lines, row, column = [""], 0, 0
    for step in _STEP.finditer(written):
        if step["move"] == "A":
            row = max(row - int(step["count"] or 1), 0)
        elif step["move"] == "K":
            lines[row] = "" if step["count"] == "2" else lines[row][:column]
        elif step["text"] == "\r":
            column = 0
        elif step["text"] == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif step["text"] is not None:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + step["text"] + line[column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]

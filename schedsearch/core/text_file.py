"""Reading text files that somebody else may have named."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from schedsearch.core.errors import UserError

LARGEST_FILE = 16 << 20
"""Characters. A thousand long schedules are 10 MB; kernels' files are far smaller."""


def read_text(path: Path) -> str:
    """The text of a regular file. Raises UserError for anything else that is there, and for files
    that are not UTF-8 or larger than `LARGEST_FILE`: a pipe would be waited for, a device has
    no end."""
    try:
        with open(path, encoding="utf-8", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UserError(f"cannot read {path}: it is not a regular file")
            text = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # no UTF-8, or a path with a NUL
        raise UserError(f"cannot read {path}: {error}") from error
    if len(text) > LARGEST_FILE:
        raise UserError(f"cannot read {path}: it is larger than {LARGEST_FILE >> 20} MB")
    return text


def _without_waiting(path: str, flags: int) -> int:
    """Opening a FIFO waits for a writer otherwise."""
    return os.open(path, flags | os.O_NONBLOCK)

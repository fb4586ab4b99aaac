"""Reads text files that somebody else may have named, and replaces files that people keep."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from schedsearch.core.errors import UserError

LARGEST_FILE = 16 << 20
"""Characters. A thousand long schedules are 10 MB; kernels' files are far smaller."""


def read_text(path: Path) -> str:
    """The text of a regular file. Raises UserError for other kinds of files, and for files that are
    not UTF-8 or larger than `LARGEST_FILE`: reading a pipe would wait, and a device has no end."""
    try:
        with open(path, encoding="utf-8", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UserError(
                    f"cannot read {path}: it is not a regular file; give the path of one"
                )
            text = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}; check the path") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"cannot read {path}: byte {error.start + 1} is not UTF-8; is it a text file?"
        ) from error
    except ValueError as error:  # a path with a NUL
        raise UserError(f"cannot read {path}: {error}") from error
    if len(text) > LARGEST_FILE:
        raise UserError(f"cannot read {path}: it is larger than {LARGEST_FILE >> 20} MB")
    return text


def _without_waiting(path: str, flags: int) -> int:
    """Opening a FIFO waits for a writer otherwise."""
    return os.open(path, flags | os.O_NONBLOCK)


def write_text(path: Path, text: str) -> None:
    """Replace a file. Readers, also after a kill of this process, find the old or the new one, and
    a full disk keeps the old one. A pipe or a device is written to. Raises UserError if the file
    cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            _replace(path.resolve(), text)  # a link is followed to the file that people keep
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror or error}; choose another place"
        ) from error


def _replace(place: Path, text: str) -> None:
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask()
    descriptor, draft = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        os.replace(draft, place)
    except BaseException:
        os.unlink(draft)
        raise


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current

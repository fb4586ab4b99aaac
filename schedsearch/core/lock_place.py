"""Where a repository's lock file is, and how it is read and replaced."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.lock_text import format_lock, parse_lock
from schedsearch.core.lockfile import Lock
from schedsearch.core.text_file import read_text

NAME = "schedules.lock"


def find_lock(start: Path) -> Path | None:
    """The lock file in `start` (a directory, or a file in it) or the nearest one above, not
    beyond the repository's top; None if there is none."""
    return next((path for path in _places(start) if path.is_file()), None)


def default_lock(start: Path) -> Path:
    """The one that is found, else where a new one belongs: at the top of the repository
    (where `.git` is), or in the directory itself if that is in none."""
    places = _places(start)
    top = places[-1] if (places[-1].parent / ".git").exists() else places[0]
    return find_lock(start) or top


def _places(start: Path) -> list[Path]:
    folder = start.resolve()
    folder = folder if folder.is_dir() else folder.parent
    places = []
    for each in (folder, *folder.parents):
        places.append(each / NAME)
        if (each / ".git").exists():
            break
    return places


def read_lock(path: Path) -> Lock:
    """The lock of a file. Raises UserError if it cannot be read, or is anything else."""
    return parse_lock(read_text(path), str(path))


def write_lock(path: Path, lock: Lock) -> None:
    """Replace the file: readers, and whoever kills this process, find the old or the new one.

    Raises UserError if it cannot be written, or if what it would say could not be read.
    """
    text = format_lock(lock)
    parse_lock(text, str(path))
    draft = None
    try:
        # A link is followed: the file it names is the one people keep.
        place = path.resolve()
        mode = place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask()
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=place.parent, prefix=f".{place.name}.", delete=False
        ) as file:
            draft = Path(file.name)
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(draft, place)
    except OSError as error:
        if draft is not None:
            draft.unlink(missing_ok=True)
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current

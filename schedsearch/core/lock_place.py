"""Where a repository's lock file is, and how it is read and replaced."""

from __future__ import annotations

from pathlib import Path

from schedsearch.core.lock_text import format_lock, parse_lock
from schedsearch.core.lockfile import Lock
from schedsearch.core.text_file import read_text, write_text

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
    """Replace the file (`write_text`). Raises UserError if it cannot be written, or if what it
    would say could not be read."""
    text = format_lock(lock)
    parse_lock(text, str(path))
    write_text(path, text)

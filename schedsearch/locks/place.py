"""Find, read and replace lock files, and choose the entries that a command means."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.suggest import did_you_mean
from schedsearch.core.text_file import read_text, write_text
from schedsearch.locks.entry import Lock, LockEntry
from schedsearch.locks.format import format_lock, parse_lock

NAME = "schedules.lock"


def find_lock(start: Path) -> Path | None:
    """The lock file in `start` (a directory, or a file in it) or the nearest one above, not
    beyond the repository's top; None if there is none."""
    return next((path for path in _places(start) if path.is_file()), None)


def default_lock(start: Path) -> Path:
    """The lock file that is found, else the place for a new one: the top of the repository (where
    `.git` is), or the directory itself outside of one."""
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
    """Raises UserError if the file cannot be read, or is no lock file."""
    return parse_lock(read_text(path), str(path))


def write_lock(path: Path, lock: Lock) -> None:
    """Replace the file (`write_text`). Raises UserError if it cannot be written, or if the new text
    could not be read."""
    text = format_lock(lock)
    parse_lock(text, str(path))
    write_text(path, text)


def change_lock(path: Path, change: Callable[[Lock], Lock]) -> tuple[Lock, Lock]:
    """Replace a lock file by what `change` makes of it (of an empty one, if there is none). Other
    processes that change it wait meanwhile. Returns it before and after. Raises UserError as
    `read_lock` and `write_lock` do."""
    with _alone(path.resolve().parent):
        before = read_lock(path) if path.exists() else Lock()
        after = change(before)
        write_lock(path, after)
    return before, after


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time in a directory, where its file system can say so. The file itself
    cannot be locked: it is replaced."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield  # the writer says what is wrong
        return
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Chosen:
    """A lock file and entries of it."""

    path: Path
    entries: tuple[LockEntry, ...]


def choose(paths: Sequence[Path], only: Sequence[str] = ()) -> Chosen:
    """The entries meant by `paths`: a lock file (all of it), kernels' files, or directories (what
    is below); nothing: the lock file found from here. The lock file of kernels is looked for
    in their directories and above.

    `only` are patterns (`gemm*`) of procedures, or of their files as the lock names them.
    Raises UserError if one of them matches nothing, or `paths` are of several lock files.
    """
    wanted = list(paths) or [Path()]
    places = {path: _lock_of(path) for path in wanted}
    place, *others = dict.fromkeys(places.values())
    if others:
        raise UserError(
            f"these are of several lock files: {place}, {others[0]}; check one at a time"
        )
    lock = read_lock(place)
    for path in wanted:
        if lock.entries and not any(_below(entry, place, path) for entry in lock.entries):
            raise UserError(f"{place} has no entry for {path}; `schedsearch pin` makes one")
    meant = [e for e in lock.entries if any(_below(e, place, path) for path in wanted)]
    return Chosen(place, _matching(meant, only))


def choose_lock(path: Path, only: Sequence[str] = ()) -> Chosen:
    """The entries of a lock file, whatever it is called. Raises UserError as `choose` does."""
    if not path.is_file():
        raise UserError(f"{path} is not there, or no file: give a lock file")
    return Chosen(path.resolve(), _matching(read_lock(path).entries, only))


def _lock_of(path: Path) -> Path:
    if path.is_file() and (path.suffix == ".lock" or path.name == NAME):
        return path.resolve()
    if not path.exists():
        raise UserError(f"{path} is not there; give a lock file, a kernel's file, or a directory")
    place = find_lock(path)
    if place is None:
        raise UserError(
            f"no {NAME} in {path.resolve()} or above, within its repository; "
            "`schedsearch pin` writes one"
        )
    return place


def _below(entry: LockEntry, place: Path, path: Path) -> bool:
    """Whether the entry's file is `path` or below it, or `path` is the lock file itself."""
    # Path.resolve raises for a link to itself, which the lock may name.
    source = Path(os.path.realpath(place.parent / entry.workload.source))
    wanted = path.resolve()
    return wanted == place or source == wanted or wanted in source.parents or path == Path()


def _matching(entries: Sequence[LockEntry], only: Sequence[str]) -> tuple[LockEntry, ...]:
    for each in only:
        if not any(_matches(entry, each) for entry in entries):
            names = ", ".join(sorted({entry.workload.proc for entry in entries}))
            known = [w for e in entries for w in (e.workload.proc, e.workload.source)]
            close = did_you_mean(each, known)
            raise UserError(f"--only {each!r} matches none of: {names or 'no entries'}{close}")
    return tuple(e for e in entries if not only or any(_matches(e, each) for each in only))


def _matches(entry: LockEntry, only: str) -> bool:
    return fnmatchcase(entry.workload.proc, only) or fnmatchcase(entry.workload.source, only)

"""What runs keep in the cache directory: how much it is, and what nobody has used for long."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.ownership import others_may_write
from schedsearch.evaluate.build.disk import disk_explained
from schedsearch.search.setup.subject import cache_dir
from schedsearch.search.workers.lease import locked

PARTS = ("artifacts", "bench", "verified", "replayed", "ceilings")
"""Folders whose files are made anew when they are missing: shared objects and harnesses,
inputs with expected outputs, what was verified, C of replayed schedules, and bandwidths of this
machine. What else is there is kept."""

_LOCK = "in-use.lock"


@dataclass(frozen=True)
class CachedFile:
    """`used` is when it was last read or written, in seconds since the epoch: to a day, as file
    systems note reading no more often, and some not at all."""

    path: Path
    bytes: int
    used: float


@dataclass(frozen=True)
class Usage:
    """Files of one part of the cache, and those to be deleted."""

    part: str
    files: tuple[CachedFile, ...]
    unused: tuple[CachedFile, ...]


@contextmanager
def in_use() -> Iterator[None]:
    """Nothing is deleted from the cache meanwhile. Raises UserError if others can write there."""
    with disk_explained():
        cache_dir().mkdir(parents=True, exist_ok=True)
        problem = others_may_write(cache_dir())
    if problem:
        raise UserError(
            f"{problem}: what is compiled there is executed. Let nobody else write there, or "
            "choose another directory (XDG_CACHE_HOME)"
        )
    with locked(cache_dir() / _LOCK, shared=True):
        yield


def survey(older_than_s: float, most_bytes: float, now: float) -> list[Usage]:
    """What of the cache was not used for this long; and of the rest what was used longest ago,
    until what stays is no more than `most_bytes`."""
    found = {part: tuple(_files(cache_dir() / part)) for part in PARTS}
    left = sum(file.bytes for files in found.values() for file in files)
    unused = set()
    for file in sorted((f for files in found.values() for f in files), key=lambda f: f.used):
        if now - file.used > older_than_s or left > most_bytes:
            unused.add(file)
            left -= file.bytes
    return [
        Usage(part, files, tuple(file for file in files if file in unused))
        for part, files in found.items()
    ]


def delete(usages: list[Usage]) -> None:
    """Delete what is unused, and folders that are empty then. Raises UserError, having deleted
    nothing, while somebody uses the cache."""
    if not cache_dir().exists():
        return
    with disk_explained(), locked(cache_dir() / _LOCK, waiting=_refuse):
        for file in (file for usage in usages for file in usage.unused):
            file.path.unlink(missing_ok=True)
        for part in PARTS:
            for folder, _, _ in os.walk(cache_dir() / part, topdown=False):
                if not os.listdir(folder):
                    os.rmdir(folder)


def _files(folder: Path) -> Iterator[CachedFile]:
    """Regular files at any depth; links are neither followed nor deleted."""
    for directory, _, names in os.walk(folder):
        for name in names:
            path = Path(directory, name)
            try:
                found = path.lstat()
            except FileNotFoundError:  # a run is making and deleting temporary ones
                continue
            if stat.S_ISREG(found.st_mode):
                yield CachedFile(path, found.st_size, max(found.st_atime, found.st_mtime))


def _refuse(holder: str) -> None:
    raise UserError(
        f"the cache {cache_dir()} is in use by {holder}; nothing was deleted; "
        "try again when its run has ended"
    )

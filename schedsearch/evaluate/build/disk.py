"""Disks that are full, cannot be written or are gone: no kernel is to blame."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from schedsearch.core.errors import DiskError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST)
_GONE = (errno.ENOENT, errno.ESTALE, errno.EIO)

_OTHERS = "other directories (TMPDIR, XDG_CACHE_HOME, XDG_STATE_HOME)"
_ADVICE = {
    **dict.fromkeys(_FULL, f"free some space there, or choose {_OTHERS}"),
    **dict.fromkeys(_FORBIDDEN, f"choose {_OTHERS}"),
    **dict.fromkeys(
        _GONE, f"see that nobody deletes it and that its disk works, or choose {_OTHERS}"
    ),
}


@contextmanager
def disk_explained(place: str | Path = "the temporary or the cache directory") -> Iterator[None]:
    """Turn the system's errors about a disk into DiskError, with a remedy. `place` names the place
    if the system does not."""
    try:
        yield
    except OSError as error:
        if error.errno not in _ADVICE:
            raise
        where = error.filename or place
        raise DiskError(
            f"cannot use {where}: {error.strerror}; {_ADVICE[error.errno]}, and run "
            "again; what was stored is safe"
        ) from error


def refuse_full_disk(messages: str, place: str) -> None:
    """Raise OSError if a program, whose `messages` are in English, failed for lack of space."""
    for number in (*_FULL, errno.EROFS):
        if os.strerror(number) in messages:
            raise OSError(number, os.strerror(number), place)


def require_files(paths: Iterable[str | Path]) -> None:
    """Raise OSError if one of these is not there any more."""
    for path in paths:
        os.stat(path)

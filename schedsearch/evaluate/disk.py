"""Disks that are full or cannot be written: nobody's kernel is to blame."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from schedsearch.core.errors import UserError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def disk_explained() -> Iterator[None]:
    """Turn what the system says of a disk into UserError, with what to do about it."""
    try:
        yield
    except OSError as error:
        if error.errno not in (*_FULL, *_FORBIDDEN):
            raise
        where = error.filename or "the temporary or the cache directory"
        mend = "free some space there, or choose" if error.errno in _FULL else "choose"
        raise UserError(
            f"cannot write {where}: {os.strerror(error.errno)}; {mend} other directories "
            "(TMPDIR, XDG_CACHE_HOME) and run again; what was stored is safe"
        ) from error


def refuse_full_disk(messages: str, place: str) -> None:
    """Raise OSError if a compiler, whose `messages` are in English, failed for lack of space."""
    for number in (*_FULL, errno.EROFS):
        if os.strerror(number) in messages:
            raise OSError(number, os.strerror(number), place)

"""Locks between all processes of a machine, whoever started them: its measuring lease.

A lock is `flock` on a file that everybody may read, in a directory that is everybody's. It
ends with the process that holds it, however that ends, so that none is ever stale.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.evaluate.disk import disk_explained

_SHARED = Path("/tmp")
_LOCKS = Path("/proc/locks")


def lock_file(what: str) -> Path:
    """The same for all users, unless a system has no directory for all of them: their
    `TMPDIR` may differ, and homes may be shared by machines."""
    base = _SHARED if os.access(_SHARED, os.W_OK) else Path(tempfile.gettempdir())
    return base / f"schedsearch-{what}.lock"


@contextmanager
def locked(
    path: Path, shared: bool = False, waiting: Callable[[str], None] = lambda holder: None
) -> Iterator[None]:
    """Hold the lock. `waiting` is called once if somebody else has it, with who: `process 123`.

    Raises UserError if the file is not one of ours.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        descriptor = _open(path)
        try:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting(_holder(descriptor))
                fcntl.flock(descriptor, kind)
            if _is_at(path, descriptor):
                yield
                return
        finally:
            os.close(descriptor)


def _open(path: Path) -> int:
    """Only to read, which is enough to lock: the file may belong to another user."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            with disk_explained(), suppress(FileExistsError):
                descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
                os.fchmod(descriptor, 0o644)  # whatever the umask
                return descriptor
            continue
        except OSError as error:
            raise UserError(f"cannot lock {path}: {error.strerror}. Remove it") from error
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise UserError(f"cannot lock {path}: it is not a file. Remove it")


def _holder(descriptor: int) -> str:
    """Who holds the lock, as far as the system tells: not across containers."""
    status = os.fstat(descriptor)
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError):
        for line in _LOCKS.read_text().splitlines():
            words = line.split()
            if "->" not in words and "FLOCK" in words and place in words:
                return f"process {words[words.index(place) - 1]}"
    return "another process"


def _is_at(path: Path, descriptor: int) -> bool:
    """Who cleans up temporary files may have removed it: then others lock another."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False

"""Locks between processes of a machine: its measuring lease.

A lock is `flock` on a file. It ends with the process that holds it, however that ends, so that
none is ever stale. Of one user's processes one holds it, the others wait: its file is in a
directory that is the user's alone. Other users lock another one, which everybody may open, and
hence hold as long as they like: for that one a process waits a limited time (`Patience`), then
goes on beside them and says so.

filelock does not serve: it opens files to write, which another user's file does not allow, and
its locks are exclusive.
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.ownership import user_name
from schedsearch.evaluate.build.disk import disk_explained
from schedsearch.search.setup.trust import make_private, state_dir

Waiting = Callable[[str], None]

_EVERYBODYS = Path("/tmp")
_LOCKS = Path("/proc/locks")
_LOOK_S = 0.02
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a FIFO would be waited for


def own_lock(what: str) -> Path:
    """This user's lock on this machine. Several machines may share the home directory."""
    locks = state_dir() / "locks"
    folder = locks / (platform.node() or "here")
    with disk_explained(folder):
        make_private(state_dir(), locks, folder)
    return folder / f"{what}.lock"


def common_lock(what: str) -> Path:
    """The lock of all users. It is not in `TMPDIR`, which may differ between users."""
    return _EVERYBODYS / f"schedsearch-{what}.lock"


class Patience:
    """How long a process waits for other users: at most `most_s` at a time, and in total no more
    than `most_s` plus `share` of its run time. Others may measure somewhat more than this process
    does, but cannot stop it."""

    def __init__(self, most_s: float = 60.0, share: float = 0.8) -> None:
        self.most_s, self.share = most_s, share
        self._began, self._waited = time.monotonic(), 0.0
        self._told = False

    @property
    def left_s(self) -> float:
        earned = self.share * (time.monotonic() - self._began)
        return max(0.0, min(self.most_s, self.most_s + earned - self._waited))

    def waited(self, seconds: float) -> None:
        self._waited += seconds

    def lost(self, problem: str) -> None:
        """Says once what happens without the lease."""
        if not self._told:
            print(
                f"warning: {problem}; measuring goes on without the lease of this machine, and "
                "other users' measurements may disturb it",
                file=sys.stderr,
            )
        self._told = True


_open: dict[object, int] = {}
"""Descriptors of locks. A forked child closes its copies: they would keep locks that its parent
gives up. What it leaves later, if it was forked in the midst of it, it does not give up."""


def _forked() -> None:
    for descriptor in _open.values():
        with suppress(OSError):
            os.close(descriptor)
    _open.clear()


os.register_at_fork(after_in_child=_forked)


@contextmanager
def _kept(descriptor: int) -> Iterator[None]:
    """Open until then, in this process only."""
    key = object()
    _open[key] = descriptor
    try:
        yield
    finally:
        if _open.pop(key, None) is not None:
            os.close(descriptor)


@contextmanager
def locked(
    path: Path, shared: bool = False, waiting: Waiting = lambda holder: None
) -> Iterator[None]:
    """Hold a lock of this user. If another process has it, `waiting` is called once with the
    holder's name, `process 123`.

    Raises UserError if the file is not this user's.
    """
    while True:
        with _kept(descriptor := _open_own(path, shared)):
            if not _taken(descriptor, shared):
                waiting(_holder(descriptor))
                fcntl.flock(descriptor, _kind(shared))
            if _is_at(path, descriptor):
                yield
                return


@contextmanager
def lent(
    path: Path, patience: Patience, shared: bool = False, waiting: Waiting = lambda holder: None
) -> Iterator[None]:
    """Hold a lock of all users. Go on without it if others keep it for longer than there is
    `patience`, or replaced the file by something else."""
    while (descriptor := _open_common(path, patience)) is not None:
        with _kept(descriptor):
            taken = _lent(path, descriptor, patience, shared, waiting)
            if not taken or _is_at(path, descriptor):
                yield
                return
    yield


def _lent(path: Path, descriptor: int, patience: Patience, shared: bool, waiting: Waiting) -> bool:
    """Whether others let this process have the lock, as long as there is patience."""
    begin, least = time.monotonic(), patience.left_s
    told = False
    while not (taken := _taken(descriptor, shared)):
        if not told:
            waiting(_holder(descriptor))
        told = True
        if time.monotonic() - begin >= least:
            patience.lost(f"{_holder(descriptor)} keeps {path}")
            break
        time.sleep(_LOOK_S)
    if told:
        patience.waited(time.monotonic() - begin)
    return taken


def _kind(shared: bool) -> int:
    return fcntl.LOCK_SH if shared else fcntl.LOCK_EX


def _taken(descriptor: int, shared: bool) -> bool:
    try:
        fcntl.flock(descriptor, _kind(shared) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF):
            raise
        raise UserError(
            f"{os.readlink(f'/proc/self/fd/{descriptor}')} is on a disk that has no locks "
            f"({error.strerror}); choose others for XDG_STATE_HOME and XDG_CACHE_HOME"
        ) from error
    return True


def _open_own(path: Path, shared: bool) -> int:
    """Open a file that no other user can open: they could hold a lock on it."""
    flags = _OPEN | (os.O_RDONLY if shared else os.O_RDWR)  # NFS wants just that
    try:
        with disk_explained():
            descriptor = os.open(path, flags | os.O_CREAT, 0o600)
    except OSError as error:
        raise UserError(f"cannot lock {path}: {error.strerror}. Remove it") from error
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
        if stat.S_IMODE(found.st_mode) != 0o600:
            os.fchmod(descriptor, 0o600)
        return descriptor
    os.close(descriptor)
    whose = "" if found.st_uid == os.geteuid() else f", and belongs to {user_name(found.st_uid)}"
    raise UserError(f"cannot lock {path}: it is not a file of this user{whose}. Remove it")


def _open_common(path: Path, patience: Patience) -> int | None:
    """Open the file for reading, which is enough to lock it, because it may belong to another user.
    None if it cannot be locked."""
    try:
        with suppress(FileExistsError):
            descriptor = os.open(path, _OPEN | os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o644)
            os.fchmod(descriptor, 0o644)  # whatever the umask
            return descriptor
        descriptor = os.open(path, _OPEN | os.O_RDONLY)
    except FileNotFoundError:
        return _open_common(path, patience) if path.parent.is_dir() else None
    except OSError as error:
        patience.lost(f"cannot open {path}: {error.strerror}")
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    patience.lost(f"{path} is not a regular file")
    return None


def _holder(descriptor: int) -> str:
    """The process that holds the lock. The system does not tell it across containers."""
    status = os.fstat(descriptor)
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError):
        for line in _LOCKS.read_text().splitlines():
            words = line.split()
            if "->" not in words and "FLOCK" in words and place in words:
                return _process(words[words.index(place) - 1])
    return "another process"


def _process(pid: str) -> str:
    with suppress(OSError):
        owner = Path("/proc", pid).stat().st_uid
        if owner != os.geteuid():
            return f"process {pid} of {user_name(owner)}"
    return f"process {pid}"


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the open file is still the one at `path`. If it was cleaned up, other processes lock
    a new one."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False

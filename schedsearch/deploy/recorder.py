"""Counts the calls of this process: for the directory `SCHEDSEARCH_RECORD`, and for `record`.

Callers (runtime/caller.c) add to counters in memory that Python gives them. They ask for a counter
when sizes or layouts are new to them, or the epoch is another than before. It is 0 while nothing is
recorded. Counters stay where they are until the process ends, because calls may go on.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.deploy.recorded import (
    CHUNK,
    COUNTERS,
    MAGIC,
    SUFFIX,
    Called,
    Counted,
    entry,
    merged,
)

RECORD = "SCHEDSEARCH_RECORD"
"""The variable of the environment that names the directory for recordings."""


class Counters(ctypes.Structure):
    """As `struct counter` of runtime/caller.c."""

    _fields_ = (("calls", ctypes.c_uint64), ("ns", ctypes.c_uint64))


class Recorder:
    """Counters of one process, in a file of its own in `folder`, or in memory only (None). Raises
    OSError if there is no room for more."""

    def __init__(self, folder: Path | None) -> None:
        self._counters: dict[Called, Counters] = {}
        self._file = -1 if folder is None else _new_file(folder)
        self._chunks = 0
        self._take(CHUNK)
        self._append(MAGIC)

    def address(self, called: Called) -> int:
        """Of the counter for such calls."""
        if called not in self._counters:
            data = entry(called)
            if self._next + len(data) > len(self._memory):
                self._take(-(-len(data) // CHUNK) * CHUNK)
            place = self._append(data)
            self._counters[called] = Counters.from_buffer(self._memory, place + COUNTERS)
        return ctypes.addressof(self._counters[called])

    def counted(self) -> dict[Called, tuple[int, int]]:
        """Calls and nanoseconds so far."""
        return {called: (own.calls, own.ns) for called, own in list(self._counters.items())}

    def _take(self, size: int) -> None:
        """Memory for entries, which a file keeps. Room is taken at once: a write to a mapped file
        that finds the disk full kills the process."""
        if self._file >= 0:
            os.posix_fallocate(self._file, self._chunks, size)
            self._memory = mmap.mmap(self._file, size, offset=self._chunks)
        else:
            self._memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._chunks += size
        self._next = 0

    def _append(self, data: bytes) -> int:
        """Where it is. Its first bytes are written last: a reader takes them for the end before."""
        place, self._next = self._next, self._next + len(data)
        self._memory[place + 4 : self._next] = data[4:]
        self._memory[place : place + 4] = data[:4]
        return place


class Calls:
    """Calls of kernels in this process while it was recorded; `counted` tells, also meanwhile. In a
    forked child they are those until the fork, and then the child's own."""

    def __init__(self) -> None:
        self._before = _counted_here()
        self._earlier: tuple[Counted, ...] = ()
        """What a process had counted that this one was forked from."""
        self._ended = False
        _counting.add(self)

    @property
    def counted(self) -> tuple[Counted, ...]:
        """Those that were called, in the order of their first calls."""
        if self._ended:
            return self._earlier
        found = list(self._earlier)
        for called, (calls, ns) in _counted_here().items():
            calls_before, ns_before = self._before.get(called, (0, 0))
            found.append(Counted(called, calls - calls_before, (ns - ns_before) * 1e-9))
        return merged(found)

    def _end(self) -> None:
        """Later calls do not count."""
        self._earlier, self._ended = self.counted, True
        _counting.discard(self)

    def _go_on(self, earlier: tuple[Counted, ...]) -> None:
        """In a forked child, which has counted nothing yet."""
        self._earlier, self._before = earlier, {}

    def __repr__(self) -> str:
        lines = []
        for each in self.counted:
            sizes = ", ".join(f"{name}={value}" for name, value in each.called.sizes)
            lines.append(f"{each.called.proc}({sizes}): {each.calls} calls, {each.seconds:.3g} s")
        return "\n".join(lines) or "no calls"


_counting: weakref.WeakSet[Calls] = weakref.WeakSet()
_at_fork: list[tuple[Calls, tuple[Counted, ...]]] = []

_epoch = ctypes.c_uint64(0)
EPOCH = ctypes.addressof(_epoch)

_lock = threading.RLock()
_recorder: Recorder | None = None
_users = 0
_last_epoch = 0
_asked = False
"""Whether the environment was asked."""


def begin_if_asked() -> None:
    """Record into the directory of `SCHEDSEARCH_RECORD`, if there is one, from the first kernel on.
    Raises UserError if no file can be made there."""
    global _asked
    with _lock:
        if not _asked and os.environ.get(RECORD):
            _now()
            _use(1)
        _asked = True


def is_on() -> bool:
    """Whether calls are counted now."""
    return bool(_epoch.value)


def address(called: Called) -> int:
    """Of the counter for such calls, for callers; 0 if there is no room for one."""
    with _lock:
        try:
            return _now().address(called)
        except (OSError, UserError) as error:
            warnings.warn(f"calls of {called.proc} are not recorded: {error}", RuntimeWarning, 2)
            return 0


@contextmanager
def record() -> Iterator[Calls]:
    """Count the kernels that this process calls within, in all of its threads: how often, for how
    long, with what sizes, dtypes and layouts; no data. `tune_recorded` takes what it yields."""
    with _lock:
        begin_if_asked()
        _now()  # says if there is no place for it
        calls = Calls()
        _use(1)
    try:
        yield calls
    finally:
        with _lock:
            calls._end()
            _use(-1)


def _now() -> Recorder:
    global _recorder
    if _recorder is None:
        folder = os.environ.get(RECORD)
        try:
            _recorder = Recorder(Path(folder) if folder else None)
        except OSError as error:
            raise UserError(
                f"{RECORD}={folder}: no recording can be made there: {error.strerror or error}"
            ) from error
    return _recorder


def _counted_here() -> dict[Called, tuple[int, int]]:
    """By this process so far."""
    return _recorder.counted() if _recorder else {}


def _use(change: int) -> None:
    """Begin or end to be one for whom calls are counted."""
    global _users, _last_epoch
    _users += change
    if _users and not _epoch.value:
        _last_epoch += 1
    _epoch.value = _last_epoch if _users else 0


def _new_file(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{os.getpid()}-{time.time_ns():x}{SUFFIX}"
    return os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)


def _forking() -> None:
    """The child cannot count what was until now: the file of its parent goes on changing."""
    with _lock:
        _at_fork[:] = [(calls, calls.counted) for calls in _counting]


def _forked() -> None:
    """A child has a recorder of its own: two processes would lose counts of each other."""
    global _lock, _recorder, _last_epoch
    _lock = threading.RLock()  # another thread may have held it
    _recorder = None
    if _epoch.value:
        _last_epoch += 1
        _epoch.value = _last_epoch
    for calls, earlier in _at_fork:
        calls._go_on(earlier)
    _at_fork.clear()


os.register_at_fork(before=_forking, after_in_parent=_at_fork.clear, after_in_child=_forked)

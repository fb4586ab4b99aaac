"""SQLite's errors, as far as a user can do something about them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from schedsearch.core.errors import UserError

BUSY_TIMEOUT_S = 30

_MOVE_AWAY = (
    "nothing was changed; move the file away (with its -wal and -shm files, if any) "
    "or choose another path"
)
_PERMISSIONS = "make the file and its directory writable, or choose another path"

_ADVICE = {
    sqlite3.SQLITE_NOTADB: _MOVE_AWAY,
    sqlite3.SQLITE_CORRUPT: _MOVE_AWAY,
    sqlite3.SQLITE_READONLY: _PERMISSIONS,
    sqlite3.SQLITE_PERM: _PERMISSIONS,
    sqlite3.SQLITE_CANTOPEN: _PERMISSIONS,
    sqlite3.SQLITE_FULL: "free some disk space and run again; what was committed is safe",
    sqlite3.SQLITE_IOERR: "check the disk and its quota, and run again; what was committed is safe",
    sqlite3.SQLITE_BUSY: (
        f"another process kept it locked for {BUSY_TIMEOUT_S} s; stop that process and run again"
    ),
}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and the file system about `path` into UserError.

    Others (a constraint, a wrong statement) are bugs and pass unchanged.
    """
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot use tuning store {path}: {error}; {_PERMISSIONS}") from error
    except (sqlite3.Error, DBAPIError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        code = getattr(cause, "sqlite_errorcode", None)
        # The low byte is the primary code; the rest refines it.
        advice = None if code is None else _ADVICE.get(code & 0xFF)
        if advice is None:
            raise
        raise UserError(f"cannot use tuning store {path}: {cause}; {advice}") from error

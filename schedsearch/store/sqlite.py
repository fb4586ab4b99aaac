"""Stores in a SQLite file."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event

from schedsearch.core.errors import UserError
from schedsearch.core.shown import shown
from schedsearch.store import revisions
from schedsearch.store.backend import LOCK_TIMEOUT_S, is_writing, to_json, writing

APPLICATION_ID = int.from_bytes(b"schd")
"""In the file's header (`PRAGMA application_id`): this SQLite file is a tuning store."""

_MOVE_AWAY = (
    "nothing was changed; move the file away (with its -wal and -shm files, if any) "
    "or choose another path"
)
_PERMISSIONS = "make the file and its directory writable, or choose another path"
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)
_ROOM = "free some disk space and run again; what was committed is safe"

_ADVICE = {
    sqlite3.SQLITE_NOTADB: _MOVE_AWAY,
    sqlite3.SQLITE_CORRUPT: _MOVE_AWAY,
    sqlite3.SQLITE_READONLY: f"{_PERMISSIONS}; if they are, free some disk space",
    sqlite3.SQLITE_PERM: _PERMISSIONS,
    sqlite3.SQLITE_CANTOPEN: _PERMISSIONS,
    sqlite3.SQLITE_FULL: _ROOM,
    sqlite3.SQLITE_IOERR_SHMSIZE: _ROOM,  # of the memory that is shared, a file beside the store
    sqlite3.SQLITE_IOERR: "check the disk and its quota, and run again; what was committed is safe",
    sqlite3.SQLITE_BUSY: (
        f"another process kept it locked for {LOCK_TIMEOUT_S} s; stop that process and run again"
    ),
}


@dataclass(frozen=True)
class SqliteFile:
    """A `Backend`."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def location(self) -> Path:
        return self.path

    def open(self, create: bool) -> Engine:
        if not self.path.exists():
            if not create:
                _refuse_missing(self.path)
            _create(_place(self.path))
        revision = _check(self.path)
        if create:
            _require_writable(self.path)
        if create or (revision != revisions.NEWEST and _is_writable(self.path)):
            _upgrade(self.path)
            return make_engine(self.path)
        revisions.refuse_older(self.name, revision)
        return make_engine(self.path, reading=not _is_writable(self.path) or _is_full(self.path))

    @contextmanager
    def frozen(self) -> Iterator[Engine]:
        """Of a copy, in which it is migrated."""
        _refuse_missing(self.path)
        _check(self.path)
        with tempfile.TemporaryDirectory(prefix="schedsearch-") as directory:
            copy = Path(directory) / self.path.name
            with closing(_reading(self.path)) as original:
                _copy(original, copy)
            _upgrade(copy)
            engine = make_engine(copy)
            try:
                yield engine
            finally:
                engine.dispose()

    def compact(self, engine: Engine) -> int:
        with closing(engine.raw_connection()) as pooled:
            connection = pooled.driver_connection
            assert isinstance(connection, sqlite3.Connection)
            # The file itself shrinks when nothing is left in the log.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            before = self.path.stat().st_size
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return max(before - self.path.stat().st_size, 0)

    def advice(self, error: Exception) -> str | None:
        if isinstance(error, OSError):
            return _ROOM if error.errno in (errno.ENOSPC, errno.EDQUOT) else _PERMISSIONS
        code = getattr(error, "sqlite_errorcode", None)
        # The low byte is the primary code; the rest refines it.
        return None if code is None else _ADVICE.get(code) or _ADVICE.get(code & 0xFF)


def make_engine(path: Path, *, foreign_keys: bool = True, reading: bool = False) -> Engine:
    """An engine whose transactions are SQLite's own, also for DDL.

    Python's sqlite3 begins transactions late and only for some statements; here
    SQLAlchemy says BEGIN (its documentation, "non-legacy transactional modes").
    Migrations that rebuild tables need `foreign_keys` off. `reading`: writing fails.
    """
    own = {"creator": partial(_reading, path)} if reading else {}
    engine = create_engine(
        URL.create("sqlite", database=str(_place(path))), json_serializer=to_json, **own
    )

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {LOCK_TIMEOUT_S * 1000}")
        connection.execute(f"PRAGMA foreign_keys = {int(foreign_keys)}")
        connection.execute("PRAGMA synchronous = NORMAL")
        # The file may come from elsewhere: its schema calls no function that does anything,
        # and its pages are checked before they are trusted.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer takes the write lock at once: a reader that turns writer later can
        # fail with SQLITE_BUSY, which no timeout helps against.
        kind = "IMMEDIATE" if is_writing(connection) else "DEFERRED"
        connection.exec_driver_sql(f"BEGIN {kind}")

    return engine


def _refuse_missing(path: Path) -> None:
    if not path.exists():
        raise UserError(
            f"no tuning store at {path}; check the path (--store, SCHEDSEARCH_STORE), or make "
            "one with "
            "`schedsearch run FILE`"
        )


def _place(path: Path) -> Path:
    """Where the file itself is: SQLite keeps its log beside what a link leads to. Absolute, also
    because SQLite takes `:memory:` for no file."""
    return Path(os.path.realpath(path))


def _is_writable(path: Path) -> bool:
    """Also SQLite's log has to be written, beside it."""
    return os.access(path, os.W_OK) and os.access(_place(path).parent, os.W_OK)


def _require_writable(path: Path) -> None:
    """Raise OSError before SQLite tries, and leaves files that the store's owner cannot use; and
    UserError for a file that everybody may write: a run goes on from what it says."""
    if path.stat().st_mode & stat.S_IWOTH:
        raise UserError(
            f"everybody can write tuning store {path}, and a run believes what it says of earlier "
            "ones; nothing was changed; `chmod o-w` it, or choose another path"
        )
    if not _is_writable(path):
        read_only = os.statvfs(path).f_flag & os.ST_RDONLY
        number = errno.EROFS if read_only else errno.EACCES
        raise OSError(number, os.strerror(number), str(path))


def _reading(path: Path) -> sqlite3.Connection:
    """A connection that only reads; any thread may have it, as in SQLAlchemy's pools.

    Where no log can be made, or the memory that its users share, SQLite has to be told that
    nobody writes (https://sqlite.org/wal.html#readonly): true, unless somebody could make them.
    """
    log = _log(path)
    if _is_writable(path) or log.exists():
        try:
            return _shared(path)
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if busy or (log.exists() and log.stat().st_size > 0):
                raise
    return _connect(path, "immutable=1")


def _is_full(path: Path) -> bool:
    """Whether there is no room for the memory that users of a writable store share."""
    try:
        _shared(path).close()
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY
    return False


def _shared(path: Path) -> sqlite3.Connection:
    """A connection beside other users of the store. Without permission to write there, it leaves no
    files that the owner cannot use. Raises sqlite3.OperationalError if that is not possible."""
    connection = _connect(path, "mode=ro" if _is_writable(path) else "mode=ro&readonly_shm=1")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except (sqlite3.Error, UnicodeDecodeError):
        connection.close()
        raise
    return connection


def _connect(path: Path, how: str) -> sqlite3.Connection:
    uri = f"{_place(path).as_uri()}?{how}"
    return sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT_S, check_same_thread=False)


def _log(path: Path) -> Path:
    place = _place(path)
    return place.with_name(f"{place.name}-wal")


def _check(path: Path) -> str:
    """Refuse a file that is not a store this program can use; only reads it. Its revision.

    Raises UserError for a foreign SQLite file and for a store of a newer
    revision, sqlite3.Error for a file that SQLite itself cannot read.
    """
    if not path.is_file():
        raise UserError(f"tuning store {path} is not a regular file; give the path of a file")
    try:
        found = _revision(path)
    except (UnicodeDecodeError, sqlite3.OperationalError) as error:
        if hasattr(error, "sqlite_errorcode"):
            raise
        found = None  # names, or what SQLite says about damage, are no text
    if found is None:
        raise UserError(f"tuning store {path} is damaged; {_MOVE_AWAY}")
    revisions.refuse_newer(str(path), found)
    return found


def _revision(path: Path) -> str | None:
    with closing(_reading(path)) as connection:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        if application_id != APPLICATION_ID:
            raise UserError(
                f"{path} is not a schedsearch tuning store; nothing was changed; "
                "choose another path, or move the file away"
            )
        _refuse_strangers(path, connection)
        found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(found[0]) if found else None


def _refuse_strangers(path: Path, connection: sqlite3.Connection) -> None:
    """A trigger or a view in a file from elsewhere would run its author's SQL when it is read
    or written."""
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        if kind not in ("table", "index") or "VIRTUAL" in str(sql).upper().split("(")[0].split():
            raise UserError(
                f"{path} has a {kind} {shown(str(name))[:80]!r}, which schedsearch never makes: "
                "it is not a tuning store, or somebody changed it; choose another path"
            )


def _create(path: Path) -> None:
    """Create a store at `path`; no effect if another process did so first.

    It is built beside `path` and linked there when complete, so that a killed
    process leaves either no store or a whole one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _refuse_orphaned_log(path)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as directory:
        draft = Path(directory) / path.name
        with closing(sqlite3.connect(draft)) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute("PRAGMA journal_mode = WAL")
        _upgrade(draft)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            raise UserError(
                f"cannot create tuning store {path}: its disk has no hard links, which that needs; "
                "choose another path"
            ) from error


def _refuse_orphaned_log(path: Path) -> None:
    """SQLite would play the log of a deleted database into a new one of the same name."""
    log = _log(path)
    if log.exists() and not path.exists():  # in this order: another process may just create it
        raise UserError(
            f"{path} is gone, but its log {log.name} is still there: the store was deleted after "
            f"a killed run; delete {log.name} and {path.name}-shm too, or choose another path"
        )


def _copy(original: sqlite3.Connection, copy: Path) -> None:
    """Raises UserError if there is no room for it."""
    with closing(sqlite3.connect(copy)) as draft:
        try:
            original.backup(draft)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
                raise
            raise UserError(
                f"no room in {copy.parent.parent} for a copy of the store, which is what is read; "
                "free some there, or choose another directory with TMPDIR, and run again"
            ) from error


def _upgrade(path: Path) -> None:
    """Bring a store to the newest revision, in one transaction.

    A store that cannot be written fails here even if nothing is to be done: when
    it is opened, not after the first measurement.
    """
    engine = make_engine(path, foreign_keys=False)
    try:
        with writing(engine).begin() as connection:
            if not revisions.upgrade(connection):
                return
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
            if broken:
                raise RuntimeError(f"migration of {path} broke references: {broken[:5]}")
    finally:
        engine.dispose()

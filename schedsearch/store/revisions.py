"""Creating, recognising and migrating store files."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from schedsearch.core.errors import UserError
from schedsearch.store.engine import beginning, make_engine
from schedsearch.store.failures import BUSY_TIMEOUT_S

APPLICATION_ID = int.from_bytes(b"schd")
"""In the file's header (`PRAGMA application_id`): this SQLite file is a tuning store."""

SCRIPTS = "schedsearch.store:migrations"


def _config(connection: Connection | None = None) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", SCRIPTS)
    return config


def check(path: Path) -> None:
    """Refuse a file that is not a store this program can use; only reads it.

    Raises UserError for a foreign SQLite file and for a store of a newer
    revision, sqlite3.Error for a file that SQLite itself cannot read.
    """
    if not path.is_file():
        raise UserError(f"tuning store {path} is not a regular file; give the path of a file")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S)) as connection:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        if application_id != APPLICATION_ID:
            raise UserError(
                f"{path} is not a schedsearch tuning store; nothing was changed; "
                "choose another path, or move the file away"
            )
        (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if revision not in known:
        raise UserError(
            f"tuning store {path} was written by a newer schedsearch (revision {revision}); "
            "nothing was changed; upgrade schedsearch, or choose another path"
        )


def create(path: Path) -> None:
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
        upgrade(draft)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass


def _refuse_orphaned_log(path: Path) -> None:
    """SQLite would play the log of a deleted database into a new one of the same name."""
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and not path.exists():  # in this order: another process may just create it
        raise UserError(
            f"{path} is gone, but its log {log.name} is still there: the store was deleted after "
            f"a killed run; delete {log.name} and {path.name}-shm too, or choose another path"
        )


def upgrade(path: Path) -> None:
    """Bring a store to the newest revision, in one transaction.

    A store that cannot be written fails here even if nothing is to be done: when
    it is opened, not after the first measurement.
    """
    engine = make_engine(path, foreign_keys=False)
    try:
        with beginning(engine, "IMMEDIATE").begin() as connection:
            config = _config(connection)
            current = MigrationContext.configure(connection).get_current_revision()
            if current == ScriptDirectory.from_config(config).get_current_head():
                # On a read-only file BEGIN IMMEDIATE quietly reads; a statement that writes fails.
                connection.exec_driver_sql("DELETE FROM alembic_version WHERE FALSE")
                return
            command.upgrade(config, "head")
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
            if broken:
                raise RuntimeError(f"migration of {path} broke references: {broken[:5]}")
    finally:
        engine.dispose()

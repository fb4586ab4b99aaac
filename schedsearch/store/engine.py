"""Connections to a SQLite file."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from typing import Literal

from sqlalchemy import URL, Connection, Engine, create_engine, event

from schedsearch.store.failures import BUSY_TIMEOUT_S


def make_engine(path: Path, *, foreign_keys: bool = True) -> Engine:
    """An engine whose transactions are SQLite's own, also for DDL.

    Python's sqlite3 begins transactions late and only for some statements; here
    SQLAlchemy says BEGIN (its documentation, "non-legacy transactional modes").
    Migrations that rebuild tables need `foreign_keys` off.
    """
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        json_serializer=partial(json.dumps, separators=(",", ":")),
    )

    @event.listens_for(engine, "connect")
    def configure(connection: SqliteConnection, _record: object) -> None:
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000}")
        connection.execute(f"PRAGMA foreign_keys = {int(foreign_keys)}")
        connection.execute("PRAGMA synchronous = NORMAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        kind = connection.get_execution_options().get("sqlite_begin", "DEFERRED")
        connection.exec_driver_sql(f"BEGIN {kind}")

    return engine


def beginning(engine: Engine, kind: Literal["DEFERRED", "IMMEDIATE"]) -> Engine:
    """`engine` with that kind of BEGIN.

    A writer takes the write lock at once: a reader that turns writer later can
    fail with SQLITE_BUSY, which no timeout helps against.
    """
    return engine.execution_options(sqlite_begin=kind)

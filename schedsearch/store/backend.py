"""The interface that every kind of database behind a store implements."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from pathlib import Path
from sqlite3 import Error as SqliteError
from typing import Any, Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError, StatementError

from schedsearch.core.errors import UserError
from schedsearch.store.schema import Base

LOCK_TIMEOUT_S = 30
"""How long a writer waits for another one."""

to_json = partial(json.dumps, separators=(",", ":"))
"""What every engine's `json_serializer` is: columns hold the same text in all of them."""


class Backend(Protocol):
    """A place for a store. Of its engine, a transaction is either a writer, and then the only
    one, or it reads one state of the store, whatever is written meanwhile (see `writing`)."""

    @property
    def name(self) -> str:
        """What messages call it: a path, or a URL without its password."""

    @property
    def location(self) -> Path | str:
        """What `locate` makes it from: a path, or a URL with its password."""

    def open(self, create: bool) -> Engine:
        """Create the store if it is not there and `create` says so, migrate it if it is older.

        Raises UserError, having changed nothing, if it is no store, written by a newer
        schedsearch, or does not exist and is not to be created.
        """

    def frozen(self) -> AbstractContextManager[Engine]:
        """An engine that reads the store at the newest revision, without changing anything
        there. Raises UserError as `open` does."""

    def compact(self, engine: Engine) -> int:
        """Give back what deleted rows took; returns bytes."""

    def advice(self, error: Exception) -> str | None:
        """Tells a user how to mend an error of the database; None if it is a bug."""


def writing(engine: Engine) -> Engine:
    """`engine` whose transactions write; without it, they read."""
    return engine.execution_options(schedsearch_writes=True)


def is_writing(connection: Connection) -> bool:
    """Whether a connection is one of `writing`."""
    return bool(connection.get_execution_options().get("schedsearch_writes"))


def said(error: Exception) -> str:
    """What an error says, with its kind unless it is one of ours: the database's own words,
    without what SQLAlchemy adds to them (the statement, its values, a link)."""
    if isinstance(error, StatementError) and error.orig is not None:
        return f"{type(error.orig).__name__}: {error.orig}"
    text = str(error.args[0]) if isinstance(error, SQLAlchemyError) and error.args else str(error)
    return text if isinstance(error, UserError) else f"{type(error).__name__}: {text}"


@contextmanager
def explained(backend: Backend) -> Iterator[None]:
    """Turn errors of the database and the file system into UserError.

    Others (a constraint, a wrong statement) are bugs and pass unchanged.
    """
    try:
        yield
    except (OSError, SqliteError, DBAPIError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        advice = backend.advice(cause) if isinstance(cause, Exception) else None
        if advice is None:
            raise
        system = cause.strerror if isinstance(cause, OSError) else None
        said = system or "; ".join(str(cause).strip().splitlines())
        raise UserError(f"cannot use tuning store {backend.name}: {said}; {advice}") from error


@cache
def upsert(dialect: str, table: type[Base]) -> Any:
    """An INSERT with `on_conflict_do_...`, which each dialect of SQL has a class of its own for."""
    from sqlalchemy.dialects import postgresql, sqlite  # `list` and `best` write nothing

    kinds = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
    return kinds[dialect](table)

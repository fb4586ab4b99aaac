"""An open store's transactions, and what becomes of errors in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, NoResultFound

from schedsearch.core.closeable import Closeable
from schedsearch.core.errors import UserError
from schedsearch.store.backend import Backend, explained, said, writing
from schedsearch.store.location import locate

UNREADABLE = (
    *(UserError, NoResultFound),
    *(ValueError, TypeError, LookupError, AttributeError, RecursionError),
)
"""What comes of reading rows that only a foreign or a damaged store has."""


class Transactions(Closeable):
    """A database that is open: one transaction for each time something is read or written."""

    def __init__(self, backend: Backend, engine: Engine) -> None:
        self._backend = backend
        self._readers, self._writers = engine, writing(engine)

    @classmethod
    def open(cls, where: Path | str, *, create: bool = True) -> Self:
        """Open the store in the file `where`, or in the database of a `postgresql://` URL;
        migrate it to the newest revision if it is older.

        Raises UserError, having changed nothing, if the file is damaged, not a
        store, written by a newer schedsearch or not writable; also if it does
        not exist and `create` is false. The same of a database that cannot be
        reached, and of other programs' tables in it. A store that cannot be written is
        opened all the same if `create` is false, and refuses what writes.
        """
        backend = locate(where)
        with explained(backend):
            return cls(backend, backend.open(create))

    @classmethod
    @contextmanager
    def frozen(cls, where: Path | str) -> Iterator[Self]:
        """The store as it is now, to be read only; nothing there is changed, nor migrated.

        Raises UserError as `open` does, and for a database of an older revision.
        """
        backend = locate(where)
        with ExitStack() as opened:
            with explained(backend):
                engine = opened.enter_context(backend.frozen())
            yield cls(backend, engine)

    @property
    def name(self) -> str:
        """What messages call it: its path, or its URL without the password."""
        return self._backend.name

    @property
    def location(self) -> Path | str:
        """What `open` opens: with the password, if there is one."""
        return self._backend.location

    def close(self) -> None:
        """Release the file. The store can be closed twice, but not used again."""
        self._readers.dispose()

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with explained(self._backend), self._readers.begin() as connection:
            try:
                yield connection
            except (*UNREADABLE, DBAPIError) as error:
                if isinstance(error, DBAPIError) and self._explains(error):
                    raise
                raise UserError(
                    f"tuning store {self.name} holds what schedsearch did not write there "
                    f"({said(error)}); choose another store"
                ) from error

    def _explains(self, error: DBAPIError) -> bool:
        """Whether the backend knows what a user can do about it."""
        return isinstance(error.orig, Exception) and self._backend.advice(error.orig) is not None

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with explained(self._backend), self._writers.begin() as connection:
            yield connection

"""Where a store is, from what a user writes."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from schedsearch.core.errors import UserError
from schedsearch.core.store_name import without_password
from schedsearch.store.backend import Backend
from schedsearch.store.postgresql import PostgresqlDatabase
from schedsearch.store.sqlite import SqliteFile

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")


def locate(where: Path | str) -> Backend:
    """The backend for a path, for `sqlite:///FILE`, or for the URL of a PostgreSQL database.

    Raises UserError for a URL of anything else.
    """
    url = _SCHEME.match(where) if isinstance(where, str) else None
    if url is None:
        return SqliteFile(Path(where))
    if url["scheme"] == "sqlite":
        file = str(where).removeprefix("sqlite:///")
        if not file or file == where:
            raise UserError(
                f"{where} names no file; write sqlite:///FILE, or the path of the file alone"
            )
        return SqliteFile(Path(file))
    if url["scheme"] not in ("postgresql", "postgres"):
        raise UserError(
            f"a tuning store is a file, sqlite:///FILE or postgresql://USER@HOST/DATABASE, not "
            f"{url[0]}...; write --store FILE"
        )
    try:
        return PostgresqlDatabase(make_url(str(where)))
    except (ArgumentError, ValueError) as error:
        raise UserError(
            f"{without_password(str(where))} is no URL; write postgresql://USER@HOST:PORT/DATABASE"
        ) from error

"""Where a store is, from what a user writes."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote_plus

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from schedsearch.core.errors import UserError
from schedsearch.store.backend import Backend
from schedsearch.store.postgresql import SECRET, PostgresqlDatabase
from schedsearch.store.sqlite import SqliteFile

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.*", re.DOTALL)
_USER = re.compile(r"(://[^:@]*:).*(?=@)", re.DOTALL)
_VALUE = re.compile(r"([?&;]([^=&;]*)=)[^&;]*")


def locate(where: Path | str) -> Backend:
    """The backend for a path, or for the URL of a PostgreSQL database.

    Raises UserError for a URL of anything else.
    """
    url = _SCHEME.match(where) if isinstance(where, str) else None
    if url is None:
        return SqliteFile(Path(where))
    if url["scheme"] not in ("postgresql", "postgres"):
        raise UserError(
            f"a tuning store is a file or postgresql://USER@HOST/DATABASE, not {url[0]}..."
        )
    try:
        return PostgresqlDatabase(make_url(str(where)))
    except (ArgumentError, ValueError) as error:
        raise UserError(
            f"{without_password(str(where))} is no URL: postgresql://USER@HOST:PORT/DATABASE"
        ) from error


def without_password(text: str) -> str:
    """`text` as it can be shown: secrets of the URL in it are `***`. It may be what somebody just
    meant to be one, which SQLAlchemy cannot parse."""
    return _URL.sub(lambda found: _hidden(found[0]), text)


def _hidden(url: str) -> str:
    hidden = _USER.sub(r"\1***", url)
    return _VALUE.sub(lambda v: f"{v[1]}***" if SECRET.search(unquote_plus(v[2])) else v[0], hidden)

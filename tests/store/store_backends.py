"""The backends that the contract is checked of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import psycopg
import pytest
from postgresql_server import programs, temporary_server

from schedsearch.store import Store

servers = ExitStack()
"""What is to be stopped when the tests end."""


@cache
def postgresql() -> str:
    """URL of an empty database, of a server that is started when it is first needed."""
    if programs() is None:
        pytest.skip("PostgreSQL's initdb is not installed")
    return servers.enter_context(temporary_server())


def postgresql_url(directory: Path) -> str:
    """A store of the directory's own: a schema, which is made faster than a database."""
    url = postgresql()
    schema = "s" + hashlib.sha256(bytes(directory)).hexdigest()[:16]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
    return f"{url}&options=-csearch_path%3D{schema}"


PLACES: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda directory: str(directory / "tuning.sqlite"),
    "postgresql": postgresql_url,
}
"""Where a store is that keeps its data in, or is named by, a directory."""

BACKENDS: dict[str, Callable[[Path], Store]] = {
    name: lambda directory, place=place: Store.open(place(directory))  # type: ignore[misc]
    for name, place in PLACES.items()
}
"""How to open, again and again, one store per directory."""

KINDS = ("sqlite", pytest.param("postgresql", marks=pytest.mark.slow))
"""Parameters of tests and fixtures."""

Reopen = Callable[[], Store]

"""Revisions of the schema: which ones there are, and how to get to the newest.

A store of the newest one is read without alembic, whose import takes 0.1 s: calls of kernels wait
for it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, insert

from schedsearch.core.errors import UserError
from schedsearch.store.schema import Base

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

NEWEST = "0011"
"""The last one of `SCRIPTS`, as a test makes sure."""
SCRIPTS = "schedsearch.store:migrations"
VERSION_TABLE = "alembic_version"


def _config(connection: Connection, version_table: str) -> Config:
    from alembic.config import Config

    config = Config(attributes={"connection": connection, "version_table": version_table})
    config.set_main_option("script_location", SCRIPTS)
    return config


@cache
def _scripts(location: str) -> ScriptDirectory:
    """It reads a file per revision."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", location)
    return ScriptDirectory.from_config(config)


def refuse_newer(name: str, revision: str | None) -> None:
    """Raise UserError if the store `name` is of a revision that is not known here."""
    if revision == NEWEST:
        return
    known = {script.revision for script in _scripts(SCRIPTS).walk_revisions()}
    if revision is not None and revision not in known:
        raise UserError(
            f"tuning store {name} was written by a newer schedsearch (revision {revision}); "
            "nothing was changed; upgrade schedsearch, or choose another path"
        )


def refuse_older(name: str, revision: str) -> None:
    """Raise UserError if the store `name`, which can only be read, would have to be migrated."""
    if revision != NEWEST:
        raise UserError(
            f"tuning store {name} was written by an older schedsearch (revision {revision}), and "
            "cannot be brought up to date where it is: make the file and its directory writable, "
            "or copy it"
        )


def current(connection: Connection, version_table: str) -> str | None:
    """The store's revision, None if it has none yet."""
    from alembic.runtime.migration import MigrationContext

    context = MigrationContext.configure(connection, opts={"version_table": version_table})
    return context.get_current_revision()


def upgrade(connection: Connection, version_table: str = VERSION_TABLE) -> bool:
    """Bring a store to the newest revision, inside the caller's transaction; False if it is.

    Even then something is written (nothing, to SQL), so that a store that cannot be
    written fails here.
    """
    revision = current(connection, version_table)
    if revision is None:
        _create(connection, version_table)
        return True
    if revision == NEWEST:
        # On a read-only file BEGIN IMMEDIATE quietly reads; a statement that writes fails.
        connection.exec_driver_sql(f"DELETE FROM {version_table} WHERE FALSE")
        return False
    from alembic import command

    command.upgrade(_config(connection, version_table), "head")
    return True


def _create(connection: Connection, version_table: str) -> None:
    """Tables as the models have them, which all revisions one after the other come to as well: a
    test makes sure. They take ten times as long."""
    Base.metadata.create_all(connection)
    key = PrimaryKeyConstraint("version_num", name=f"{version_table}_pkc")  # as alembic calls it
    version = Table(version_table, MetaData(), Column("version_num", String(32)), key)
    version.create(connection)
    connection.execute(insert(version).values(version_num=NEWEST))

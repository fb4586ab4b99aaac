"""Stores in a PostgreSQL database, for several machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect
from sqlalchemy.engine.interfaces import DBAPIConnection

from schedsearch.core.errors import UserError
from schedsearch.core.store_name import SECRET
from schedsearch.store import revisions
from schedsearch.store.backend import LOCK_TIMEOUT_S, is_writing, to_json, writing
from schedsearch.store.schema import Base

DRIVER = "postgresql+psycopg"

VERSION_TABLE = "schedsearch_version"
"""By which a store is recognised: other programs have an `alembic_version` too."""

_IDLE_S = 30
"""How long a writing transaction may do nothing before the server ends it."""

_WRITE_LOCK = int.from_bytes(b"schedsch")

_CONNECT = {"application_name": "schedsearch", "connect_timeout": "10"}

_RESOURCES = "free resources of the server and run again; what was committed is safe"
_CONNECTION = (
    "check the URL, the server and the network, and the password (it belongs in ~/.pgpass, "
    "or in PGPASSWORD), and run again; what was committed is safe"
)
_RIGHTS = (
    "use a role that may create and write tables there (to look at them, one that may read them)"
)

# By the beginning of SQLSTATE (PostgreSQL's appendix A); the longest that fits.
_ADVICE = {
    "08": _CONNECTION,
    "28": _CONNECTION,
    "57P": _CONNECTION,
    "3D": _CONNECTION,
    "25P03": _CONNECTION,
    "3F000": "create the schema that search_path names, or name another one",
    "42501": _RIGHTS,
    "25006": _RIGHTS,
    "53": _RESOURCES,
    "58": _RESOURCES,
    "55P03": (
        f"another process kept it locked for {LOCK_TIMEOUT_S} s; find it in pg_stat_activity, "
        "stop it and run again"
    ),
    "XX": "the server's files are damaged; restore the database, or choose another one",
}


@dataclass(frozen=True)
class PostgresqlDatabase:
    """A `Backend`: the tables are in the first schema of the role's search path."""

    url: URL

    @property
    def name(self) -> str:
        secret = [name for name in self.url.query if SECRET.search(name)]
        shown = self.url.set(drivername="postgresql").difference_update_query(secret)
        return shown.render_as_string(hide_password=True)

    @property
    def location(self) -> str:
        return self.url.set(drivername="postgresql").render_as_string(hide_password=False)

    def open(self, create: bool) -> Engine:
        engine = self._engine()
        try:
            # A user that only reads may have no right to write.
            if create or not self._is_newest(engine):
                with writing(engine).begin() as connection:
                    self._check(connection, create)
                    revisions.upgrade(connection, VERSION_TABLE)
        except BaseException:
            engine.dispose()
            raise
        return engine

    @contextmanager
    def frozen(self) -> Iterator[Engine]:
        engine = self._engine()
        try:
            if not self._is_newest(engine):
                raise UserError(
                    f"{self.name} was written by an earlier schedsearch; bring it up first: "
                    f"schedsearch list --store {self.name}"
                )
            yield engine
        finally:
            engine.dispose()

    def compact(self, engine: Engine) -> int:
        """Nothing: servers do it themselves, from time to time."""
        return 0

    def advice(self, error: Exception) -> str | None:
        state = getattr(error, "sqlstate", None)
        if state is None:
            # libpq has none for connections that fail or break, nor for options it does not know.
            import psycopg  # optional; here, it has been imported

            unknown = "invalid connection option" in str(error)
            return _CONNECTION if unknown or isinstance(error, psycopg.OperationalError) else None
        fitting = [prefix for prefix in _ADVICE if state.startswith(prefix)]
        return _ADVICE[max(fitting, key=len)] if fitting else None

    def _engine(self) -> Engine:
        settings = {name: v for name, v in _CONNECT.items() if name not in self.url.query}
        try:
            engine = create_engine(
                self.url.set(drivername=DRIVER),
                connect_args=settings,
                json_serializer=to_json,
                pool_pre_ping=True,  # a server that was restarted costs no run
            )
        except ImportError as error:
            raise UserError(
                f"tuning store {self.name} needs PostgreSQL's driver, which is not here ({error}); "
                "pip install 'schedsearch[postgres]'"
            ) from error
        event.listen(engine, "connect", _configure)
        event.listen(engine, "begin", _begin)
        return engine

    def _is_newest(self, engine: Engine) -> bool:
        """Whether the store that has to be there needs no upgrade. It is only read."""
        with engine.begin() as connection:
            self._check(connection, create=False)
            return revisions.current(connection, VERSION_TABLE) == revisions.NEWEST

    def _check(self, connection: Connection, create: bool) -> None:
        tables = set(inspect(connection).get_table_names())
        if VERSION_TABLE in tables:
            revisions.refuse_newer(self.name, revisions.current(connection, VERSION_TABLE))
        elif clash := sorted(tables & Base.metadata.tables.keys()):
            raise UserError(
                f"{self.name} is not a schedsearch tuning store, but has tables of these names: "
                f"{', '.join(clash)}; nothing was changed; choose another database, or another "
                "schema with ?options=-csearch_path%3DNAME"
            )
        elif not create:
            raise UserError(
                f"no tuning store in {self.name}; check the URL, or make one with "
                "`schedsearch run FILE`"
            )


def _configure(connection: DBAPIConnection, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute(f"SET lock_timeout = '{LOCK_TIMEOUT_S}s'")
    cursor.close()
    connection.commit()


def _begin(connection: Connection) -> None:
    """Readers see one state. Writers take turns, as with SQLite: candidates' ids are larger
    than their parents', and what a transaction decides from what it read stays true.

    The lock is the transaction's, so the server frees it when a client dies; it notices that
    late if the client's machine is gone, hence the timeout.
    """
    if is_writing(connection):
        connection.exec_driver_sql(
            f"SET LOCAL idle_in_transaction_session_timeout = '{_IDLE_S}s'; "
            f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})"
        )
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

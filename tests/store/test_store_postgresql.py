"""What is PostgreSQL's own: URLs, passwords, databases of others, servers that go away."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from store_backends import postgresql, postgresql_url
from store_data import CODE, ROOT, correct, start, start_tree, step
from typer.testing import CliRunner

import schedsearch.store.migrations
from schedsearch.cli.main import app
from schedsearch.core.errors import UserError
from schedsearch.core.records import TuningRecord
from schedsearch.core.store_name import without_password
from schedsearch.store import Store, revisions
from schedsearch.store import postgresql as backend
from schedsearch.store.location import locate
from schedsearch.store.schema import Base


@pytest.fixture
def url(tmp_path: Path) -> str:
    return postgresql_url(tmp_path)


@pytest.fixture
def connection(url: str) -> Iterator[psycopg.Connection]:
    """Another client, in the store's schema."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def tables(connection: psycopg.Connection) -> set[str]:
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname=current_schema()")
    return {name for (name,) in found}


# -- URLs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ann:secret@db.example:5432/tuning", "postgresql://ann:***@db.example:5432/tuning"),
        ("postgres://ann:se:cr@t/@db/tuning", "postgres://ann:***@db/tuning"),
        ("--store=postgresql://ann:secret@db/tuning", "--store=postgresql://ann:***@db/tuning"),
        ("postgresql://db/tuning?user=ann&password=secret&x=1", "postgresql://db/tuning?user=ann&password=***&x=1"),
        ("postgresql://ann@db/tuning", "postgresql://ann@db/tuning"),
        ("kernels/mm.py:3@x", "kernels/mm.py:3@x"),
        ("postgresql://db/tuning?sslpassword=secret&x=1", "postgresql://db/tuning?sslpassword=***&x=1"),
        ("postgresql://db/t?ssl%70assword=a b&PASSWORD=c", "postgresql://db/t?ssl%70assword=***&PASSWORD=***"),
        ("postgresql://db/t?oauth_client_secret=a;token=b", "postgresql://db/t?oauth_client_secret=***;token=***"),
        ("--store=postgresql://ann:my secret@db/tuning", "--store=postgresql://ann:***@db/tuning"),
        ("postgresql://a/n:secret@db:x/tuning", "postgresql://a/n:***@db:x/tuning"),
    ],
)  # fmt: skip
def test_passwords_are_not_shown(text: str, shown: str) -> None:
    assert without_password(text) == shown


def test_the_name_has_no_password() -> None:
    where = "postgresql://ann:secret@db.example/tuning?password=secret&application_name=x"
    assert locate(where).name == "postgresql://ann:***@db.example/tuning?application_name=x"


@pytest.mark.parametrize("secret", ["password", "sslpassword", "ssl%70assword", "xToken"])
def test_no_message_has_a_secret(secret: str) -> None:
    where = f"postgresql://ann@127.0.0.1:1/tuning?{secret}=hush&connect_timeout=1"
    assert "hush" not in locate(where).name
    assert "hush" in str(locate(where).location)
    with pytest.raises(UserError) as caught:
        Store.open(where)
    assert "hush" not in str(caught.value)
    assert "sqlalche" not in str(caught.value)
    with pytest.raises(UserError) as caught:
        locate(where.replace(":1/", ":port/"))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("where", ["postgresql://ann:a%40b%2Fc@db.example/tuning?x=1", "mm.sqlite"])
def test_a_location_is_found_again(where: str) -> None:
    assert locate(locate(where).location) == locate(where)


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (
            "mysql://ann:secret@db/tuning",
            "a tuning store is a file, sqlite:///FILE or postgresql://",
        ),
        ("postgresql://ann:secret@db:port/tuning", "is no URL; write postgresql://USER@HOST"),
    ],
)
def test_other_urls_are_refused(where: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as caught:
        Store.open(where)
    assert "secret" not in str(caught.value)


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UserError, match=r"pip install 'schedsearch\[postgres\]'"):
        Store.open("postgresql://ann:secret@db/tuning")


def test_nobody_answers() -> None:
    nowhere = "postgresql://ann:secret@127.0.0.1:1/tuning"
    with pytest.raises(UserError, match=r"127\.0\.0\.1.*refused.*check the URL.*pgpass") as caught:
        Store.open(nowhere)
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_an_unknown_database() -> None:
    with pytest.raises(UserError, match=r'database "nope" does not exist.*check the URL'):
        Store.open(postgresql().replace("/postgres", "/nope"))


@pytest.mark.slow
def test_a_wrong_password(url: str, connection: psycopg.Connection) -> None:
    """The tests' server trusts whoever reaches its socket: a role that may not log in."""
    connection.execute("DO $$BEGIN CREATE ROLE nologin; EXCEPTION WHEN OTHERS THEN END$$")
    with pytest.raises(UserError, match=r"nologin.*not permitted to log in.*PGPASSWORD") as caught:
        Store.open(url.replace("tester@", "nologin:secret@"))
    assert "secret" not in str(caught.value)


# -- databases -------------------------------------------------------------------------------


@pytest.mark.slow
def test_readers_create_nothing(url: str, connection: psycopg.Connection) -> None:
    with pytest.raises(UserError, match=r"no tuning store in postgresql://.*schedsearch run FILE"):
        Store.open(url, create=False)
    assert tables(connection) == set()


@pytest.mark.slow
def test_tables_of_another_program_are_left_alone(url: str, connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE run (mine text)")
    connection.execute("CREATE TABLE alembic_version (version_num text)")
    with pytest.raises(UserError, match=r"not a schedsearch tuning store.*: run; nothing was chan"):
        Store.open(url)
    assert tables(connection) == {"run", "alembic_version"}


@pytest.mark.slow
def test_it_lives_beside_tables_of_another_program(
    url: str, connection: psycopg.Connection
) -> None:
    connection.execute("CREATE TABLE alembic_version (version_num text)")
    connection.execute("INSERT INTO alembic_version VALUES ('theirs')")
    with Store.open(url) as store:
        start_tree(store)
    assert connection.execute("SELECT * FROM alembic_version").fetchall() == [("theirs",)]
    assert tables(connection) >= Base.metadata.tables.keys()


@pytest.mark.slow
def test_a_schema_that_is_not_there() -> None:
    with pytest.raises(UserError, match="create the schema that search_path names"):
        Store.open(f"{postgresql()}&options=-csearch_path%3Dnowhere")


@pytest.mark.slow
def test_a_role_that_may_only_read(url: str, connection: psycopg.Connection) -> None:
    with Store.open(url) as store:
        start_tree(store)
    (schema,) = connection.execute("SELECT current_schema()").fetchone() or ()
    connection.execute("DO $$BEGIN CREATE ROLE guest LOGIN; EXCEPTION WHEN OTHERS THEN END$$")
    connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO guest")
    connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO guest")
    guest = url.replace("tester@", "guest@")
    with Store.open(guest, create=False) as store:
        (scope,) = store.scopes()
        assert len(store.load(scope)) == 4
        with pytest.raises(UserError, match=r"permission denied.*a role that may create and writ"):
            store.add_code([CODE])
    for where in (guest, f"{url}%20-cdefault_transaction_read_only%3Don"):
        with pytest.raises(UserError, match=r"a role that may create and write"):
            Store.open(where)
    with Store.open(f"{url}%20-cdefault_transaction_read_only%3Don", create=False) as store:
        assert len(store.load(scope)) == 4


@pytest.mark.slow
def test_a_newer_store_is_refused(url: str, connection: psycopg.Connection) -> None:
    Store.open(url).close()
    connection.execute("UPDATE schedsearch_version SET version_num = '9999'")
    with pytest.raises(UserError, match=r"written by a newer schedsearch .revision 9999"):
        Store.open(url)


NEXT_REVISION = """
import sqlalchemy as sa
from alembic import op

revision = "test"
down_revision = "0011"


def upgrade():
    op.add_column("run", sa.Column("mood", sa.Text(), server_default="good"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_an_upgrade_happens_whole_or_not_at_all(
    url: str,
    connection: psycopg.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fails: bool,
) -> None:
    with Store.open(url) as store:
        scope, _ = start_tree(store)
        before = store.load(scope)
    (packaged,) = schedsearch.store.migrations.__path__
    scripts = tmp_path / "migrations"
    shutil.copytree(packaged, scripts, ignore=shutil.ignore_patterns("__pycache__"))
    wrong = '    op.execute("INSERT INTO nowhere VALUES (1)")\n' * fails
    (scripts / "versions" / "test_revision.py").write_text(NEXT_REVISION + wrong)
    with monkeypatch.context() as patch:
        patch.setattr(revisions, "SCRIPTS", str(scripts))
        patch.setattr(revisions, "NEWEST", "test")
        if fails:
            with pytest.raises(Exception, match="nowhere"):
                Store.open(url)
        else:
            with Store.open(url, create=False) as store:
                assert store.load(scope) == before
    columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'run'"
    columns += " AND table_schema = current_schema()"
    assert (("mood",) in connection.execute(columns).fetchall()) is not fails


@pytest.mark.slow
def test_newest_revision_equals_the_models(url: str) -> None:
    with Store.open(url) as store, store._read() as connection:
        options = {"version_table": backend.VERSION_TABLE}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Base.metadata) == []


@pytest.mark.slow
def test_the_command_line_takes_urls(url: str) -> None:
    with Store.open(url) as store:
        scope, run = start_tree(store)
        store.record(scope, run, correct(ROOT.then(step(0)), 2.0))
    for command in ("list", "best"):
        answer = CliRunner().invoke(app, [command, "--json", "--store", url])
        assert answer.exit_code == 0, answer.output
        assert len(json.loads(answer.output)) == 1


# -- servers ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_connections_lost_between_transactions_cost_nothing(
    url: str, connection: psycopg.Connection
) -> None:
    with Store.open(url) as store:
        scope, run = start_tree(store)
        cut(connection)
        assert store.counts(scope) == (4, 0)
        cut(connection)
        store.finish_run(run, "finished", {})


@pytest.mark.slow
def test_a_connection_lost_within_a_transaction(url: str, connection: psycopg.Connection) -> None:
    with Store.open(url) as store:
        scope, _ = start_tree(store)
        walk = store.walk(scope)
        next(walk)
        cut(connection)
        with pytest.raises(UserError, match="what was committed is safe"):
            list(store.walk(scope)) and list(walk)
        assert store.counts(scope) == (4, 0)


def cut(connection: psycopg.Connection) -> None:
    connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE pid != pg_backend_pid() AND application_name = 'schedsearch'"
    )


@pytest.mark.slow
def test_a_writer_that_waits_too_long(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "LOCK_TIMEOUT_S", 0.1)
    with Store.open(url) as store, Store.open(url) as other:
        scope, run = start(store)
        with other._write():
            with pytest.raises(UserError, match=r"lock timeout.*pg_stat_activity"):
                store.add_root(scope, run, TuningRecord(ROOT, None))
            assert store.load(scope) == []
        assert store.add_root(scope, run, TuningRecord(ROOT, None))


@pytest.mark.slow
def test_readers_cannot_write(url: str) -> None:
    with (
        Store.open(url) as store,
        pytest.raises(UserError, match="read-only transaction"),
        store._read() as connection,
    ):
        connection.exec_driver_sql("DELETE FROM run")


@pytest.mark.slow
def test_a_large_tree_is_walked_in_pieces(url: str, connection: psycopg.Connection) -> None:
    """More rows than one fetch has, and a writer meanwhile."""
    with Store.open(url) as store:
        scope, run = start(store)
        store.add_root(scope, run, TuningRecord(ROOT, None))
        connection.execute(
            "INSERT INTO candidate (id, workload_id, target_id, parent_id, run_id, rewrite, "
            "trace_key, depth, message, stage_s) "
            "SELECT n, workload_id, target_id, 1, run_id, %s, 'key' || n, 1, '', '{}' "
            "FROM candidate, generate_series(2, 3000) n",
            [json.dumps(step(0).to_json())],
        )
        walk = store.walk(scope)
        next(walk)
        store.add_code([CODE])
        assert sum(1 for _ in walk) == 2999

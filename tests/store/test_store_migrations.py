"""Revisions: the newest equals the models, older stores are brought up, rows stay."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from store_data import CODE, ROOT, SOURCE, start_tree, step, target, workload

import schedsearch.store.migrations
from schedsearch.core.errors import UserError
from schedsearch.core.records import Outcome
from schedsearch.store import RunStatus, Scope, Store, revisions
from schedsearch.store.schema import Base
from schedsearch.store.sqlite import make_engine

FIRST_REVISION = Path(__file__).parent / "data" / "revision_0001.sql"

ADDS_A_COLUMN = """
import sqlalchemy as sa
from alembic import op

revision = "test"
down_revision = "0009"


def upgrade():
    op.add_column("run", sa.Column("mood", sa.Text(), server_default="good"))
"""

FAILS_HALFWAY = ADDS_A_COLUMN + '    op.execute("INSERT INTO nowhere VALUES (1)")\n'

BREAKS_REFERENCES = ADDS_A_COLUMN + '    op.execute("DELETE FROM workload")\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tuning.sqlite"


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes this program one with another, last revision."""

    def become(script: str) -> None:
        (packaged,) = schedsearch.store.migrations.__path__
        copy = tmp_path / "migrations"
        shutil.copytree(packaged, copy, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "versions" / "test_revision.py").write_text(script)
        monkeypatch.setattr(revisions, "SCRIPTS", str(copy))

    return become


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_newest_revision_equals_the_models(path: Path) -> None:
    Store.open(path).close()
    with make_engine(path).connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, Base.metadata) == []


def test_models_and_migrations_declare_the_same_checks(path: Path, tmp_path: Path) -> None:
    """Alembic compares neither CHECK constraints nor deferred references."""
    Store.open(path).close()
    modelled = tmp_path / "modelled.sqlite"
    engine = make_engine(modelled)
    Base.metadata.create_all(engine)
    engine.dispose()
    for clause in ("CHECK", "DEFERRABLE"):
        lines = [
            sorted(
                line.strip().rstrip(",")
                for statement in dump(database)
                for line in statement.splitlines()
                if clause in line
            )
            for database in (path, modelled)
        ]
        assert lines[0] == lines[1] != []


def test_a_store_of_the_first_revision_keeps_its_rows(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIRST_REVISION.read_text())
    with Store.open(path, create=False) as store:
        (scope,) = store.scopes()
        assert scope == Scope(1, 1)
        assert (store.workload(scope), store.target(scope)) == (workload(), target())
        assert store.source(scope) == SOURCE
        (run,) = store.runs()
        assert (run.status, run.summary) == (RunStatus.FINISHED, {"best": 2.0})
        root, first, second, third = store.load(scope)
        assert root.expanded
        assert [c.record.trace for c in (first, second, third)] == [
            ROOT.then(step(n)) for n in range(3)
        ]
        assert second.record.duplicate_of == first.trace_key
        assert third.record.outcome is Outcome.ILLEGAL
        assert [c.record.speedup for c in store.best(scope)] == [2.0]
        assert store.stage_seconds(scope) == {"expand": 0.5}
        assert store.code(CODE.key) == CODE


def test_an_older_store_is_upgraded_on_open(
    path: Path, next_version: Callable[[str], None]
) -> None:
    with Store.open(path) as store:
        scope, run = start_tree(store)
        before = store.load(scope)
    next_version(ADDS_A_COLUMN)
    with Store.open(path, create=False) as store:
        assert store.load(scope) == before
        assert store.add_expansion(scope, run, ROOT.then(step(0)).key, [], {})
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT mood FROM run").fetchall() == [("good",)]


@pytest.mark.parametrize(
    ("script", "error"),
    [(FAILS_HALFWAY, "no such table: nowhere"), (BREAKS_REFERENCES, "broke references")],
)
def test_a_failed_upgrade_leaves_the_older_store(
    path: Path, next_version: Callable[[str], None], script: str, error: str
) -> None:
    with Store.open(path) as store:
        start_tree(store)
    before = dump(path)
    next_version(script)
    with pytest.raises(Exception, match=error):
        Store.open(path)
    assert dump(path) == before


def test_a_newer_store_is_refused_and_left_alone(
    path: Path, next_version: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    next_version(ADDS_A_COLUMN)
    Store.open(path).close()
    monkeypatch.undo()
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"newer schedsearch .revision test.*upgrade schedsearch"):
        Store.open(path)
    assert path.read_bytes() == before

"""Revisions: the newest equals the models, older stores are brought up, rows stay."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import JSON, MetaData, create_engine, insert, select
from store_backends import KINDS, PLACES
from store_data import CODE, ROOT, SOURCE, start_tree, step, target, workload

import schedsearch.store.migrations
from schedsearch.core.alignment import UNKNOWN
from schedsearch.core.errors import UserError
from schedsearch.core.records import Compiler, Outcome
from schedsearch.store import RunStatus, Scope, Store, postgresql, revisions
from schedsearch.store.schema import Base
from schedsearch.store.sqlite import make_engine

FIRST_REVISION = Path(__file__).parent / "data" / "revision_0001.sql"
ONE_CORE_AND_TWO = Path(__file__).parent / "data" / "revision_0008.sql"

ADDS_A_COLUMN = """
import sqlalchemy as sa
from alembic import op

revision = "test"
down_revision = "0011"


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
        monkeypatch.setattr(revisions, "NEWEST", "test")

    return become


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_the_newest_revision_is_known_without_alembic() -> None:
    assert revisions._scripts(revisions.SCRIPTS).get_current_head() == revisions.NEWEST


def migrate_from_the_first(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIRST_REVISION.read_text())
    Store.open(path, create=False).close()


def test_newest_revision_equals_the_models(path: Path) -> None:
    migrate_from_the_first(path)
    with make_engine(path).connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, Base.metadata) == []


def test_models_and_migrations_declare_the_same_checks(path: Path, tmp_path: Path) -> None:
    """Alembic compares neither CHECK constraints nor deferred references."""
    migrate_from_the_first(path)
    modelled = tmp_path / "modelled.sqlite"
    Store.open(modelled).close()
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


@pytest.mark.normal
def test_a_store_of_the_first_revision_keeps_its_rows(path: Path) -> None:
    migrate_from_the_first(path)
    with Store.open(path, create=False) as store:
        (scope,) = store.scopes()
        assert scope == Scope(1, 1)
        assert (store.workload(scope), store.target(scope)) == (
            workload(),
            replace(target(), align=UNKNOWN),
        )
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


@pytest.fixture(params=KINDS)
def searched_by_cores(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store of revision 0008 is: of one core and of two, of two patch levels of gcc."""
    recorded = tmp_path / "recorded.sqlite"
    with closing(sqlite3.connect(recorded)) as connection:
        connection.executescript(ONE_CORE_AND_TWO.read_text())
    if request.param == "sqlite":
        return str(recorded)
    url = PLACES["postgresql"](tmp_path)
    copy_to_postgresql(recorded, url)
    return url


def copy_to_postgresql(recorded: Path, url: str) -> None:
    known = MetaData()
    engine = create_engine(url.replace("postgresql://", f"{postgresql.DRIVER}://"))
    with engine.begin() as into, make_engine(recorded).connect() as source:
        config = revisions._config(into, postgresql.VERSION_TABLE)
        command.upgrade(config, "0008")
        known.reflect(source)
        for name in ("workload", "target", "run", "candidate", "measurement", "feature"):
            table = known.tables[name]
            for column in table.c:
                if isinstance(column.type, JSON):
                    column.type.none_as_null = True
            rows = source.execute(select(table).order_by(next(iter(table.c)))).mappings().all()
            into.execute(insert(table), [dict(row) for row in rows])
    engine.dispose()


GCC_AND_CLANG = replace(
    target(), align=UNKNOWN, other_compilers=(Compiler("clang", "19.1.7", "/usr/bin/clang"),)
)


@pytest.mark.parametrize("cores", [1, 8])
@pytest.mark.parametrize("version", ["12.2.0", "12.2.9"])
def test_cores_and_patch_levels_find_the_search_of_others(
    searched_by_cores: str, cores: int, version: str
) -> None:
    gcc = Compiler("gcc", version, "/usr/bin/gcc")
    with Store.open(searched_by_cores, create=False) as store:
        wanted = replace(GCC_AND_CLANG, cores=cores, compiler=gcc)
        scope = store.find_scope(workload(), wanted)
        assert scope is not None
        assert [len(store.runs(tree)) for tree in store.trees(scope)] == [3, 1]
        later = replace(wanted, compiler=replace(gcc, version="12.3.0"))
        assert store.find_scope(workload(), later) is None
        assert store.find_scope(workload(), replace(wanted, threads=2)) is None


@pytest.mark.normal
def test_trees_of_one_target_become_one_tree(searched_by_cores: str) -> None:
    """Nothing is lost: what is known of a schedule on one core and on two, is known of one."""
    first, second, third, fourth = (ROOT.then(step(n)) for n in range(4))
    below = second.then(step(5))
    deeper = below.then(step(6))
    with Store.open(searched_by_cores, create=False) as store:
        scope = store.find_scope(workload(), GCC_AND_CLANG)
        assert scope is not None
        known = {c.record.trace: c for c in store.load(replace(scope, tree=1))}
        best = store.best(replace(scope, tree=1), 3)
    assert list(known) == [ROOT, first, second, third, fourth, below, deeper]  # parents first
    for trace in (first, second, third, fourth):
        assert known[trace].parent_id == known[ROOT].id
    assert known[below].parent_id == known[second].id
    assert known[deeper].parent_id == known[below].id
    assert [c.record.outcome for c in known.values()] == [
        Outcome.CORRECT, Outcome.CORRECT, Outcome.CORRECT, Outcome.INCORRECT,
        Outcome.DUPLICATE, Outcome.CORRECT, Outcome.ILLEGAL,
    ]  # fmt: skip
    timed = [[m.speedup.value for m in c.measurements] for c in known.values()]
    assert timed == [[1.0, 1.0, 1.0], [2.0, 2.5], [3.0, 3.1], [], [], [4.0], []]
    assert known[second].record.duplicate_of is None  # it was of `first`, and that of it
    assert known[fourth].record.duplicate_of == below.key
    assert known[second].expanded
    assert {c.run_id for c in known.values()} == {1, 4}
    assert [c.record.trace for c in best] == [below, second, first]


def test_what_was_timed_in_another_way_stays_apart(searched_by_cores: str) -> None:
    with Store.open(searched_by_cores, create=False) as store:
        caches = [
            {run.settings["cache"] for tree in store.trees(scope) for run in store.runs(tree)}
            for scope in store.scopes()
            if store.workload(scope).proc == "mv"
        ]
        assert sorted(map(sorted, caches)) == [["cold"], ["warm"]]
        alone = store.find_scope(workload("alone"), GCC_AND_CLANG)
        assert alone is not None
        assert [c.record.speedup for c in store.best(alone, 1)] == [5.0]


@pytest.mark.normal
def test_runs_keep_their_cores_and_compilers(searched_by_cores: str) -> None:
    with Store.open(searched_by_cores, create=False) as store:
        then = {run.id: store.target(run.scope, run.id) for run in store.runs()}
        found = {run: (each.cores, each.compiler.version) for run, each in then.items()}
        assert found == {
            1: (1, "12.2.0"), 2: (1, "12.2.0"), 3: (1, "12.2.0"), 4: (2, "12.2.0"),
            5: (2, "12.2.0"), 6: (2, "12.2.1"), 7: (2, "12.2.1"), 8: (2, "13.2.0"),
        }  # fmt: skip
        scope = store.find_scope(workload(), GCC_AND_CLANG)
        assert scope is not None
        assert store.target(scope).compiler.version == "12.2.1"  # of the last run
        known = {c.record.trace: c for c in store.load(replace(scope, tree=1))}
        versions = {n: store.target_of(known[ROOT.then(step(n))]).compiler.version for n in (0, 1)}
        assert versions == {0: "12.2.1", 1: "12.2.0"}  # that of the measurement that ranks it


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


@pytest.mark.normal
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

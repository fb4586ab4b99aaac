"""Files that are not usable stores, and disks that fail: a UserError, nothing touched."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from store_data import CODE, ROOT, children, start, start_tree, step

from schedsearch.core.errors import UserError
from schedsearch.core.records import TuningRecord
from schedsearch.store import Store, sqlite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tuning.sqlite"


@pytest.fixture
def filled(path: Path) -> Path:
    """A closed store of several pages."""
    with Store.open(path) as store:
        scope, run = start_tree(store)
        store.add_expansion(
            scope, run, ROOT.then(step(0)).key, children(ROOT.then(step(0)), 500), {}
        )
    return path


def everything(directory: Path) -> dict[Path, bytes | None]:
    return {p: p.read_bytes() if p.is_file() else None for p in directory.rglob("*")}


@contextmanager
def refused(path: Path, says: str) -> Iterator[None]:
    """The block raises a UserError about `path` that says so, and changes no file.

    SQLite may add the empty companions by which readers of a store coordinate.
    """
    before = everything(path.parent)
    with pytest.raises(UserError, match=says) as caught:
        yield
    assert str(path) in str(caught.value)
    after = everything(path.parent)
    companions = {Path(f"{path}-wal"), Path(f"{path}-shm")}
    assert after.keys() - before.keys() <= companions
    assert {p: after.get(p) for p in before} == before


def test_open_creates_directories_and_a_durable_store(tmp_path: Path) -> None:
    path = tmp_path / "new" / "100% mine?#" / "tuning.sqlite"
    with Store.open(path) as store:
        scope, _ = start_tree(store)
    assert [p.name for p in path.parent.iterdir()] == ["tuning.sqlite"]
    with Store.open(path, create=False) as store:
        assert len(store.load(scope)) == 4


@pytest.mark.normal
def test_a_store_is_where_a_link_leads(filled: Path, tmp_path: Path) -> None:
    """With its log, which others may be writing."""
    links = tmp_path / "links"
    links.mkdir()
    link = links / "store"
    link.symlink_to(filled)
    with Store.open(filled) as store:
        start(store, "in the log")
        filled.chmod(0o444)
        assert (
            as_mortal("print(len(Store.open(sys.argv[1], create=False).scopes()))", link) == "2\n"
        )
    assert list(links.iterdir()) == [link]


@pytest.mark.normal
def test_names_that_sqlite_takes_for_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:a?mode=ro#b", " it's \u00e9\n%20\udcff"):
        with Store.open(name) as store:
            start_tree(store)
        with Store.open(name, create=False) as store:
            assert len(store.scopes()) == 1
        assert Path(name).is_file()


def test_readers_do_not_wait_for_writers(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LOCK_TIMEOUT_S", 0)
    with closing(sqlite3.connect(filled)) as other:
        other.execute("BEGIN IMMEDIATE")
        with Store.open(filled, create=False) as store:
            assert len(store.scopes()) == 1


def test_connections_are_configured(path: Path) -> None:
    Store.open(path).close()
    with sqlite.make_engine(path).connect() as connection:
        read = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "busy_timeout", "synchronous")
        }
    normal = 1
    assert read == {
        "journal_mode": "wal",
        "foreign_keys": 1,
        "busy_timeout": 30_000,
        "synchronous": normal,
    }


def test_missing_store_is_not_created_for_readers(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "tuning.sqlite"
    with pytest.raises(UserError, match=r"no tuning store at .*schedsearch run FILE"):
        Store.open(path, create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"not a database, but long enough\n" * 10, b"short"])
def test_not_sqlite(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with refused(path, "not a database.*move the file away"):
        Store.open(path)


def test_empty_file(path: Path) -> None:
    path.touch()
    with refused(path, "is not a schedsearch tuning store"):
        Store.open(path)


def test_foreign_sqlite_file(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE candidate (id INTEGER PRIMARY KEY)")
    with refused(path, "is not a schedsearch tuning store.*choose another path"):
        Store.open(path)


def test_directory(path: Path) -> None:
    path.mkdir()
    with refused(path, "is not a regular file"):
        Store.open(path)


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_truncated(filled: Path, keep: float) -> None:
    os.truncate(filled, int(filled.stat().st_size * keep))
    with refused(filled, "malformed.*move the file away"):
        Store.open(filled)


@pytest.mark.parametrize("text", [b"CREATE", b"alembic"])
def test_damage_that_is_no_text(filled: Path, text: bytes) -> None:
    """SQLite's words about it are none, either."""
    content = filled.read_bytes()
    assert text in content
    filled.write_bytes(content.replace(text, text[:-1] + b"\xe7"))
    with refused(filled, "damaged; nothing was changed; move the file away"):
        Store.open(filled)


def test_no_revision(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as connection, connection:
        connection.execute("DELETE FROM alembic_version")
    with refused(filled, "damaged; nothing was changed; move the file away"):
        Store.open(filled)


def test_truncated_with_its_log_left_behind(filled: Path) -> None:
    """The log of a killed process must not be merged into a damaged file."""
    copy = filled.with_name("copy.sqlite")
    with Store.open(filled) as store:
        start(store, "in the log")
        log = Path(f"{filled}-wal").read_bytes()
        copy.write_bytes(filled.read_bytes())
    Path(f"{copy}-wal").write_bytes(log)
    os.truncate(copy, 5000)
    with refused(copy, "malformed"):
        Store.open(copy)


@pytest.mark.normal
def test_the_log_of_a_deleted_store_is_not_played_into_a_new_one(path: Path) -> None:
    log = path.with_name(f"{path.name}-wal")
    child = "import sys, os, pathlib; from schedsearch.store import Store\n"
    child += "store = Store.open(pathlib.Path(sys.argv[1])); store.add_code([]); os._exit(1)"
    subprocess.run([sys.executable, "-c", child, path], check=False)
    assert log.exists()
    path.unlink()
    before = everything(path.parent)
    with pytest.raises(UserError, match=r"is gone, but its log .*-wal is still there"):
        Store.open(path)
    assert everything(path.parent) == before
    for left in path.parent.glob(f"{path.name}-*"):
        left.unlink()
    Store.open(path).close()


@pytest.mark.normal
def test_damage_inside_is_reported_when_it_is_met(filled: Path) -> None:
    page = 4096
    with filled.open("r+b") as file:
        file.seek(page)
        file.write(b"\xff" * (filled.stat().st_size - page))
    with pytest.raises(UserError, match=r"tuning\.sqlite: .*malformed.*move the file away"):
        Store.open(filled)


def test_file_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match=r"file/tuning\.sqlite.*choose another path"):
        Store.open(tmp_path / "file" / "tuning.sqlite")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_disk_without_hard_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*paths: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    with refused(path, "no hard links.*choose another path"):
        Store.open(path)


def test_directory_that_cannot_be_made() -> None:
    with pytest.raises(UserError, match=r"cannot use tuning store /proc/schedsearch/t\.sqlite"):
        Store.open(Path("/proc/schedsearch/t.sqlite"))


def _obey_permissions() -> None:
    """Give up the capabilities by which root ignores file modes (capabilities(7))."""
    prctl_bounding_set_drop = 24
    cap_dac_override, cap_dac_read_search = 1, 2
    for capability in (cap_dac_override, cap_dac_read_search):
        ctypes.CDLL(None).prctl(prctl_bounding_set_drop, capability, 0, 0, 0)


def as_mortal(what: str, path: Path) -> str:
    """What doing that to a store says in a process that file modes apply to, root or not."""
    script = (
        "import sys; from pathlib import Path\n"
        "from schedsearch.core.errors import UserError; from schedsearch.store import Store\n"
        f"try: {what}\n"
        "except UserError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        preexec_fn=_obey_permissions,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


OLD_STORE = Path(__file__).parent / "data" / "revision_0001.sql"
OPEN = "Store.open(Path(sys.argv[1]))"
READ = """
    with Store.open(Path(sys.argv[1]), create=False) as store:
        (scope,) = store.scopes()
        print(len(store.load(scope)), store.best(scope))
        store.register(store.workload(scope), store.target(scope), "")
"""


@pytest.mark.normal
def test_read_only_file(filled: Path) -> None:
    filled.chmod(0o444)
    before = filled.read_bytes()
    said = as_mortal(OPEN, filled)
    assert f"cannot use tuning store {filled}: Permission denied; make the file and its" in said
    assert filled.read_bytes() == before
    # Of another user, they would keep the owner from writing.
    assert list(filled.parent.iterdir()) == [filled]


@pytest.mark.normal
def test_read_only_directory(tmp_path: Path) -> None:
    directory = tmp_path / "locked"
    directory.mkdir()
    directory.chmod(0o555)
    said = as_mortal(OPEN, directory / "tuning.sqlite")
    assert "Permission denied" in said
    assert "make the file and its directory writable" in said
    assert list(directory.iterdir()) == []


@pytest.mark.normal
@pytest.mark.parametrize("used", [False, True], ids=["closed", "in use by another"])
def test_what_cannot_be_written_can_be_read(filled: Path, used: bool) -> None:
    directory = filled.parent
    with Store.open(filled) if used else nullcontext():
        filled.chmod(0o444)
        directory.chmod(0o555)
        before = sorted(directory.iterdir())
        said = as_mortal(READ, filled)
        assert sorted(directory.iterdir()) == before
        directory.chmod(0o755)
    assert said.startswith("504 []\n")
    assert "attempt to write a readonly database; make the file" in said


@pytest.mark.normal
def test_what_cannot_be_written_cannot_be_migrated(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OLD_STORE.read_text())
    path.chmod(0o444)
    said = as_mortal(READ, path)
    assert "was written by an older schedsearch" in said
    assert "or copy it" in said


@pytest.mark.normal
def test_full_disk_loses_nothing_committed(filled: Path) -> None:
    with Store.open(filled) as store:
        (scope,) = store.scopes()
        (run,) = store.runs()
        before = store.load(scope)
        parent = ROOT.then(step(1))
        many = children(parent, 2000)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (filled.stat().st_size, hard))
        try:
            with pytest.raises(UserError, match="what was committed is safe"):
                store.add_expansion(scope, run.id, parent.key, many, {})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert store.load(scope) == before
        assert store.add_expansion(scope, run.id, parent.key, many, {})


def test_compacting_gives_back_what_code_took(path: Path) -> None:
    with Store.open(path) as store:
        start(store)
        store.add_code([replace(CODE, key=str(n), source="x" * 10_000) for n in range(50)])
        assert store.drop_code(1) == 50
        assert store.compact() > 400_000
        assert path.stat().st_size < 400_000


def test_a_lock_held_too_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LOCK_TIMEOUT_S", 0)
    with Store.open(path) as store, closing(sqlite3.connect(path)) as other:
        scope, run = start(store)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UserError, match=r"is locked.*stop that process"):
            store.add_root(scope, run, TuningRecord(ROOT, None))
        assert store.load(scope) == []
        other.rollback()
        assert store.add_root(scope, run, TuningRecord(ROOT, None))


@pytest.mark.normal
def test_what_everybody_can_write_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "tuning.sqlite"
    Store.open(path).close()
    path.chmod(0o666)
    with pytest.raises(UserError, match="everybody can write tuning store"):
        Store.open(path)
    with Store.open(path, create=False) as store:
        assert store.scopes() == []
    path.chmod(0o664)
    Store.open(path).close()

"""`schedsearch gc`: what it deletes, what it never does, and when it waits."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from schedsearch.core.records import GeneratedC
from schedsearch.search.caches import in_use
from schedsearch.store import Store

from .invoke import Answer

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]
DAY = 86400.0


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of 1 kB: two old artifacts, a new one, old test data, and a user's procedure."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "cache" / "schedsearch"
    for name, days in (
        *(("artifacts/aa/old.so", 40), ("artifacts/bb/older.so", 50), ("artifacts/bb/new.so", 1)),
        *(("bench/old.bin", 35), ("procedures/mm.py", 90)),
    ):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(1000))
        used = time.time() - days * DAY
        os.utime(file, (used, used))
    return root


def left(cache: Path) -> set[str]:
    return {path.name for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"}


def test_what_was_not_used_for_long_is_deleted(run: Run, cache: Path) -> None:
    answer = run("gc")
    assert answer.code == 0, answer.err
    assert "artifacts: deleted 2 of 3 files, 2 kB of 3 kB" in answer.out
    assert left(cache) == {"new.so", "mm.py"}
    assert not (cache / "artifacts" / "aa").exists()


def test_a_dry_run_deletes_nothing(run: Run, cache: Path) -> None:
    before = left(cache)
    parts = json.loads(run("gc", "--dry-run", "--older-than", "45", "--json").out)["parts"]
    assert [(p["part"], p["deleted_files"], p["files"]) for p in parts] == [
        ("artifacts", 1, 3),
        ("bench", 0, 1),
        ("verified", 0, 0),
        ("replayed", 0, 0),
        ("ceilings", 0, 0),
    ]
    assert left(cache) == before


def test_the_least_recently_used_go_until_the_rest_fits(run: Run, cache: Path) -> None:
    assert run("gc", "--older-than", "1000d", "--max-size", "2.5kB").code == 0
    assert left(cache) == {"new.so", "old.bin", "mm.py"}


def test_reading_is_using(run: Run, cache: Path) -> None:
    old = cache / "artifacts" / "aa" / "old.so"
    os.utime(old, (time.time(), old.stat().st_mtime))
    run("gc")
    assert left(cache) == {"old.so", "new.so", "mm.py"}


def test_links_are_left_alone(run: Run, cache: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "precious").write_text("x")
    (cache / "artifacts" / "there").symlink_to(mine)
    (cache / "bench" / "file").symlink_to(mine / "precious")
    run("gc", "--older-than", "0")
    assert (mine / "precious").read_text() == "x"
    assert (cache / "bench" / "file").is_symlink()


def test_nothing_is_deleted_while_a_run_uses_it(run: Run, cache: Path) -> None:
    before = left(cache)
    with in_use():
        answer = run("gc")
    assert answer.code == 2
    assert "is in use by" in answer.err
    assert "nothing was deleted" in answer.err
    assert left(cache) == before


def test_without_a_cache_there_is_nothing_to_do(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    assert run("gc").code == 0
    assert not (tmp_path / "none").exists()


def test_a_store_is_trimmed(run: Run, cache: Path) -> None:
    with Store.open("mine.sqlite") as store:
        store.add_code([GeneratedC("mm", "", "x" * 1000, str(n)) for n in range(100)])
    options = ("gc", "--store", "mine.sqlite", "--keep", "3")
    dry = run(*options, "--dry-run")
    assert "mine.sqlite: would delete the C of 100 candidates" in dry.out
    done = json.loads(run(*options, "--json").out)["store"]
    assert done["codes"] == 100
    assert done["freed_bytes"] > 50_000


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--keep", "3"), "--keep is about a store"),
        (("--older-than", "soon"), "--older-than 'soon' is not an age"),
        (("--max-size", "big"), "--max-size 'big' is not a size"),
        (("--store", "absent.sqlite"), "no tuning store at absent.sqlite"),
    ],
)
def test_wrong_options(run: Run, cache: Path, options: tuple[str, ...], says: str) -> None:
    answer = run("gc", *options)
    assert answer.code == 2
    assert says in answer.err

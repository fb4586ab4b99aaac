"""Stores on disks that are full or read-only."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from schedsearch.store.database import Store

from .disks import Disk, mounted

pytestmark = pytest.mark.slow

OPTIONS = ("--executor", "inline", "--budget", "150", "--transforms", "reorder,fission")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with mounted(tmp_path / "disk", "1m") as disk:
        yield disk


def content(store: Path) -> set[tuple[object, ...]]:
    """All that was committed and stays, of a store that is sound."""
    committed = {"candidate": "id, trace_key", "measurement": "*", "code": "*"}
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {
            row
            for table, columns in committed.items()
            for row in connection.execute(f"SELECT '{table}', {columns} FROM {table}")
        }


def fill(disk: Disk, name: str, left: int) -> Path:
    """Leave so many bytes free; the file to delete."""
    with (disk.seen / name).open("wb", buffering=0) as ballast:
        try:
            while ballast.write(bytes(4096)):
                pass
        except OSError:
            ballast.truncate(max(ballast.tell() - left, 0))
    return disk.place / name


def test_a_full_disk_can_be_read_and_with_room_the_search_goes_on(tuned: Path, disk: Disk) -> None:
    store = disk.place / "s.sqlite"
    shutil.copy(tuned / "schedsearch.sqlite", disk.seen / store.name)
    before = content(disk.kept(store.name))
    ballast, rest = fill(disk, "ballast", left=80 << 10), fill(disk, "rest", left=0)
    search = ["run", "mm.py", *OPTIONS, "--trials", "5", "--store", store]
    looks = [[command, "--json", "--store", store] for command in ("list", "best")]
    *seen, full, list_, best, again = disk.steps(
        tuned, *looks, rest, search, *looks, ballast, search
    )
    assert [each.code for each in (*seen, list_, best)] == [0, 0, 0, 0]
    assert full.code == 2
    assert f"cannot use tuning store {store}: " in full.err
    assert "free some disk space and run again; what was committed is safe" in full.err
    assert again.code == 0, again.err
    assert before < content(disk.kept(store.name))


def test_whatever_only_reads_works_where_nothing_can_be_written(tuned: Path, disk: Disk) -> None:
    store = disk.place / "s.sqlite"
    shutil.copy(tuned / "schedsearch.sqlite", disk.seen / store.name)
    with Store.open(tuned / "schedsearch.sqlite", create=False) as opened:
        (scope,) = opened.scopes()
        first, second = (f"{each.id}" for each in opened.best(scope, 2))
    reads = [
        ["list"],
        ["best"],
        ["show", first],
        ["explain", first],
        ["compare", first, second],
        ["replay", first],
        ["export", first, "--out", "out"],
        ["pin"],
    ]
    writes = [["run", "mm.py", *OPTIONS], ["gc", "--keep", "1"]]
    asked = [[*words, "--store", store] for words in (*reads, *writes)]
    disk.remount("ro")
    *answers, joined, into = disk.steps(
        tuned, *asked, ["merge", store, "--store", "all"], ["merge", "all", "--store", store]
    )
    assert [each.code for each in (*answers, joined)] == [0] * len(reads) + [2, 2, 0], answers
    for refused in (*answers[len(reads) :], into):
        assert f"cannot use tuning store {store}: " in refused.err
        assert "make the file and its directory writable, or choose another path" in refused.err
    assert "0 candidates changed" in joined.out

"""Lock files that several processes change."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.locks.entry import Lock
from schedsearch.locks.place import change_lock, read_lock

from .entries import ENTRY


def add(path: Path, name: str) -> None:
    own = replace(ENTRY, workload=replace(ENTRY.workload, proc=name))

    def change(before: Lock) -> Lock:
        time.sleep(0.2)
        return before.having([own])

    change_lock(path, change)


@pytest.mark.normal
def test_no_process_loses_what_another_adds(tmp_path: Path) -> None:
    path = tmp_path / "schedules.lock"
    fork = multiprocessing.get_context("fork")
    adding = [fork.Process(target=add, args=(path, name)) for name in ("one", "two", "three")]
    for each in adding:
        each.start()
    for each in adding:
        each.join()
    assert {e.workload.proc for e in read_lock(path).entries} == {"one", "two", "three"}


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot write"):
        change_lock(tmp_path / "nowhere" / "schedules.lock", lambda lock: lock)

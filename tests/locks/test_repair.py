"""`schedsearch check --repair`: the procedure has changed since its schedule was pinned."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cli.invoke import Answer

from schedsearch.core.trace import Rewrite, Trace
from schedsearch.locks.entry import Lock, LockEntry
from schedsearch.locks.place import read_lock, write_lock

pytestmark = [pytest.mark.normal, pytest.mark.usefixtures("hurried")]

Run = Callable[..., Answer]

SPLIT = (("factor", 8), ("inner", "ji"), ("outer", "jo"), ("tail", "perfect"))
TRACE = Trace(
    (
        Rewrite("reorder", 1, (0, 0), "for j in seq(0, 32)"),
        Rewrite("split", 1, (0, 0, 0), "for j in seq(0, 32)", SPLIT),
        Rewrite("unroll", 1, (0, 0, 0, 0), "for ji in seq(0, 8)"),
    )
)


@pytest.fixture
def locked(tuned: Path, run: Run) -> LockEntry:
    """An entry with a schedule of three steps, and one for another machine beside it."""
    assert run("pin").code == 0
    (entry,) = read_lock(tuned / "schedules.lock").entries
    entry = replace(entry, trace=TRACE)
    elsewhere = replace(entry, target=replace(entry.target, cpu="another"))
    write_lock(tuned / "schedules.lock", Lock((entry, elsewhere)))
    return entry


def change(home: Path, old: str, new: str) -> None:
    text = (home / "mm.py").read_text()
    assert old in text
    (home / "mm.py").write_text(text.replace(old, new))


@pytest.mark.slow
def test_moved_loops_are_found_again_and_the_entry_is_written_anew(
    tuned: Path, locked: LockEntry, run: Run
) -> None:
    """A statement before the nest, and larger arrays: every path and label has changed."""
    change(tuned, "[32, 32]", "[48, 48]")
    change(tuned, "(0, 32)", "(0, 48)")
    loop = "    for i in seq(0, 48):\n        for j in seq(0, 48):\n"
    change(tuned, loop, f"{loop}            C[i, j] = 0.0\n{loop}")
    answer = run("check", ".", "--repair", "--budget", "15", "--only", "matmul32")
    assert answer.code == 0, answer.err
    assert answer.out.count("applied elsewhere") == 3
    assert "because expected `for j in seq(0, 32)` there, found `" in answer.out
    assert "not repaired: locked on another processor" in answer.out
    assert re.search(r"^\+  \{ transform = ", answer.out, re.MULTILINE)
    lock = read_lock(tuned / "schedules.lock")
    (new,) = [entry for entry in lock.entries if entry.slot == locked.slot]
    assert new.workload.proc_key != locked.workload.proc_key
    assert new.trace != locked.trace
    assert new.speed.confirmed
    assert len(lock.entries) == 2
    again = run("check", ".", "--repair", "--budget", "15")
    assert again.code == 0
    assert "  as locked" in again.out


def test_steps_that_find_no_place_are_named(tuned: Path, locked: LockEntry, run: Run) -> None:
    loops = "        for j in seq(0, 32):\n            for k in seq(0, 32):\n        "
    change(tuned, f"{loops}        C[i, j] += A[i, k] * B[k, j]", "        C[i, 0] += A[i, 0]")
    answer = run("check", ".", "--repair", "--budget", "5")
    assert re.search(r"^  1. reorder.*\n     dropped\n     because ", answer.out, re.MULTILINE)


def test_a_procedure_that_is_gone_is_not_repaired(tuned: Path, locked: LockEntry, run: Run) -> None:
    before = (tuned / "schedules.lock").read_bytes()
    change(tuned, "def matmul32", "def another")
    answer = run("check", ".", "--repair")
    assert answer.code == 2
    assert "not repaired: " in answer.out
    assert "no procedure 'matmul32'" in answer.out
    assert (tuned / "schedules.lock").read_bytes() == before

"""Lock files from elsewhere: they do not choose what is executed, and ask for no endless work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cli.invoke import Answer
from cli.unreadable import unreadable

from schedsearch.core.records import InstructionSet
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.locks.entry import Lock, LockEntry
from schedsearch.locks.place import read_lock, write_lock
from schedsearch.transforms.exo.identity import proc_key
from schedsearch.transforms.exo.loader import load_source, pick
from schedsearch.transforms.exo.mirror import mirror

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]
COMMANDS = (("check", "--correct-only"), ("check", "--repair", "--budget", "1s"))
MARKS = "open('executed', 'w').close()\n"


@pytest.fixture
def lock(tuned: Path, run: Run) -> Path:
    """The lock file of a directory with one schedule, tuned and pinned."""
    answer = run("pin")
    assert answer.code == 0, answer.err
    return tuned / "schedules.lock"


def refused(run: Run, lock: Path, change: Callable[[LockEntry], LockEntry], reason: str) -> None:
    (entry,) = read_lock(lock).entries
    write_lock(lock, Lock((change(entry),)))
    before = lock.read_text()
    for command in COMMANDS:
        answer = run(*command)
        assert answer.code == 2, answer
        assert reason in " ".join((answer.out + answer.err).split())
        assert "Traceback" not in answer.err
    assert not Path("executed").exists()
    assert lock.read_text() == before


def named_file(folder: Path, kind: str) -> str:
    """Makes what a lock names, and returns the name."""
    path = folder / "named.py"
    match kind:
        case "no Exo":
            path.write_text(MARKS)
        case "broken":
            path.write_text(f"import exo\n{MARKS}(")
        case "outside":
            (folder.parent / "outside.py").write_text(f"import exo\n{MARKS}")
            path.symlink_to("../outside.py")
        case _:
            path = unreadable(path, kind)
    return path.name


REASONS = {
    "no Exo": "imports exo",
    "broken": "imports exo",
    "outside": "is a link",
    "folder": "s a directory",
    "pipe": "not a regular file",
    "device": "not a regular file",
    "huge": "larger than 16 MB",
    "loop": "symbolic links",
    "long": "name too long",
    "missing": "No such file",
}


@pytest.mark.parametrize("kind", REASONS)
def test_a_lock_does_not_choose_what_is_executed(run: Run, lock: Path, kind: str) -> None:
    name = named_file(lock.parent, kind)
    reason = REASONS[kind]
    refused(
        run, lock, lambda e: replace(e, workload=replace(e.workload, source=name)), reason.strip()
    )


@pytest.mark.parametrize("kind", ["no Exo", "outside", "pipe"])
def test_nor_by_instruction_sets(run: Run, lock: Path, kind: str) -> None:
    given = (InstructionSet("mine", "digest", named_file(lock.parent, kind)),)
    refused(
        run,
        lock,
        lambda e: replace(e, target=replace(e.target, instructions=given)),
        REASONS[kind],
    )


ENDLESS = """from __future__ import annotations
from exo import DRAM, proc


@proc
def matmul32(x: f32[1] @ DRAM):
    for i in seq(0, 1000000000):
        x[0] += 1.0
"""


def test_endless_work_is_refused(run: Run, lock: Path) -> None:
    (lock.parent / "mm.py").write_text(ENDLESS)
    step = Rewrite("unroll", 1, (0,), "for i in seq(0, 1000000000)")
    (entry,) = read_lock(lock).entries
    procedure = pick(load_source(lock.parent / "mm.py"), "matmul32")
    digest = proc_key(mirror(procedure))
    own = replace(entry.workload, sizes=(), specialized=(), proc_key=digest)
    write_lock(lock, Lock((replace(entry, workload=own, trace=Trace((step,))),)))
    answer = run("check", ".", "--correct-only")
    assert answer.code == 1, answer
    assert "1000000000 statements, 100000 are allowed" in " ".join(answer.out.split())

"""The machine's locks, between processes and users."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.search.lease import lock_file, locked

HOLD = """
import sys
from pathlib import Path
from schedsearch.search.lease import locked
with locked(Path(sys.argv[1]), waiting=lambda holder: print("waiting for", holder, flush=True)):
    print("held", flush=True)
    sys.stdin.readline()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    """A process that locks `path` and holds it until a line is written to it."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_who_waits_is_told_for_whom(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path):
        other = holder(path)
        assert said(other) == f"waiting for process {os.getpid()}"
    assert said(other) == "held"
    other.communicate("\n")


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    other = holder(path)
    assert said(other) == "held"
    other.kill()
    with locked(path):
        other.communicate()


def locked_by_nobody(path: Path, said: Connection) -> None:
    os.setgroups([])
    os.setuid(65534)
    said.recv()  # started before we lock: a fork has what its parent has locked
    with locked(path, waiting=said.send):
        said.send("held")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_other_users_have_the_same_lock() -> None:
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o1777)
        path = Path(shared, "lock")
        ours, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        other = context.Process(target=locked_by_nobody, args=(path, theirs), daemon=True)
        other.start()
        before = os.umask(0o077)
        try:
            with locked(path):
                ours.send("go")
                assert ours.recv() == f"process {os.getpid()}"
                assert not ours.poll(0.1)
        finally:
            os.umask(before)
        assert ours.recv() == "held"
        other.join()


def test_a_removed_file_does_not_make_two_holders(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path):
        other = holder(path)
        assert said(other).startswith("waiting")
        path.unlink()
        new = holder(path)
        assert said(new) == "held"
    # The first waiter's file is gone: it has to wait for the new one.
    assert said(other).startswith("waiting")
    new.communicate("\n")
    assert said(other) == "held"
    other.communicate("\n")


def test_another_process_just_made_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, original = tmp_path / "lock", os.open

    def late(name: Path, flags: int, *mode: int) -> int:
        if flags & os.O_CREAT:
            os.close(original(name, flags & ~os.O_EXCL, *mode))
        return original(name, flags, *mode)

    monkeypatch.setattr(os, "open", late)
    with locked(path):
        assert said(holder(path)).startswith("waiting")


def test_links_are_not_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.touch()
    link.symlink_to(target)
    with pytest.raises(UserError, match="cannot lock"), locked(link):
        pass


def test_the_lease_is_one_for_all_users() -> None:
    assert str(os.getuid()) not in lock_file("measuring").name


def test_errors_of_who_holds_the_lock_are_theirs(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="of the caller"), locked(tmp_path / "lock"):
        raise FileNotFoundError("of the caller")

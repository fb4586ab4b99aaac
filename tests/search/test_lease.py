"""The machine's locks, between processes and users."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess as Process
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.search.setup.trust import state_dir
from schedsearch.search.workers.lease import Patience, common_lock, lent, locked, own_lock

HOLD = """
import sys
from pathlib import Path
from schedsearch.search.workers.lease import locked
with locked(Path(sys.argv[1]), waiting=lambda holder: print("waiting for", holder, flush=True)):
    print("held", flush=True)
    sys.stdin.readline()
"""


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


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


@pytest.mark.normal
def test_who_waits_is_told_for_whom(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path):
        other = holder(path)
        assert said(other) == f"waiting for process {os.getpid()}"
    assert said(other) == "held"
    other.communicate("\n")


@pytest.mark.normal
def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    other = holder(path)
    assert said(other) == "held"
    other.kill()
    with locked(path):
        other.communicate()


@pytest.mark.normal
def test_a_forked_child_keeps_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path):
        child = os.fork()
        if not child:
            signal.pause()
    try:
        other = holder(path)
        assert said(other) == "held"
        other.communicate("\n")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A directory like /tmp."""
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o1777)
        if not all(above.stat().st_mode & stat.S_IXOTH for above in Path(shared).parents):
            pytest.skip("other users do not reach the directory for temporary files")
        yield Path(shared)


def as_nobody(act: Callable[[Path, Connection], None], path: Path) -> tuple[Process, Connection]:
    """A process of another user that does this to `path`. What waits for its word gets an
    EOFError if it dies."""

    def acting() -> None:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        act(path, theirs)

    ours, theirs = multiprocessing.Pipe()
    other = multiprocessing.get_context("fork").Process(target=acting, daemon=True)
    other.start()
    theirs.close()
    return other, ours


@pytest.mark.normal
@needs_root
def test_another_user_that_dies_is_not_waited_for(everybodys: Path) -> None:
    def die(path: Path, said: Connection) -> None:
        raise PermissionError(path)

    other, pipe = as_nobody(die, everybodys)
    with pytest.raises(EOFError):
        pipe.recv()
    other.join(60)
    assert other.exitcode == 1


def keep(path: Path, said: Connection) -> None:
    """Holds a lock, whatever mode it was made with, until it is killed."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        said.send(error.errno)
    else:
        said.send("held")
    said.recv()


def borrow(path: Path, said: Connection) -> None:
    said.recv()  # started before we lock: a fork has what its parent has locked
    with lent(path, Patience(), waiting=said.send):
        said.send("held")


@pytest.mark.normal
@needs_root
def test_other_users_have_the_same_lock(everybodys: Path) -> None:
    path = everybodys / "lock"
    other, pipe = as_nobody(borrow, path)
    before = os.umask(0o077)
    try:
        with lent(path, Patience()):
            pipe.send("go")
            assert pipe.recv() == f"process {os.getpid()} of user root"
            assert not pipe.poll(0.1)
    finally:
        os.umask(before)
    assert pipe.recv() == "held"
    other.join()


@pytest.mark.normal
@needs_root
def test_another_user_stalls_nobody(everybodys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, patience, told = everybodys / "lock", Patience(2.0, share=0.0), list[str]()
    path.touch()
    other, pipe = as_nobody(keep, path)
    assert pipe.recv() == "held"
    for _ in range(5):
        with lent(path, patience, waiting=told.append):
            pass
    begin = time.monotonic()
    with lent(path, patience):
        assert time.monotonic() - begin < 2.0, "patience is for all waits together"
    assert told == [f"process {other.pid} of user nobody"] * 5
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"process {other.pid} of user nobody keeps {path}; measuring goes on" in said
    other.kill()
    other.join()
    with lent(path, Patience()), path.open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.normal
@needs_root
@pytest.mark.parametrize("folder", ["everybodys", "private"])
def test_another_user_cannot_hold_ours(everybodys: Path, folder: str) -> None:
    """Nor if an earlier version made the file for everybody to read."""
    path = everybodys / folder / "lock"
    path.parent.mkdir(mode=0o700 if folder == "private" else 0o755)
    path.touch(0o644)
    with locked(path):
        pass
    other, pipe = as_nobody(keep, path)
    assert pipe.recv() == errno.EACCES
    other.kill()
    other.join()


@pytest.mark.normal
def test_patience_grows_with_time_and_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    patience = Patience(60.0, share=0.8)
    assert patience.left_s == 60.0
    patience.waited(60.0)
    assert patience.left_s == 0.0
    now = 110.0
    assert patience.left_s == 8.0
    now = 1e6
    assert patience.left_s == 60.0


@pytest.mark.normal
@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "mine"])
def test_what_is_no_file_there_stalls_nobody(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lock"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(tmp_path / "elsewhere")
        case _:
            path = tmp_path / "no such folder" / "lock"
    with lent(path, Patience()):
        pass
    assert not (tmp_path / "elsewhere").exists()
    assert ("measuring goes on without" in capsys.readouterr().err) == (kind != "mine")


@pytest.mark.normal
@pytest.mark.parametrize("kind", ["fifo", "folder", "link"])
def test_what_is_no_file_of_ours_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "lock"
    {"fifo": os.mkfifo, "folder": Path.mkdir, "link": lambda at: at.symlink_to(tmp_path)}[kind](
        path
    )
    with pytest.raises(UserError, match="cannot lock"), locked(path):
        pass


@pytest.mark.normal
@needs_root
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    os.chown(path, 65534, -1)
    with pytest.raises(UserError, match="belongs to user nobody"), locked(path):
        pass


@pytest.mark.normal
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
            os.close(original(name, flags & ~os.O_EXCL, 0o644))
        return original(name, flags, *mode)

    monkeypatch.setattr(os, "open", late)
    with lent(path, Patience()), path.open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_lock_of_all_users_and_one_of_our_own() -> None:
    assert str(os.getuid()) not in str(common_lock("measuring"))
    own = own_lock("measuring")
    assert own.parent.stat().st_mode & 0o077 == 0
    assert own.is_relative_to(state_dir())


def test_errors_of_who_holds_the_lock_are_theirs(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="of the caller"), locked(tmp_path / "lock"):
        raise FileNotFoundError("of the caller")

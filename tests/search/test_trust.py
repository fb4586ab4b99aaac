"""The record of what this user tuned."""

from __future__ import annotations

import multiprocessing
import os
import pwd
from pathlib import Path

import pytest

from schedsearch.core.keys import digest
from schedsearch.search.setup.trust import doubt, remember

pytestmark = pytest.mark.normal

TEXT = "import exo\n"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a record that is empty."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "schedsearch"


@pytest.fixture
def file(tmp_path: Path, state: Path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text(TEXT)
    return path


def test_what_was_tuned_may_be_executed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doubt(file) == "it was not tuned or recorded by this user on this machine"
    remember(file, digest(TEXT))
    assert doubt(file) is None
    monkeypatch.chdir(file.parent)
    assert doubt(Path("./kernel.py")) is None


def test_not_another_text_nor_another_place(file: Path) -> None:
    remember(file, digest(TEXT))
    copy = file.with_name("copy.py")
    copy.write_text(TEXT)
    assert doubt(copy) == "it was not tuned or recorded by this user on this machine"
    file.write_text(f"{TEXT}\n")
    assert doubt(file) == "it has changed since this user tuned or recorded it"
    file.write_text(TEXT)
    assert doubt(file) is None


def test_a_link_is_what_it_links_to(file: Path) -> None:
    remember(file, digest(TEXT))
    link = file.with_name("link.py")
    link.symlink_to(file)
    assert doubt(link) is None
    other = file.with_name("other.py")
    other.write_text(TEXT)
    link.unlink()
    link.symlink_to(other)
    assert doubt(link) is not None


def test_the_record_is_the_owners_alone(file: Path, state: Path) -> None:
    state.parent.mkdir()
    before = os.umask(0)
    try:
        remember(file, digest(TEXT))
    finally:
        os.umask(before)
    for path in (state / "tuned").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0
    assert doubt(file) is None


@pytest.mark.parametrize("which", ["record", "folder", "note"])
@pytest.mark.parametrize("how", ["mode", "owner"])
def test_a_record_that_others_can_write_is_not_trusted(
    file: Path, state: Path, which: str, how: str
) -> None:
    remember(file, digest(TEXT))
    (folder,) = (state / "tuned").iterdir()
    (note,) = folder.iterdir()
    place = {"record": state / "tuned", "folder": folder, "note": note}[which]
    if how == "mode":
        place.chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(place, pwd.getpwnam("nobody").pw_uid, -1)
    else:
        pytest.skip("only root can give files away")
    reason = doubt(file)
    assert reason is not None
    assert reason.startswith(f"the record of what was tuned may be forged, as {place} ")


def test_a_note_that_links_elsewhere_is_none(file: Path, state: Path) -> None:
    remember(file, digest(TEXT))
    (folder,) = (state / "tuned").iterdir()
    (note,) = folder.iterdir()
    note.rename(state / "elsewhere")
    note.symlink_to(state / "elsewhere")
    assert doubt(file) is not None


def test_a_file_that_others_can_write_is_not_executed(tmp_path: Path, state: Path) -> None:
    file = tmp_path / "folder" / "kernel.py"
    file.parent.mkdir()
    file.write_text(TEXT)
    remember(file, digest(TEXT))
    file.chmod(0o666)
    assert doubt(file) == f"{file} can be written by everybody"
    file.chmod(0o644)
    file.parent.chmod(0o777)
    assert doubt(file) == f"{file.parent} can be written by everybody"


def note_many(folder: Path) -> None:
    for number in range(20):
        remember(folder / f"{number % 5}.py", digest(str(number % 7)))


def test_runs_note_at_the_same_time(tmp_path: Path, state: Path) -> None:
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=note_many, args=(tmp_path,)) for _ in range(8)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
        assert run.exitcode == 0
    (tmp_path / "3.py").write_text("3")
    assert doubt(tmp_path / "3.py") is None

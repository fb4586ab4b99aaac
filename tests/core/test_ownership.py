"""Who else may change a file."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from schedsearch.core.ownership import not_private, others_may_change

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "file"
    path.parent.mkdir(mode=0o755)
    path.touch()
    path.chmod(0o644)
    return path


def test_nobody_else_can_change_a_file_of_ones_own(file: Path) -> None:
    assert others_may_change(file) is None


def test_everybody_may_write(file: Path) -> None:
    file.chmod(0o646)
    assert others_may_change(file) == f"{file} can be written by everybody"


def test_a_directory_above_counts(file: Path) -> None:
    file.parent.chmod(0o757)
    assert others_may_change(file) == f"{file.parent} can be written by everybody"
    file.parent.chmod(0o1757)  # sticky: nobody replaces what is another's
    assert others_may_change(file) is None


def test_links_are_followed(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(file)
    file.parent.chmod(0o757)
    assert others_may_change(link) == f"{file.parent} can be written by everybody"


@needs_root
def test_another_owner(file: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    os.chown(file, nobody.pw_uid, -1)
    assert others_may_change(file) == f"{file} belongs to user nobody"
    os.chown(file, 0, 12345)
    file.chmod(0o664)
    assert others_may_change(file) == f"{file} can be written by group 12345"
    os.chown(file, 0, 0)
    assert others_may_change(file) is None
    os.chown(file.parent, nobody.pw_uid, -1)
    assert others_may_change(file) == f"{file.parent} belongs to user nobody"


def test_what_is_private(file: Path) -> None:
    file.chmod(0o600)
    assert not_private(file) is None
    file.chmod(0o640)
    assert not_private(file) == f"{file} has mode 0640, and is for its owner alone"


@needs_root
def test_what_belongs_to_another_is_not_private(file: Path) -> None:
    file.chmod(0o600)
    os.chown(file, pwd.getpwnam("nobody").pw_uid, -1)
    assert not_private(file) == f"{file} belongs to user nobody"

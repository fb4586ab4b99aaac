"""Files that people keep are replaced whole, or stay as they are."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.text_file import write_text


def test_where_there_is_no_room_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "kernel.c"
    write_text(path, "old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(UserError, match=r"cannot write .*kernel\.c"):
            write_text(path, "x" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_and_a_device_is_written_to(tmp_path: Path) -> None:
    link, kept = tmp_path / "link", tmp_path / "kept"
    link.symlink_to(kept)
    for text in ("new", "newer"):
        write_text(link, text)
        assert kept.read_text() == text
    assert link.is_symlink()
    write_text(Path("/dev/null"), "nothing")
    assert Path("/dev/null").is_char_device()

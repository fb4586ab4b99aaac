"""Disks that are full: that is the user's to know, and nothing is recorded of a kernel."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.records import Artifact, GeneratedC
from schedsearch.evaluate.build.builder import Builder

CODE = GeneratedC("nothing", "", "int nothing(void) { return 1; }", "nothing")
PAGE = 4096


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can make a small disk")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("pages", [0, 2, 5])
def test_a_full_cache_is_no_fault_of_the_kernel(
    builder: Builder, small_disk: Path, pages: int
) -> None:
    """For the directory, the compiler's files, or the linker's there is no room."""
    own = replace(builder, cache_dir=small_disk)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes((os.statvfs(small_disk).f_bavail - pages) * PAGE))
    with pytest.raises(UserError, match=r"cannot use .*: No space left on device; free some"):
        own.build(CODE, 60.0)
    ballast.unlink()
    assert isinstance(own.build(CODE, 60.0), Artifact)


def test_a_compiler_without_room_for_its_files_is_believed(
    builder: Builder, tmp_path: Path
) -> None:
    script = tmp_path / "cc"
    said = f"fatal error: error writing to /tmp/cc8.s: {os.strerror(errno.EDQUOT)}"
    script.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    script.chmod(0o755)
    full = replace(
        builder, compiler=replace(builder.compiler, path=str(script)), cache_dir=tmp_path / "cache"
    )
    with pytest.raises(UserError, match="Disk quota exceeded"):
        full.build(CODE, 60.0)

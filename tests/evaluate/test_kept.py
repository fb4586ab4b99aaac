"""What evaluations keep is whole, or it is not there."""

from __future__ import annotations

import errno
import io
import os
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.errors import DiskError
from schedsearch.evaluate.oracle.kept import keep, kept
from schedsearch.evaluate.run.bench import Bench


class Full(io.BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_is_kept_is_what_was_told(bench: Bench, tmp_path: Path) -> None:
    told, record = kept(bench.cases[0]), bench.cases[0].expected.read_bytes()
    assert told is not None
    case = replace(bench.cases[0], expected=tmp_path / "case.bin")
    assert kept(case) is None
    assert keep(case, io.BytesIO(record), len(record), told) == told == kept(case)
    assert {path.name for path in tmp_path.iterdir()} == {"case.bin", "case.json"}


def test_a_full_disk_leaves_nothing_behind(bench: Bench, tmp_path: Path) -> None:
    told = kept(bench.cases[0])
    assert told is not None
    case = replace(bench.cases[0], expected=tmp_path / "case.bin")
    with pytest.raises(DiskError, match=r"cannot use .*case\.bin: No space left"):
        keep(case, Full(), 1, told)
    assert not list(tmp_path.iterdir())

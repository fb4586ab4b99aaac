"""Kernels that are not re-entrant, as their procedures keep temporaries in static memory: said
wherever they are offered."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from schedsearch.locks.place import read_lock

from .invoke import KERNELS, Answer

pytestmark = [pytest.mark.normal, pytest.mark.usefixtures("hurried")]

Run = Callable[..., Answer]

TUNE = ("externs.py", "sines", "--executor", "inline", "--budget", "150", "--trials", "2")


def test_static_memory_is_marked_everywhere(run: Run, tmp_path: Path) -> None:
    text = (
        (KERNELS / "externs.py").read_text().replace("t: f32[64]\n", "t: f32[64] @ DRAM_STATIC\n")
    )
    memory = "from exo.libs.memories import DRAM_STATIC\nfrom exo import proc\n"
    (tmp_path / "externs.py").write_text(text.replace("from exo import proc\n", memory))
    done = run("run", *TUNE, "--transforms", "split")
    assert done.code == 0, done.err
    said = "not re-entrant: it keeps t"
    assert "not re-entrant" in run("best").out
    rows = json.loads(run("best", "--json").out)
    assert all(row["caveats"][0].startswith(said) for row in rows)
    # A lucky measurement may put the procedure as written first, and that is not pinned.
    first = next(row for row in rows if row["trace"])
    assert said in run("show", str(first["id"])).out
    assert json.loads(run("show", str(first["id"]), "--json").out)["caveats"][0].startswith(said)
    exported = run("export", str(first["id"]), "--out", "kept")
    assert "not re-entrant" in exported.err
    header = (tmp_path / "kept" / "sines.h").read_text()
    assert said in header
    assert "// - verified on data\n" in header
    pinned = run("pin", str(first["id"]))
    assert pinned.code == 0, pinned.err
    (entry,) = read_lock(tmp_path / "schedules.lock").entries
    assert entry.caveats[0].startswith(said)


def test_other_memory_is_not(run: Run, tmp_path: Path) -> None:
    shutil.copy(KERNELS / "externs.py", tmp_path)
    assert run("run", *TUNE, "--transforms", "place").code == 0
    rows = json.loads(run("best", "--json").out)
    assert rows
    assert not any(row["caveats"] for row in rows)
    other = run("run", *TUNE, "--transforms", "split")
    assert other.code == 2
    assert "Continue with the same --transforms" in other.err

"""Kernels that are not re-entrant: only on request, and said wherever they are offered."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from schedsearch.locks.place import read_lock
from schedsearch.store.database import Store

from .invoke import KERNELS, Answer

pytestmark = [pytest.mark.normal, pytest.mark.usefixtures("hurried")]

Run = Callable[..., Answer]

TUNE = ("externs.py", "sines", "--executor", "inline", "--budget", "150", "--trials", "2")


def test_static_buffers_are_marked_everywhere(run: Run, tmp_path: Path) -> None:
    shutil.copy(KERNELS / "externs.py", tmp_path)
    done = run("run", *TUNE, "--transforms", "simplify", "--static-buffers")
    assert done.code == 0, done.err
    with Store.open(tmp_path / "schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        (found,) = [c for c in store.best(scope, 9) if "place_static" in str(c.record.trace.steps)]
    said = "not re-entrant: it keeps t"
    assert said in run("show", str(found.id)).out
    assert json.loads(run("show", str(found.id), "--json").out)["caveats"][0].startswith(said)
    assert "not re-entrant" in run("best").out
    rows = json.loads(run("best", "--json").out)
    assert {row["id"] for row in rows if row["caveats"]} == {found.id}
    exported = run("export", str(found.id), "--out", "kept")
    assert "not re-entrant" in exported.err
    header = (tmp_path / "kept" / "sines.h").read_text()
    assert said in header
    assert "// - verified on data\n" in header
    pinned = run("pin", str(found.id))
    assert pinned.code == 0, pinned.err
    (entry,) = read_lock(tmp_path / "schedules.lock").entries
    assert entry.caveats[0].startswith(said)


def test_they_are_not_offered_otherwise(run: Run, tmp_path: Path) -> None:
    shutil.copy(KERNELS / "externs.py", tmp_path)
    assert run("run", *TUNE, "--transforms", "place").code == 0
    assert not any(row["caveats"] for row in json.loads(run("best", "--json").out))
    refused = run("run", *TUNE, "--static-buffers", "--threads", "2")
    assert refused.code == 2
    assert "--static-buffers is for one thread" in refused.err
    assert run("run", *TUNE, "--transforms", "place", "--static-buffers").code == 0
    other = run("run", *TUNE, "--transforms", "place")
    assert other.code == 2
    assert "the same --transforms and --static-buffers" in other.err

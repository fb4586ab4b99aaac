"""`--align`: from a search to a lock file, and what was measured before there was a choice."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from api.test_report import data_of

from schedsearch.core.alignment import UNKNOWN
from schedsearch.core.records import Measurement, Round, Target
from schedsearch.locks.place import read_lock
from schedsearch.search import session
from schedsearch.search.setup.run_summary import Elsewhere
from schedsearch.store.database import Store

from .invoke import KERNELS, Answer

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]
SEARCH = ("run", "floats.py", "product", "--executor", "inline", "--budget", "150", "--trials", "6")
LIMITED = (*SEARCH, "--size", "n=64", "--transforms", "reorder")


@pytest.fixture
def here(tmp_path: Path, hurried: None) -> Path:
    shutil.copy(KERNELS / "floats.py", tmp_path)
    return tmp_path


def best(run: Run) -> dict[int, int]:
    """The best candidate by alignment."""
    ids: dict[int, int] = {}
    for row in json.loads(run("best", "--json").out):
        if row["trace"]:
            ids.setdefault(row["align"], row["id"])
    return ids


@pytest.mark.slow
def test_from_search_to_check(here: Path, run: Run) -> None:
    """Each alignment has a search of its own; a lock has one entry, the last that was pinned."""
    for align in (16, 64):
        chosen = () if align == 16 else ("--align", str(align))
        said = run(*LIMITED, *chosen, "--json")
        assert said.code == 0, said.err
        assert json.loads(said.out)["align"] == align
        assert json.loads(said.out)["elsewhere"]["align"] == 80 - align
        header = (here / "product.h").read_text()
        assert f"measured on arrays aligned to {align} bytes" in header
        assert f"arrays aligned to {align} bytes" in (here / "product.schedule.py").read_text()
    assert "arrays aligned to 64 bytes" in " ".join(run("list").out.split()).replace("- ", "")
    ids = best(run)
    assert sorted(ids) == [16, 64]
    for align, candidate in ids.items():
        assert f"arrays aligned to {align} bytes" in run("show", str(candidate)).out
        assert run("export", str(candidate)).code == 0
        assert f"measured on arrays aligned to {align} bytes" in (here / "product.h").read_text()
        assert run("pin", str(candidate)).code == 0
        (entry,) = read_lock(here / "schedules.lock").entries
        assert entry.target.align == align
        checked = run("check", "--correct-only")
        assert checked.code == 0, checked.out + checked.err


def test_what_is_no_alignment_is_refused(here: Path, run: Run) -> None:
    for wrong in ("8", "100", "8192", "-16"):
        said = run(*LIMITED, "--align", wrong)
        assert said.code == 2
        assert f"--align {wrong}: give a power of two from 16" in said.err


def test_both_times_are_said_wherever_the_result_is(
    here: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = (Round((1250.0,), (1000.0,)),) * 3
    made_up = Elsewhere(64, Measurement("elsewhere", rounds, 1))
    monkeypatch.setattr(session, "measure_elsewhere", lambda *_: made_up)
    words = "n arrays aligned to 64 bytes: 1 us instead of 1.25 us, 1.25x [1.25, 1.25] as fast"
    assert words in run(*LIMITED).out
    assert words in (here / "product.h").read_text()
    (candidate,) = best(run).values()
    assert words in run("show", str(candidate)).out
    (here / "product.h").unlink()
    assert run("export", str(candidate)).code == 0
    assert words in (here / "product.h").read_text()
    assert run("report", "--out", "page.html").code == 0
    assert words in str(data_of((here / "page.html").read_text())["verdict"])


@pytest.mark.slow
def test_stores_and_locks_of_earlier_versions(here: Path, run: Run) -> None:
    """They say what they were measured on, are not mixed with what is measured now, and are not
    held against it."""
    assert run(*LIMITED).code == 0
    with sqlite3.connect("schedsearch.sqlite") as store:
        ((text,),) = store.execute("select description from target").fetchall()
        data = json.loads(text)
        assert data.pop("align") == 16
        old = Target.from_json(data)
        store.execute("update target set key = ?, description = ?", (old.key, json.dumps(data)))
    store.close()
    (before,) = best(run).items()
    assert before[0] == UNKNOWN
    assert run("pin", str(before[1])).code == 0
    assert "align" not in (here / "schedules.lock").read_text()
    checked = run("check")
    assert checked.code == 0, checked.out + checked.err
    assert "same machine code" in checked.out
    said = run("export", str(before[1]), "--minimal")
    assert "differ: align" in said.err, said.err

    assert run(*LIMITED).code == 0
    with Store.open("schedsearch.sqlite", create=False) as opened:
        targets = [opened.target(scope).align for scope in opened.scopes()]
    assert sorted(targets) == [UNKNOWN, 16]
    ids = best(run)
    assert ids[UNKNOWN] == before[1]
    assert run("pin", str(ids[16])).code == 0
    (entry,) = read_lock(here / "schedules.lock").entries
    assert entry.target.align == 16

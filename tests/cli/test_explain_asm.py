"""`schedsearch explain --asm` and `--counters`, of a real store."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate

from .invoke import Answer

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]


@pytest.fixture
def best(tuned: Path) -> StoredCandidate:
    with Store.open(tuned / "schedsearch.sqlite", create=False) as store:
        return store.best(store.scopes()[0], 1)[0]


def test_the_hot_loop_is_shown_beside_c_and_exo(best: StoredCandidate, run: Run) -> None:
    answer = run("explain", str(best.id), "--asm", "--json")
    assert answer.code == 0, answer.err
    data = json.loads(answer.out)
    assert data["as_measured"] is True
    assert "imit" in data["limited_by"]
    loop = data["loops"][0]
    assert loop["share"] > 0.3
    assert any("+=" in row["exo"] and "C[" in row["exo"] for row in loop["code"])
    assert all(row["c_line"] > 0 for row in loop["code"] if row["c"])
    answer = run("explain", str(best.id), "--asm")
    assert answer.code == 0, answer.err
    assert "Hot loop 1: about" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    answer = run("explain", str(best.id), "--asm", "--markdown")
    assert "| assembly | C | Exo |" in answer.out


def test_counters_say_where_they_are_from(
    best: StoredCandidate, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda tool: None if tool in ("perf", "valgrind") else installed(tool)
    )
    answer = run("explain", str(best.id), "--counters")
    assert answer.code == 0, answer.err
    said = " ".join(answer.out.split())
    assert "perf is not installed; valgrind is not installed" in said
    assert "Source: an estimate" in said
    assert "One call: instructions" in said
    assert "Hot loop" not in answer.out


def test_asm_and_measure_exclude_each_other(best: StoredCandidate, run: Run) -> None:
    answer = run("explain", str(best.id), "--asm", "--measure")
    assert answer.code == 2
    assert "--measure" in answer.err

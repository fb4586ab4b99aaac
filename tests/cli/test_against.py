"""`run --against`: peers beside the result."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from schedsearch.peers import against
from schedsearch.peers.rounds import Plan

from .invoke import MATMUL, SMALL, Answer

Run = Callable[..., Answer]


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel, and a file of functions beside it; comparisons are short."""
    shutil.copy(MATMUL, tmp_path / "mm.py")
    (tmp_path / "mine.py").write_text("def mine(C, A, B):\n    C += A @ B\n")
    monkeypatch.setattr(against, "PLAN", Plan(rounds=5, seconds=0))
    return tmp_path


@pytest.mark.usefixtures("theirs", "hurried")
def test_a_run_says_how_it_compares(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_L2_SIZE", "512")
    said = run("run", "mm.py", *SMALL, "--against", "mine.py:mine,cc=gcc")
    assert said.code == 0, said.err
    head, _, tail = said.out.partition("\nagainst others, on arrays as NumPy allocates them:\n")
    assert "the speed of matmul32 as written" in head
    assert " as fast as mine.py:mine: " in tail
    assert " as fast as cc=gcc: " in tail
    assert "(5 interleaved rounds)" in tail
    assert "-O3 -march=native -ffast-math" in tail
    assert "OPENBLAS_L2_SIZE" in tail
    assert "comparing with mine.py:mine, cc=gcc" in said.err


@pytest.mark.usefixtures("theirs", "hurried")
def test_programs_read_the_same(run: Run) -> None:
    said = run("run", "mm.py", *SMALL, "--json", "--against", "numpy")
    (found,) = json.loads(said.out)["against"]
    assert found["peer"] == "numpy"
    assert found["ratio"]["low"] <= found["ratio"]["value"] <= found["ratio"]["high"]
    assert found["decision"] in ("faster", "slower", "same", "inconclusive")
    assert "np.matmul" in found["text"]


@pytest.mark.usefixtures("theirs")
def test_what_is_no_peer_is_said_before_the_search(run: Run) -> None:
    said = run("run", "mm.py", "--against", "nonsense")
    assert said.code == 2
    assert "--against 'nonsense': it takes numpy" in said.err + said.out
    assert "measuring" not in said.err

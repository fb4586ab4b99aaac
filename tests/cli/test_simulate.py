"""`schedsearch simulate`, from a real store to a space file to figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .invoke import MATMUL, SMALL, Answer

pytestmark = [pytest.mark.normal, pytest.mark.usefixtures("hurried")]


@pytest.fixture
def store(run: Callable[..., Answer], tmp_path: Path) -> Path:
    """In which the reorderings of a small matmul were all measured."""
    path = tmp_path / "s.sqlite"
    small = (*SMALL, "--transforms", "reorder", "--trials", "50")
    assert run("run", MATMUL, *small, "--strategy", "exhaustive", "--store", path).code == 0
    return path


def test_a_store_becomes_a_file_and_strategies_are_compared_on_both(
    run: Callable[..., Answer], store: Path
) -> None:
    said = run("simulate", store, "--save", "mm.json.gz")
    assert said.code == 0
    assert "mm.json.gz" in said.out
    described = said.out.partition(": ")[2].split(" · ")[0]
    for space in (store, "mm.json.gz"):
        shown = run("simulate", space, "--strategy", "beam", "--seeds", "3").out
        assert described in shown
        assert "trials to 90%" in shown
    answer = run("simulate", store, "mm.json.gz", "--strategy", "beam", "--seeds", "3", "--json")
    standings = json.loads(answer.out)["standings"]
    assert [s["strategy"] for s in standings] == ["random", "beam"] * 2


def test_what_cannot_be_simulated_is_said(run: Callable[..., Answer], store: Path) -> None:
    assert "no tuning store" in run("simulate", "nowhere.sqlite").err
    assert "unknown strategy 'greedy'" in run("simulate", store, "--strategy", "greedy").err
    two = run("simulate", store, store, "--save", "both.json.gz")
    assert (two.code, "2 were given" in two.err) == (2, True)

"""The noise benchmark: its kernels compute the same, and its rates are what trials say."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.noise import pairs as making
from benchmarks.noise import trials as trying
from benchmarks.noise.pairs import BOUND_BY, pairs, with_rows
from benchmarks.noise.report import show
from benchmarks.noise.trials import Trial, attempt
from schedsearch.evaluate.bench import TimingPlan
from schedsearch.transforms.exo_compat import generate_c
from schedsearch.transforms.loader import load_source

QUICK = TimingPlan("confirm", 3, 3, sample_ns=1e4)


@pytest.mark.parametrize("kernel", BOUND_BY)
def test_slowdowns_are_true_because_code_differs_in_one_constant(kernel: str) -> None:
    general = load_source(making.FILE).procs[kernel]
    few, more = (generate_c(with_rows(general, rows, kernel)).source for rows in (400, 420))
    assert few != more
    assert few.replace(" < 400;", " < 420;") == more


def test_slower_kernels_are_correct_and_timed_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "CONFIRM", QUICK)
    monkeypatch.setattr(making, "BOUND_BY", {"combine": "cache"})
    monkeypatch.setattr(making, "SLOWDOWNS", (0.05,))
    same, slower = pairs(tmp_path)
    assert (same.slowdown, slower.slowdown) == (0.0, 0.05)
    assert same.slower.path != same.bench.baseline.path
    for pair in (same, slower):
        for swapped in (False, True):
            trial = attempt(pair, swapped)
            assert len(trial.ratios) == 3
            assert trial.kernel == "combine"


def trial(slowdown: float, decision: str, right: bool, wrong: bool) -> Trial:
    return Trial("combine", slowdown, decision, right, wrong, 0.001, 1.0, (1.0,))


def shown(trials: list[Trial]) -> str:
    console = Console(file=io.StringIO(), width=160)
    show(console, trials)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_rates_and_goals() -> None:
    found = [trial(0.05, "slower", right=True, wrong=False) for _ in range(20)]
    equal = [trial(0.0, "same", right=False, wrong=False) for _ in range(99)]
    text = shown([*found, *equal, trial(0.0, "faster", right=False, wrong=True)])
    assert "equal kernels called faster: 1.0 % (0.0 to 5.4), goal <= 1 %: met" in text
    assert "5 % told apart: 100.0 % (83.2 to 100.0), goal >= 95 %: met" in text
    missed = shown(
        [
            *equal[:9],
            trial(0.0, "faster", False, True),
            *found[:9],
            trial(0.05, "same", False, False),
        ]
    )
    assert missed.count("missed") == 2

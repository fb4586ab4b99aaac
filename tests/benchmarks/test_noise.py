"""The noise benchmark: its kernels compute the same, and its rates are what trials say."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.noise import pairs as making
from benchmarks.noise import trials as trying
from benchmarks.noise import truth
from benchmarks.noise.pairs import BOUND_BY, pairs, with_units
from benchmarks.noise.report import show, show_truth
from benchmarks.noise.trials import Trial, attempt
from benchmarks.noise.truth import Check, check, fit
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source

pytestmark = pytest.mark.normal

QUICK = TimingPlan("confirm", 3, 3, sample_ns=1e4)


@pytest.mark.parametrize("kernel", BOUND_BY)
def test_slowdowns_are_true_because_code_differs_in_one_constant(kernel: str) -> None:
    general = load_source(making.FILE).procs[kernel]
    few, more = (generate_c(with_units(general, units, kernel)).source for units in (100, 105))
    assert few != more
    assert few.replace(" < 100;", " < 105;") == more


def test_slower_kernels_are_correct_and_timed_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "CONFIRM", QUICK)
    monkeypatch.setattr(making, "BOUND_BY", {"combine_l2": "L2"})
    monkeypatch.setattr(making, "SLOWDOWNS", (0.05,))
    same, slower = pairs(tmp_path)
    assert (same.slowdown, slower.slowdown) == (0.0, 0.05)
    assert same.slower.path != same.bench.baseline.path
    for pair in (same, slower):
        for swapped in (False, True):
            trial = attempt(pair, swapped)
            assert len(trial.ratios) == 3
            assert 0 < trial.answer_s <= trial.measuring_s
            assert trial.kernel == "combine_l2"
    monkeypatch.setattr(truth, "PLAN", QUICK)
    found = check(slower)
    assert (found.kernel, found.slowdown) == ("combine_l2", 0.05)
    assert -1.0 < found.low <= found.off <= found.high


def test_a_kernel_is_unfit_that_does_not_take_what_its_work_says() -> None:
    right = Check("right", 0.05, 0.001, -0.002, 0.004)
    barely = Check("right", 0.10, 0.004, 0.003, 0.005)
    cheaper = Check("wrong", 0.10, -0.09, -0.092, -0.088)
    unseen = Check("noisy", 0.10, 0.0, -0.05, 0.03)
    first = [Check(name, 0.01, 0.0, 0.0, 0.0) for name in ("wrong", "noisy")]
    checks = [right, barely, *first, cheaper, unseen]
    assert fit(checks) == {"right"}
    console = Console(file=io.StringIO(), width=200)
    show_truth(console, checks)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert [line.split()[1] for line in lines if "unfit, not" in line] == ["wrong", "noisy"]


def trial(slowdown: float, decision: str, right: bool, wrong: bool) -> Trial:
    return Trial("combine_l2", slowdown, decision, right, wrong, 0.001, 1.0, 0.5, (1.0,))


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

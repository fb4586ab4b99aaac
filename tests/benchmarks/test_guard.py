"""The benchmark of false alarms: a lock file checked again and again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.guard import __main__ as command
from benchmarks.guard import trials as trying
from benchmarks.guard.__main__ import table
from benchmarks.guard.trials import Trial, as_if_slower, run_trials
from schedsearch.core.checked import Checked, Status
from schedsearch.search.guard import Visit, least_ratio
from tests.core.entries import ENTRY, TIMING


def test_a_slower_schedule_is_one_that_was_faster_when_it_was_locked() -> None:
    before = as_if_slower(ENTRY, 0.1)
    today = Visit(ENTRY.speed.call_ns, ENTRY.speed.call_ns * ENTRY.speed.ratio.value)
    assert today.call_ns == pytest.approx(1.1 * before.speed.call_ns)
    assert today.ratio == pytest.approx(before.speed.ratio.value / 1.1)
    assert today.ratio < least_ratio(before.speed)
    assert as_if_slower(ENTRY, 0.0) == ENTRY


def test_trials_are_what_checks_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def check(entries: object, options: trying.Options, tell: object) -> object:
        assert options.pauses_s == (0.0,)
        (entry,) = entries  # type: ignore[misc]
        slower = entry != ENTRY
        status = Status.REGRESSION if slower else Status.PASSED
        summary = "too noisy to tell: 18x" if not slower else "10 % slower"
        yield 0, Checked(entry, status, summary, timing=replace(TIMING, visits=6), seconds=2.0)

    monkeypatch.setattr(trying, "check", check)
    trials: list[Trial] = []
    assert run_trials([ENTRY], tmp_path, command._mixed(2, 1, 0.1), 9.0, (0.0,), trials.append) == 3
    assert sorted((t.slower, t.status, t.timed) for t in trials) == [
        (0.0, "passed", False),
        (0.0, "passed", False),
        (0.1, "regression", True),
    ]
    assert trials[0].ratio == pytest.approx(18 / 20)
    assert table(trials).row_count == 2
    assert run_trials([ENTRY], tmp_path, [0.0], -1.0, (0.0,), trials.append) == 0

"""The benchmark of calls: what it times, and what it shows."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.calling import __main__ as calling
from benchmarks.calling import wheel


@pytest.mark.normal
def test_calls_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "ROUNDS", 2)
    monkeypatch.setattr(calling, "CALLS", 20)
    found = calling.rounds(calling.small_calls())
    assert all(len(each.ns) == 2 and min(each.ns) > 0 for each in found)
    shown = StringIO()
    Console(file=shown, width=120).print(calling.table(found))
    assert "kernel(z, x, y)" in shown.getvalue()


@pytest.mark.normal
def test_imports_of_wheels_are_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel, "ROUNDS", 2)
    (tmp_path / "shipped.py").write_text("import time\ntime.sleep(1)\n")
    assert 0.5 < wheel.over_nothing(tmp_path) < 10.0


def test_differences_and_ratios_are_medians_of_rounds() -> None:
    one, two = calling.Timed("one", (1.0, 2.0, 9.0)), calling.Timed("two", (2.0, 4.0, 9.0))
    assert (two.over(one), two.ratio(one)) == (1.0, 2.0)

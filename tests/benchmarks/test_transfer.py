"""The transfer benchmark: what counts as saved."""

from __future__ import annotations

import pytest
from rich.console import Console

from benchmarks.efficiency.curve import Course, Point
from benchmarks.transfer.__main__ import table
from benchmarks.transfer.saving import Saving

pytestmark = pytest.mark.normal


def tuned(*points: tuple[int, float]) -> Course:
    """`(measured, speed-up)` at every improvement."""
    curve = tuple(Point(2.0 * measured, measured, s, 1.0 / s) for measured, s in points)
    return Course("gemm_nt", 5.0, 60.0, 90, 900, curve, None, {})


def test_candidates_saved_until_close_to_the_best_of_the_cold_run() -> None:
    saving = Saving("gemm_nn", tuned((1, 2.0), (40, 97.0), (60, 100.0)), tuned((2, 95.5)))
    assert saving.wanted == 95.0
    assert saving.cold_reached is not None
    assert saving.warm_reached is not None
    assert (saving.cold_reached.measured, saving.warm_reached.measured) == (40, 2)
    console = Console(width=120)
    with console.capture() as shown:
        console.print(table([saving]))
    assert "38" in shown.get()


def test_what_is_never_reached_saves_nothing() -> None:
    saving = Saving("gemm_nn", tuned((1, 100.0)), tuned((1, 50.0)))
    assert saving.warm_reached is None
    console = Console(width=120)
    with console.capture() as shown:
        console.print(table([saving, Saving("gemm_nn", tuned(), tuned())]))
    assert "never" in shown.get()

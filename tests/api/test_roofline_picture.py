"""The picture of a roofline: a line per level, and the one that binds is coloured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from schedsearch.api.pictures import BINDING, Plots
from schedsearch.evaluate.roof.ceilings import Ceilings
from schedsearch.evaluate.roof.roofline import Roof

pd = pytest.importorskip("pandas")
pytest.importorskip("plotly")

LEVELS = (("L1", 300.0), ("L2", 100.0), ("L3", 40.0))
MEMORY = Roof(1e-5, 1e-4, 200.0, "f32", 12.0, "memory")


class Statistics:
    def __init__(self, roof: Roof, ceilings: Ceilings) -> None:
        self.roof, self.ceilings = roof, ceilings

    def roofline(self) -> Any:
        names = {"rewrite": ["", "tile", "split"], "speedup": [1.0, 2.0, 3.0]}
        return pd.DataFrame({**names, "intensity": [1.7] * 3, "rate": [1.0, 2.0, 3.0]})


def lines(roof: Roof, ceilings: Ceilings = LEVELS) -> dict[str, Any]:
    figure = Plots(Statistics(roof, ceilings)).roofline()  # type: ignore[arg-type]
    assert figure is not None
    return {trace.name: trace for trace in figure.data if trace.mode == "lines"}


def test_a_line_per_level_and_the_peak() -> None:
    found = lines(MEMORY)
    assert list(found) == [
        "L1, 300 GB/s",
        "L2, 100 GB/s",
        "L3, 40 GB/s",
        "memory, 12 GB/s (binds)",  # as measured for the procedure's own arrays
        "f32 peak, 200 GFLOP/s",
    ]
    for name, line in found.items():
        assert (line.line.color == BINDING) == ("binds" in name)
        assert max(line.y) == pytest.approx(200.0)  # all meet the peak
    slope = found["L2, 100 GB/s"]
    assert slope.y[0] / slope.x[0] == pytest.approx(100.0)


def test_the_peak_may_bind() -> None:
    found = lines(replace(MEMORY, compute_s=1e-3))
    assert [name for name in found if "binds" in name] == ["f32 peak, 200 GFLOP/s (binds)"]


def test_a_peak_of_functions_is_of_all_operations_together() -> None:
    """25 G operations a second, of which the exponentials are 5."""
    rates = (("f32", 118.0), ("f32 expf", 5.06))
    found = lines(replace(MEMORY, compute_s=1e-3, peak=25.0, kind="f32 expf", rates=rates))
    assert "all its operations, 25 GFLOP/s (binds)" in found


def test_where_levels_cannot_be_measured_there_is_the_roof_alone() -> None:
    assert len(lines(MEMORY, ())) == 2

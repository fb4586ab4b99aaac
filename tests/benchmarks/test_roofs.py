"""The benchmark of rooflines: its loops, where their arrays are, and what it shows."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from benchmarks.roofs.__main__ import as_json, table
from benchmarks.roofs.measure import NAMES, Place, Reached, load, measure, places
from schedsearch.evaluate.roof.roofline import Roof

pytestmark = pytest.mark.normal

ROOF = Roof(1e-9, 2e-6, peak=100.0, kind="f32", bandwidth=400.0, level="L1")


def test_places_are_in_every_level() -> None:
    found = places((32 << 10, 1 << 20, 32 << 20))
    assert [place.footprint for place in found] == [
        *(4 << 10, 16 << 10, 28 << 10),
        *(512 << 10, 16 << 20),
        64 << 20,
    ]


@pytest.mark.parametrize("kernel", NAMES)
def test_a_loop_moves_as_much_as_its_place_says(kernel: str) -> None:
    streams = load(kernel, Place("L1", 24 << 10)).work.streams
    assert streams.footprint == pytest.approx(24 << 10, abs=16)


def test_a_loop_and_its_roof_are_measured() -> None:
    seconds, roof = measure(load("axpy", Place("L1", 24 << 10)))
    assert roof.level == "L1"
    assert roof.limit == "memory"
    assert roof.share(seconds) > 0


def test_what_is_above_its_roof_stands_out() -> None:
    found = [Reached("copy", "L1", 2.2e-6, ROOF), Reached("copy", "memory", 1.8e-6, ROOF)]
    out = StringIO()
    Console(file=out, width=120).print(table(found))
    assert "91% of 400" in out.getvalue()
    assert "111% of 400 (!)" in out.getvalue()
    rows = as_json(found)["rows"]
    assert [row["exceeded"] for row in rows] == [False, True]
    assert Roof.from_json(rows[0]["roof"]) == ROOF

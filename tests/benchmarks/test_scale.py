"""The scale benchmark: its made-up space, and that its figures are of the run it made."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scale.measure import grow
from benchmarks.scale.synthetic import CHILDREN, children, speedup
from schedsearch.core.trace import Trace
from schedsearch.store.database import Store

pytestmark = pytest.mark.normal


def test_the_space_is_the_same_whoever_asks_and_every_rewrite_is_another() -> None:
    first = children(Trace())
    assert first == children(Trace())
    assert len({child.rewrite for child in first}) == len(first) > 0.9 * CHILDREN
    below = Trace((first[0].rewrite,))
    assert children(below) != first
    assert speedup(Trace()) == 1.0 != speedup(below)


def test_a_run_of_some_size_is_measured_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    grown = grow(300, "best-first", path)
    with Store.open(path) as store:
        (scope,) = store.scopes()
        outcomes = store.outcomes(scope)
    assert sum(outcomes.values()) == grown.candidates + 1 >= 301
    assert 10 < grown.measured < grown.candidates
    assert grown.store_bytes == path.stat().st_size / grown.candidates
    assert {"measure", "found", "measured", "record"} <= grown.each_us.keys()
    assert min(grown.run_s, grown.resume_s) > 0.0
    assert grown.resume_peak_bytes >= grown.resume_bytes > 0.0

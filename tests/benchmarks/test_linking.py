"""The benchmark of linked exports: what it builds, and what it shows."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.linking.__main__ import BUILDS, table
from benchmarks.linking.measure import measure, procedures
from schedsearch.search.setup.targets import read_target, resolve_target

pytestmark = pytest.mark.normal


def test_every_build_is_timed(tmp_path: Path) -> None:
    target = resolve_target(read_target(None))
    found = list(measure("threshold", dict(procedures())["threshold"], target, tmp_path))
    assert [(each.way, each.same) for each in found] == [("written", True), ("vectors", True)]
    assert all(set(each.ns) == set(BUILDS) and min(each.ns.values()) > 0 for each in found)
    shown = StringIO()
    Console(file=shown, width=120).print(table(found))
    assert "threshold" in shown.getvalue()

"""The efficiency benchmark: the best so far, and when it passed what."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.efficiency.__main__ import find_case
from benchmarks.efficiency.curve import Point, course, passed
from benchmarks.suite.case import EXAMPLES
from benchmarks.suite.catalogue import CASES
from schedsearch.core.errors import UserError
from schedsearch.store.views import Timed

pytestmark = pytest.mark.normal

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def timed(after_s: float, candidate: int, speedup: float, kind: str = "screen") -> Timed:
    at = BEGAN + timedelta(seconds=after_s)
    return Timed(at, 1, candidate, kind, speedup, candidate_ns=1e6 / speedup)


def test_the_best_so_far_is_over_time_and_over_candidates() -> None:
    """A slower one is no point of the curve; a candidate measured twice counts once."""
    found = [
        timed(1.0, 1, 1.0, "baseline"),
        timed(3.0, 2, 2.0),
        timed(4.0, 3, 1.5),
        timed(5.0, 2, 2.2),
        timed(6.0, 4, 4.0),
        timed(9.0, 4, 3.5, "confirm"),
        timed(9.5, 2, 2.1, "confirm"),
    ]
    curve, confirmed = course(found, BEGAN.timestamp())
    assert [(p.at_s, p.measured, p.speedup) for p in curve] == [
        (3.0, 1, 2.0),
        (5.0, 2, 2.2),
        (6.0, 3, 4.0),
    ]
    assert confirmed is not None
    assert (confirmed.speedup, confirmed.measured) == (3.5, 3)
    assert passed(curve, 1e-3 / 2.1) == curve[1]
    assert passed(curve, 1e-3 / 8) is None


def test_nothing_found_is_an_empty_curve() -> None:
    assert course([timed(1.0, 1, 1.0, "baseline"), timed(2.0, 2, 0.5)], 0.0) == ((), None)
    assert passed([Point(1.0, 1, 2.0, 0.5)], 0.4) is None


def test_kernels_are_the_suites_or_files(tmp_path: Path) -> None:
    assert find_case("gemm_nn", None, {}) in CASES
    case = find_case(str(EXAMPLES / "matmul.py"), None, {})
    assert (case.proc, case.python_peers) == ("matmul", ())
    with pytest.raises(UserError, match="neither a file nor a kernel"):
        find_case(str(tmp_path / "none.py"), None, {})


def test_help_teaches() -> None:
    command = [sys.executable, "-m", "benchmarks.efficiency", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "best so far" in shown
    assert "--budget" in shown

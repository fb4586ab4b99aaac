"""The benchmark of alignments: what it times, and what it shows."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.alignment import measure
from benchmarks.alignment.__main__ import as_json, table
from benchmarks.alignment.measure import Found, compare
from benchmarks.suite.case import Case
from schedsearch.core.alignment import ALLOCATED, LINE
from schedsearch.core.records import Measurement, Round
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.setup.run_summary import Elsewhere

pytestmark = pytest.mark.normal

KERNEL = """from __future__ import annotations
from exo import proc


@proc
def fill(y: f32[64]):
    for i in seq(0, 64):
        y[i] = 1.0
"""


def found(kernel: str, ratio: float) -> Found:
    rounds = (Round((1000.0 * ratio,), (1000.0,)),) * 3
    return Found(kernel, True, "-O2", Elsewhere(64, Measurement("elsewhere", rounds, 1)))


def test_a_kernel_as_written_is_timed_on_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fill.py").write_text(KERNEL)
    monkeypatch.setattr(measure, "PLAN", TimingPlan("elsewhere", 2, 2, sample_ns=1e4))
    (own,) = compare(Case("fill", tmp_path / "fill.py", "fill", "fill"), tmp_path / "none")
    assert (own.kernel, own.tuned) == ("fill", False)
    measured = own.elsewhere.measurement
    assert dict(measured.host)["align"] == f"{ALLOCATED}/{LINE}"
    assert len(measured.rounds) == 2
    assert as_json(own)["align"] == LINE


def test_what_is_above_the_limit_stands_out() -> None:
    rows = [found("dot", 1.25), found("axpy", 1.05)]
    assert [each.slower for each in rows] == [True, False]
    out = StringIO()
    Console(file=out, width=120).print(table(rows))
    _, first, second = out.getvalue().splitlines()
    assert first.split() == [
        "dot",
        "tuned",
        "-O2",
        "1.25",
        "us",
        "1",
        "us",
        "1.25x",
        "[1.25,",
        "1.25]",
    ]
    assert "1.05x" in second

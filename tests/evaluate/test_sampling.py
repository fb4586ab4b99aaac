"""Which loops an evaluation takes a part of, and that the part is right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from schedsearch.analysis.inline import inline_calls
from schedsearch.core.errors import BaselineError
from schedsearch.core.records import Artifact
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.oracle.sampling import samples
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror

from . import procs

PROCS = """from __future__ import annotations

from exo import proc
from exo.core.memory import DRAM
from exo.libs.externs import select


@proc
def scaled_first(C: f32[40, 40] @ DRAM, A: f32[40, 40] @ DRAM, B: f32[40, 40] @ DRAM):
    for i in seq(0, 40):
        for j in seq(0, 40):
            C[i, j] = 0.5 * C[i, j]
    for a in seq(0, 40):
        for b in seq(0, 40):
            for k in seq(0, 40):
                C[a, b] += A[a, k] * B[k, b]


@proc
def two(E: f32[40, 40] @ DRAM, A: f32[40, 40] @ DRAM, B: f32[40, 40] @ DRAM):
    D: f32[40, 40]
    for i in seq(0, 40):
        for j in seq(0, 40):
            D[i, j] = 0.0
            for k in seq(0, 40):
                D[i, j] += A[i, k] * B[k, j]
    for p in seq(0, 40):
        for q in seq(0, 40):
            E[p, q] = 0.0
            for r in seq(0, 40):
                E[p, q] += D[p, r] * B[r, q]


@proc
def product_of_products(E: f32[40, 40] @ DRAM, A: f32[40, 40] @ DRAM, F: f32[40, 40] @ DRAM):
    for i in seq(0, 40):
        for j in seq(0, 40):
            F[i, j] = A[j, i] + A[i, j]
    for p in seq(0, 40):
        for q in seq(0, 40):
            E[p, q] = 0.0
            for r in seq(0, 40):
                E[p, q] += A[p, r] * F[r, q]


@proc
def columns(y: f32[60] @ DRAM, A: f32[60, 60] @ DRAM):
    for k in seq(0, 60):
        for i in seq(k, 60):
            y[i] += A[i, k]


@proc
def both_sides(y: f32[60, 60] @ DRAM):
    for i in seq(0, 60):
        for j in seq(0, i):
            y[i, j] = 2.0 * y[i, j]
            y[j, i] = 2.0 * y[j, i]


@proc
def through_a_sum(x: f32[60] @ DRAM):
    s: f32
    s = 0.0
    for i in seq(0, 60):
        s += x[i]
    for i in seq(0, 60):
        x[i] = x[i] - s


@proc
def shifted(y: f32[60] @ DRAM, x: f32[61] @ DRAM):
    for i in seq(0, 60):
        y[i] = x[i + 1]
    for i in seq(1, 60):
        x[i] = y[i - 1]


@proc
def rows_of_their_own(y: f32[60, 60] @ DRAM, x: f32[60, 60] @ DRAM):
    for i in seq(0, 60):
        row: f32[60]
        for j in seq(0, 60):
            row[j] = x[i, j] * x[i, j]
        for j in seq(0, 60):
            y[i, j] = row[59 - j]


@proc
def truncated(y: i8[100, 100] @ DRAM, A: f32[100, 300] @ DRAM, B: f32[300, 100] @ DRAM):
    for i in seq(0, 100):
        for j in seq(0, 100):
            s: f32
            s = 0.0
            for k in seq(0, 300):
                s += A[i, k] * B[k, j]
            y[i, j] = s


@proc
def halves(y: f16[100, 100] @ DRAM, A: f16[100, 300] @ DRAM, B: f16[300, 100] @ DRAM):
    for i in seq(0, 100):
        for j in seq(0, 100):
            for k in seq(0, 300):
                y[i, j] += A[i, k] * B[k, j]


@proc
def rectified(y: f32[100, 100] @ DRAM, A: f32[100, 300] @ DRAM, B: f32[300, 100] @ DRAM):
    for i in seq(0, 100):
        for j in seq(0, 100):
            y[i, j] = 0.0
            for k in seq(0, 300):
                y[i, j] += A[i, k] * B[k, j]
            y[i, j] = select(0.0, y[i, j], y[i, j], 0.0)
"""


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    file = tmp_path_factory.mktemp("sampled") / "sampled.py"
    file.write_text(PROCS)
    return dict(load_source(file).procs)


def sampled(procedure: Any) -> list[str]:
    """The loops of each sample."""
    found = samples(inline_calls(mirror(procedure)))
    return ["".join(sorted(var.name for var in each.loops)) for each in found]


SAMPLED = {
    "scaled_first": ["ai", "bj"],
    "two": ["ip", "q"],  # columns of D are needed by every row of E
    "product_of_products": ["jq", "p"],  # columns of F, of which each needs all rows
    "columns": ["i"],
    "both_sides": [],
    "through_a_sum": [],
    "shifted": [],
    "rows_of_their_own": ["i", "j"],
    "truncated": ["i", "j"],
    "halves": ["i", "j"],
    "rectified": ["i", "j"],
}


@pytest.mark.parametrize(("name", "loops"), SAMPLED.items(), ids=SAMPLED.keys())
def test_which_loops(named: dict[str, Any], name: str, loops: list[str]) -> None:
    assert sorted(sampled(named[name])) == sorted(loops)


def test_which_loops_of_one_nest() -> None:
    assert sampled(procs.matmul) == ["i", "j"]
    assert sampled(procs.triangle) == ["i"]
    assert sampled(procs.recurrence) == []  # elements are read by other iterations
    assert sampled(procs.long_sum) == []
    assert sampled(procs.normalise) == ["i"]  # the last of its three loops


@pytest.mark.normal
@pytest.mark.parametrize("name", [name for name, loops in SAMPLED.items() if loops])
def test_the_part_is_right(
    named: dict[str, Any],
    name: str,
    builder: Builder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._SAMPLED", 1000)
    proc, code = mirror(named[name]), generate_c(named[name])
    bench = prepare(proc, code, bind(proc, {}), builder, tmp_path / "right")
    assert bench.cases[-1].share < 1
    assert not bench.agreement.weak
    end = code.source.rindex("}")
    output = proc.args[0].var.name
    wrong = f"{code.source[:end]}{output}[41] += 1.0f;\n}}\n"  # the first rows are always taken
    with pytest.raises(BaselineError, match="disagrees with its evaluation"):
        prepare(proc, procs.handwritten(code, wrong), bind(proc, {}), builder, tmp_path / "wrong")


@pytest.mark.normal
@pytest.mark.parametrize("name", ["truncated", "halves"])
def test_sums_in_another_order_are_right_where_nothing_is_evaluated(
    named: dict[str, Any],
    name: str,
    builder: Builder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Although they are truncated to other integers, or are known less well than a thousandth. On
    integers, which are exact, each element counts."""
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._SAMPLED", 3e5)
    proc, code = mirror(named[name]), generate_c(named[name])
    bench = prepare(proc, code, bind(proc, {}), builder, tmp_path)
    assert all(case.share < 1 for case in bench.cases)
    assert not bench.agreement.weak
    forwards = r"(\w+) = 0; \1 < 300; \1\+\+"
    backwards, count = re.subn(forwards, r"\1 = 299; \1 >= 0; \1--", code.source)
    assert count == 1
    end = backwards.rindex("}")
    wrong = f"{backwards[:end]}y[5337] += 1;\n}}\n"
    kernels = [builder.build(procs.handwritten(code, text), 60) for text in (backwards, wrong)]
    right, found = (bench.verify(each) for each in kernels if isinstance(each, Artifact))
    assert right is None
    assert found is not None
    assert "y[53, 37]" in found.message


@pytest.mark.normal
def test_a_choice_that_is_continuous_is_judged_where_nothing_is_evaluated(
    named: dict[str, Any], builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault shows only where sums are rounded."""
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._SAMPLED", 3e5)
    proc, code = mirror(named["rectified"]), generate_c(named["rectified"])
    bench = prepare(proc, code, bind(proc, {}), builder, tmp_path)
    assert all(case.share < 1 for case in bench.cases)
    end = code.source.rindex("}")
    fault = "if (y[5337] != (float)(long)y[5337]) y[5337] *= 1.5f;"
    wrong = builder.build(procs.handwritten(code, f"{code.source[:end]}{fault}\n}}\n"), 60)
    assert isinstance(wrong, Artifact)
    found = bench.verify(wrong)
    assert found is not None
    assert "y[53, 37]" in found.message

# ruff: noqa: F821
"""What is too large, or too slow as written, to be compared as a whole."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from exo import proc

from schedsearch.core.records import Artifact, Failure, GeneratedC, Measurement
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.roof.work import count_steps
from schedsearch.evaluate.run import sanitize
from schedsearch.evaluate.run.bench import EXTRAPOLATED, Bench
from schedsearch.evaluate.run.findings import Check, Finding
from schedsearch.evaluate.run.preparing import Excerpt, prepare
from schedsearch.evaluate.run.sanitize import Inspector
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.part import part_of

from . import procs


@proc
def doubled(y: f32[200, 300], x: f32[200, 300]):
    for i in seq(0, 200):
        for j in seq(0, 300):
            y[i, j] = x[i, j] + x[i, j]


@proc
def added(y: f32[200, 300], x: f32[200, 300]):
    for i in seq(0, 200):
        for j in seq(0, 300):
            y[i, j] += x[i, j] * x[i, j]


@proc
def summed(y: f32, x: f32[200, 300]):
    for i in seq(0, 200):
        for j in seq(0, 300):
            y += x[i, j]


@proc
def triangle(n: size, y: f32[n], x: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, i):
            y[i] += x[i, j]


ALL = "for (int i = 0; i < 200; i++) for (int j = 0; j < 300; j++)"
PLAN = TimingPlan("screen", 3, 3)


@pytest.fixture(autouse=True)
def sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """60,000 elements are many, of which 2,000 are evaluated: every 5th or 6th row and column."""
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._LARGE", 1 << 14)
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._EVALUATED", 2000)


def large(procedure: Any, builder: Builder, work: Path, excerpt: Excerpt | None = None) -> Bench:
    proc = mirror(procedure)
    return prepare(proc, generate_c(procedure), bind(proc, {}), builder, work, excerpt=excerpt)


def built(builder: Builder, procedure: Any, body: str) -> Artifact:
    code = generate_c(procedure)
    found = builder.build(procs.handwritten(code, f"{_signature(code)}{{ {body} }}\n"), 60)
    assert isinstance(found, Artifact), found
    return found


@pytest.mark.normal
def test_of_large_outputs_a_part_is_kept(builder: Builder, tmp_path: Path) -> None:
    bench = large(added, builder, tmp_path)
    _, guarded, timed = bench.cases
    assert all(case.uncalled for case in bench.cases)
    assert (guarded.timed, timed.timed) == (False, True)
    assert timed.expected.stat().st_size < 200 * 300 * 4
    assert not bench.agreement.cases
    assert bench.agreement.verdict.startswith("weakly verified: outputs are large")
    assert bench.verify(bench.baseline) is None
    right = built(builder, added, f"{ALL} y[300 * i + j] += x[300 * i + j] * x[300 * i + j];")
    assert bench.verify(right) is None


@pytest.mark.normal
@pytest.mark.parametrize(("row", "column"), [(0, 0), (17, 100), (99, 203), (150, 31), (194, 294)])
def test_no_block_goes_without(row: int, column: int, builder: Builder, tmp_path: Path) -> None:
    """Wherever it is: of six rows and columns in a row, one is evaluated."""
    bench = large(doubled, builder, tmp_path)
    inside = f"i >= {row} && i < {row + 6} && j >= {column} && j < {column + 6}"
    skipped = f"{ALL} if (!({inside})) y[300 * i + j] = 2 * x[300 * i + j];"
    failure = bench.verify(built(builder, doubled, skipped))
    assert failure is not None
    assert "expected" in failure.message


@pytest.mark.normal
def test_one_element_that_is_not_written(builder: Builder, tmp_path: Path) -> None:
    """Where nothing was evaluated."""
    bench = large(doubled, builder, tmp_path)
    for row, column in ((17, 101), (18, 101), (101, 17), (101, 18)):
        skipped = f"if (i != {row} || j != {column}) y[300 * i + j] = 2 * x[300 * i + j];"
        failure = bench.verify(built(builder, doubled, f"{ALL} {skipped}"))
        assert failure is not None
        assert f"y[{row}, {column}] is nan" in failure.message


@proc
def inner(y: f32[200, 300], x: f32[200, 300]):
    for i in seq(1, 200):
        for j in seq(0, 299):
            y[i, j] = x[i, j] + x[i, j]


@pytest.mark.normal
def test_elements_that_the_procedure_does_not_write(builder: Builder, tmp_path: Path) -> None:
    bench = large(inner, builder, tmp_path)
    assert bench.verify(bench.baseline) is None


@pytest.mark.normal
def test_what_is_only_read_cannot_be_written(builder: Builder, tmp_path: Path) -> None:
    bench = large(doubled, builder, tmp_path)
    body = f"{ALL} y[300 * i + j] = 2 * x[300 * i + j]; ((float *)x)[307] = 1;"
    failure = bench.verify(built(builder, doubled, body))
    assert failure is not None
    assert "x[1, 7]" in failure.message


@pytest.mark.normal
def test_sanitizers_look_at_large_cases(builder: Builder, tmp_path: Path) -> None:
    bench = large(doubled, builder, tmp_path)
    inspector = Inspector(bench.plan.proc, generate_c(doubled), bench, builder)
    checks = inspector.inspect(generate_c(doubled))
    assert {check.verdict for check in checks} <= {Finding.PASSED, Finding.NOT_CHECKED}


@proc
def sized(n: size, y: f32[n, 300], x: f32[n, 300]):
    for i in seq(0, n):
        for j in seq(0, 300):
            y[i, j] = x[i, j] + x[i, j]


@pytest.mark.normal
@pytest.mark.parametrize(
    ("split", "coverage"),
    [(False, "passed"), (True, "not checked (`if (n >= 200)`: but not with n=200: ")],
)
def test_sanitizers_wait_for_large_cases_just_so_long(
    split: bool,
    coverage: str,
    builder: Builder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What smaller ones show counts all the same, however long they take; of code that only large
    ones run nothing is known."""
    ast, code = mirror(sized), generate_c(sized)
    excerpt = Excerpt(code, 1.0, patience_s=0.0)
    bench = prepare(ast, code, bind(ast, {"n": 200}), builder, tmp_path, excerpt=excerpt)
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < 300; j++)"
    body = f"{loops} y[300 * i + j] = 2 * x[300 * i + j];"
    if split:
        body = f"if (n >= 200) {{\n{body}\n}} else {{\n{body}\n}}"
    body = f"for (volatile int on = n == 200; on;);\n{body}"
    kernel = procs.handwritten(code, f"{_signature(code)}{{\n{body}\n}}\n")
    inspector, called = Inspector(ast, code, bench, builder, slow_s=1.0), Inspector._called
    now = 0.0
    monkeypatch.setattr(sanitize, "time", SimpleNamespace(monotonic=lambda: now))

    def on_a_slow_machine(*about: Any) -> Check:
        nonlocal now
        found = called(*about)
        now += 100.0 if sanitize._RUN_S in about else 0.0
        return found

    monkeypatch.setattr(Inspector, "_called", on_a_slow_machine)
    memory, all_run = (str(each) for each in inspector.inspect(kernel))
    # It is ended by its own alarm, or from outside: both after a second.
    ended = "(still running|time limit exceeded)"
    assert re.search(rf"behaviour: passed \(but not with n=200: {ended}", memory)
    assert all_run.startswith(f"all code is run: {coverage}")


def _signature(code: GeneratedC) -> str:
    text = code.source[code.source.index(f"void {code.proc}(") :].split("{")[0]
    return f"#include <stdint.h>\n{text}"


def slow(builder: Builder, work: Path, patience_s: float = 0.0) -> Bench:
    """Of a procedure of which a tenth is timed; calls as it is written never end."""
    part, scale = part_of(added, lambda ast: count_steps(ast, bind(ast, {})), 12_000)
    assert scale == 10
    code = generate_c(added)
    endless = code.source.replace("{\n", "{\nfor (volatile int on = 1; on;);\n", 1)
    reference = procs.handwritten(code, endless)
    excerpt = Excerpt(generate_c(part), scale, patience_s)
    ast = mirror(added)
    return prepare(ast, reference, bind(ast, {}), builder, work, excerpt=excerpt)


@pytest.mark.normal
def test_a_procedure_that_takes_too_long_is_not_called(builder: Builder, tmp_path: Path) -> None:
    bench = slow(builder, tmp_path)
    assert bench.part is not None
    assert "in 0 of 2 cases (a call as written takes too long" in str(bench.agreement)
    body = f"{ALL} y[300 * i + j] += x[300 * i + j] * x[300 * i + j];"
    right, wrong = (built(builder, added, each) for each in (body, body.replace("+=", "=")))
    assert isinstance(bench.verify(wrong), Failure)
    baseline = bench.time_baseline(PLAN).result
    assert isinstance(baseline, Measurement)
    assert dict(baseline.host)[EXTRAPOLATED] == "1/10"
    assert 0.3 < baseline.ratio.value < 3
    timed = bench.evaluate(right, PLAN, bench.standard).result
    assert isinstance(timed, Measurement)
    assert timed.as_written
    assert timed.reference == bench.baseline.code_key
    # The part alone takes a tenth of that.
    assert 0.3 < baseline.candidate_ns / (timed.candidate_ns * timed.ratio.value) < 3
    assert timed.ratio.value > 0.2


@pytest.mark.normal
def test_what_cannot_be_evaluated_is_called_for_its_results_alone(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of it is timed all the same."""
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._MOST_EVALUATED", 100)
    part, scale = part_of(summed, lambda ast: count_steps(ast, bind(ast, {})), 6000)
    ast, code = mirror(summed), generate_c(summed)
    excerpt = Excerpt(generate_c(part), scale, patience_s=0.0)
    bench = prepare(ast, code, bind(ast, {}), builder, tmp_path, excerpt=excerpt)
    assert bench.part is not None
    assert all(case.as_written and not case.uncalled for case in bench.cases)
    assert bench.agreement.verdict.startswith("weakly verified: its size takes too long")
    body = f"{ALL} *y += x[300 * i + j];"
    right, wrong = (built(builder, summed, each) for each in (body, body.replace("+=", "=")))
    assert isinstance(bench.verify(wrong), Failure)
    timed = bench.evaluate(right, PLAN, bench.standard).result
    assert isinstance(timed, Measurement)
    assert dict(bench.time_baseline(PLAN).result.host)[EXTRAPOLATED] == "1/10"


@pytest.mark.normal
def test_what_is_fast_enough_is_called(builder: Builder, tmp_path: Path) -> None:
    ast = mirror(added)
    excerpt = Excerpt(generate_c(added), 1.0, patience_s=10.0)
    bench = prepare(ast, generate_c(added), bind(ast, {}), builder, tmp_path, excerpt=excerpt)
    assert bench.part is None
    assert "a part of the results" in str(bench.agreement)
    assert bench.call_ns[0] > 0


@pytest.mark.parametrize(
    ("procedure", "most"), [(doubled, 6000), (triangle, 500), (procs.matmul, 9)]
)
def test_a_part_does_as_much_less_as_is_said(procedure: Any, most: int) -> None:
    sizes = {"M": 8, "N": 8, "K": 8, "n": 64}
    whole = mirror(procedure)
    binding = bind(
        whole, {arg.var.name: sizes[arg.var.name] for arg in whole.args if arg.type == "size"}
    )
    part, scale = part_of(procedure, lambda ast: count_steps(ast, binding), most)
    steps = count_steps(mirror(part), binding)
    assert steps <= 2 * most
    assert scale == count_steps(whole, binding) / steps
    generate_c(part)


def test_what_is_small_is_its_own_part() -> None:
    assert part_of(doubled, lambda _: 100, 100) == (doubled, 1.0)

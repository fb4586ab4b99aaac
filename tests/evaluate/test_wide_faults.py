# ruff: noqa: F821
"""Faults that only integers of many bits show, or floats beyond the constants of a procedure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from exo import proc
from exo.libs.externs import select

from schedsearch.analysis.inline import inline_calls
from schedsearch.core.records import Artifact, Outcome
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.oracle.ladders import Mode, far_beyond, wide_arrays
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror

from .procs import handwritten

pytestmark = pytest.mark.normal


@proc
def products(n: size, y: i32[5], A: i32[5, n], x: i32[n]):
    for i in seq(0, 5):
        for k in seq(0, n):
            y[i] += A[i, k] * x[k]


@proc
def bounded(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = select(x[i], 3.4e38, x[i], 3.4e38)


@proc
def clipped(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = select(300.0, x[i], 0.5 * x[i], x[i])


@proc
def clipped_low(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = select(0.01 * x[i], -4.0, 0.5 * x[i], x[i])


@proc
def clipped_bytes(n: size, y: i8[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = select(300.0, x[i], 0.5 * x[i], x[i])


@proc
def near(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = select(6.0, x[i], 6.0, x[i])


def bench_of(procedure: Any, builder: Builder, folder: Path) -> Bench:
    meaning = mirror(procedure)
    return prepare(meaning, generate_c(procedure), bind(meaning, {"n": 300}), builder, folder)


def refused(bench: Bench, procedure: Any, body: str, builder: Builder) -> bool:
    code = generate_c(procedure)
    head = code.source[code.source.index(f"void {code.proc}(") :].split("{")[0]
    source = f"#include <stdint.h>\n{head} {{ {body} }}\n"
    artifact = builder.build(handwritten(code, source), 60)
    assert isinstance(artifact, Artifact), artifact
    failure = bench.verify(artifact)
    assert failure is None or failure.outcome is Outcome.INCORRECT
    return failure is not None


TERMS = {
    "A[i * n + k] * x[k]": True,
    "(int16_t)A[i * n + k] * (int16_t)x[k]": False,
    "(int16_t)A[i * n + k] * x[k]": False,
    "A[i * n + k] * (int16_t)x[k]": False,
    "(int32_t)((float)A[i * n + k] * (float)x[k])": False,
}


def test_factors_of_more_than_16_bits(builder: Builder, tmp_path: Path) -> None:
    bench = bench_of(products, builder, tmp_path)
    modes = [case.oracle.mode for case in bench.cases]
    assert modes.count(Mode.ONE_ARRAY) == 6
    loops = "for (int i = 0; i < 5; i++) for (int k = 0; k < n; k++)"
    for term, right in TERMS.items():
        assert refused(bench, products, f"{loops} y[i] += {term};", builder) != right, term
    short = f"{loops} y[i] = (int16_t)y[i] + A[i * n + k] * x[k];"
    assert refused(bench, products, short, builder)


@pytest.mark.parametrize(
    ("procedure", "right", "wrong"),
    [
        (clipped, "x[i] > 300 ? 0.5f * x[i] : x[i]", ["x[i]", "x[i] > 300 ? 0.4f * x[i] : x[i]"]),
        (clipped_low, "0.01f * x[i] < -4 ? 0.5f * x[i] : x[i]", ["x[i]"]),
    ],
)
def test_a_branch_that_only_large_numbers_take(
    procedure: Any, right: str, wrong: list[str], builder: Builder, tmp_path: Path
) -> None:
    bench = bench_of(procedure, builder, tmp_path)
    loop = "for (int i = 0; i < n; i++)"
    assert not refused(bench, procedure, f"{loop} y[i] = {right};", builder)
    for fault in wrong:
        assert refused(bench, procedure, f"{loop} y[i] = {fault};", builder)


def test_floats_that_no_byte_holds_are_left_out(builder: Builder, tmp_path: Path) -> None:
    """C does not define what becomes of them."""
    bench = bench_of(clipped_bytes, builder, tmp_path)
    assert Mode.BEYOND not in {case.oracle.mode for case in bench.cases}


def test_how_far_constants_are() -> None:
    found = {
        each.name(): far_beyond(inline_calls(mirror(each)))
        for each in (clipped, clipped_low, near, products, bounded)
    }
    assert found["clipped"] == 600.0
    assert found["clipped_low"] == pytest.approx(800.0)
    assert (found["near"], found["products"]) == (0.0, 0.0)
    assert found["bounded"] == 0.0  # inputs are finite
    assert wide_arrays(inline_calls(mirror(products))) == [0, 1, 2]
    assert wide_arrays(inline_calls(mirror(clipped))) == []

"""Masked registers of a block load all lanes where arrays have them, and no lane beyond counts."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core.errors import RewriteError
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import At, Op, Vector, run_op
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.vector.fused.recognise import fuse
from transforms.execution import assert_exact
from transforms.helpers import TARGET
from transforms.native import Library

(REGISTER,) = select(["register_block"])
BITS = (128, 256, 512)

SUMS = """from __future__ import annotations
from exo import proc


@proc
def corner(C: {kind}[4, 4], A: {kind}[4, 7], B: {kind}[7, 4]):
    for i in seq(0, 4):
        for j in seq(0, i + 1):
            for k in seq(0, 7):
                C[i, j] += A[i, k] * B[k, j]


@proc
def strictly_below(C: {kind}[4, 4], A: {kind}[4, 7], B: {kind}[7, 4]):
    for i in seq(0, 4):
        for j in seq(0, i):
            for k in seq(0, 7):
                C[i, j] += A[i, k] * B[k, j]


@proc
def columns(C: {kind}[4, 13], A: {kind}[4, 7], B: {kind}[7, 32]):
    for i in seq(0, 4):
        for j in seq(0, 13):
            for k in seq(0, 7):
                C[i, j] += A[i, k] * B[k, j]


@proc
def narrow(C: {kind}[4, 3], A: {kind}[4, 7], B: {kind}[7, 3]):
    for i in seq(0, 4):
        for j in seq(0, 3):
            for k in seq(0, 7):
                C[i, j] += A[i, k] * B[k, j]


@proc
def sizes(N: size, C: {kind}[4, N], A: {kind}[4, 7], B: {kind}[7, N + 16]):
    for i in seq(0, 4):
        for j in seq(0, N):
            for k in seq(0, 7):
                C[i, j] += A[i, k] * B[k, j]
"""


def blocks(name: str, kind: str, folder: Path) -> tuple[Any, list[Any]]:
    """The procedure, and every block of it in registers of every length."""
    (file := folder / f"sums_{kind}.py").write_text(SUMS.format(kind=kind))
    procedure = load_source(file).procs[name]
    ast = mirror(procedure)
    results = []
    for bits in BITS:
        for rewrite in REGISTER.rewrites(ast, replace(TARGET, vector_bits=bits)):
            with suppress(RewriteError):
                results.append(apply(procedure, ast, rewrite))
    return procedure, results


def masked_sums(result: Any) -> list[str]:
    """The lines of instructions of so many lanes that multiply."""
    functions = re.findall(
        r"\(\s*long n,[^)]*\)\s*\{(.*?)\n    \}", generate_c(result).source, re.S
    )
    return [line for body in functions for line in body.splitlines() if " * " in line]


def loads_whole(result: Any) -> bool:
    """Whether a masked sum reads its operand without a mask."""
    return any("load_n(" not in line for line in masked_sums(result))


@pytest.mark.normal
@pytest.mark.parametrize("kind", ["f32", "f64", "i32"])
@pytest.mark.parametrize("name", ["corner", "strictly_below", "columns", "narrow", "sizes"])
def test_every_block_is_exact(name: str, kind: str, tmp_path: Path) -> None:
    procedure, results = blocks(name, kind, tmp_path)
    sizes = [{"N": n} for n in (1, 3, 4, 15, 16, 17, 37)] if name == "sizes" else [{}]
    assert results
    assert_exact(procedure, results, sizes, tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize(
    ("name", "whole"), [("corner", True), ("columns", True), ("narrow", False)]
)
def test_lanes_are_loaded_only_where_the_array_has_them(
    name: str, whole: bool, tmp_path: Path
) -> None:
    _, results = blocks(name, "f32", tmp_path)
    assert any(map(loads_whole, results)) == whole


@pytest.mark.normal
@pytest.mark.parametrize(
    ("name", "spare"),
    [
        *(("corner", False), ("strictly_below", False)),
        *(("columns", True), ("narrow", True), ("sizes", True)),
    ],
)
def test_lanes_that_nothing_stores_may_have_any_value(
    name: str, spare: bool, tmp_path: Path
) -> None:
    """Rows of a triangle share a store: it has the lanes of the longest one."""
    _, results = blocks(name, "f32", tmp_path)
    sums = [line for result in results for line in masked_sums(result)]
    assert sums
    assert any("_merge" in line for line in sums) is not spare


@pytest.mark.normal
@pytest.mark.parametrize("flags", [["-O3", "-march=native"], ["-O1"]])
def test_what_lies_beyond_does_not_count(flags: list[str], tmp_path: Path) -> None:
    """Not even if it is no number: 0 times NaN is NaN."""
    procedure, results = blocks("columns", "f32", tmp_path)
    ast = mirror(procedure)
    library = Library([generate_c(each) for each in results], tmp_path, flags)
    rng = np.random.default_rng(1)
    for number in range(len(results)):
        a, b = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ((4, 7), (7, 32)))
        c = np.ones((4, 13), np.float32)
        wanted = c + a @ b[:, :13]
        b[:, 13:] = np.nan
        library.call(number, ast, [c, a, b])
        assert np.array_equal(c, wanted), str(results[number])


@pytest.mark.normal
@pytest.mark.parametrize("name", ["corner", "strictly_below", "narrow", "sizes"])
def test_what_fills_one_register_at_most_has_no_loop(name: str, tmp_path: Path) -> None:
    """gcc leaves a tile in memory that is updated in a loop of unknown length."""
    _, results = blocks(name, "f32", tmp_path)
    texts = [generate_c(result).source for result in results]
    assert any("long n" in text for text in texts)
    assert not any("l < n; l += " in text for text in texts)


LANES = """from __future__ import annotations
from exo import proc


@proc
def lanes(y: f32[16], x: f32[16], a: f32[1]):
    t: f32[16]
    for l in seq(0, 16):
        t[l] = y[l]
    for l in seq(0, 5):
        t[l] += a[0] * x[l]
    for l in seq(0, 16):
        y[l] = t[l]
"""


@pytest.mark.normal
@pytest.mark.parametrize("flags", [["-O1", "-march=native"], ["-O1"]])
def test_the_first_row_of_a_triangle_may_have_no_lane(flags: list[str], tmp_path: Path) -> None:
    """A mask of AVX-512 for no lane would be one for all."""
    procedure, results = blocks("strictly_below", "f32", tmp_path)
    library = Library([generate_c(each) for each in results], tmp_path, flags)
    assert any(map(loads_whole, results))
    for number in range(len(results)):
        c, a, b = (np.ones(shape, np.float32) for shape in ((4, 4), (4, 7), (7, 4)))
        library.call(number, mirror(procedure), [c, a, b])
        assert np.array_equal(c, 1 + 7 * np.tri(4, k=-1)), str(results[number])


@pytest.mark.normal
@pytest.mark.parametrize("flags", [["-O3", "-march=native"], ["-O1"]])
def test_other_lanes_of_the_register_keep_their_values(flags: list[str], tmp_path: Path) -> None:
    (file := tmp_path / "lanes.py").write_text(LANES)
    written = load_source(file).procs["lanes"]
    procedure = run_op(written, Op("set_memory", (At((0,)), Vector("f32", 16, "VEC_F32X16"))))
    for place, counted in ((1, False), (2, True), (3, False)):
        ast = mirror(procedure)
        fused = fuse(ast, ast.by_path[place,], 16, counted, whole=counted)
        assert fused.whole == counted
        procedure = run_op(procedure, Op("replace", (At((place,)), fused)))
    library = Library([generate_c(procedure)], tmp_path, flags)
    y, x, a = (np.arange(16, dtype=np.float32), np.full(16, 3, np.float32), np.full(1, 2.0, "f4"))
    wanted = y + np.where(np.arange(16) < 5, 6, 0)
    library.call(0, mirror(written), [y, x, a])
    assert np.array_equal(y, wanted)

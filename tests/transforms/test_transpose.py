"""Transposition in registers gives every element, of every type and register, at every size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.execution import assert_exact
from transforms.helpers import TARGET, source

(TRANSPOSE,) = select(["transpose"])
BITS = (128, 256, 512)
SIZES = [{"M": m, "N": n} for m, n in ((1, 1), (16, 16), (17, 31), (33, 8), (5, 64), (48, 34))]

COPIES = """from __future__ import annotations
from exo import DRAM, proc


@proc
def rows(M: size, N: size, B: {kind}[N, M], A: {kind}[M, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            B[j, i] = A[i, j]


@proc
def columns(M: size, N: size, B: {kind}[N, M], A: {kind}[M, N]):
    for j in seq(0, N):
        for i in seq(0, M):
            B[j, i] = A[i, j]


@proc
def inside(M: size, N: size, B: {kind}[3, N, 2, M], A: {kind}[M + 3, 3, N + 2]):
    for b in seq(0, 3):
        for j in seq(0, N):
            for i in seq(0, M):
                B[b, j, 1, i] = A[i + 3, b, j + 1]


@proc
def triangle(N: size, B: {kind}[N, N], A: {kind}[N, N]):
    for i in seq(0, N):
        for j in seq(0, i + 1):
            B[j, i] = A[i, j]


@proc
def diagonal(N: size, B: {kind}[2 * N, N], A: {kind}[N, N]):
    for i in seq(0, N):
        for j in seq(0, N):
            B[i + j, i] = A[i, j]


@proc
def strided(N: size, B: {kind}[N, 2 * N], A: {kind}[N, N]):
    for i in seq(0, N):
        for j in seq(0, N):
            B[j, 2 * i] = A[i, j]


@proc
def itself(N: size, A: {kind}[2 * N, N]):
    for i in seq(0, N):
        for j in seq(0, N):
            A[j, i] = A[i + N, j]


@proc
def scaled(N: size, B: {kind}[N, N], A: {kind}[N, N]):
    for i in seq(0, N):
        for j in seq(0, N):
            B[j, i] = A[i, j] + A[i, j]


@proc
def plain(N: size, B: {kind}[N, N], A: {kind}[N, N]):
    for i in seq(0, N):
        for j in seq(0, N):
            B[i, j] = A[i, j]


@proc
def scalar(N: size, B: {kind}[N, N], a: {kind}):
    for i in seq(0, N):
        for j in seq(0, N):
            B[j, i] = a


@proc
def far(N: size, w: [{kind}][N, N], A: {kind}[N, N]):
    for i in seq(0, N):
        for j in seq(0, N):
            w[j, i] = A[i, j]
"""


def copies(folder: Path, kind: str = "f32") -> dict[str, object]:
    (file := folder / f"copies_{kind}.py").write_text(COPIES.format(kind=kind))
    return load_source(file).procs


@pytest.mark.normal
@pytest.mark.parametrize("kind", ["f32", "f64", "i32"])
@pytest.mark.parametrize("name", ["rows", "columns", "inside"])
def test_every_element_arrives(kind: str, name: str, tmp_path: Path) -> None:
    procedure = copies(tmp_path, kind)[name]
    ast = mirror(procedure)
    results = []
    for bits in BITS:
        (rewrite,) = TRANSPOSE.rewrites(ast, replace(TARGET, vector_bits=bits))
        results.append(apply(procedure, ast, rewrite))
    assert_exact(procedure, results, SIZES, tmp_path)
    for result in results:
        assert "__builtin_shufflevector" in generate_c(result).source


@pytest.mark.parametrize(
    "name", ["triangle", "diagonal", "strided", "itself", "scaled", "plain", "scalar", "far"]
)
def test_other_copies_are_left_alone(name: str, tmp_path: Path) -> None:
    procedure = copies(tmp_path)[name]
    ast = mirror(procedure)
    assert not list(TRANSPOSE.rewrites(ast, TARGET))
    at = Rewrite("transpose", 1, (0,), f"for i in seq(0, {ast.args[0].var.name})", (("lanes", 8),))
    with pytest.raises(RewriteError, match="no two loops"):
        apply(procedure, ast, at)


def test_there_is_nothing_to_transpose_without_vectors() -> None:
    ast = mirror(source("before").procs["transpose"])
    assert not list(TRANSPOSE.rewrites(ast, replace(TARGET, vector_bits=0)))


@pytest.mark.parametrize("lanes", [0, 3, 32, True, "8"])
def test_refuses_registers_that_nobody_has(lanes: object) -> None:
    procedure = source("before").procs["transpose"]
    ast = mirror(procedure)
    (rewrite,) = TRANSPOSE.rewrites(ast, TARGET)
    odd = Rewrite("transpose", 1, rewrite.path, rewrite.label, (("lanes", lanes),))
    with pytest.raises(RewriteError, match="registers have"):
        apply(procedure, ast, odd)

"""Transposition in registers gives every element, of every type and register, at every size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from exo.stdlib import scheduling

from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators import transposing
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


def transposed(kind: str, name: str, folder: Path) -> tuple[object, list[object]]:
    """A copy, and what all registers and walks make of it."""
    procedure = copies(folder, kind)[name]
    ast = mirror(procedure)
    targets = [replace(TARGET, vector_bits=bits) for bits in BITS]
    rewrites = {each for target in targets for each in TRANSPOSE.rewrites(ast, target)}
    return procedure, [apply(procedure, ast, each) for each in sorted(rewrites, key=repr)]


@pytest.mark.normal
@pytest.mark.parametrize("kind", ["f32", "f64", "i32", "ui8", "i8", "ui16"])
@pytest.mark.parametrize("name", ["rows", "columns", "inside"])
def test_every_element_arrives(kind: str, name: str, tmp_path: Path) -> None:
    procedure, results = transposed(kind, name, tmp_path)
    assert_exact(procedure, results, SIZES, tmp_path)
    for result in results:
        assert "__builtin_shufflevector" in generate_c(result).source


@pytest.mark.normal
@pytest.mark.parametrize(
    ("right", "wrong"),
    [("2 * i - g + 1]", "2 * i - g]"), ("r0 < rows &&", "r0 + 4 < rows &&"), ("c0 < 0", "c0 < 9")],
)
def test_a_wrong_instruction_is_found(
    right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = transposing._function

    def faulty(transpose: transposing.Transpose) -> list[str]:
        lines = list(function(transpose))
        assert any(right in line for line in lines)
        return [line.replace(right, wrong) for line in lines]

    monkeypatch.setattr(transposing, "_function", faulty)
    transposing.transpose_instruction.cache_clear()
    try:
        procedure, results = transposed("f32", "rows", tmp_path)
        with pytest.raises(AssertionError):
            assert_exact(procedure, results, SIZES, tmp_path)
    finally:
        transposing.transpose_instruction.cache_clear()


def walks_and_lanes(folder: Path, rows: int, columns: int, cache: int) -> list[tuple[str, int]]:
    sizes = {"A: {kind}[M, N]": f"A: f32[{rows}, {columns}]", "seq(0, M)": f"seq(0, {rows})"}
    sizes |= {"B: {kind}[N, M]": f"B: f32[{columns}, {rows}]", "seq(0, N)": f"seq(0, {columns})"}
    text = COPIES.split("@proc\ndef columns")[0].replace("M: size, N: size, ", "")
    for general, known in sizes.items():
        text = text.replace(general, known)
    (file := folder / "known.py").write_text(text)
    target = replace(TARGET, vector_bits=512, cache_bytes=(1 << 15, cache))
    rewrites = TRANSPOSE.rewrites(mirror(load_source(file).procs["rows"]), target)
    return [(args["walk"], args["lanes"]) for args in (dict(each.args) for each in rewrites)]


def test_large_matrices_are_also_walked_in_strips_and_past_the_caches(tmp_path: Path) -> None:
    large = walks_and_lanes(tmp_path, 2048, 512, 1 << 21)
    assert large == [("blocks", 16), ("strips", 16), ("streamed", 16)]
    assert walks_and_lanes(tmp_path, 2048, 512, 1 << 23) == [("blocks", 16)]


@pytest.mark.parametrize(("columns", "lanes"), [(3, []), (4, [4]), (9, [8]), (64, [16])])
def test_squares_fit_into_the_matrix(columns: int, lanes: list[int], tmp_path: Path) -> None:
    found = walks_and_lanes(tmp_path, 100, columns, 1 << 21)
    assert [n for _, n in found] == lanes


@pytest.mark.parametrize(("kind", "lanes"), [("i8", []), ("f32", [4]), ("f64", [4])])
def test_squares_fit_into_edges_of_any_length(kind: str, lanes: list[int], tmp_path: Path) -> None:
    procedure = copies(tmp_path, kind)["rows"]
    edge = scheduling.divide_loop(procedure, "i", 8, ["i", "ii"], tail="cut")
    found = list(TRANSPOSE.rewrites(mirror(edge), replace(TARGET, vector_bits=512)))
    assert {dict(each.args)["lanes"] for each in found if each.path == (1,)} == {*lanes}


@pytest.mark.parametrize(
    "name", ["triangle", "diagonal", "strided", "itself", "scaled", "plain", "scalar", "far"]
)
def test_other_copies_are_left_alone(name: str, tmp_path: Path) -> None:
    procedure = copies(tmp_path)[name]
    ast = mirror(procedure)
    assert not list(TRANSPOSE.rewrites(ast, TARGET))
    label = f"for i in seq(0, {ast.args[0].var.name})"
    at = Rewrite("transpose", 2, (0,), label, (("lanes", 8), ("walk", "blocks")))
    with pytest.raises(RewriteError, match="no two loops"):
        apply(procedure, ast, at)


def test_there_is_nothing_to_transpose_without_vectors() -> None:
    ast = mirror(source("before").procs["transpose"])
    assert not list(TRANSPOSE.rewrites(ast, replace(TARGET, vector_bits=0)))


@pytest.mark.parametrize(
    ("lanes", "walk", "reason"),
    [
        *((lanes, "blocks", "registers have") for lanes in (0, 3, 32, True, "8")),
        (2, "blocks", "registers have"),
        (8, "diagonal", "no walk"),
        (4, "streamed", "no walk"),
    ],
)
def test_refuses_registers_and_walks_that_nobody_has(lanes: object, walk: str, reason: str) -> None:
    procedure = source("before").procs["transpose"]
    ast = mirror(procedure)
    rewrite, *_ = TRANSPOSE.rewrites(ast, TARGET)
    odd = replace(rewrite, args=(("lanes", lanes), ("walk", walk)))
    with pytest.raises(RewriteError, match=reason):
        apply(procedure, ast, odd)

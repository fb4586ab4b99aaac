"""Tiles for loops that registers do not divide: which are chosen, and that they mean the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.blocks.edges import best_block
from schedsearch.transforms.blocks.reductions import reduction_nests
from schedsearch.transforms.blocks.tile_costs import UNROLLED, UNROLLED_CODE, possible_tiles
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.execution import assert_exact
from transforms.helpers import TARGET

ALL, REGISTER = select(["block_all", "register_block"])

SUMS = """from __future__ import annotations
from exo import proc


@proc
def product(C: {kind}[11, {n}], A: {kind}[11, 5], B: {kind}[5, {n}]):
    for i in seq(0, 11):
        for j in seq(0, {n}):
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[k, j]


@proc
def turned(C: {kind}[11, {n}], A: {kind}[11, 5], B: {kind}[{n}, 5]):
    for i in seq(0, 11):
        for j in seq(0, {n}):
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[j, k]


@proc
def rows(C: {kind}[2, 40, {n}], A: {kind}[2, 40, 3, 5], B: {kind}[3, 5, 4, {n}]):
    for a in seq(0, 2):
        for i in seq(0, 40):
            for j in seq(0, {n}):
                for c in seq(0, 3):
                    for k in seq(0, 5):
                        C[a, i, j] += A[a, i, c, k] * B[c, k, 3, j]


@proc
def convolution(C: {kind}[6, 9, {n}], W: {kind}[6, 2, 3, 3], X: {kind}[2, 11, {n} + 2]):
    for o in seq(0, 6):
        for y in seq(0, 9):
            for x in seq(0, {n}):
                for c in seq(0, 2):
                    for u in seq(0, 3):
                        for v in seq(0, 3):
                            C[o, y, x] += W[o, c, u, v] * X[c, y + u, x + v]


@proc
def with_bias(C: {kind}[11, {n}], b: {kind}[{n}], A: {kind}[11, 5], B: {kind}[5, {n}]):
    for i in seq(0, 11):
        for j in seq(0, {n}):
            C[i, j] = b[j]
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[k, j]
"""

NAMES = ("product", "turned", "rows", "convolution", "with_bias")


def procedures(kind: str, columns: int, folder: Path) -> dict[str, Any]:
    (file := folder / f"sums_{kind}_{columns}.py").write_text(SUMS.format(kind=kind, n=columns))
    return dict(load_source(file).procs)


def chosen(procedure: Any, bits: int = 512, registers: int = 32) -> dict[str, Any]:
    ast = mirror(procedure)
    block = best_block(ast, next(reduction_nests(ast)), bits, registers, 16, 60, beside=True)
    assert block is not None
    return block


@pytest.mark.parametrize(("columns", "rest"), [(23, 7), (28, 12), (41, 9), (32, 0), (13, 0)])
def test_a_tile_has_all_of_a_short_loop(columns: int, rest: int, tmp_path: Path) -> None:
    block = chosen(procedures("f32", columns, tmp_path)["product"])
    assert block.get("rest", 0) == rest
    if rest:
        assert block["lanes"] * block["tile_vectors"] + rest == columns


@pytest.mark.normal
def test_compilers_unroll_every_tile(tmp_path: Path) -> None:
    """A tile that is no straight code stays in memory."""
    for columns in (7, 23, 61, 64, 1000):
        ast = mirror(procedures("f32", columns, tmp_path)["rows"])
        nest = next(reduction_nests(ast))
        for rows in nest.row_loops():
            for tile in possible_tiles(ast, nest, rows, 16, 32):
                assert tile.rows <= UNROLLED
                assert tile.rows * (tile.vectors + 2 * bool(tile.rest)) <= UNROLLED_CODE
                assert tile.registers * (tile.rows + 1) < 32


def test_rows_whose_operand_is_one_register_apart_are_better_than_those_of_many(
    tmp_path: Path,
) -> None:
    """Rows of a convolution's result need a register of the image each, which lies in two cache
    lines; channels share it."""
    assert chosen(procedures("f32", 28, tmp_path)["convolution"])["rows"] == "o"


def test_panels_that_loops_around_use_again_are_packed(tmp_path: Path) -> None:
    """40 rows are too few, 2 x 40 are enough for tiles of at most five rows."""
    block = chosen(procedures("f64", 37, tmp_path)["rows"])
    assert block["pack"] is (16 * block["tile_rows"] <= 2 * 40)


@pytest.mark.normal
def test_sums_of_few_steps_are_kept_in_order(tmp_path: Path) -> None:
    """Compilers would add up the three columns of a convolution's kernel first."""
    (longer := tmp_path / "longer.py").write_text(SUMS.format(kind="f32", n=28).replace("5", "9"))
    few, more = procedures("f32", 28, tmp_path), load_source(longer).procs
    for original, kept in ((few["convolution"], 1), (few["product"], 1), (more["product"], 0)):
        ast = mirror(original)
        [rewrite] = ALL.rewrites(ast, replace(TARGET, vector_bits=512, vector_registers=32))
        source = generate_c(apply(original, ast, rewrite)).source
        sums = [text for text in source.split("static inline") if "_mul_add_" in text[:90]]
        assert [text for text in sums if "_IN_ORDER(sum)" in text] == (sums if kept else [])
        assert sums


@pytest.mark.normal
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", NAMES)
def test_the_last_columns_beside_a_tile_mean_the_same(name: str, kind: str, tmp_path: Path) -> None:
    for columns in (9, 23):
        original = procedures(kind, columns, tmp_path)[name]
        ast = mirror(original)
        results = []
        for bits, registers in ((128, 16), (256, 16), (512, 32)):
            target = replace(TARGET, vector_bits=bits, vector_registers=registers)
            for rewrite in ALL.rewrites(ast, target):
                results.append(apply(original, ast, rewrite))
        assert len(results) == 3
        for result in results:
            assert not [s for s in q.walk(mirror(result).body) if isinstance(s, q.Reduce)]
        folder = tmp_path / str(columns)
        folder.mkdir()
        assert_exact(original, results, [{}], folder)


@pytest.mark.parametrize(
    "wrong",
    [{"rest": 6}, {"rest": -9}, {"rest": 16}, {"rest": True}, {"depth": 2}, {"first": True}],
)
def test_a_rest_that_no_proposal_has_is_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    original = procedures("f32", 23, tmp_path)["product"]
    ast = mirror(original)
    args = chosen(original)
    assert args["rest"] == 7
    block = Rewrite(
        "register_block",
        REGISTER.version,
        (0,),
        "for i in seq(0, 11)",
        tuple(sorted({**args, **wrong}.items())),
    )
    with pytest.raises(RewriteError):
        apply(original, ast, block)
    right = replace(block, args=tuple(sorted(args.items())))
    apply(original, ast, right)

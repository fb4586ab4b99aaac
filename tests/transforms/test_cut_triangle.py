"""Triangular nests are cut into rectangles that other transforms can work on."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.library.composites.cut_triangle import BLOCK_ROWS
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("triangles")
(CUT,) = select(["cut_triangle"])
(BLOCK,) = select(["register_block"])

SIZES: dict[str, list[dict[str, int]]] = {
    "product_below": [{}],
    "product_above": [{"n": 1}, {"n": 16}, {"n": 37}],
    "strictly_above": [{"n": 1}, {"n": 7}, {"n": 33}],
    "reduced": [{"n": 1}, {"n": 8}, {"n": 41}],
    "rank_update": [{}],
    "solved": [{"n": 1}, {"n": 8}, {"n": 41}],
    "toeplitz": [{"n": 1}, {"n": 32}, {"n": 75}],
    "summed_rows": [{"n": 1}, {"n": 8}, {"n": 41}],
    "falling": [{"n": 1}, {"n": 8}, {"n": 41}],
    "falling_in_place": [{"n": 1}, {"n": 8}, {"n": 41}],
}


@cache
def cut(name: str) -> list[tuple[Trace, State]]:
    original = PROCEDURES[name]
    ast = mirror(original)
    found = []
    for rewrite in CUT.rewrites(ast, TARGET):
        with suppress(RewriteError) if name == "falling_in_place" else nullcontext():
            procedure = apply(original, ast, rewrite)
            found.append((Trace((rewrite,)), State(procedure, mirror(procedure))))
    return found


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_cut_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    found = cut(name)
    assert len(found) >= 2
    assert_same_meaning(PROCEDURES[name], found, SIZES[name], tmp_path)


@pytest.mark.normal
def test_rows_that_are_overwritten_are_read_before() -> None:
    """Only with the rectangle after the triangle."""
    found = cut("falling_in_place")
    assert found
    late = ("late", True)
    assert all(late in trace.steps[0].args for trace, _ in found)
    assert {late in trace.steps[0].args for trace, _ in cut("falling")} == {False, True}


@pytest.mark.parametrize("name", ["rectangle", "steep"])
def test_proposes_nothing_where_there_is_no_triangle(name: str) -> None:
    assert not list(CUT.rewrites(mirror(PROCEDURES[name]), TARGET))


@cache
def blocks_after_cut(name: str) -> list[tuple[Trace, State]]:
    """Rows of a triangle shorter than two registers are refused."""
    trace, state = cut(name)[0]
    blocked = []
    for rewrite in BLOCK.rewrites(state.ast, TARGET):
        with suppress(RewriteError):
            procedure = apply(state.procedure, state.ast, rewrite)
            blocked.append((trace.then(rewrite), State(procedure, mirror(procedure))))
    return blocked


@pytest.mark.normal
@pytest.mark.parametrize("name", ["product_below", "reduced"])
def test_rectangle_and_triangle_can_be_register_blocked(name: str, tmp_path: Path) -> None:
    blocked = blocks_after_cut(name)
    assert {len(trace.steps[1].path) for trace, _ in blocked} >= {2, 3}
    assert_same_meaning(PROCEDURES[name], blocked, SIZES[name], tmp_path)


@pytest.mark.normal
def test_one_array_is_packed_from_rows_that_are_not_read_otherwise(tmp_path: Path) -> None:
    blocked = blocks_after_cut("rank_update")
    assert blocked
    assert_same_meaning(PROCEDURES["rank_update"], blocked, [{}], tmp_path)


@pytest.mark.parametrize("factor", [0, 1, -3, "8", 10**6])
def test_refuses_factors_it_would_not_propose(factor: Any) -> None:
    ast = mirror(PROCEDURES["product_below"])
    (rewrite, _) = CUT.rewrites(ast, TARGET)
    odd = Rewrite(
        rewrite.transform, rewrite.version, rewrite.path, rewrite.label, (("factor", factor),)
    )
    with pytest.raises(RewriteError, match="factor"):
        apply(PROCEDURES["product_below"], ast, odd)


def test_a_chain_of_rows_is_not_reordered() -> None:
    """Here every step needs the one before, also within a block: Exo refuses."""
    original = PROCEDURES["chained"]
    ast = mirror(original)
    for rewrite in CUT.rewrites(ast, TARGET):
        with pytest.raises(RewriteError, match="fission"):
            apply(original, ast, rewrite)


@pytest.mark.parametrize(
    ("size", "first"),
    [(None, 8), (512, BLOCK_ROWS), (128, 8)],
    ids=["any", "1 MiB", "64 KiB"],
)
def test_triangles_larger_than_the_caches_are_cut_into_blocks_of_rows(
    size: int | None, first: int
) -> None:
    """Then into rows of few registers, as small ones are. Of open sizes it is tried last."""
    procedure = PROCEDURES["solved"]
    procedure = procedure.partial_eval(n=size) if size else procedure
    target = replace(TARGET, cache_bytes=(1 << 15, 1 << 16))
    [rewrite, *others] = CUT.rewrites(mirror(procedure), target)
    assert rewrite.arg("factor") == first
    assert (others[-1].arg("factor") == BLOCK_ROWS) == (size is None)
    after = mirror(apply(procedure, mirror(procedure), rewrite))
    within = [each for each in CUT.rewrites(after, target) if len(each.path) > len(rewrite.path)]
    assert BLOCK_ROWS not in {each.arg("factor") for each in within}
    assert bool(within) == (first == BLOCK_ROWS)


def test_rows_without_reuse_are_cut_into_registers_alone() -> None:
    """`C[i, j] += x[i] * x[j]` uses each sum once: panels would be read once."""
    assert BLOCK_ROWS not in {
        each.arg("factor") for each in CUT.rewrites(mirror(PROCEDURES["product_above"]), TARGET)
    }


@pytest.mark.parametrize(
    ("name", "first"), [("toeplitz", 4), ("toeplitz_of_rows", 1), ("summed_rows", 1)]
)
def test_rows_that_are_all_of_a_tile_are_several_registers(name: str, first: int) -> None:
    """One register of `y[i] += r[i - j] * x[j]` would wait for each sum; sums of rows have
    registers of their own, and so have those of many vectors: blocked LU took 10 times as long."""
    lanes = TARGET.vector_bits // 32
    rewrite = next(iter(CUT.rewrites(mirror(PROCEDURES[name]), TARGET)))
    assert rewrite.arg("factor") == max(first * lanes, 8)


@pytest.mark.normal
def test_blocks_of_rows_keep_the_meaning(tmp_path: Path) -> None:
    procedure = PROCEDURES["strictly_above"]
    ast = mirror(procedure)
    [rewrite, *_] = CUT.rewrites(ast, TARGET)
    rewrite = replace(rewrite, args=tuple({**dict(rewrite.args), "factor": BLOCK_ROWS}.items()))
    after = apply(procedure, ast, rewrite)
    state = State(after, mirror(after))
    sizes = [{"n": n} for n in (1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1)]
    assert_same_meaning(procedure, [(Trace((rewrite,)), state)], sizes, tmp_path)

"""Register blocks compute what the plain nest means, for every tile and every tail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.execution import assert_exact
from transforms.helpers import TARGET, source

PROCEDURES = source("blocks").procs
(BLOCK,) = select(["register_block"])

SIZES: dict[str, list[dict[str, int]]] = {
    "product": [
        {"M": 1, "N": 1, "K": 1},
        {"M": 7, "N": 13, "K": 5},
        {"M": 16, "N": 24, "K": 3},
        {"M": 17, "N": 35, "K": 2},
    ],
    "transposed": [{}],
    "convolution": [{}],
    "depthwise": [{}],
    "column_sums": [{"n": 1}, {"n": 8}, {"n": 37}],
    "batched": [{}],
    "second_transposed": [{}],
    "batched_transposed": [{"M": 1}, {"M": 9}],
    "initialised": [{}],
    "two_in_one_loop": [{}],
    "triangle": [{}],
    "bytes_product": [{}],
    "bytes_of_rows": [{"n": 1}, {"n": 8}, {"n": 21}],
}


def shallow(rewrite: Rewrite) -> Rewrite:
    """The rewrite, with a depth that small sizes exceed."""
    args = {**dict(rewrite.args), "depth": min(rewrite.arg("depth"), 2)}
    return replace(rewrite, args=tuple(sorted(args.items())))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_block_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    original = PROCEDURES[name]
    meaning = mirror(original)
    rewrites = [shallow(rewrite) for rewrite in BLOCK.rewrites(meaning, TARGET)]
    assert rewrites
    blocked = [apply(original, meaning, rewrite) for rewrite in rewrites]
    for procedure in blocked:
        instructions = [s for s in q.walk(mirror(procedure).body) if isinstance(s, q.Call)]
        assert {call.proc.name.split("_")[0] for call in instructions} == {"vec"}
    assert_exact(original, blocked, SIZES[name], tmp_path)


@pytest.mark.parametrize(
    "name",
    ["strided_result", "window_argument", "bytes_summed", "squares", "symmetric", "no_reduction"],
)
def test_proposes_nothing_where_it_does_not_fit(name: str) -> None:
    assert not list(BLOCK.rewrites(mirror(PROCEDURES[name]), TARGET))


def test_packs_only_what_loops_outside_use_again() -> None:
    def packs(name: str) -> bool:
        return any(r.arg("pack") for r in BLOCK.rewrites(mirror(PROCEDURES[name]), TARGET))

    assert packs("product")
    assert not packs("batched")  # every matrix is used once
    assert not packs("column_sums")


def test_tiles_fill_the_registers_but_no_more() -> None:
    for rewrite in BLOCK.rewrites(mirror(PROCEDURES["product"]), TARGET):
        rows, vectors = rewrite.arg("tile_rows"), rewrite.arg("tile_vectors")
        assert rows * vectors + vectors + 1 <= 16


@pytest.mark.parametrize(("name", "depths"), [("deep", {0, 128}), ("shallow", {0})])
def test_depth_keeps_the_panel_in_the_first_level_cache(name: str, depths: set[int]) -> None:
    """BLIS's model for tiles of 8 x 32 f32: of 8 ways one is left to the rows' operand."""
    machine = replace(TARGET, vector_bits=512, vector_registers=32, cache_bytes=(32768,))
    blocks = BLOCK.rewrites(mirror(PROCEDURES[name]), machine)
    packed = [block for block in blocks if block.arg("pack") and block.arg("tile_rows") == 8]
    assert {block.arg("depth") for block in packed} == depths


@pytest.mark.parametrize("lanes", [True, 0, "16", 1 << 40])
def test_lanes_are_whole_numbers(lanes: int | str) -> None:
    """Instructions are made from them, as text."""
    procedure = PROCEDURES["product"]
    ast = mirror(procedure)
    rewrite = next(iter(BLOCK.rewrites(ast, TARGET)))
    args = tuple(sorted({**dict(rewrite.args), "lanes": lanes}.items()))
    with pytest.raises(RewriteError, match="tile sizes are whole numbers"):
        apply(procedure, ast, replace(rewrite, args=args))

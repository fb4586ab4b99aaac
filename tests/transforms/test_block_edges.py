"""What register blocks left is blocked too, and means what it meant at every size."""

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
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("blocks")
EDGES, BLOCK = select(["block_edges", "register_block"])
WIDE = replace(TARGET, vector_bits=256)

SIZES: dict[str, list[dict[str, int]]] = {
    "product": [
        {"M": m, "N": n, "K": 3} for m in (1, 3, 8, 13) for n in (1, 4, 7, 8, 15, 16, 17, 35)
    ],
    "second_transposed": [{}],
    "convolution": [{}],
    "bytes_of_rows": [{"n": 1}, {"n": 5}, {"n": 8}, {"n": 21}],
    "odd": [{}],
    "whole_registers": [{"M": m, "N": n} for m in (1, 7, 9) for n in (8, 16, 24, 32, 56)],
    "twice_as_long": [{"n": n} for n in (1, 3, 4, 7, 8, 9, 21)],
}


def unfinished(block: Rewrite) -> Rewrite:
    """As older traces have it."""
    return replace(block, args=tuple((k, v) for k, v in block.args if k != "edges"))


def sums_in_memory(proc: q.Proc) -> int:
    return sum(isinstance(stmt, q.Reduce) for stmt in q.walk(proc.body))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SIZES))
@pytest.mark.parametrize("target", [TARGET, WIDE], ids=["128 bits", "256 bits"])
def test_edges_keep_the_meaning(name: str, target: object, tmp_path: Path) -> None:
    assert isinstance(target, type(TARGET))
    original = PROCEDURES[name]
    meaning = mirror(original)
    results = []
    for block in BLOCK.rewrites(meaning, target):
        blocked = apply(original, meaning, unfinished(block))
        left = mirror(blocked)
        for edges in EDGES.rewrites(left, target):
            results.append(apply(blocked, left, edges))
    assert results
    # Of lengths that are known nothing is left to the C compiler.
    if name in ("second_transposed", "odd"):
        assert [sums_in_memory(mirror(result)) for result in results] == [0] * len(results)
    assert_exact(original, results, SIZES[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SIZES))
@pytest.mark.parametrize("target", [TARGET, WIDE], ids=["128 bits", "256 bits"])
def test_register_blocks_are_whole(name: str, target: object, tmp_path: Path) -> None:
    """Their edges are blocked with them, and keep the meaning; nothing is left in scalar loops."""
    assert isinstance(target, type(TARGET))
    original = PROCEDURES[name]
    meaning = mirror(original)
    blocks = list(BLOCK.rewrites(meaning, target))
    results = [apply(original, meaning, block) for block in blocks]
    assert any("edges" in dict(block.args) for block in blocks)
    assert [sums_in_memory(mirror(result)) for result in results] == [0] * len(results)
    assert_exact(original, results, SIZES[name], tmp_path)


@pytest.mark.normal
def test_the_edges_blocked_are_those_of_the_same_sum() -> None:
    """Both nests start at one loop; the number says which is blocked."""
    original = PROCEDURES["two_results"]
    ast = mirror(original)
    blocks = [block for block in BLOCK.rewrites(ast, TARGET) if block.arg("rows")]
    assert {block.arg("nest") for block in blocks} >= {0, 1}
    for block in blocks:
        result = mirror(apply(original, ast, block))
        left = {stmt.buf.name for stmt in q.walk(result.body) if isinstance(stmt, q.Reduce)}
        assert len(left) == 1


@pytest.mark.normal
def test_nothing_is_proposed_before_a_block_or_when_its_tiles_divide() -> None:
    assert not list(EDGES.rewrites(mirror(PROCEDURES["product"]), TARGET))
    whole = PROCEDURES["batched"]
    for block in BLOCK.rewrites(mirror(whole), TARGET):
        after = mirror(apply(whole, mirror(whole), block))
        assert not list(EDGES.rewrites(after, TARGET))


@pytest.mark.normal
@pytest.mark.parametrize("args", [{"bits": 0, "registers": 16}, {"bits": 128, "registers": True}])
def test_arguments_that_no_proposal_has_are_refused(args: dict[str, int]) -> None:
    product = PROCEDURES["product"]
    rewrite = Rewrite("block_edges", EDGES.version, (), "procedure", tuple(sorted(args.items())))
    with pytest.raises(RewriteError, match="registers of some bits"):
        apply(product, mirror(product), rewrite)

"""Register blocks compute what the plain nest means, for every tile and every tail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.execution import assert_exact
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("blocks")
ALL, BLOCK = select(["block_all", "register_block"])

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
    "biased": [
        {"M": 1, "N": 1, "K": 1},
        {"M": 7, "N": 13, "K": 5},
        {"M": 17, "N": 35, "K": 2},
    ],
    "from_zero": [{}],
    "two_in_one_loop": [{}],
    "triangle": [{}],
    "bytes_product": [{}],
    "bytes_of_rows": [{"n": 1}, {"n": 8}, {"n": 21}],
}


def shallow(rewrite: Rewrite) -> Rewrite:
    """The rewrite, with a depth that small sizes exceed."""
    args = {**dict(rewrite.args), "depth": min(rewrite.arg("depth"), 2)}
    return replace(rewrite, args=tuple(sorted(args.items())))


def with_args(rewrite: Rewrite, **args: Any) -> Rewrite:
    return replace(rewrite, args=tuple(sorted({**dict(rewrite.args), **args}.items())))


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


def of_odd_sizes(seed: int, folder: Path) -> Any:
    """A product of sizes that tiles of 4 x 16 and smaller ones seldom divide."""
    random = Random(seed)
    m, n, k = (random.randrange(low, 60) for low in (2, 17, 1))
    operand = random.choice(["B[k, j]", "B[j, k]"])
    rows, columns = (k, n) if operand == "B[k, j]" else (n, k)
    start = random.choice(["C[i, j] = 0.0", "C[i, j] = b[j]", "pass"])
    file = folder / f"odd_{seed}.py"
    file.write_text(f"""from __future__ import annotations
from exo import proc


@proc
def odd(C: f32[{m}, {n}], b: f32[{n}], A: f32[{m}, {k}], B: f32[{rows}, {columns}]):
    for i in seq(0, {m}):
        for j in seq(0, {n}):
            {start}
            for k in seq(0, {k}):
                C[i, j] += A[i, k] * {operand}
""")
    return load_source(file).procs["odd"]


@pytest.mark.normal
@pytest.mark.parametrize("seed", range(6))
def test_blocks_of_any_rows_keep_the_meaning(seed: int, tmp_path: Path) -> None:
    """With packed panels for all columns, first values in the tile, and rows that are left."""
    original = of_odd_sizes(seed, tmp_path)
    meaning = mirror(original)
    packed = [r for r in BLOCK.rewrites(meaning, TARGET) if r.arg("pack")]
    rows = [
        with_args(rewrite, block_rows=rewrite.arg("tile_rows") * times)
        for rewrite in packed
        for times in (1, 2, 50)
    ]
    assert rows
    assert_exact(original, [apply(original, meaning, each) for each in rows], [{}], tmp_path)


@pytest.mark.normal
def test_rows_left_of_blocks_are_more_than_a_tile_of_them(tmp_path: Path) -> None:
    """Three of eleven rows, after a block of eight: a tile of two, and one row."""
    original = PROCEDURES["odd"]
    meaning = mirror(original)
    packed = next(r for r in BLOCK.rewrites(meaning, TARGET) if r.arg("pack"))
    rows = with_args(packed, tile_rows=2, block_rows=8)
    edges = with_args(rows, edges=16)
    blocked = [apply(original, meaning, each) for each in (rows, edges)]
    assert_exact(original, blocked, [{}], tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize("name", ["product", "biased", "batched_transposed"])
def test_blocks_of_rows_fit_any_size(name: str, tmp_path: Path) -> None:
    original = PROCEDURES[name]
    meaning = mirror(original)
    packed = next(r for r in BLOCK.rewrites(meaning, TARGET) if r.arg("pack"))
    tile_rows = packed.arg("tile_rows")
    rows = [with_args(packed, block_rows=tile_rows * times) for times in (1, 2)]
    blocked = [apply(original, meaning, each) for each in rows]
    assert_exact(original, blocked, SIZES[name], tmp_path)


def test_a_tile_has_its_first_values_without_a_pass_of_their_own() -> None:
    original = PROCEDURES["initialised"]
    meaning = mirror(original)
    rewrites = [r for r in BLOCK.rewrites(meaning, TARGET) if dict(r.args).get("first")]
    assert rewrites
    for rewrite, passes in [(rewrites[0], 0), (with_args(rewrites[0], first=False), 1)]:
        blocked = mirror(apply(original, meaning, rewrite))
        ones = [s for s in q.walk(blocked.body) if isinstance(s, q.Assign) and s.buf.name == "C"]
        assert len(ones) == passes


@pytest.mark.normal
def test_blocks_of_all_sums_have_their_first_values(tmp_path: Path) -> None:
    original = PROCEDURES["chain"]
    meaning = mirror(original)
    [rewrite] = ALL.rewrites(meaning, TARGET)
    blocked = [
        apply(original, meaning, each) for each in (rewrite, with_args(rewrite, first=False))
    ]
    passes = [
        sum(isinstance(s, q.Assign) and s.buf.name in ("T", "E") for s in q.walk(mirror(each).body))
        for each in blocked
    ]
    assert passes == [2, 2]
    assert_exact(original, blocked, [{}], tmp_path)


@pytest.mark.normal
def test_rows_of_a_tile_are_written_out(tmp_path: Path) -> None:
    """Compilers would unroll its loop up to a limit, and keep the tile in memory beyond it."""
    original = PROCEDURES["product"]
    meaning = mirror(original)
    rewrite = next(r for r in BLOCK.rewrites(meaning, TARGET) if r.arg("tile_rows") > 2)
    as_before = with_args(rewrite, unrolled=False)
    blocked = [apply(original, meaning, each) for each in (rewrite, as_before)]
    calls = [sum(isinstance(s, q.Call) for s in q.walk(mirror(each).body)) for each in blocked]
    assert calls[0] - calls[1] >= rewrite.arg("tile_rows") - 1
    assert_exact(original, blocked, SIZES["product"], tmp_path)


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ({"block_rows": 6, "pack": False}, "share a packed panel"),
        ({"block_rows": -1}, "share a packed panel"),
        ({"block_rows": True}, "share a packed panel"),
        ({"first": True, "depth": 2}, "sums up everything"),
    ],
)
def test_no_blocks_of_rows_without_panels(args: dict[str, Any], reason: str) -> None:
    procedure = PROCEDURES["product"]
    ast = mirror(procedure)
    rewrite = next(r for r in BLOCK.rewrites(ast, TARGET) if r.arg("pack"))
    with pytest.raises(RewriteError, match=reason):
        apply(procedure, ast, with_args(rewrite, **args))


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ((4000, 4000, 64), {10}),  # panels stay in the cache: the result goes row by row
        ((4000, 4000, 2000), {60}),  # rows stay there
        ((200, 4000, 64), {0}),  # all rows do
    ],
)
def test_rows_of_a_block_are_chosen_by_the_cache(
    sizes: tuple[int, int, int], wanted: set[int], tmp_path: Path
) -> None:
    m, n, k = sizes
    file = tmp_path / "large.py"
    file.write_text(f"""from __future__ import annotations
from exo import proc


@proc
def large(C: f32[{m}, {n}], A: f32[{m}, {k}], B: f32[{k}, {n}]):
    for i in seq(0, {m}):
        for j in seq(0, {n}):
            for k in seq(0, {k}):
                C[i, j] += A[i, k] * B[k, j]
""")
    caches = (32768, 1 << 20, 1 << 25)
    machine = replace(TARGET, vector_bits=512, vector_registers=32, cache_bytes=caches)
    blocks = BLOCK.rewrites(mirror(load_source(file).procs["large"]), machine)
    found = {dict(b.args).get("block_rows", 0) for b in blocks if b.arg("tile_rows") == 10}
    assert found == {0} | wanted  # 0: blocks without a panel


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


def test_masked_registers_begin_with_no_first_values() -> None:
    """Nobody proposes it; a trace may say so."""
    procedure = PROCEDURES["initialised"]
    ast = mirror(procedure)
    block = next(r for r in BLOCK.rewrites(ast, TARGET) if dict(r.args).get("first"))
    block = with_args(block, lanes=32, tile_vectors=1)  # of 16 columns
    given, none = (apply(procedure, ast, with_args(block, first=first)) for first in (True, False))
    assert str(given) == str(none)


@pytest.mark.parametrize("lanes", [True, 0, 3, "16", 1 << 40])
def test_lanes_are_whole_numbers(lanes: int | str) -> None:
    """Instructions are made from them, as text."""
    procedure = PROCEDURES["product"]
    ast = mirror(procedure)
    rewrite = next(iter(BLOCK.rewrites(ast, TARGET)))
    args = tuple(sorted({**dict(rewrite.args), "lanes": lanes}.items()))
    with pytest.raises(RewriteError, match="tile sizes are whole numbers"):
        apply(procedure, ast, replace(rewrite, args=args))


@pytest.mark.normal
def test_a_nest_stays_within_a_loop_whose_temporaries_are_used_after_it(tmp_path: Path) -> None:
    procedure = PROCEDURES["in_batches"]
    ast = mirror(procedure)
    [rewrite] = ALL.rewrites(ast, TARGET)
    with pytest.raises(RewriteError, match="hide the allocation"):  # traces of before
        apply(procedure, ast, with_args(rewrite, within=False))
    blocks = [*BLOCK.rewrites(ast, TARGET)]
    assert {each.arg("rows") for each in blocks} == {"", "i"}
    results = [apply(procedure, ast, each) for each in (rewrite, *blocks)]
    assert_exact(procedure, results, [{"n": 1}, {"n": 9}], tmp_path)


@pytest.mark.normal
def test_many_nests_of_unknown_lengths_get_blocks_one_at_a_time(tmp_path: Path) -> None:
    """So that what is done stays, where time or Exo ends it."""
    procedure = PROCEDURES["three_products"]
    procedures, left = [procedure], [len(sums_of(procedure))]
    while rewrites := [*ALL.rewrites(mirror(procedures[-1]), TARGET)]:
        rewrites = [each for each in rewrites if "apart" not in dict(each.args)]
        assert ("nests" in dict(rewrites[0].args)) == (left[-1] > 2)
        procedures.append(apply(procedures[-1], mirror(procedures[-1]), rewrites[0]))
        left.append(len(sums_of(procedures[-1])))
    assert left == [3, 2, 0]
    assert_exact(procedure, procedures[1:], SIZES["product"], tmp_path)


@pytest.mark.normal
def test_three_nests_get_blocks_at_once_or_one_at_a_time() -> None:
    """All at once may be more edits than Exo can forward through."""
    ast = mirror(PROCEDURES["three_products"].partial_eval(**SIZES["product"][-1]))
    rewrites = [*ALL.rewrites(ast, TARGET)]
    assert ["nests" in dict(each.args) for each in rewrites] == [False] * 4 + [True]
    assert ["apart" in dict(each.args) for each in rewrites] == [False, *[True] * 3, False]


def sums_of(procedure: Any) -> list[str]:
    return [s.buf.name for s in q.walk(mirror(procedure).body) if isinstance(s, q.Reduce)]


@pytest.mark.parametrize("nests", [0, -1, 41, "2", True])
def test_blocks_of_no_or_of_too_many_nests_are_refused(nests: int | str) -> None:
    procedure = PROCEDURES["three_products"]
    ast = mirror(procedure)
    [*_, rewrite] = ALL.rewrites(ast, TARGET)
    with pytest.raises(RewriteError, match="nests is a number"):
        apply(procedure, ast, with_args(rewrite, nests=nests))

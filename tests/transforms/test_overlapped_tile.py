"""Tiles that compute their own rows of a producer: what they mean, and when they are refused."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.blocks.overlap import Overlap, overlaps
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export import schedule_lines
from schedsearch.transforms.registry import apply, label, registry, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures, arguments
from transforms.interpret import interpret

PROCEDURES = ChainMap(Procedures("overlaps"), Procedures("stages"))

Tiles = list[tuple[str, int, int]]
"""Buffer, dimension and tile of rewrites one after the other."""

CASES: dict[str, list[Tiles]] = {
    "blur": [
        [("tmp", 0, 3)],
        [("tmp", 1, 4), ("tmp_t", 0, 3)],
    ],
    "blur_sizes": [[("tmp", 0, 4)]],
    "multiples": [[("t", 0, 4)]],
    "three_stages": [[("b", 0, 8), ("a", 0, 1)]],
    "read_twice": [[("b", 0, 4), ("a", 0, 1)]],
    "turned": [[("t", 0, 4), ("t_t", 1, 5)]],
    "pooled": [[("t", 0, 4)]],
}

SIZES: dict[str, list[dict[str, int]]] = {
    "blur_sizes": [{"n": 1, "m": 3}, {"n": 4, "m": 1}, {"n": 11, "m": 5}],
    "multiples": [{"n": 4}, {"n": 12}],
}


def chosen(ast: q.Proc, buffer: str, dim: int) -> Overlap:
    return next(o for o in overlaps(ast) if (o.alloc.buf.name, o.dim) == (buffer, dim))


def rewrite_of(overlap: Overlap, tile: int) -> Rewrite:
    args = (("depth", overlap.depth), ("dim", overlap.dim), ("tile", tile))
    path, at = overlap.producer.path, label(overlap.producer)
    return Rewrite("overlapped_tile", registry()["overlapped_tile"].version, path, at, args)


@cache
def tiled(name: str, *tiles: tuple[str, int, int]) -> tuple[Trace, State]:
    """The procedure after tiling it so."""
    procedure = PROCEDURES[name]
    trace, state = Trace(), State(procedure, mirror(procedure))
    for buffer, dim, tile in tiles:
        rewrite = rewrite_of(chosen(state.ast, buffer, dim), tile)
        procedure = apply(state.procedure, state.ast, rewrite)
        trace, state = trace.then(rewrite), State(procedure, mirror(procedure))
    return trace, state


def loops(body: tuple[q.Stmt, ...]) -> list[int | None]:
    return [stmt.extent for stmt in body if isinstance(stmt, q.For)]


def shapes(proc: q.Proc) -> dict[str, list[int]]:
    allocs = [stmt for stmt in q.walk(proc.body) if isinstance(stmt, q.Alloc)]
    return {s.buf.name: [extent.const for extent in s.shape] for s in allocs}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES))
def test_tiles_keep_the_meaning(name: str, tmp_path: Path) -> None:
    found = [tiled(name, *tiles) for tiles in CASES[name]]
    assert_same_meaning(PROCEDURES[name], found, SIZES.get(name, [{}]), tmp_path)


@pytest.mark.normal
def test_a_tile_has_its_rows_and_the_rest_keeps_its_own() -> None:
    _, state = tiled("blur", ("tmp", 0, 3))
    assert shapes(state.ast) == {"tmp": [4, 9], "tmp_t": [5, 9]}
    tiles, *rest = (stmt for stmt in state.ast.body if isinstance(stmt, q.For))
    assert (tiles.extent, loops(tiles.body), loops(tuple(rest))) == (3, [5, 3], [4, 2])


@pytest.mark.normal
def test_two_dimensions_make_a_box() -> None:
    _, state = tiled("turned", ("t", 0, 4), ("t_t", 1, 5))
    assert shapes(state.ast)["t_t_t"] == [7, 8]


def test_loops_keep_their_order() -> None:
    _, state = tiled("blur", ("tmp", 1, 4))
    nests = [stmt for stmt in q.walk(state.ast.body) if isinstance(stmt, q.For)]
    inner = [loop for loop in nests if not isinstance(loop.body[0], q.For)]
    assert {loop.iter.name[0] for loop in inner} == {"x"}


@pytest.mark.normal
def test_a_chain_of_producers_moves_into_one_loop() -> None:
    _, state = tiled("three_stages", ("b", 0, 8), ("a", 0, 1))
    (tiles,) = state.ast.body
    assert isinstance(tiles, q.For)
    assert loops(tiles.body) == [12, 10, 8]


@pytest.mark.normal
def test_the_exported_schedule_makes_the_same_tiles() -> None:
    trace, state = tiled("read_twice", ("b", 0, 4), ("a", 0, 1))
    lines = schedule_lines(PROCEDURES["read_twice"], trace)
    namespace = {"p": PROCEDURES["read_twice"]}
    exec("from exo.stdlib.scheduling import *\n" + "\n".join(lines), namespace)
    assert mirror(namespace["p"]) == state.ast


@pytest.mark.normal
def test_tiles_run_in_parallel() -> None:
    _, state = tiled("three_stages", ("b", 0, 8), ("a", 0, 1))
    (parallelize,) = select(["parallelize"])
    threads = replace(TARGET, threads=2)
    (rewrite,) = parallelize.rewrites(state.ast, threads)
    (tiles,) = mirror(apply(state.procedure, state.ast, rewrite)).body
    assert isinstance(tiles, q.For)
    assert tiles.parallel


@pytest.mark.normal
@pytest.mark.parametrize("transform", ["vectorise", "unroll_and_jam", "compute_at"])
def test_loops_of_a_tile_are_loops_like_others(transform: str) -> None:
    _, state = tiled("blur", ("tmp", 0, 3))
    inside = [
        rewrite
        for rewrite in select([transform])[0].rewrites(state.ast, TARGET)
        if rewrite.path[0] == 1 and len(rewrite.path) > 1
    ]
    assert inside
    apply(state.procedure, state.ast, inside[0])


@pytest.mark.parametrize("name", ["used_again", "running_sum", "not_all_rows", "kept"])
def test_not_proposed_where_rows_are_not_the_consumers_own(name: str) -> None:
    assert not list(overlaps(mirror(PROCEDURES[name])))


@pytest.mark.normal
def test_rows_without_elements_have_no_tiles() -> None:
    ast = mirror(PROCEDURES["without_columns"])
    assert list(overlaps(ast))
    assert not list(registry()["overlapped_tile"].rewrites(ast, TARGET))


def test_exo_refuses_where_the_input_changes_meanwhile() -> None:
    with pytest.raises(RewriteError, match="fuse"):
        tiled("input_overwritten", ("t", 0, 3))


@pytest.mark.parametrize("tile", [0, -3, True, "3", 11, 2])
def test_tiles_it_would_not_propose_are_refused(tile: Any) -> None:
    with pytest.raises(RewriteError, match="no consumer"):
        tiled("blur", ("tmp", 0, tile))


def test_proposed_tiles_fit_a_cache_or_a_thread() -> None:
    ast = mirror(PROCEDURES["blur_sizes"])
    (transform,) = select(["overlapped_tile"])
    big = replace(TARGET, cache_bytes=(1 << 20, 1 << 22), threads=4)
    found = {(r.arg("dim"), r.arg("tile")) for r in transform.rewrites(ast, big)}
    assert found == {
        (0, 32),
        (0, 128),
        (0, 256),
    }  # half a cache in rows of 3 arrays, 4 bytes, 1024 elements


SOURCE = """from __future__ import annotations
from exo import proc


@proc
def drawn(out: i8[40, 3], inp: i8[40, 3]):
    t: i8[{shape}]
    for i in seq({low}, {high}):
        for x in seq(0, 3):
            t[{row}] = inp[i, x] * inp[i + 1, x]
    for y in seq({start}, {stop}):
        for x in seq(0, 3):
            out[y, x] = {reads}
"""


@st.composite
def pipelines(draw: st.DrawFn) -> str:
    """Source of a producer and a consumer that reads `step * y + offset` of it."""
    step, start, length = draw(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(2, 9)))
    offsets = draw(st.lists(st.integers(-1, 3), min_size=1, max_size=3, unique=True))
    before, after, own = draw(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1)))
    low = step * start + min(offsets) - before
    high = step * (start + length - 1) + max(offsets) + after + 1
    assume(low >= own)
    order = draw(st.permutations([0, 1]))

    def place(*index: object) -> str:
        return ", ".join(str(index[dim]) for dim in order)

    return SOURCE.format(
        shape=place(high, 3),
        low=low - own,
        high=high - own,
        row=place(f"i + {own}", "x"),
        start=start,
        stop=start + length,
        reads=" + ".join(f"t[{place(f'{step} * y + {o}', 'x')}]" for o in offsets),
    )


@pytest.mark.normal
@settings(max_examples=6)
@given(source=pipelines(), tile=st.integers(1, 4))
def test_what_the_analysis_accepts_exo_carries_out(
    source: str, tile: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("drawn") / "drawn.py"
    file.write_text(source)
    procedure = load_source(file).procs["drawn"]
    ast = mirror(procedure)
    overlap = next((o for o in overlaps(ast) if o.fits(tile)), None)
    assume(overlap is not None)
    assert overlap
    after = mirror(apply(procedure, ast, rewrite_of(overlap, tile)))
    wanted, results = arguments(ast, {}, 3), arguments(ast, {}, 3)
    interpret(ast, wanted)
    interpret(after, results)
    assert all((a == b).all() for a, b in zip(results, wanted, strict=True))

"""The sizes of register tiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedsearch.transforms.blocks.blocking import ENOUGH_PER_LOAD, register_tiles, tile_width
from schedsearch.transforms.blocks.reductions import reduction_nests
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror

PRODUCT = """from __future__ import annotations

from exo import proc


@proc
def product(C: KIND[N, N], A: KIND[N, N], B: KIND[N, N]):
    for i in seq(0, N):
        for j in seq(0, N):
            for k in seq(0, N):
                C[i, j] += A[i, k] * B[k, j]
"""


@pytest.mark.parametrize(
    ("kind", "extent", "tiles"),
    [
        ("f32", 512, [(4, 4), (8, 2)]),
        ("f64", 512, [(4, 4), (8, 2)]),
        ("f64", 96, [(6, 4), (4, 6)]),
        ("f64", 1000, [(4, 6), (5, 4)]),  # only single registers divide it
        ("f32", 1000, [(4, 6), (5, 4)]),
    ],
)
def test_tiles(kind: str, extent: int, tiles: list[tuple[int, int]], tmp_path: Path) -> None:
    file = tmp_path / "product.py"
    file.write_text(PRODUCT.replace("KIND", kind).replace("N", str(extent)))
    proc = mirror(load_source(file).procs["product"])
    [nest] = reduction_nests(proc)
    width = tile_width(proc, nest, 512)
    found = register_tiles(
        proc, nest, next(iter(nest.row_loops())), width, 32, any_rows=True, enough=ENOUGH_PER_LOAD
    )
    assert found == tiles


def test_traces_of_before_keep_their_tiles(tmp_path: Path) -> None:
    """They name no share of the arithmetic per load: what divides the columns comes first."""
    file = tmp_path / "product.py"
    file.write_text(PRODUCT.replace("KIND", "f64").replace("N", "1000"))
    proc = mirror(load_source(file).procs["product"])
    [nest] = reduction_nests(proc)
    [(_, vectors), *_] = register_tiles(proc, nest, next(iter(nest.row_loops())), 8, 32)
    assert vectors == 1

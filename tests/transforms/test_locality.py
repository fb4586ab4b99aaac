"""Traffic estimates know what caches reward: reuse that fits, lines, sets and pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from exo.stdlib.scheduling import divide_loop, fission, reorder_loops

from schedsearch.transforms.estimate.locality import traffic
from schedsearch.transforms.estimate.surroundings import Scene
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.helpers import TARGET, Procedures

MACHINE = replace(
    TARGET, cache_bytes=(32768, 1048576), line_bytes=64, vector_bits=512, vector_registers=32
)


PROCEDURES = Procedures("locality")
copy_columns, product = PROCEDURES["copy_columns"], PROCEDURES["product"]


def cost(procedure: Any, n: int) -> float:
    return traffic(Scene(mirror(procedure), MACHINE, {"N": n}))


def test_what_fits_costs_nothing() -> None:
    assert cost(copy_columns, 32) == 0.0
    assert cost(copy_columns, 1000) > 0.0


def test_walking_along_rows_reads_every_line_once() -> None:
    along_rows = reorder_loops(copy_columns, "i j")
    assert cost(copy_columns, 1000) > 5 * cost(along_rows, 1000)


def test_a_band_of_rows_stays_in_cache_while_the_result_passes_by() -> None:
    rows = reorder_loops(product, "j k")
    banded = divide_loop(rows, "k", 50, ["ko", "ki"], tail="cut")
    banded = reorder_loops(fission(banded, banded.find_loop("ko").after()), "i ko")
    assert cost(product, 1000) > 5 * cost(rows, 1000)
    assert cost(rows, 1000) > 1.3 * cost(banded, 1000)


def test_rows_a_way_apart_share_few_sets() -> None:
    """1024 columns of f32 are 4 KiB: a panel of 32 columns falls into two sets."""
    per_element = [cost(product, n) / n**3 for n in (1000, 1024)]
    assert per_element[1] > 1.1 * per_element[0]


@pytest.mark.normal
def test_a_packed_panel_pays_where_rows_collide() -> None:
    ast = mirror(product)
    blocks = {
        rewrite.arg("pack"): apply(product, ast, rewrite)
        for rewrite in select(["register_block"])[0].rewrites(ast, MACHINE)
        if (rewrite.arg("tile_rows"), rewrite.arg("tile_vectors")) == (6, 4)
    }
    for n, better in [(1024, True), (96, False)]:
        assert (cost(blocks[True], n) < 0.5 * cost(blocks[False], n)) == better


def test_what_loops_that_are_kept_allocate_is_known_outside() -> None:
    rows = PROCEDURES["rows_of_a_temporary"]
    before = mirror(rows)
    tiny = replace(MACHINE, cache_bytes=(256,))  # nothing stays there
    first = traffic(Scene(before, tiny, {}))
    (unroll,) = (r for r in select(["unroll"])[0].rewrites(before, TARGET) if r.path == (0, 1))
    after = mirror(apply(rows, before, unroll))
    assert after.by_path[0, 0] is before.by_path[0, 0]
    assert traffic(Scene(after, tiny, {})) == first

"""Loops over blocks of rows, outside of the loop over packed panels."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from schedsearch.analysis.walkers import fresh, next_path
from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides, last_multiple
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Op


def pack_all(p: Cursors, along: Cursor) -> Generator[Op | None, Any, Cursor]:
    """Pack the panels of all columns before any is used: `along`, the loop over panels, begins with
    the allocation of its own and a copy. Returns the loop that uses them."""
    loop = p.stmt(along)
    assert isinstance(loop, q.For)
    yield from p.do("simplify")  # the panel's sizes do not depend on the loop then
    panel = p.at(p.path(along, 0))
    yield from p.do("expand_dim", panel, show_affine(loop.hi), loop.iter.name)
    yield from p.do("lift_alloc", panel)
    start = p.path(along)
    yield from p.do("fission", After((*start, 0)))
    return p.at(next_path(start))


def rows_in_blocks(
    p: Cursors, panels: Cursor, rows: Cursor, between: int, size: int, taken: frozenset[str]
) -> Generator[Op | None, Any, list[Cursor]]:
    """Move the loop over panels inside of the `between` loops around `rows`, and of a loop over
    blocks of `size` rows, if there are more. Returns the loops over the rows of a block, and over
    those left."""
    for _ in range(between):
        yield from p.do("reorder_loops", panels)
    whole = p.stmt(rows)
    assert isinstance(whole, q.For)
    if whole.extent is not None and whole.extent <= size:
        return [rows]
    left = []
    if not divides(p.ast, size, whole.hi, whole.path):
        yield from p.do("cut_loop", rows, last_multiple(whole, size))
        yield from p.do("fission", After(p.path(rows)), 1)
        left = [p.at((*next_path(p.path(panels)), 0))]
    name = whole.iter.name
    names = (fresh(taken, f"{name}b"), name)
    yield from p.do("divide_loop", rows, size, names, perfect=True)
    yield from p.do("reorder_loops", panels)
    return [p.at(p.path(rows, 0, 0)), *left]

"""Tiles over rows: what a tile does not divide of them gets smaller ones beside it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from schedsearch.analysis.walkers import fresh, next_path
from schedsearch.core import ast as q
from schedsearch.transforms.blocks.factors import divides, last_multiple
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Op

Tile = tuple[Cursor, Sequence[Cursor], int]
"""The first of the innermost reductions, the loops of a tile, and how many rows it has."""


@dataclass(frozen=True)
class RowTiles:
    """A loop over rows called `name`, `above` the innermost reductions, of which there are `inner`
    around the loops over a tile's `columns`. `given`: the statement before them gives a tile its
    first values."""

    p: Cursors
    name: str
    tile_rows: int
    above: int
    inner: int
    columns: int
    given: bool
    taken: frozenset[str]

    def of(self, rest: Cursor, less_than: float = inf) -> Generator[Op | None, Any, list[Tile]]:
        """Tile a loop over rows, and what the tile does not divide of it by smaller tiles."""
        p = self.p
        found: list[Tile] = []
        for tile_rows in _fewer_and_fewer(self.tile_rows):
            if tile_rows >= less_than:
                continue
            loop = p.stmt(rest)
            assert isinstance(loop, q.For)
            if loop.extent is not None and (tile_rows < self.tile_rows or loop.extent < tile_rows):
                tile_rows = loop.extent
            whole = divides(p.ast, tile_rows, loop.hi - loop.lo, loop.path)
            rows = rest
            if not whole:
                yield from p.do("cut_loop", rows, last_multiple(loop, tile_rows))
                rest = p.at(next_path(p.path(rows)))
            if loop.lo != q.Affine(0):
                yield from p.do("shift_loop", rows, 0)
            block = p.at(p.path(rows, *(0,) * (self.above - 1), int(self.given)))
            below = range(self.inner, self.inner + self.columns)
            tile = [p.at(p.path(block, *(0,) * depth)) for depth in below]
            if tile_rows > 1:
                tile.insert(0, (yield from self._move_down(rows, tile_rows)))
            found.append((block, tile, tile_rows))
            if whole:
                break
        return found

    def _move_down(self, rows: Cursor, factor: int) -> Generator[Op | None, Any, Cursor]:
        """Divide a loop over rows, the inner part of it around the tile's other loops."""
        p, name = self.p, self.name
        names = (name, fresh(self.taken, f"{name}r"))
        yield from p.do("divide_loop", rows, factor, names, perfect=True)
        inner = p.at(p.path(rows, 0))
        for _ in range(self.above - 1):
            yield from p.do("reorder_loops", inner)
        if self.given:
            start = p.path(inner)
            yield from p.do("fission", After((*start, 0)))
            inner = p.at(next_path(start))
        for _ in range(self.inner):
            yield from p.do("reorder_loops", inner)
        return inner


def _fewer_and_fewer(tile_rows: int) -> list[int]:
    """Rows of the tiles for what is left by each one before, of a loop of unknown length. Each
    divides the one before, so that all begin at a multiple of theirs."""
    smaller = max(rows for rows in (1, 2, 3, 4) if tile_rows % rows == 0 and rows < tile_rows)
    return [tile_rows, *sorted({smaller, 1}, reverse=True)]

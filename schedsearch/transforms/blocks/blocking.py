"""Sizes of register tiles and packed panels, by the analytic model of BLIS (Low, Igual,
Smith, Quintana-Orti: Analytical Modeling is Enough for High-Performance BLIS, TOMS 2016)."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.transforms.blocks.reductions import ReductionNest, longest_extent
from schedsearch.transforms.blocks.terms import first_dim
from schedsearch.transforms.estimate.locality import L1_WAY
from schedsearch.transforms.operators.byte_dots import STEPS
from schedsearch.transforms.operators.ops import Args

MOST_STREAMS = 8
"""Rows of a tile of unknown loops: each of them reads along a row of the other operand. Of f32
products from 37 to 1000, 6 x 64 and 8 x 32 were faster than 9 x 48, 12 x 32 and 14 x 32."""

ENOUGH_PER_LOAD = 60
"""Percent of the arithmetic per load of the best tile: so much has a tile that divides the
columns."""

LARGE_RESULT = 10
"""How many times as large as the panels a result is that is written row by row in any case: f64
4000 x 64 x 4000 took 37 ms so, and 54 at least otherwise (Zen 4, panels of 2 MB, L2 of 1 MB)."""

MAX_DEPTH = 4096
"""No reduction needs to be longer to hide what a tile costs to load and store."""


def tile_width(proc: q.Proc, nest: ReductionNest, vector_bits: int) -> int:
    """Elements of the registers for a tile: of whole ones, or of the smallest that take a
    short contiguous loop in one go."""
    full = max(vector_bits // ELEMENT_BITS[nest.stmt.type], 1)
    longest = longest_extent(proc, nest.along)
    return full if longest > full else register_for(int(longest))


def register_for(elements: int) -> int:
    """Elements of the smallest register that takes so many."""
    return 1 << max(elements - 1, 1).bit_length()


def masked(proc: q.Proc, nest: ReductionNest, width: int) -> bool:
    """Whether the contiguous loop does not always fill one register of `width` elements."""
    return nest.corner or longest_extent(proc, nest.along) < width


def cuts(nest: ReductionNest, args: Args, narrow: bool) -> Iterator[tuple[q.For, int]]:
    """The loops that a block's tiles are cut from, each with how much of it a tile takes. If
    `narrow`, the tile has all of the contiguous loop, and so it has with a `rest`."""
    if not (narrow or args.get("rest", 0)):
        yield nest.along, args["lanes"] * args["tile_vectors"]
    if args["rows"] and not nest.corner:
        yield next(x for x in nest.loops if x.iter.name == args["rows"]), args["tile_rows"]
    if args["depth"] or summed_at_once(args) > 1:
        yield nest.reductions[-1], args["depth"] or summed_at_once(args)


def summed_at_once(args: Args) -> int:
    """Steps of the innermost reduction that an instruction sums: four of products of bytes."""
    return STEPS if args.get("bytes", False) is True else 1


def register_tiles(
    proc: q.Proc,
    nest: ReductionNest,
    rows: q.For | None,
    width: int,
    registers: int,
    any_rows: bool = False,
    enough: int = 0,
    most: int = 0,
    code: int = 0,
) -> list[tuple[int, int]]:
    """Tiles of `rows` times so many vectors of `width` elements that fill the registers,
    two at most.

    `rows * vectors` accumulators leave room for `vectors` operands and one broadcast; those with
    most arithmetic per load. Columns are divided, unless what divides them has less of that than
    `enough` percent of the most (only single registers divide 1000 columns of f64: 25 x 8 reached
    half the speed of 6 x 32).
    `any_rows`: what a tile leaves of a loop over rows is blocked, so that any number will do.
    `most`, if not 0: no tile has more rows; `code`: nor more registers.
    """
    longest = longest_extent(proc, nest.along)
    if nest.corner:
        fits = rows is nest.loops[0] and longest <= width and (rows.extent or inf) < registers - 1
        return [(rows.extent, 1)] if rows and rows.extent and fits else []
    possible = [n for n in (1, 2, 3, 4, 6) if n == 1 or n * width <= longest]
    if rows is None:
        dividing = [n for n in possible if _divides(nest.along, n * width)]
        fitting = dividing or [n for n in possible if _fits(nest.along, n * width)] or possible
        return [(1, max(fitting))] if fitting else []
    tiles = []
    for vectors in possible:
        room = int(min((registers - vectors - 1) // vectors, longest_extent(proc, rows)))
        room = min(room, most or room, code // vectors or room)
        best = max((d for d in range(1, room + 1) if _fits(rows, d)), default=1)
        if any_rows and rows.extent is None:
            best = min(room, MOST_STREAMS)
        elif 2 * best <= room:
            best = room  # no good divisor: a loop of its own for the last rows
        if best > 1:
            tiles.append((best, vectors))
    tiles.sort(key=_per_load, reverse=True)
    for divides in (_divides, _fits):
        whole = [tile for tile in tiles if divides(nest.along, tile[1] * width)]
        if whole and 100 * _per_load(whole[0]) >= enough * _per_load(tiles[0]):
            return whole[:2]
    return tiles[:2]


def _per_load(tile: tuple[int, int]) -> float:
    """Multiply-adds of registers for each that is loaded or broadcast."""
    rows, vectors = tile
    return rows * vectors / (rows + vectors)


def panel_depth(nest: ReductionNest, cache_bytes: int, rows: int, columns: int) -> int:
    """How many steps of the innermost reduction keep the panel and what is read of the
    other operand in a first-level cache of `cache_bytes`, for tiles of `rows` times
    `columns`; 0 if all do, there is no good divisor, or the length is not known: what is left
    costs more than a larger panel does (f32 products of 500 to 2048: 0.55 to 0.95 times as
    fast).

    Of the cache's ways one is left to the result; the others are shared as the tile's
    edges are.
    """
    bits = ELEMENT_BITS[nest.stmt.type]
    ways = cache_bytes // L1_WAY
    share = (ways - 1) // (1 + -(-columns // rows))
    fits = max(share, 1) * L1_WAY // (rows * bits // 8)
    extent = nest.reductions[-1].extent
    if extent is None:
        return 0
    candidates = range(min(fits, MAX_DEPTH), fits // 3, -1)
    return next((n for n in candidates if n < extent and extent % n == 0), 0)


def rows_of_block(nest: ReductionNest, cache_bytes: int, tile: tuple[int, int]) -> int:
    """How many rows stay in a second-level cache of `cache_bytes` while all panels pass by, for
    tiles of so many rows and columns; 0 if all rows do, or a length is not known.

    Panels that stay there themselves, or are much smaller than the result, are for the rows of one
    tile, so that the result is written row by row. Otherwise half of the cache is for the rows
    (Goto and van de Geijn: Anatomy of High-Performance Matrix Multiplication, TOMS 2008)."""
    tile_rows, columns = tile
    again = [
        x for x in nest.loops if x is not nest.along and first_dim(nest.stmt.idx, x) is not None
    ]
    passing = [x for x in again if first_dim(nest.operand.idx, x) is None]
    if any(x.extent is None for x in (*passing, *nest.reductions, nest.along)):
        return 0
    size = ELEMENT_BITS[nest.stmt.type] // 8
    row = prod(x.extent or 0 for x in nest.reductions) * size
    rows = prod(x.extent or 0 for x in passing)
    if rows * (row + columns * size) <= cache_bytes // 2:
        return 0
    large = rows * size >= LARGE_RESULT * row
    if large or row * (nest.along.extent or 0) <= cache_bytes:
        return tile_rows
    return max(cache_bytes // 2 // row // tile_rows, 1) * tile_rows


def _fits(loop: q.For, factor: int) -> bool:
    """Whether `factor` divides a constant loop; loops of unknown length are cut anyway, at
    powers of two."""
    return _divides(loop, factor) or (loop.extent is None and factor & (factor - 1) == 0)


def _divides(loop: q.For, factor: int) -> bool:
    return q.modulo(loop.hi, factor) == q.Affine(0)

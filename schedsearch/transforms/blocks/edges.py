"""What tiles of a register block do not divide: nests that start where the tiles end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator
from math import inf, prod
from typing import Any

from schedsearch.analysis.conditions import in_dead_branch
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.walkers import fresh, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.blocking import (
    MOST_STREAMS,
    cuts,
    masked,
    register_tiles,
    sliding_rows,
    tile_width,
)
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.reductions import (
    ReductionNest,
    longest_extent,
    reduction_nests,
    row_length,
    step_length,
)
from schedsearch.transforms.blocks.terms import first_dim
from schedsearch.transforms.blocks.tile_costs import UNROLLED, Costs, Tile, possible_tiles
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import After, Args, At, Op, Steps

MAX_EDGES = 12
"""Two cut dimensions leave five nests, three leave eleven."""

NEARLY = 1.02
"""Of tiles that cost about the same the largest is chosen."""

LONG, LONGER = 64, 256
"""Steps that hide what a tile costs to load and store: most of it, and all of it. A convolution of
64 channels with 9 taps: 107 GFLOP/s with tiles of one tap, 118 with tiles of all."""

Block = Callable[[q.Proc, q.Path, Args], Steps]
"""The operators that block the nest at a path for registers."""


def leaves_edges(proc: q.Proc, nest: ReductionNest, args: Args) -> bool:
    """Whether the tile does not divide a loop that it is cut from."""
    taken = cuts(nest, args, masked(proc, nest, args["lanes"]))
    return any(not divides(proc, size, loop.hi, loop.path) for loop, size in taken)


def block_edges(
    p: Cursors,
    bits: int,
    registers: int,
    block: Block,
    buf: str | None = None,
    beside: bool = False,
    held: bool = False,
    within: bool = False,
) -> Generator[Op | None, Any, int]:
    """Give every edge, or those that are sums into the array `buf`, the best block of the
    analytic model for its own lengths, for `registers` vector registers of `bits`. Returns how
    many there were. `beside`, `held`: see `best_block`; `within`: `reduction_nests`."""
    done = 0
    for _ in range(MAX_EDGES):
        loops = next(edges(p.ast, buf), None)
        if loops is None:
            break
        cut = [loop.path for loop in loops if loop.lo != q.Affine(0)]
        for start in cut:
            yield from p.do("shift_loop", At(start), 0)
        parts = [loops[-1].path]
        nest = _nest(p.ast, parts[0], within)
        if nest and nest.along.extent is None and nest.along.path in cut:
            width = tile_width(p.ast, nest, bits)
            if not divides(p.ast, width, nest.along.hi, nest.along.path):
                yield from _guard(p, nest, width)
                parts = _parts(nest)
        for innermost in parts:
            nest = _nest(p.ast, innermost, within)
            arguments = nest and best_block(p.ast, nest, bits, registers, beside=beside, held=held)
            if nest and arguments:
                yield from block(p.ast, nest.loops[0].path, arguments)
                p = Cursors((yield None))
                done += 1
    return done


def _guard(p: Cursors, nest: ReductionNest, width: int) -> Steps:
    """Divide the contiguous loop, what is left of it behind an `if` in a nest after this one:
    it may be empty, which masked instructions may not be."""
    taken = names(p.ast)
    along = nest.along.iter.name
    new = (fresh(taken, f"{along}v"), fresh(taken, f"{along}l"))
    loop = p.at(nest.along.path)
    yield from p.do("divide_loop", loop, width, new, tail="cut_and_guard")
    guard = p.at(next_path(p.path(loop)))
    if outer := nest.loops.index(nest.along):
        yield from p.do("fission", After(p.path(loop)), outer)
    for _ in range(outer):
        yield from p.do("lift_scope", guard)


def _parts(nest: ReductionNest) -> list[q.Path]:
    """Innermost loops of what `_guard` made of a nest, the rest first: what a block leaves
    comes after it."""
    start = nest.loops[0].path
    return [(*next_path(start), *(0,) * len(nest.loops)), (*start, *(0,) * len(nest.loops))]


def edges(proc: q.Proc, buf: str | None = None) -> Iterator[tuple[q.For, ...]]:
    """The loops around each reduction in memory, or into the array `buf` alone, if one of them
    does not start at 0."""
    for stmt in q.walk(proc.body):
        if not isinstance(stmt, q.Assign | q.Reduce) or buf not in (None, stmt.buf.name):
            continue
        if not stmt.idx or reduction(stmt) is None or in_dead_branch(proc, stmt.path):
            continue
        loops: list[q.For] = []
        for end in range(len(stmt.path) - 1, 0, -1):
            loop = proc.by_path.get(stmt.path[:end])
            # Around the sum itself its operands may be converted.
            alone = isinstance(loop, q.For) and (len(loop.body) == 1 or not loops)
            if not isinstance(loop, q.For) or loop.parallel or not alone:
                break
            loops.insert(0, loop)
        if any(loop.lo != q.Affine(0) for loop in loops):
            yield tuple(loops)


def _nest(proc: q.Proc, innermost: q.Path, within: bool) -> ReductionNest | None:
    """The longest nest whose innermost loop is at `innermost`."""
    nests = [
        nest
        for nest in reduction_nests(proc, within)
        if nest.loops[-1].path == innermost and not nest.corner and not (within and nest.hides)
    ]
    return max(nests, key=lambda nest: len(nest.loops), default=None)


def best_block(
    proc: q.Proc,
    nest: ReductionNest,
    bits: int,
    registers: int,
    reused: int = 1,
    enough: int = 0,
    beside: bool = False,
    held: bool = False,
) -> dict[str, ArgValue] | None:
    """The block with the largest tile, of those that wait least for loads; None if there is none.
    An operand that need not be packed is if `reused` tiles of rows at least use the same panel; if
    not, of the largest tiles the one with most rows streams least of it. `enough`: see
    `register_tiles`. `beside`: tiles may have the last columns beside them, and those that cost
    least are chosen (`tile_costs`). `held`: operands stay in registers, where a tile waits for
    loads what it reads for all taps of a filter. Loops of unknown length may be short, so that
    tiles have `MOST_STREAMS` rows of them at most. Of equal loops the innermost has the rows, whose
    elements are neighbours."""
    width = tile_width(proc, nest, bits)
    if any(longest_extent(proc, loop) < 1 for loop in nest.loops):
        return None
    if width < 2 and not nest.instruction:  # there is none for a single lane
        return None
    start = nest.loops[0].path
    nests = reduction_nests(proc, within=True)
    together = [other.stmt for other in nests if other.loops[0].path == start]
    inner = _inner(nest, held)
    choices = [
        rows
        for rows in [None, *nest.row_loops()]
        if not nest.transposed or _packable(nest, rows, inner)
    ]

    def tiles_over(rows: q.For | None) -> list[Tile]:
        if beside and _odd(nest, width):
            return possible_tiles(proc, nest, rows, width, registers)
        most = UNROLLED if beside and not nest.corner else 0
        if held and rows is not None and rows.extent is None:
            most = MOST_STREAMS
        found = register_tiles(proc, nest, rows, width, registers, enough=enough, most=most)
        return [Tile(*tile) for tile in found]

    tiles = [
        (rows, tile)
        for rows in choices
        for tile in tiles_over(rows)
        if rows is None or rows.extent or longest_extent(proc, rows) >= 2 * tile.rows
    ]
    if not tiles:
        return None
    if beside:
        costs = [
            Costs(proc, nest, rows, width, registers, inner).per_element(tile)
            for rows, tile in tiles
        ]
        least = min(costs)
        tiles = [t for t, cost in zip(tiles, costs, strict=True) if cost <= NEARLY * least]

    def often(rows: q.For | None, tile_rows: int) -> bool:
        if rows is None:
            return False
        again = [rows]
        if beside:  # the loops around use the same panel, too
            again = [x for x in nest.loops if first_dim(nest.operand.idx, x) is None]
        most = reused * tile_rows
        return prod(x.extent or most for x in again) >= most

    def worth(found: tuple[q.For | None, Tile]) -> tuple[float, int, int, int]:
        rows, tile = found
        size = tile.rows * tile.registers
        loads = _loads(nest, rows, tile, (nest.operand,))
        streams = 0 if often(rows, tile.rows) else tile.rows
        inside = len(rows.path) if held and rows is not None else 0
        return min(1.0, size / loads), size, streams, inside

    rows, best = max(tiles, key=worth)
    if held and _waits(nest, rows, best):
        near = reversed([*nest.row_loops()])  # rows of inner loops are near each other
        sliding = [(x, sliding_rows(proc, nest, x, width, registers)) for x in near]
        loop, tile_rows = max(sliding, key=lambda each: each[1], default=(None, 0))
        if loop is not None and tile_rows:
            where = {"nest": together.index(nest.stmt), "lanes": width}
            return where | sliding_block(nest, loop, tile_rows)
    narrow = best.vectors == 0
    tile_rows, tile_vectors = best.rows, best.vectors or 1
    apart = step_length(proc, nest) if beside else row_length(proc, nest.operand)
    far_apart = apart > 2 * width * best.registers
    rest: dict[str, ArgValue] = {"rest": best.rest} if best.rest and not narrow else {}
    return {
        **rest,
        "nest": together.index(nest.stmt),
        "rows": rows.iter.name if rows else "",
        "tile_rows": tile_rows,
        "tile_vectors": tile_vectors,
        "lanes": width,
        "depth": 0,
        "inner": inner,
        "pack": _packable(nest, rows, inner)
        and (nest.transposed or (far_apart and often(rows, tile_rows))),
    }


def sliding_block(nest: ReductionNest, rows: q.For, tile_rows: int) -> dict[str, ArgValue]:
    """The arguments of a block of one register for each of so many rows, which keeps in registers
    what it reads for all taps of a filter."""
    return {
        "rows": rows.iter.name,
        "tile_rows": tile_rows,
        "tile_vectors": 1,
        "depth": 0,
        "inner": len(nest.reductions),
        "pack": False,
        "slide": True,
    }


def _odd(nest: ReductionNest, width: int) -> bool:
    """Whether whole registers do not divide the contiguous loop."""
    extent = nest.along.extent
    return extent is not None and extent % width > 0 and not nest.corner


def _inner(nest: ReductionNest, held: bool) -> int:
    """How many of the innermost reductions it takes to hide what a tile costs to load and store.
    `held`: all of it, and those of unknown length have perhaps one step; an operand that has to be
    packed is of as many as it can be."""
    counts = range(len(nest.reductions), 0, -1) if nest.transposed else ()
    most = next((n for n in counts if any(nest.packable(x, n) for x in nest.row_loops())), 0)
    steps, enough, unknown = 1.0, (LONGER if held else LONG), (1.0 if held else inf)
    for count, loop in enumerate(reversed(nest.reductions), 1):
        steps *= loop.extent or unknown
        if steps >= enough or (held and count == most):
            return count
    return len(nest.reductions)


def _loads(nest: ReductionNest, rows: q.For | None, tile: Tile, vectors: Collection[q.Read]) -> int:
    """Registers and scalars that a step of a tile loads for its multiply-adds, of which a core
    does as many in the same time. A row of `vectors` takes all registers of a row."""
    loads = 0
    for read in nest.operands:
        again = tile.rows if rows is not None and rows.iter in q.expr_vars(read) else 1
        loads += again * (tile.registers if read in vectors else 1)
    return loads


def _waits(nest: ReductionNest, rows: q.For | None, tile: Tile) -> bool:
    """Whether a tile loads a register for each that it adds to, or more."""
    moving = [read for read in nest.operands if nest.along.iter in q.expr_vars(read)]
    return _loads(nest, rows, tile, moving) >= tile.rows * tile.registers


def _packable(nest: ReductionNest, rows: q.For | None, inner: int) -> bool:
    return rows is not None and nest.packable(rows, inner)

"""Keep a tile of a reduction's result in vector registers.

```
for i in seq(0, 512):                     for io in seq(0, 64):
    for j in seq(0, 512):                     for jo in seq(0, 16):
        for k in seq(0, 512):         ->          acc: f32[8, 2, 16] @ VEC_F32X16
            C[i, j] += A[i, k] * B[k, j]          acc[...] = C[8 * io ..., 32 * jo ...]
                                                  for k in seq(0, 512):
                                                      acc[...] += A[...] * B[...]
                                                  C[8 * io ..., 32 * jo ...] = acc[...]
```

For any nest around one `x[...] += a * b` (or `+= b`) with loops that `x` does not
depend on, and one loop along which `x` and the operands are contiguous (an operand
may also not depend on it). Other statements in these loops are first split off into
loops of their own. `rows` is the name of a second loop to tile, empty for none;
`tile_rows` times `tile_vectors` registers hold the result; `inner` is the number of
innermost reduction loops inside the tile. Other reductions go outside, with the
contiguous loop before them, so that a panel of the contiguous operand stays in cache
while the rows pass by. With `pack` that panel is first copied to where its rows lie
next to each other, and turned if the contiguous loop runs across them (`B[j, k]`).
`depth`, if not 0, is how much of the innermost reduction the tile stays for.
`nest` counts the reductions that start at the same loop.

With `block_rows`, where a panel passes more rows than the second-level cache keeps, all panels
are packed first. So many rows at a time take all of them then: what is read of the other operand
stays in the cache, or, if the panels do, the result is written row by row (never slower than one
panel after the other, which is not proposed then).

```
for jo in seq(0, 125):                        B_panel: f32[125, 64, 32]
    B_panel: f32[64, 32]                      for jo in seq(0, 125):
    ...                                           ...
    for io in seq(0, 500):               ->   for io in seq(0, 500):
        ...  # a tile                             for jo in seq(0, 125):
                                                      ...  # a tile
```

`bytes` is for sums in i32 of products of bytes (i8 or ui8, converted first), on CPUs with VNNI. One
instruction sums four products in each lane, so the panel has four steps of the innermost reduction
next to each other: `B_panel[k / 4, j, k % 4]`. The tile's other operand is read row by row.
Steps beyond the last four are an edge. The sums are those of any order, since integers wrap.

Iterations that the tile does not divide get smaller tiles that fill `edges` registers: rows
beside the tile, which use the same panel, columns in nests of their own, as in `block_edges`.
Without `edges`, as in older traces, they are left in scalar nests. A contiguous loop shorter
than a register is done in one go by masked instructions.

`rest`, if not 0, is what whole registers leave of a contiguous loop that the tile has all of. It is
in a masked register beside them, the smallest that takes it. The rows are read once then, and not
again for the last columns.

```
for i in seq(0, 500):                     for io in seq(0, 62):
    for j in seq(0, 23):                      acc: f32[8, 1, 16] @ VEC_F32X16
        for k in seq(0, 500):         ->      rest: f32[8, 8] @ VEC_F32X8
            C[i, j] += ...                    ...  # of which 7 lanes count
```

With `slide` the innermost reduction is one that moves along the operand as the rows do, as the taps
of a filter. What a tile reads for all of its steps is loaded once, and they are unrolled.

```
                                              for k in seq(0, 3):
for i in seq(0, 512):                             held: f32[10, 1, 16] @ VEC_F32X16
    for j in seq(0, 512):                         held[...] = x[8 * io ..., 16 * jo + k ...]
        for t in seq(0, 3):              ->       for ir in seq(0, 8):
            for k in seq(0, 3):                       acc[ir] += held[ir] * w[0, k]
                y[i, j] += x[i + t, j + k]        for ir in seq(0, 8):
                           * w[t, k]                  acc[ir] += held[ir + 1] * w[1, k]
                                                  ...
```

With `held` an operand that all rows of a tile use is loaded once for them: gcc reads it from memory
for each, and every other vector of an array that is not aligned lies in two cache lines. With
`unrolled` the rows of such a tile are written out: compilers unroll up to a limit that indices
count for, and keep the tile in memory beyond it.

With `spare` masked registers may hold anything beyond the columns, where nothing stores that. With
`in_order` compilers add few steps up as they are written, where the tile has sums enough. With
`once` masked registers of unknown length have no loop around them. With `within` edges stay inside
of loops whose temporaries are used after them.

Tile sizes are those of the analytic model of BLIS (Low et al., TOMS 2016): `rows *
vectors` accumulators, `vectors` operands and one broadcast fill the register file,
with as much arithmetic per load as possible; `depth` is such that the panel leaves the
first-level cache room for what is read of the other operand.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from math import inf
from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.blocked_nest import FEW_STEPS, BlockedNest
from schedsearch.transforms.blocks.blocking import (
    ENOUGH_PER_LOAD,
    MAX_DEPTH,
    MOST_TAPS,
    masked,
    panel_depth,
    register_tiles,
    rows_of_block,
    sliding_rows,
    tile_width,
)
from schedsearch.transforms.blocks.byte_nests import VNNI, sums_bytes
from schedsearch.transforms.blocks.edges import Block, block_edges, leaves_edges, sliding_block
from schedsearch.transforms.blocks.held_tiles import AS_BEFORE, Ways, write_out
from schedsearch.transforms.blocks.reductions import ReductionNest, reduction_nests, row_length
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import After, Args, Proposal, Steps

VERSION = 3
BLOCKS = True

MAX_BLOCK = 1 << 16
"""Rows of a block."""

MAX_TILE = 64
"""Registers, elements of a register, reduction loops: none has more."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    started: Counter[q.Path] = Counter()
    cache = (target.cache_bytes or (0,))[0]
    for nest in reduction_nests(proc, within=True):
        if nest.hides:
            started[nest.loops[0].path] += 1
            continue
        width = tile_width(proc, nest, target.vector_bits)
        first, registers = nest.loops[0], target.vector_registers
        for rows in _row_choices(nest):
            needed = VNNI.get(width, frozenset()) & {*target.features}
            of_bytes = bool(needed) and sums_bytes(proc, nest, rows, width)
            for tile_rows, tile_vectors in _tiles(proc, nest, rows, target, of_bytes):
                args: dict[str, ArgValue] = {
                    "nest": started[first.path],
                    "rows": rows.iter.name if rows else "",
                    "tile_rows": tile_rows,
                    "tile_vectors": tile_vectors,
                    "lanes": width,
                    "depth": 0,
                }
                depth = panel_depth(nest, cache, tile_rows, tile_vectors * width)
                far_apart = row_length(proc, nest.operand) > 2 * width * tile_vectors
                ways: list[dict[str, ArgValue]] = []
                if of_bytes:
                    ways.append({"inner": 1, "pack": True, "bytes": True})
                for inner in sorted({1, len(nest.reductions)}) if not ways else ():
                    if not nest.transposed:
                        ways.append({"inner": inner, "pack": False})
                    if rows and (nest.transposed or far_apart) and nest.packable(rows, inner):
                        size = _block_rows(nest, target, args, inner)
                        if size != tile_rows:
                            ways.append({"inner": inner, "pack": True})
                        if inner == 1 and depth:
                            ways.append({"inner": 1, "pack": True, "depth": depth})
                        if size:
                            ways.append({"inner": inner, "pack": True, "block_rows": size})
                for way in ways:
                    yield first, _completed(proc, nest, {**args, **way}, target)
            if rows and (tile_rows := sliding_rows(proc, nest, rows, width, registers)):
                args = {"nest": started[first.path], "lanes": width}
                args |= sliding_block(nest, rows, tile_rows)
                yield first, _completed(proc, nest, args, target)
        started[first.path] += 1


def _completed(
    proc: q.Proc, nest: ReductionNest, args: dict[str, Any], target: Target
) -> dict[str, ArgValue]:
    """Arguments with what follows from the tile: how it begins, and what it leaves."""
    found, narrow = dict(args), masked(proc, nest, tile_width(proc, nest, target.vector_bits))
    of_all = args["inner"] == len(nest.reductions) and not (narrow or args["depth"])
    if of_all and nest.first_values(proc) is not None:
        found["first"] = "bytes" not in args
    edges = leaves_edges(proc, nest, found)
    if edges:
        found["edges"] = target.vector_registers
        if any(other.hides and other.stmt == nest.stmt for other in reduction_nests(proc)):
            found["within"] = True
    if edges or narrow:
        found["whole"] = found["spare"] = found["once"] = True
    if (nest.reductions[-1].extent or inf) <= FEW_STEPS and "slide" not in args:
        found["in_order"] = True
    if args["tile_rows"] > 1 and not (narrow or "bytes" in args or "slide" in args):
        found["held"] = found["unrolled"] = True
    return found


def _block_rows(nest: ReductionNest, target: Target, args: Args, inner: int) -> int:
    """Rows of a block, 0 for none. A tile sums up everything: reductions outside would load and
    store all of the result, instead of a panel of it, at every step."""
    if inner < len(nest.reductions) or len(target.cache_bytes) < 2:
        return 0
    tile = (args["tile_rows"], args["tile_vectors"] * args["lanes"])
    return rows_of_block(nest, target.cache_bytes[1], tile)


def _tiles(
    proc: q.Proc, nest: ReductionNest, rows: q.For | None, target: Target, of_bytes: bool
) -> list[tuple[int, int]]:
    """Rows and vectors of the tiles to try. Of sums of bytes also the largest, whatever rows they
    leave: a tile sums the operand of its rows once, and makes its vectors unsigned at each step."""
    width, registers = tile_width(proc, nest, target.vector_bits), target.vector_registers
    tiles = register_tiles(
        proc, nest, rows, width, registers, any_rows=True, enough=ENOUGH_PER_LOAD
    )
    if of_bytes and rows and rows.extent and rows.extent > 1:
        tiles += [(min((registers - 2) // n - 1, rows.extent), n) for _, n in tiles]
    return list(dict.fromkeys(tiles))


def _row_choices(nest: ReductionNest) -> list[q.For | None]:
    """Loops to tile with the contiguous one, or none; not none where all lengths are unknown,
    because then a block with its edges takes a second to make."""
    loops = list(nest.row_loops())
    if nest.along.extent == 1:
        return []
    unknown = nest.along.extent is None and any(loop.extent is None for loop in loops)
    return [*loops] if unknown else [None, *loops]


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    registers = args.get("edges", 0)
    if not (type(registers) is int and 0 <= registers <= MAX_TILE):
        raise RewriteError(f"edges are for registers, {MAX_TILE} at most")
    way = partial(block, ways=ways_of(args, inside=registers > 0))
    yield from way(ast, path, args)
    if registers and args.get("bytes", False) is True:
        way = partial(edge_of_bytes, way, args["lanes"])
    if registers:
        stmt = _nest(ast, path, args["nest"]).stmt
        bits = args["lanes"] * ELEMENT_BITS[stmt.type]
        p = Cursors((yield None))
        within = args.get("within", False) is True
        yield from block_edges(p, bits, registers, way, stmt.buf.name, within=within)
    if args.get("unrolled", False) is True:
        yield from write_out(Cursors((yield None)))


def _nest(proc: q.Proc, path: q.Path, number: ArgValue) -> ReductionNest:
    """Raises RewriteError if there are not so many that start at the loop."""
    nests = [x for x in reduction_nests(proc, within=True) if x.loops[0].path == path]
    if not (isinstance(number, int) and 0 <= number < len(nests)):
        raise RewriteError("there is no reduction that fits vector registers")
    return nests[number]


def ways_of(args: Args, inside: bool) -> Ways:
    """The ways that arguments ask for."""
    names = ("whole", "spare", "in_order", "once", "held")
    return Ways(inside, *(args.get(name, False) is True for name in names))


def block(ast: q.Proc, path: q.Path, args: Args, ways: Ways = AS_BEFORE) -> Steps:
    """The operators that block one nest. What the tile does not divide gets nests of its own, or
    smaller tiles beside it."""
    nest = _nest(ast, path, args["nest"])
    _check(nest, args)
    narrow = masked(ast, nest, args["lanes"])
    if args.get("bytes", False) is True and not _bytes(ast, nest, args):
        raise RewriteError("these are no sums of products of bytes")
    if narrow and args["tile_vectors"] > 1:
        raise RewriteError("there is less than one register to fill")
    p = Cursors((yield None))
    stmt = p.at(nest.stmt.path)
    wanted = args.get("first", False) is True and not narrow
    first = nest.first_values(ast) if wanted else None
    before = p.at(first.path) if first else None
    for gap, around in nest.siblings(first):
        yield from p.do("fission", After(gap), around)
    blocked = BlockedNest(p, ast, stmt, nest, args, narrow, ways, before)
    yield from blocked.cut()
    yield from blocked.divide()
    yield from blocked.arrange()
    if args["pack"]:
        yield from blocked.pack()
    yield from blocked.spread()
    yield from blocked.hold()


def edge_of_bytes(way: Block, lanes: int, ast: q.Proc, path: q.Path, args: Args) -> Steps:
    """The block of an edge, which may be one of sums of bytes too."""
    wanted = {**args, "lanes": lanes, "inner": 1, "pack": True, "bytes": True}
    fits = _bytes(ast, _nest(ast, path, args["nest"]), wanted)
    yield from way(ast, path, wanted if fits else args)


def _bytes(ast: q.Proc, nest: ReductionNest, args: Args) -> bool:
    rows = next((loop for loop in nest.row_loops() if loop.iter.name == args["rows"]), None)
    fits = args["pack"] is True and args["inner"] == 1 and args["depth"] == 0
    return fits and sums_bytes(ast, nest, rows, args["lanes"])


def _check(nest: ReductionNest, args: Args) -> None:
    """Refuse arguments that `propose` would not give: a trace may come from anywhere."""
    sizes = (args["tile_rows"], args["tile_vectors"], args["lanes"], args["inner"])
    whole = all(type(size) is int and 1 <= size <= MAX_TILE for size in sizes)
    if not whole or args["lanes"] & (args["lanes"] - 1):
        raise RewriteError(
            f"tile sizes are whole numbers from 1 to {MAX_TILE}, of lanes powers of two"
        )
    if args["inner"] > len(nest.reductions):
        raise RewriteError(f"there are only {len(nest.reductions)} reduction loops")
    row_loops = {loop.iter.name: loop for loop in nest.row_loops()}
    if args["rows"] not in {"", *row_loops} or bool(args["rows"]) != (args["tile_rows"] > 1):
        raise RewriteError(f"rows of {args['rows']!r} cannot be tiled here")
    rows = row_loops.get(args["rows"])
    if args["pack"] is not False and not (rows and nest.packable(rows, args["inner"])):
        raise RewriteError("there is no panel to pack here")
    block_rows = args.get("block_rows", 0)
    if block_rows != 0 and not (
        type(block_rows) is int
        and 0 < block_rows <= MAX_BLOCK
        and args["pack"] is True
        and args.get("bytes", False) is False
    ):
        raise RewriteError("blocks of rows need rows, whose tiles share a packed panel")
    if args.get("first", False) is True and (
        args["inner"] < len(nest.reductions) or args["depth"] or args.get("bytes", False) is True
    ):
        raise RewriteError("a tile has its first values only if it sums up everything")
    depth = args["depth"]
    if depth and not (args["inner"] == 1 and isinstance(depth, int) and 1 < depth <= MAX_DEPTH):
        raise RewriteError("the depth is a number of steps of the one reduction inside")
    rest = args.get("rest", 0)
    if rest != 0 and not (
        type(rest) is int
        and 0 < rest < args["lanes"]
        and nest.along.extent == args["lanes"] * args["tile_vectors"] + rest
        and not (depth or block_rows or nest.corner)
        and not (args.get("bytes", False) is True or args.get("first", False) is True)
    ):
        raise RewriteError("the rest is what whole registers leave of the contiguous loop")
    if args.get("slide", False) is True:
        _check_taps(nest, rows, args)
    if nest.transposed and not args["pack"]:
        raise RewriteError("the operand lies across: it has to be packed")


def _check_taps(nest: ReductionNest, rows: q.For | None, args: Args) -> None:
    found = nest.sliding(rows) if rows is not None else None
    inner = nest.reductions[len(nest.reductions) - args["inner"] :]
    if found is None or found[1] not in inner or not 2 <= (found[1].extent or 0) <= MOST_TAPS:
        raise RewriteError("no reduction in the tile slides along its rows")
    if args["pack"] or args["depth"] or args.get("rest", 0) or args.get("bytes", False) is True:
        raise RewriteError("what a tile reads is in registers, or packed")

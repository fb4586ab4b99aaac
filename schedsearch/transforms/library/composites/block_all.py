"""Keep the result of every sum of products in vector registers, a tile at a time.

```
for i in seq(0, 62):                          for i in seq(0, 62):
    for ir in seq(0, 8):                          acc: f64[8, 2, 8] @ VEC_F64X8
        for j in seq(0, 8 * i):                   ...  # tiles of 8 rows
            for k in seq(0, 512):        ->       for ir in seq(0, 8):
                C[8 * i + ir, j] += ...               ...
        for ir in seq(0, 8):                      acc: f64[8, 8] @ VEC_F64X8
            for j in seq(0, ir + 1):              ...  # masked registers
                for k in seq(0, 512):
                    C[8 * i + ir, 8 * i + j] += ...
```

Each nest (`MAX_NESTS` at most) gets the block of the analytic model with the largest tile, and so
do its edges. With `beside` tiles have the last columns of short loops beside them, and of all tiles
those that cost least are chosen (`tile_costs`); without it, as in older traces, the largest.
`spare`, `in_order`, `once` and `unrolled` are those of `register_block`. With `held` operands that
tiles use again stay in registers, for all rows or, where a tile waits for loads, for all taps of a
filter; tiles stay for more steps, and loops of unknown length may be short.
With `within` nests stay inside of loops whose temporaries are used after them, as batches and
steps of a recurrent network: they cannot be split off.
With `bytes` sums of products of bytes take the instructions for them (VNNI).
With `cache`, the bytes of the second-level cache, rows are outside of all panels, and all sums in
the tile, where less passes that cache so: batches of images are read once, not for each panel.
With `first` tiles begin with the first values of the result, if these come directly before the sum.
With `one_pass` loops that sum rows and columns of an array in one pass stay whole: apart they would
read it twice, and `vectorise_reduction` has several rows in an instruction.
With `nests` so many nests get blocks, the first ones, and the next rewrite has the next: what is
done is kept where time or Exo ends it. Blocks of many nests of unknown lengths are more edits than
Exo can forward through. With `apart` the nest at the path is a procedure of its own meanwhile, so
that the edits of the others do not count.
Rows of small triangles that no register holds are left to the C compiler. `register_block` does the
same to one nest, with tiles to choose from: this is what shows soon what a procedure is worth.
"""

from collections.abc import Iterator
from functools import partial

from schedsearch.analysis.certain import certain_at
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.blocking import ENOUGH_PER_LOAD, tile_width
from schedsearch.transforms.blocks.byte_nests import VNNI, largest_byte_tile, sums_bytes
from schedsearch.transforms.blocks.edges import best_block, block_edges
from schedsearch.transforms.blocks.held_tiles import write_out
from schedsearch.transforms.blocks.one_pass import sums_both_ways
from schedsearch.transforms.blocks.passing import rows_outside
from schedsearch.transforms.blocks.reductions import (
    MOST_ROWS,
    ReductionNest,
    reduction_nests,
)
from schedsearch.transforms.blocks.terms import product_of_terms
from schedsearch.transforms.library.composites.block_edges import checked
from schedsearch.transforms.library.composites.register_block import block, edge_of_bytes, ways_of
from schedsearch.transforms.operators.apart import apart
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Steps

VERSION = 1
BLOCKS = True
NORMAL_FORM = 4

MAX_NESTS = 40

TOGETHER = 2
"""Nests with loops of unknown length in one rewrite, at most: each takes a second or two."""

MANY_NESTS = 5
"""More nests than that, of any lengths, are too many edits for one rewrite."""

REUSED = 16
"""Tiles that use a packed panel, at least: to copy an element takes as long as some products."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    bits, registers = target.vector_bits, target.vector_registers
    found = _blocks(proc, bits, registers, ENOUGH_PER_LOAD, held=True, within=True, one_pass=True)
    blocks = tuple(found)
    if blocks:
        names = "whole first beside spare in_order composed once held unrolled within one_pass"
        ways: dict[str, ArgValue] = dict.fromkeys(names.split(), True)
        if VNNI.get(bits // 32, frozenset()) & {*target.features} and _sums_bytes(proc, bits):
            ways["bytes"] = True
        cache = target.cache_bytes[1] if len(target.cache_bytes) > 1 else 0
        if any(rows_outside(nest, arguments, cache) for nest, arguments in blocks):
            ways["cache"] = cache
        args: dict[str, ArgValue] = {"bits": bits, "registers": registers}
        args["enough"] = ENOUGH_PER_LOAD
        rolled = {way: given for way, given in ways.items() if way != "unrolled"}
        some, begun = len(blocks) > TOGETHER, _in_registers(proc)
        together = [(None, {**args, **ways})] if not (some and _many(proc)) else []
        if not begun:
            yield from together
        if some or begun:  # all may be too many edits
            for start in dict.fromkeys(nest.loops[0].path for nest, _ in blocks):
                yield proc.by_path[start], {**args, **ways, "apart": True}
        if begun:
            yield from together
        if some:  # the last rewrite unrolls for all
            yield None, {**args, **rolled, "nests": 1}


def _in_registers(proc: q.Proc) -> bool:
    """Whether there are blocks already, whose edits would count."""
    return any(isinstance(x, q.Alloc) and x.mem.startswith("VEC_") for x in q.walk(proc.body))


def _many(proc: q.Proc) -> bool:
    """Whether there are many sums, or tiles of more than `TOGETHER` leave an unknown number of rows
    and columns."""
    nests = reduction_nests(proc, within=True)
    ends = [(nest.stmt.path, (nest.along, *nest.row_loops())) for nest in nests]
    unknown = {path for path, loops in ends if sum(loop.extent is None for loop in loops) > 1}
    return len(unknown) > TOGETHER or len({path for path, _ in ends}) > MANY_NESTS


def _sums_bytes(proc: q.Proc, bits: int) -> bool:
    return any(
        sums_bytes(proc, nest, rows, tile_width(proc, nest, bits))
        for nest in reduction_nests(proc, within=True)
        for rows in nest.row_loops()
    )


def _blocks(
    proc: q.Proc,
    bits: int,
    registers: int,
    enough: int,
    beside: bool = True,
    composed: bool = True,
    held: bool = False,
    within: bool = False,
    of_bytes: bool = False,
    cache: int = 0,
    one_pass: bool = False,
) -> Iterator[tuple[ReductionNest, dict[str, ArgValue]]]:
    """Nests with their blocks; of nests around one statement the small triangle, then the longest
    one. `composed`: also of terms that are neither a product of elements nor a difference.
    `within`: also of nests that stay inside of loops whose temporaries are used after them.
    `of_bytes`: sums of bytes by the instructions for them. `cache`: bytes that panels may have for
    rows to be outside of them, 0 for none. `one_pass`: without loops that sum rows and columns of
    an array in one pass."""
    found = [x for x in reduction_nests(proc, within) if not (within and x.hides)]
    nests = sorted(found, key=lambda nest: (not nest.corner, -len(nest.loops)))
    for nest in nests:
        if not composed and isinstance(nest.stmt, q.Reduce) and product_of_terms(nest.stmt.rhs):
            continue
        if one_pass and _sums_both_ways(proc, nest.stmt):
            continue
        if nest.along.extent is None and not nest.corner and _short(proc, nest.along):
            continue
        arguments = best_block(proc, nest, bits, registers, REUSED, enough, beside, held)
        if arguments is not None:
            width = tile_width(proc, nest, bits)
            tile = largest_byte_tile(proc, nest, width, registers) if of_bytes else None
            arguments |= {**tile, "rest": 0} if tile else rows_outside(nest, arguments, cache)
            yield nest, arguments


def _short(proc: q.Proc, loop: q.For) -> bool:
    """Whether a loop never has more iterations than a tile, be it because it is in an `else`."""
    return certain_at(proc, loop.path[:-1]).at_most(loop.hi - loop.lo, MOST_ROWS)


def _sums_both_ways(proc: q.Proc, stmt: q.Stmt) -> bool:
    loop = proc.by_path.get(stmt.path[:-1])
    return isinstance(loop, q.For) and sums_both_ways(proc, loop)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    alone = args.get("apart", False) is True
    bits, registers = checked(() if alone else path, args)
    # Traces of before have none of these.
    enough, cache = args.get("enough", 0), args.get("cache", 0)
    most = args.get("nests", MAX_NESTS)
    if type(enough) is not int or type(cache) is not int:
        raise RewriteError("enough is a number, of percent, and cache one of bytes")
    if not (type(most) is int and 0 < most <= MAX_NESTS):
        raise RewriteError(f"nests is a number, from 1 to {MAX_NESTS}")
    first, beside = args.get("first", False) is True, args.get("beside", False) is True
    ways = ("composed", "held", "within", "bytes", "one_pass")
    composed, held, within, of_bytes, one_pass = (args.get(way, False) is True for way in ways)
    wanted = (enough, beside, composed, held, within, of_bytes, cache, one_pass)
    way = partial(block, ways=ways_of(args, inside=True))

    def block_sums(p: Cursors) -> Steps:
        done = 0
        while done < most and (found := next(_blocks(p.ast, bits, registers, *wanted), None)):
            nest, arguments = found
            buf = nest.stmt.buf.name
            if "bytes" in arguments:
                yield from way(p.ast, nest.loops[0].path, arguments)
                p = Cursors((yield None))
                edge = partial(edge_of_bytes, way, bits // 32)
                yield from block_edges(p, bits, registers, edge, buf, within=within)
            else:
                all_steps = arguments["inner"] == len(nest.reductions)
                arguments["first"] = first and all_steps and "rest" not in arguments
                yield from way(p.ast, nest.loops[0].path, arguments)
                p = Cursors((yield None))
                yield from block_edges(p, bits, registers, way, buf, beside, held, within)
            p = Cursors((yield None))
            done += 1
        if not done:
            raise RewriteError("there is no sum to block")
        if args.get("unrolled", False) is True:
            yield from write_out(p)

    if alone:
        yield from apart(ast, path, block_sums)
    else:
        yield from block_sums(Cursors((yield None)))

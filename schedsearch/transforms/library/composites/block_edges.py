"""Give what the tiles of register blocks did not divide blocks of its own.

```
for io in seq(0, 62):                     for io in seq(0, 62):
    ...  # tiles of 8 rows                    ...
for i in seq(496, 500):                   for jo in seq(0, 31):
    for j in seq(0, 496):                     acc: f32[4, 1, 16] @ VEC_F32X16
        for k in seq(0, 512):         ->      ...  # tiles of 4 rows
            C[i, j] += A[i, k] * B[k, j]
for i in seq(0, 500):                     for io in seq(0, 62):
    for j in seq(496, 500):                   ...  # masked registers
        for k in seq(0, 512):
            C[i, j] += A[i, k] * B[k, j]
```

Every nest with a loop that starts elsewhere than at 0, as `register_block` leaves them,
gets the best block of the analytic model for its own lengths: whole registers as far
as they go, then masked ones. What that leaves is treated alike. Masked registers for a
length that may be 0 are guarded (`if N % 16 > 0:`), because no instruction does nothing.
BLIS calls these the edge cases of its tiles.
"""

from collections.abc import Iterator

from schedsearch.analysis.walkers import fresh, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.blocking import register_tiles, tile_width
from schedsearch.transforms.blocks.reductions import (
    ReductionNest,
    longest_extent,
    reduction_nests,
    row_length,
)
from schedsearch.transforms.library.composites import register_block
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import After, Args, At, Proposal, Steps
from schedsearch.transforms.vector.registers import register_kind

VERSION = 1

MAX_EDGES = 12
"""Two cut dimensions leave five nests, three leave eleven."""

MAX_BITS = 4096
MAX_REGISTERS = 64


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    blocked = any(
        isinstance(stmt, q.Alloc) and register_kind(stmt.mem) is not None
        for stmt in q.walk(proc.body)
    )
    if blocked and next(_edges(proc), None) is not None:
        yield None, {"bits": target.vector_bits, "registers": target.vector_registers}


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    bits, registers = args["bits"], args["registers"]
    if path or not (_whole(bits, 32, MAX_BITS) and _whole(registers, 4, MAX_REGISTERS)):
        raise RewriteError("blocks are for registers of some bits, and for the whole procedure")
    done = 0
    p = Cursors((yield None))
    for _ in range(MAX_EDGES):
        loops = next(_edges(p.ast), None)
        if loops is None:
            break
        cut = [loop.path for loop in loops if loop.lo != q.Affine(0)]
        for start in cut:
            yield from p.do("shift_loop", At(start), 0)
        parts = [loops[-1].path]
        nest = _nest(p.ast, parts[0])
        if nest and nest.along.extent is None and nest.along.path in cut:
            yield from _guard(p, nest, tile_width(p.ast, nest, bits))
            parts = _parts(nest)
        for innermost in parts:
            nest = _nest(p.ast, innermost)
            arguments = nest and _block(p.ast, nest, bits, registers)
            if nest and arguments:
                yield from register_block.steps(p.ast, nest.loops[0].path, arguments)
                p = Cursors((yield None))
                done += 1
    if not done:
        raise RewriteError("there is nothing left to block")


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


def _edges(proc: q.Proc) -> Iterator[tuple[q.For, ...]]:
    """The loops around each sum in memory, if one of them does not start at 0."""
    for stmt in q.walk(proc.body):
        if not isinstance(stmt, q.Reduce) or not stmt.idx:
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


def _nest(proc: q.Proc, innermost: q.Path) -> ReductionNest | None:
    """The longest nest whose innermost loop is at `innermost`."""
    nests = reduction_nests(proc)
    return next((nest for nest in nests if nest.loops[-1].path == innermost), None)


def _block(
    proc: q.Proc, nest: ReductionNest, bits: int, registers: int
) -> dict[str, ArgValue] | None:
    """The block with the largest tile; None if there is none."""
    width = tile_width(proc, nest, bits)
    if any(longest_extent(proc, loop) < 1 for loop in nest.loops):
        return None
    start = nest.loops[0].path
    together = [other.stmt for other in reduction_nests(proc) if other.loops[0].path == start]
    tiles = [
        (rows, tile)
        for rows in [None, *nest.row_loops()]
        if not nest.transposed or _packable(nest, rows)
        for tile in register_tiles(proc, nest, rows, width, registers)
        if rows is None or rows.extent or longest_extent(proc, rows) >= 2 * tile[0]
    ]
    if not tiles:
        return None
    rows, (tile_rows, tile_vectors) = max(tiles, key=lambda found: found[1][0] * found[1][1])
    far_apart = row_length(proc, nest.operand) > 2 * width * tile_vectors
    return {
        "nest": together.index(nest.stmt),
        "rows": rows.iter.name if rows else "",
        "tile_rows": tile_rows,
        "tile_vectors": tile_vectors,
        "lanes": width,
        "depth": 0,
        "inner": 1,
        "pack": _packable(nest, rows) and (nest.transposed or far_apart),
    }


def _packable(nest: ReductionNest, rows: q.For | None) -> bool:
    return rows is not None and nest.packable(rows, 1)


def _whole(value: ArgValue, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high

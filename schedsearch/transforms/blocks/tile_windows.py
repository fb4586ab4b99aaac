"""What a tile of a reduction covers, as windows of the arrays it reads and writes.

`args` are those of `register_block`, `inner` the innermost reductions; `partial`: the
contiguous loop is not divided.
"""

from __future__ import annotations

from collections.abc import Collection

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.reductions import ReductionNest, first_dim
from schedsearch.transforms.operators.ops import Args


def operand_panel(nest: ReductionNest, args: Args, inner: Collection[str], partial: bool) -> str:
    """What the tile's loops read of the operand."""
    sizes = {loop.iter: loop.hi for loop in nest.loops if loop.iter.name in inner}
    blocks = {nest.along.iter: args["lanes"] * args["tile_vectors"]}
    if partial:
        sizes[nest.along.iter] = nest.along.hi
        blocks.clear()
    if args["depth"]:
        blocks[nest.reductions[-1].iter] = args["depth"]
    parts = []
    for index in nest.operand.idx:
        used = q.expr_vars(index)
        # The variable of a divided loop now counts blocks.
        for var in used & blocks.keys():
            low, size = index + q.as_affine(var).scaled(blocks[var] - 1), q.Affine(blocks[var])
            break
        else:
            low, size = index, q.Affine(0)
            for var in used & sizes.keys():
                low, size = index - q.as_affine(var), sizes[var]
        whole = f"{show_affine(low)} : {show_affine(low + size)}"
        parts.append(whole if size != q.Affine(0) else show_affine(low))
    return f"{nest.operand.buf.name}[{', '.join(parts)}]"


def along_last(nest: ReductionNest, args: Args, inner: Collection[str]) -> tuple[int, ...]:
    """The panel's dimensions, that of the contiguous loop last."""
    inside = [loop for loop in nest.loops if loop.iter.name in inner or loop is nest.along]
    if args["depth"]:
        inside.append(nest.reductions[-1])
    moving = [{x for x in inside if x.iter in q.expr_vars(index)} for index in nest.operand.idx]
    dims = [loops for loops in moving if loops]
    last = dims.index({nest.along})
    return (*(dim for dim in range(len(dims)) if dim != last), last)


def result_tile(nest: ReductionNest, args: Args, partial: bool) -> str:
    """The result's tile, in terms of the loops outside."""
    tile = {
        args["rows"]: args["tile_rows"],
        nest.along.iter.name: args["lanes"] * args["tile_vectors"],
    }
    tiled = [loop for loop in nest.loops if loop.iter.name in tile]
    parts = []
    for index in nest.stmt.idx:
        loop = next((loop for loop in tiled if first_dim((index,), loop) == 0), None)
        if loop is None:
            parts.append(show_affine(index))
            continue
        if partial and loop is nest.along:
            low = index - q.as_affine(loop.iter)
            parts.append(f"{show_affine(low)} : {show_affine(low + loop.hi)}")
            continue
        size = tile[loop.iter.name]
        # The loop's variable now counts tiles.
        start = show_affine(index + q.as_affine(loop.iter).scaled(size - 1))
        parts.append(f"{start} : {start} + {size}")
    return f"{nest.stmt.buf.name}[{', '.join(parts)}]"

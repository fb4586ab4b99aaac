"""What the tiles of a register block cover of arrays, as windows, and indices of staged arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from schedsearch.analysis.conversions import Route
from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.blocking import summed_at_once
from schedsearch.transforms.blocks.reductions import ReductionNest
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import Args, Index, Steps

Indices = tuple[q.Affine, ...]

# -- indices of staged arrays, written plainly -----------------------------------------


def divided(idx: Indices) -> bool:
    """Whether an index contains a division, as behind `cut_loop` at a multiple of a size."""
    return any(isinstance(atom, q.FloorDiv) for index in idx for atom, _ in index.terms)


def straighten(p: Cursors, cursor: Cursor, name: str | None = None) -> Steps:
    """Write every index of the staged array `name`, or of all arrays, in a statement plainly:
    Exo's `simplify` leaves `n / 8 - n / 8` as it is."""
    for stmt in q.walk((p.stmt(cursor),)):
        if isinstance(stmt, q.Assign | q.Reduce):
            for route, buf, idx in places(stmt):
                for dim, index in enumerate(idx if name in (None, buf.name) else ()):
                    plain = show_affine(index)
                    yield from p.do("rewrite_expr", Index(stmt.path, route, dim), plain)


def places(stmt: q.Assign | q.Reduce) -> list[tuple[Route | None, q.Var, Indices]]:
    """The accesses of a statement, with the way to each."""
    return [(None, stmt.buf, stmt.idx), *_reads(stmt.rhs, ())]


def _reads(expr: q.Expr, route: Route) -> Iterator[tuple[Route | None, q.Var, Indices]]:
    """The reads of a reduction's right side, with the way to each."""
    match expr:
        case q.Read():
            yield route, expr.buf, expr.idx
        case q.USub():
            yield from _reads(expr.arg, (*route, "arg"))
        case q.Extern():
            for number, arg in enumerate(expr.args):
                yield from _reads(arg, (*route, number))
        case q.BinOp():
            yield from _reads(expr.lhs, (*route, "lhs"))
            yield from _reads(expr.rhs, (*route, "rhs"))


# -- what a tile covers, as windows of arrays: `inner` are the innermost reductions -----


def operand_panel(nest: ReductionNest, args: Args, inner: Collection[str], partial: bool) -> str:
    """What the tile's loops read of the operand."""
    steps = summed_at_once(args)
    sizes = {x.iter: _whole(x.hi, steps) for x in nest.loops if x.iter.name in inner}
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


def _whole(size: q.Affine, steps: int) -> q.Affine:
    """The last multiple of `steps` up to a size."""
    return q.floor_div(size, steps).scaled(steps)


def along_last(nest: ReductionNest, args: Args, inner: Collection[str]) -> tuple[int, ...]:
    """The panel's dimensions, that of the contiguous loop last."""
    inside = [loop for loop in nest.loops if loop.iter.name in inner or loop is nest.along]
    if args["depth"]:
        inside.append(nest.reductions[-1])
    moving = [{x for x in inside if x.iter in q.expr_vars(index)} for index in nest.operand.idx]
    dims = [loops for loops in moving if loops]
    last = dims.index({nest.along})
    return (*(dim for dim in range(len(dims)) if dim != last), last)


def box_of_tile(access: q.Assign | q.Reduce | q.Read, tile: Sequence[q.For], partial: bool) -> str:
    """What a tile's loops store or read, in terms of the loops outside."""
    parts = []
    for index in access.idx:
        moving = [loop for loop in tile if index.coefficient(loop.iter)]
        low, size = index, q.Affine(1)
        for loop in moving:
            by, last = index.coefficient(loop.iter), _longest(loop, tile) - q.Affine(1)
            low -= q.as_affine(loop.iter).scaled(by)
            low += last.scaled(min(by, 0))  # rows that fall begin with the last one
            size += last.scaled(abs(by))
        start = show_affine(low)
        if not moving:
            parts.append(start)
        elif partial and tile[-1] in moving:
            parts.append(f"{start} : {show_affine(low + size)}")
        else:
            parts.append(f"{start} : {start} + {size.const}")
    return f"{access.buf.name}[{', '.join(parts)}]"


def _longest(loop: q.For, around: Sequence[q.For]) -> q.Affine:
    """What a loop ends at when those around it are in their last iterations."""
    end = loop.hi
    for other in around:
        by = end.coefficient(other.iter)
        end += (other.hi - q.Affine(1) - q.as_affine(other.iter)).scaled(by)
    return end

"""Cut a triangular nest into rectangles and small triangles along its diagonal.

```
for i in seq(0, 64):                 for i in seq(0, 4):
    for j in seq(0, i + 1):              for ir in seq(0, 16):
        C[i, j] += ...         ->            for j in seq(0, 16 * i):
                                                 C[16 * i + ir, j] += ...
                                         for ir in seq(0, 16):
                                             for j in seq(0, ir + 1):
                                                 C[16 * i + ir, 16 * i + j] += ...
```

For two loops of one nest, the bound of the inner being the outer's variable plus a
constant: the upper bound, as here, or the lower (`for j in seq(i, n)`), where the
rectangle comes second. Or the upper bound falls (`for j in seq(0, n - i)`): with `late` the
rectangle comes second then, as it has to where rows are overwritten that it reads. Of several
triangles in a nest `nest` is the number of the one that is split off and cut. The rectangle can
then be tiled like any other nest, and the triangles can be cut again: those of large operands are
cut first into blocks of rows that share packed panels. `factor` does not have to divide the outer
loop: what is left gets loops of its own, cut likewise (unless `rest` is missing,
as in older traces, where rectangles do not all start at 0 either).
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from math import inf, prod
from typing import Any

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.ranges import loops_at
from schedsearch.analysis.walkers import element_bits, fresh, lanes, loops, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.one_pass import stripped
from schedsearch.transforms.blocks.reductions import gaps, kept_loops, longest_extent, used_again
from schedsearch.transforms.blocks.terms import moves
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Args, At, Op, OpArg, Pair, Proposal, Steps

VERSION = 1
NORMAL_FORM = 3

MAX_FACTOR = 4096

LARGE = 8
"""Operands that are so many times as large as the second cache are cut into blocks of rows first,
whose rectangles are products like others, with packed panels."""

BLOCK_ROWS = 192
"""Rows that a packed panel is used for; tiles of 2, 3, 4, 6, 8, 12 and 16 rows divide them."""


CHAINS = 4
"""Registers of rows that are summed up side by side where there is nothing else to a tile."""


@dataclass(frozen=True)
class _Triangle:
    """An inner loop whose `lower` (or else upper) bound depends on the first loop around it: it is
    the variable plus 0 or 1, or if `falling` something that does not change in the loop minus the
    variable."""

    around: tuple[q.For, ...]
    inner: q.For
    lower: bool
    falling: bool = False


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """The deepest nests first: they compute most. What only copies is not worth it."""
    adding = [each for each in loops(proc) if _adds_up(each) and not stripped(proc, each, target)]
    found = [(loop, list(_triangles(proc, loop))) for loop in adding]
    pairs = [(loop, triangle, own) for loop, own in found for triangle in own]
    for loop, triangle, own in sorted(pairs, key=lambda pair: -_depth(pair[1].inner)):
        longest = longest_extent(proc, loop)
        width = lanes(target, element_bits(triangle.inner.body))
        # Rows that end where vectors do, and few of them in a small triangle.
        factors = sorted({16 * width, 4 * width, max(width, 8)})
        if _rows_alone(proc, loop, triangle):  # one register of rows would wait for each sum
            factors.sort(key=lambda factor: factor != CHAINS * width)
        size, caches = _operand_bytes(proc, triangle), LARGE * (target.cache_bytes[1:] or (inf,))[0]
        if size == inf:  # Exo's solver may take longer for what is left than a search has
            factors = [*factors, BLOCK_ROWS]
        elif size > caches:
            factors = [BLOCK_ROWS, *factors]
        for factor in factors:
            if 2 * factor <= longest:
                plain = not triangle.lower and divides(proc, factor, loop.hi, loop.path)
                rest: dict[str, ArgValue] = {} if plain else {"rest": True}
                nest: dict[str, ArgValue] = {"nest": own.index(triangle)}
                given = {"factor": factor, **rest, **(nest if len(own) > 1 else {})}
                yield loop, given
                if triangle.falling:
                    yield loop, {**given, "late": True}


def _operand_bytes(proc: q.Proc, triangle: _Triangle) -> float:
    """The size of the largest operand of a product that the inner loop reads again and again;
    infinite if not known."""
    arrays = declared(proc)
    operands = {
        read.buf
        for stmt in q.walk(triangle.inner.body)
        if isinstance(stmt, q.Reduce) and used_again(stmt, [*loops_at(proc, stmt.path)])
        for read in reads(stmt.rhs)
        if triangle.inner.iter in q.expr_vars(read)
    }
    sizes = (
        prod(x.const if x.is_const else inf for x in arrays[buf].shape)
        * (ELEMENT_BITS.get(arrays[buf].type, 32) // 8)
        for buf in operands & arrays.keys()
    )
    return max(sizes, default=0)


def _rows_alone(proc: q.Proc, outer: q.For, triangle: _Triangle) -> bool:
    """Whether the rows are all that there is along a result, and lie along an operand as well, as
    in `y[i] += r[i - j] * x[j]`."""
    return any(
        isinstance(stmt, q.Reduce)
        and kept_loops(stmt, [*loops_at(proc, stmt.path)]) == {outer.iter}
        and any(each.idx and moves(each.idx, outer, len(each.idx) - 1) for each in reads(stmt.rhs))
        for stmt in q.walk(triangle.inner.body)
    )


def _adds_up(loop: q.For) -> bool:
    return any(isinstance(stmt, q.Reduce) for stmt in q.walk(loop.body))


def _depth(loop: q.For) -> int:
    return max(len(stmt.path) for stmt in q.walk(loop.body))


def _triangles(proc: q.Proc, outer: q.For) -> Iterator[_Triangle]:
    """The loops inside whose extent depends on `outer` in the simplest way."""
    if outer.lo != q.Affine(0) or outer.parallel:
        return
    for inner in q.walk(outer.body):
        if not isinstance(inner, q.For) or inner.parallel:
            continue
        depth = len(outer.path)
        between = [proc.by_path.get(inner.path[:n]) for n in range(depth, len(inner.path))]
        around = tuple(stmt for stmt in between if isinstance(stmt, q.For))
        if len(around) < len(between):
            continue
        for lower, bound in ((False, inner.hi), (True, inner.lo)):
            shift = bound - q.as_affine(outer.iter)
            if shift.is_const and 0 <= shift.const <= 1:
                yield _Triangle(around, inner, lower)
                break
        if inner.lo == q.Affine(0) and inner.hi.coefficient(outer.iter) == -1:
            iters = {stmt.iter for stmt in q.walk(outer.body) if isinstance(stmt, q.For)}
            if not (iters | {outer.iter}) & q.expr_vars(inner.hi + q.as_affine(outer.iter)):
                yield _Triangle(around, inner, lower=False, falling=True)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    outer, factor = ast.by_path[path], args["factor"]
    if not isinstance(outer, q.For):
        raise RewriteError("there is no loop")
    found, number = list(_triangles(ast, outer)), args.get("nest", 0)
    if not (type(number) is int and 0 <= number < len(found)):
        raise RewriteError("this nest is not triangular")
    triangle = found[number]
    if not (isinstance(factor, int) and 2 <= factor <= MAX_FACTOR):
        raise RewriteError(f"the factor is a number from 2 to {MAX_FACTOR}")
    block, end = outer.iter.name, outer.hi
    row = fresh(names(ast), f"{block}r")
    whole = divides(ast, factor, end, path)
    tail: dict[str, OpArg] = {"perfect": True} if whole else {"tail": "cut"}
    p = Cursors((yield None))
    inner = p.at(triangle.inner.path)
    if "nest" in args:
        for gap, lifts in gaps(triangle.around, triangle.inner.path):
            yield from p.do("fission", After(gap), lifts)
    path, inside = p.path(inner)[: len(path)], p.path(inner)[len(path) :]
    yield from p.do("divide_loop", At(path), factor, (block, row), **tail)
    edge = f"{factor} * {block} + {factor}" if triangle.lower else f"{factor} * {block}"
    if triangle.falling:
        edge = (
            f"{show_affine(triangle.inner.hi + q.as_affine(outer.iter))} - ({edge} + {factor - 1})"
        )
    rest = p.at((*next_path(path), *inside)) if args.get("rest") is True and not whole else None
    late = triangle.falling and args.get("late") is True
    above = yield from _cut(p, inner, edge, len(inside), late)
    # Triangles start at their block's edge; nests that start at 0 are easier to work on.
    yield from p.do("shift_loop", inner if triangle.lower else above, 0)
    if triangle.lower and args.get("rest") is True:
        yield from p.do("shift_loop", above, 0)
    if rest is not None and triangle.lower:
        yield from p.do("shift_loop", rest, 0)
    elif rest is not None and not triangle.falling:
        edge = f"{factor} * (({show_affine(end)}) / {factor})"
        yield from p.do("shift_loop", (yield from _cut(p, rest, edge, len(inside))), 0)
    yield from p.do("simplify")


def _cut(
    p: Cursors, inner: Cursor, edge: str, depth: int, late: bool = False
) -> Generator[Op | None, Any, Cursor]:
    """Cut the inner loop at the edge of a block, and give what is above it, which is returned,
    loops of its own; before those of what is below if that is `late`."""
    yield from p.do("cut_loop", inner, edge)
    above = p.at(next_path(p.path(inner)))
    if late:
        yield from p.do("reorder_stmts", Pair(p.path(inner)))
    yield from p.do("fission", After(p.path(above if late else inner)), depth)
    return above

"""Cut a triangular nest into rectangles and small triangles along its diagonal.

```
for i in seq(0, 64):                 for i in seq(0, 4):
    for j in seq(0, i + 1):              for ir in seq(0, 16):
        C[i, j] = ...          ->            for j in seq(0, 16 * i):
                                                 C[16 * i + ir, j] = ...
                                         for ir in seq(0, 16):
                                             for j in seq(0, ir + 1):
                                                 C[16 * i + ir, 16 * i + j] = ...
```

For two loops of one nest, the bound of the inner being the outer's variable plus a
constant: the upper bound, as here, or the lower (`for j in seq(i, n)`), where the
rectangle comes second. The rectangle can then be tiled like any other nest, and the
triangles can be cut again. `factor` does not have to divide the outer loop: what is
left gets loops of its own, cut likewise (unless `rest` is missing, as in older traces).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.analysis.walkers import element_bits, fresh, lanes, loops, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Args, OpArg, Proposal, Steps

VERSION = 1
NORMAL_FORM = 3

MAX_FACTOR = 4096


@dataclass(frozen=True)
class _Triangle:
    """An inner loop whose `lower` (or else upper) bound is the outer's variable plus `shift`."""

    outer: q.For
    inner: q.For
    lower: bool
    shift: int


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        triangle = _triangle(proc, loop)
        if triangle is None:
            continue
        width = lanes(target, element_bits(loop.body))
        for factor in sorted({16 * width, 4 * width, 8}):
            if loop.extent is None or 2 * factor <= loop.extent:
                whole = triangle.lower or divides(proc, factor, loop.hi, loop.path)
                yield loop, {"factor": factor} if whole else {"factor": factor, "rest": True}


def _triangle(proc: q.Proc, outer: q.For) -> _Triangle | None:
    """The first loop inside whose extent depends on `outer` in the simplest way."""
    if outer.lo != q.Affine(0) or outer.parallel:
        return None
    for inner in q.walk(outer.body):
        if not isinstance(inner, q.For) or inner.parallel:
            continue
        depth = len(outer.path)
        between = [proc.by_path.get(inner.path[:n]) for n in range(depth, len(inner.path))]
        if not all(isinstance(stmt, q.For) for stmt in between):
            continue
        for lower, bound in ((False, inner.hi), (True, inner.lo)):
            shift = bound - q.as_affine(outer.iter)
            if shift.is_const and 0 <= shift.const <= 1:
                return _Triangle(outer, inner, lower, shift.const)
    return None


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    outer, factor = ast.by_path[path], args["factor"]
    triangle = _triangle(ast, outer) if isinstance(outer, q.For) else None
    if triangle is None:
        raise RewriteError("this nest is not triangular")
    if not (isinstance(factor, int) and 2 <= factor <= MAX_FACTOR):
        raise RewriteError(f"the factor is a number from 2 to {MAX_FACTOR}")
    block = outer_name = triangle.outer.iter.name
    row = fresh(names(ast), f"{outer_name}r")
    whole = divides(ast, factor, triangle.outer.hi, path)
    tail: dict[str, OpArg] = {"perfect": True} if whole else {"tail": "cut"}
    p = Cursors((yield None))
    inner = p.at(triangle.inner.path)
    depth = len(triangle.inner.path) - len(path)
    yield from p.do("divide_loop", p.at(path), factor, (block, row), **tail)
    edge = f"{factor} * {block} + {factor}" if triangle.lower else f"{factor} * {block}"
    rest = next_path(p.path(inner)[: len(path)])
    yield from _cut(p, inner, edge, depth, triangle.lower)
    if args.get("rest") is True and not (whole or triangle.lower):
        end = triangle.outer.hi
        last = end.const // factor * factor if end.is_const else None
        shown = f"{factor} * (({show_affine(end)}) / {factor})" if last is None else str(last)
        inner = p.at((*rest, *triangle.inner.path[len(path) :]))
        yield from _cut(p, inner, shown, depth, lower=False)
    yield from p.do("simplify")


def _cut(p: Cursors, inner: Cursor, edge: str, depth: int, lower: bool) -> Steps:
    """Cut the inner loop at the edge of a block, and give what is behind it loops of its own."""
    yield from p.do("cut_loop", inner, edge)
    diagonal = inner if lower else p.at(next_path(p.path(inner)))
    yield from p.do("fission", After(p.path(inner)), depth)
    # The triangle starts at its block's edge; nests that start at 0 are easier to work on.
    yield from p.do("shift_loop", diagonal, 0)

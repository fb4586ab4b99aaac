"""Lay the result of a sum out along another loop, where its columns are few or apart.

```
for o in seq(0, O):                             y_c: f32[N, O]
    for j in seq(0, N):                         for o in seq(0, O):
        y[o, j] = 0.0                               for j in seq(0, N):
        for c in seq(0, C):                             y_c[j, o] = 0.0
            for r in seq(0, 3):           ->            for c in seq(0, C):
                y[o, j] +=                                  for r in seq(0, 3):
                    w[o, c, r] * x[c, 2 * j + r]                y_c[j, o] +=
                                                                    w[o, c, r] * x[c, 2 * j + r]
                                                for j, o: y[o, j] = y_c[j, o]
```

Convolutions with strides, whose arrays have channels first. Along the columns of an image a vector
of neighbours would have to be gathered, once for every place of the window. Along the channels of
the result there is one: the other operand is packed across, and of the image each element is used
for a vector of channels. So `fold_operand` gathers only where that copies fewer elements: windows
of one element.

With `narrow`, the elements of a register, columns fill less than half of it. Gradients of a
convolution's weights have three columns, the places of the window, and one array is copied across
instead:

```
W[o, c, u, v] += y[o, i, j] * x[c, i + u, j + v]  ->  W_c[c, u, v, o] += y[o, i, j] * x[...]
```

With `scattered` it is the result that has gaps: transposed convolutions, `y[o, 2 * j + s] +=
x[c, j] * w[c, o, s]`. Along its columns are only the few taps. Operands that lie across are copied,
too.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.walkers import element_bits, fresh, lanes, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.columns import Columns, other_columns, scattered_columns
from schedsearch.transforms.blocks.terms import first_dim, operand_of
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Args, At, Memory, Pair, Proposal, Steps
from schedsearch.transforms.operators.outward import loops_around

VERSION = 1
NORMAL_FORM = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for stmt in q.walk(proc.body):
        if _columns(proc, stmt) is not None:
            yield stmt, {}
        elif _columns(proc, stmt, scattered=True) is not None:
            yield stmt, {"scattered": True}
        elif isinstance(stmt, q.Reduce):
            width = lanes(target, element_bits((stmt,)))
            if _columns(proc, stmt, width) is not None:
                yield stmt, {"narrow": width}


def _columns(proc: q.Proc, stmt: q.Stmt, width: int = 0, scattered: bool = False) -> Columns | None:
    loops = loops_around(proc, stmt, before=inf)
    if scattered:
        found = scattered_columns(proc, stmt, loops)
    else:
        found = other_columns(proc, stmt, loops, width)
    if found is None:
        return None
    local = {s.buf for s in q.walk(found.loops) if isinstance(s, q.Alloc)}
    return None if q.used_vars((stmt,)) & local else found


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    stmt = ast.by_path.get(path)
    width, scattered = args.get("narrow", 0), args.get("scattered", False) is True
    if type(width) is not int or width < 0:
        raise RewriteError("narrow is a number, of elements")
    found = _columns(ast, stmt, width, scattered) if stmt is not None else None
    if found is None or not isinstance(stmt, q.Reduce):
        raise RewriteError("there is no sum with gaps along its columns, or with few of them")
    p = Cursors((yield None))
    nest, first = p.at(found.loops[0].path), _first_values(ast, stmt, found)
    for read in dict.fromkeys(reads(stmt.rhs)) if scattered else ():
        if operand_of(read, found.across) == "column":
            yield from _turned(p, nest, read, found.across)
    start = p.path(nest)
    yield from _copied(p, nest, stmt.buf)
    copy, store = p.at(start), p.at(next_path(p.path(nest)))
    if first is not None:
        yield from _overwrite(p, start, first)
    last = len(stmt.idx) - 1
    yield from _laid_out(p, copy, last + 1, found.dim)
    copies = [p.at(next_path(start)), store] if scattered else [store]
    for loops in copies:  # rows and columns of the copy are its inner loops
        for depth in range(found.dim, last - 1):
            yield from p.do("reorder_loops", At(p.path(loops, *(0,) * depth)))


def _copied(p: Cursors, nest: Cursor, buf: q.Var) -> Steps:
    """Copy an array before a nest that uses it, and back if it writes it."""
    shape = declared(p.ast)[buf].shape
    window = ", ".join(f"0 : {show_affine(extent)}" for extent in shape)
    name = fresh(names(p.ast), f"{buf.name}_c")
    yield from p.do("stage_mem", nest, f"{buf.name}[{window}]", name)


def _laid_out(p: Cursors, alloc: Cursor, dims: int, last: int) -> Steps:
    """Make a dimension of a copy the last one."""
    order = (*(dim for dim in range(dims) if dim != last), last)
    yield from p.do("rearrange_dim", alloc, order)
    yield from p.do("set_memory", alloc, Memory("DRAM_ALIGNED"))


def _turned(p: Cursors, nest: Cursor, read: q.Read, across: q.For) -> Steps:
    """Copy an operand to where a loop runs along its rows."""
    start, dim = p.path(nest), first_dim(read.idx, across)
    assert dim is not None
    yield from _copied(p, nest, read.buf)
    yield from _laid_out(p, p.at(start), len(read.idx), dim)


def _first_values(proc: q.Proc, stmt: q.Reduce, found: Columns) -> q.Assign | None:
    """What the nest begins with, if that gives every element of the result its first value, in the
    order of dimensions."""
    shape = declared(proc)[stmt.buf].shape
    outer = found.loops[: len(shape)]
    plain = tuple(q.as_affine(loop.iter) for loop in outer)
    whole = all(x.lo == q.Affine(0) and x.hi == end for x, end in zip(outer, shape, strict=False))
    match outer[-1].body:
        case (q.Assign() as first, *_) if first.buf == stmt.buf and stmt.buf not in q.expr_vars(
            first.rhs
        ):
            pass
        case _:
            return None
    alone = all(len(loop.body) == 1 for loop in outer[:-1])
    return first if whole and alone and first.idx == plain == stmt.idx else None


def _overwrite(p: Cursors, alloc: q.Path, first: q.Assign) -> Steps:
    """Give the copy its first values directly, instead of those that it had before."""
    depth = len(first.idx)
    load = next_path(alloc)
    nest = next_path(load)
    yield from p.do("fission", After((*nest, *(0,) * depth)), depth)
    for inside in range(depth):
        at = (*load, *(0,) * inside)
        yield from p.do("fuse", At(at), At(next_path(at)))
    yield from p.do("merge_writes", Pair((*load, *(0,) * depth)))
    for inside in range(depth):
        at = (*load, *(0,) * inside)
        yield from p.do("fuse", At(at), At(next_path(at)))

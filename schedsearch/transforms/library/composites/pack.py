"""Copy what a loop reads of an array to where its rows lie next to each other.

```
for io in seq(0, 8):                     for io in seq(0, 8):
    for j in seq(0, 512):                    A_pack: f32[8, 64] @ DRAM_ALIGNED
        for ii in seq(0, 8):                 A_pack[...] = A[8 * io : 8 * io + 8, 0:64]
            for k in seq(0, 64):     ->      for j in seq(0, 512):
                ... A[8*io + ii, k]              for ii in seq(0, 8):
                                                     for k in seq(0, 64):
                                                         ... A_pack[ii, k]
```

The level is the loop that the copy stands before: any loop in which the array is only
read, at one place, in a box of several rows that fits half of the second-level cache,
and used more than once. (`register_block` packs its own operand as part of its tile.)
"""

from collections.abc import Iterator
from math import prod

from schedsearch.analysis.accesses import Access, accesses
from schedsearch.analysis.walkers import fresh, loops, names
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.terms import first_dim, moves
from schedsearch.transforms.operators.ops import Args, At, Memory, Op, Proposal, Steps

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    largest = (target.cache_bytes[1:] or (0,))[0] // 2
    types = {arg.var: arg.type for arg in proc.args}
    for loop in loops(proc):
        for read in _candidates(proc, loop):
            sizes = _extents(proc, loop, read)
            if sizes and prod(sizes) * ELEMENT_BITS[types[read.buf]] // 8 <= largest:
                yield loop, {"array": read.buf.name}


def _candidates(proc: q.Proc, loop: q.For) -> Iterator[Access]:
    """The one place at which each array from outside is read in the loop, if it is only read."""
    arrays = {arg.var for arg in proc.args if arg.shape and not arg.window and arg.mem == "DRAM"}
    found: dict[q.Var, set[Access]] = {}
    for access in accesses((loop,)):
        if access.buf in arrays:
            found.setdefault(access.buf, set()).add(access)
    for _, places in sorted(found.items(), key=lambda item: item[0].uid):
        (access, *others) = places
        if not others and access.idx and not access.writes:
            yield access


def _extents(proc: q.Proc, loop: q.For, read: Access) -> tuple[int, ...]:
    """Sizes of the box that the loop reads; empty if it is no box, has one row, or is used once."""
    moving, used_again = [], False
    for inner in (stmt for stmt in q.walk((loop,)) if isinstance(stmt, q.For)):
        dim = first_dim(read.idx, inner)
        if dim is None:
            used_again |= read in accesses(inner.body)
        elif inner.lo != q.Affine(0) or inner.extent is None or not moves(read.idx, inner, dim):
            return ()
        else:
            moving.append((dim, inner.extent))
    dims = [dim for dim, _ in moving]
    around = [proc.by_path.get(loop.path[:n]) for n in range(1, len(loop.path))]
    taken = [stmt.iter.name for stmt in around if isinstance(stmt, q.For)]
    taken += [arg.var.name for arg in proc.args]
    if not used_again or len(dims) < 2 or len({*dims}) < len(dims) or len({*taken}) < len(taken):
        return ()  # windows are written with names
    return tuple(extent for _, extent in sorted(moving))


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop = ast.by_path[path]
    if not isinstance(loop, q.For):
        raise RewriteError("packing stands before a loop")
    found = [read for read in _candidates(ast, loop) if read.buf.name == args["array"]]
    if not (found and _extents(ast, loop, found[0])):
        raise RewriteError("the loop reads no box of this array that could be packed")
    read = found[0]
    window = ", ".join(_interval(loop, index) for index in read.idx)
    name = fresh(names(ast), f"{read.buf.name}_pack")
    yield Op("stage_mem", (At(path), f"{read.buf.name}[{window}]", name))
    # Exo's heap is aligned to 16 bytes: most vectors would lie in two cache lines.
    yield Op("set_memory", (At(path), Memory("DRAM_ALIGNED")))


def _interval(loop: q.For, index: q.Affine) -> str:
    """What an index runs through while `loop` does."""
    for inner in q.walk((loop,)):
        if isinstance(inner, q.For) and inner.iter in q.expr_vars(index):
            low = index - q.as_affine(inner.iter)
            return f"{show_affine(low)} : {show_affine(low + inner.hi)}"
    return show_affine(index)

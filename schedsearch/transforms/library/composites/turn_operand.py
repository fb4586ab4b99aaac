"""Lay an operand out along the contiguous loop of the result, once before a triangular nest.

```
for i in seq(0, N):                         A_t: f32[K, N]
    for j in seq(0, i + 1):                 for r in seq(0, N):
        for k in seq(0, K):                     for c in seq(0, K):
            C[i, j] += B[i, k] * A[j, k]            A_t[c, r] = A[r, c]
                                      ->    for i in seq(0, N):
                                                for j in seq(0, i + 1):
                                                    for k in seq(0, K):
                                                        C[i, j] += B[i, k] * A_t[k, j]
```

A register block packs its operand where all rows use the same panels. In a triangle every row has
other ones, and would pack its own.

Rows have whole cache lines (`lines`). If their length is a multiple of `ALIASED` bytes they get
another line: elements of one column would all be in the same few sets of a cache. Where the length
is not known they get an odd number of lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.accesses import accesses, written_buffers
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.ranges import loops_at
from schedsearch.analysis.walkers import fresh, names
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.reductions import reduction_nests
from schedsearch.transforms.blocks.terms import first_dim
from schedsearch.transforms.operators.ops import Args, At, Memory, Op, Proposal, Steps

VERSION = 1
NORMAL_FORM = 2

ALIASED = 1024
LINE = 64
"""Bytes."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop, operand, _ in _operands(proc):
        yield loop, {"lines": True, "operand": operand.buf.name}


def _operands(proc: q.Proc) -> Iterator[tuple[q.For, q.Read, int]]:
    """Operands to turn, each with the loop to do it before, and with the dimension that becomes
    the last one."""
    arrays = {var for var, array in declared(proc).items() if array.dense and not array.window}
    for nest in reduction_nests(proc):
        around = tuple(loops_at(proc, nest.loops[0].path))
        outer = {loop.iter for loop in around}
        array, dim = nest.operand.buf, first_dim(nest.operand.idx, nest.along)
        triangular = outer & q.expr_vars(nest.along.hi)
        if not (nest.transposed and triangular and array in arrays) or dim is None:
            continue
        whole = next((x for x in around if array not in written_buffers((x,))), None)
        if whole is None or len({a for a in accesses((whole,)) if a.buf == array}) > 1:
            continue
        local = {stmt.buf for stmt in q.walk((whole,)) if isinstance(stmt, q.Alloc)}
        if array in local or outer & q.expr_vars(whole.hi):
            continue
        yield whole, nest.operand, dim


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    found = [(read, dim) for loop, read, dim in _operands(ast) if loop.path == path]
    wanted = [(read, dim) for read, dim in found if read.buf.name == args["operand"]]
    if not wanted:
        raise RewriteError("there is no such operand that lies across")
    read, dim = wanted[0]
    shape = declared(ast)[read.buf].shape
    window = ", ".join(f"0 : {show_affine(extent)}" for extent in shape)
    name = fresh(names(ast), f"{read.buf.name}_t")
    yield Op("stage_mem", (At(path), f"{read.buf.name}[{window}]", name))
    others = tuple(other for other in range(len(shape)) if other != dim)
    yield Op("rearrange_dim", (At(path), (*others, dim)))
    lines = args.get("lines", False) is True
    yield from pad(path, len(others), shape[dim], ELEMENT_BITS[read.type] // 8, lines)
    yield Op("set_memory", (At(path), Memory("DRAM_ALIGNED")))


def pad(alloc: q.Path, dim: int, length: q.Affine, element_bytes: int, lines: bool) -> Steps:
    line = LINE // element_bytes
    if not length.is_const:
        size = show_affine(q.floor_div(length, 2 * line).scaled(2 * line) + 3 * line)
        yield Op("resize_dim", (At(alloc), dim, size, 0))
        return
    padded = -(-length.const // line) * line if lines else length.const
    if padded * element_bytes % ALIASED == 0:
        padded += line
    if padded > length.const:
        yield Op("resize_dim", (At(alloc), dim, padded, 0))

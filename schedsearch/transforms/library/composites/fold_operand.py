"""Compute an operand of a product once, in an array of its own before the nest.

```
for i in seq(0, M):                                 A_f: f32[M, K]
    for j in seq(0, N):                             for i in seq(0, M):
        for k in seq(0, K):                             for k in seq(0, K):
            C[i, j] += alpha[0] * (A[i, k] * B[k, j])       A_f[i, k] = alpha[0] * A[i, k]
                                             ->     for i in seq(0, M):
                                                        for j in seq(0, N):
                                                            for k in seq(0, K):
                                                                C[i, j] += A_f[i, k] * B[k, j]
```

The operand takes with it all factors that depend on none but its own loops. What is left
is a product of two arrays, whatever was written: with scaling factors and weights, of
differences (`(x[i, k] - mean[k]) * y[k, j]`), of converted or activated values. Proposed where
a loop around reuses what is computed.

An operand that is just an array is copied where a loop around uses it `REUSED` times at least and

- it is read with gaps, so that a vector of it is loaded at once: `w[o, c] * x[c, 2 * v]` becomes
  `w[o, c] * x_f[c, v]`;
- both operands are of one array, which Exo gives to no instruction twice: `A[k, i] * A[k, j]`, in a
  result contiguous along `j`, becomes `A_f[k, i] * A[k, j]`.

Of a product of three arrays or more, of which none has all loops of another, the two whose product
has the fewest elements are multiplied, if each element is used `REUSED` times at least. What is
left is a product of two arrays in the end (`X[i, j, k]` times a row for every `j` and `k`):

```
A[i, r] += X[i, j, k] * B[j, r] * C[k, r]  ->  B_C_f[j, k, r] = B[j, r] * C[k, r]
                                               A[i, r] += X[i, j, k] * B_C_f[j, k, r]
```

A scalar that the loops compute themselves, converted or of more than one element, becomes such an
array too:

```
for k in seq(0, K):                    a: f32[M, K]
    a: f32                             for i in seq(0, M):
    a = A[i, k]                  ->        for k in seq(0, K):
    C[i, j] += a * B[k, j]                     a[i, k] = A[i, k]
```

Where the factors are not a product of their own yet, the multiplications are reordered; results
may differ by rounding then, so that contracts other than `fast` rule it out, and a sum of integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.conversions import Store, value_type
from schedsearch.analysis.ranges import bind_loops, ranges_of_args
from schedsearch.analysis.walkers import fresh, names
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Target
from schedsearch.core.text import show_expr
from schedsearch.transforms.blocks.operands import Operand, operands_of
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import (
    Args,
    At,
    Op,
    Pair,
    Parts,
    Proposal,
    Steps,
)
from schedsearch.transforms.operators.outward import (
    lay_out,
    lengths,
    loops_around,
    movable,
    move_out,
    order_of,
    unchanging,
)
from schedsearch.transforms.operators.products import multiply_first

VERSION = 1
NORMAL_FORM = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for scalar in _scalars(proc):
        yield scalar.stmt, {"operand": scalar.text}
    for found in operands_of(proc):
        reordered = target.fp is FloatingPoint.FAST and found.stmt.type in FLOATS
        if found.route is not None or reordered:
            yield found.stmt, {"operand": found.text}


def _scalars(proc: q.Proc) -> Iterator[Operand]:
    """Scalars with a value of their own, read only by what follows in the same loop, that loops
    around compute again."""
    ranges = bind_loops(ranges_of_args(proc), proc.body)
    for stmt in q.walk(proc.body):
        if not isinstance(stmt, q.Assign) or stmt.idx or stmt.type not in FLOATS:
            continue
        plain = isinstance(stmt.rhs, q.Read) and stmt.rhs.type == stmt.type
        if plain or q.may_change(stmt.rhs):
            continue
        alloc = _declared_beside(proc, stmt)
        used = q.expr_vars(stmt.rhs)
        around = loops_around(proc, alloc) if alloc else ()
        loops = movable(unchanging(around, used), used, ranges)
        kept = frozenset(loop.iter for loop in loops) & used
        if kept and not all(loop.iter in kept or loop.extent == 1 for loop in loops):
            shaped, leaf = (stmt.rhs,), (stmt.rhs, ())
            yield Operand(stmt, show_expr(stmt.rhs), shaped, (0,), (leaf,), loops, kept)


def _declared_beside(proc: q.Proc, stmt: q.Assign) -> q.Alloc | None:
    """The allocation of a scalar that is given this value only, in the loop that declares it."""
    loop = proc.by_path.get(stmt.path[:-1])
    if not isinstance(loop, q.For):
        return None
    allocs = [s for s in loop.body if isinstance(s, q.Alloc) and s.buf == stmt.buf]
    writes = [s for s in q.walk(loop.body) if isinstance(s, Store) and s.buf == stmt.buf]
    calls = any(isinstance(s, q.Call) for s in q.walk(loop.body))
    return allocs[0] if allocs and writes == [stmt] and not calls else None


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    for scalar in _scalars(ast):
        if (scalar.stmt.path, scalar.text) == (path, args["operand"]):
            yield from _expand(ast, scalar)
            return
    known = chain(operands_of(ast), operands_of(ast, every=True))
    found = next((f for f in known if (f.stmt.path, f.text) == (path, args["operand"])), None)
    if found is None:
        raise RewriteError("there is no such operand that loops use again")
    route = found.route
    if route is None:
        route = yield from multiply_first(found.stmt, found.leaves, found.factors)
    bufs = [next(reads(factor)).buf.name for factor in found.shaped]
    name = fresh(names(ast), "_".join([*bufs, "f"]))
    bound = mirror((yield Op("bind_expr", (Parts(path, (route,)), name))))
    kind = value_type(found.stmt.rhs, found.stmt.type)
    match bound.by_path[path]:
        case q.Alloc(type=given) if given != kind:
            yield Op("set_precision", (At(path), str(kind)))
    yield from move_out(path, found.loops, lengths(found.loops, found.kept))
    moved = path[: len(path) - len(found.loops)]
    yield from lay_out(moved, found.loops, found.kept, found.order)


def _expand(ast: q.Proc, found: Operand) -> Steps:
    assert isinstance(found.stmt, q.Assign)
    alloc = _declared_beside(ast, found.stmt)
    assert alloc is not None
    *around, last = found.stmt.path
    for position in reversed(range(int(alloc.path[-1]) + 1, int(last))):
        yield Op("reorder_stmts", (Pair((*around, position)),))
    yield from move_out(alloc.path, found.loops, lengths(found.loops, found.kept))
    moved = alloc.path[: len(alloc.path) - len(found.loops)]
    yield from lay_out(moved, found.loops, found.kept, order_of(found.stmt.rhs))

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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.conversions import Route, Store, value_type
from schedsearch.analysis.ranges import Ranges, bind_loops, ranges_of_args
from schedsearch.analysis.walkers import fresh, names
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Target
from schedsearch.core.text import show_expr
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import (
    Args,
    At,
    Op,
    Pair,
    Part,
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
    unchanging,
)

VERSION = 1
NORMAL_FORM = 1

MAX_FACTORS = 6

REUSED = 8
"""How often each gathered value is used: one gather takes as long as some products."""

LONG = 8
"""So many neighbours are worth a vector."""

_Leaf = tuple[q.Expr, Route]


@dataclass(frozen=True)
class _Operand:
    """Factors of a statement's product, by number, and the loops to move them out of, the
    innermost first; those in `kept` change their product. `shaped` is the factor that depends on
    all of these: the result is laid out alike."""

    stmt: q.Assign | q.Reduce
    text: str
    shaped: q.Expr
    factors: tuple[int, ...]
    leaves: tuple[_Leaf, ...]
    loops: tuple[q.For, ...]
    kept: frozenset[q.Var]

    @property
    def route(self) -> Route | None:
        """The way to the part that is the product of the factors; None if there is none."""
        routes = [self.leaves[factor][1] for factor in self.factors]
        common = routes[0]
        while any(route[: len(common)] != common for route in routes):
            common = common[:-1]
        below = [leaf for leaf, route in self.leaves if route[: len(common)] == common]
        return common if len(below) == len(routes) else None


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for scalar in _scalars(proc):
        yield scalar.stmt, {"operand": scalar.text}
    for found in _operands(proc):
        reordered = target.fp is FloatingPoint.FAST and found.stmt.type in FLOATS
        if found.route is not None or reordered:
            yield found.stmt, {"operand": found.text}


def _scalars(proc: q.Proc) -> Iterator[_Operand]:
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
            leaf = (stmt.rhs, ())
            yield _Operand(stmt, show_expr(stmt.rhs), stmt.rhs, (0,), (leaf,), loops, kept)


def _declared_beside(proc: q.Proc, stmt: q.Assign) -> q.Alloc | None:
    """The allocation of a scalar that is given this value only, in the loop that declares it."""
    loop = proc.by_path.get(stmt.path[:-1])
    if not isinstance(loop, q.For):
        return None
    allocs = [s for s in loop.body if isinstance(s, q.Alloc) and s.buf == stmt.buf]
    writes = [s for s in q.walk(loop.body) if isinstance(s, Store) and s.buf == stmt.buf]
    calls = any(isinstance(s, q.Call) for s in q.walk(loop.body))
    return allocs[0] if allocs and writes == [stmt] and not calls else None


def _operands(proc: q.Proc) -> Iterator[_Operand]:
    ranges = bind_loops(ranges_of_args(proc), proc.body)
    for stmt in q.walk(proc.body):
        if not isinstance(stmt, q.Assign | q.Reduce):
            continue
        leaves = tuple(_leaves(stmt.rhs, ()))
        if not 2 <= len(leaves) <= MAX_FACTORS or value_type(stmt.rhs, stmt.type) not in FLOATS:
            continue
        loops = tuple(loops_around(proc, stmt))
        around = (_operand(stmt, leaves, number, loops, ranges) for number in range(len(leaves)))
        found = {operand.factors: operand for operand in around if operand}
        for operand in found.values():
            if not any(operand.kept < other.kept for other in found.values()):
                yield operand


def _leaves(expr: q.Expr, route: Route) -> Iterator[_Leaf]:
    """The factors of a product, with the way to each."""
    if isinstance(expr, q.BinOp) and expr.op == "*":
        yield from _leaves(expr.lhs, (*route, "lhs"))
        yield from _leaves(expr.rhs, (*route, "rhs"))
    else:
        yield expr, route


def _operand(
    stmt: q.Assign | q.Reduce,
    leaves: tuple[_Leaf, ...],
    number: int,
    loops: tuple[q.For, ...],
    ranges: Ranges,
) -> _Operand | None:
    """The operand around factor `number`; None if no loop uses its values again, or all there
    is to it is an array."""
    loops = movable(loops, q.expr_vars(leaves[number][0]), ranges)
    iters = {loop.iter for loop in loops}
    depends = [q.expr_vars(leaf) & iters for leaf, _ in leaves]
    kept = depends[number]
    factors = tuple(other for other in range(len(leaves)) if depends[other] <= kept)
    parts = [leaves[factor][0] for factor in factors]
    if not kept or len(parts) == len(leaves):
        return None
    plain = len(parts) == 1 and isinstance(parts[0], q.Read)
    others = [leaf for other, (leaf, _) in enumerate(leaves) if other not in factors]
    if plain and not (_with_gaps(parts[0], loops) or _twice(stmt, parts[0], others)):
        return None
    if any(map(q.may_change, parts)):
        return None
    used = frozenset().union(*map(q.expr_vars, parts))
    around = tuple(unchanging(loops, used))
    least = REUSED if plain else 2
    if all(loop.iter in kept or (loop.extent or least) < least for loop in around):
        return None
    text = " * ".join(map(show_expr, parts))
    return _Operand(stmt, text, leaves[number][0], factors, leaves, around, frozenset(kept))


def _twice(stmt: q.Assign | q.Reduce, read: q.Expr, others: Iterable[q.Expr]) -> bool:
    """Whether a vector of another operand is of the same array, and this one is not the vector."""
    assert isinstance(read, q.Read)
    along = q.expr_vars(stmt.idx[-1]) if stmt.idx else frozenset()
    return not along & q.expr_vars(read) and any(
        isinstance(other, q.Read) and other.buf == read.buf and along & q.expr_vars(other)
        for other in others
    )


def _with_gaps(read: q.Expr, loops: tuple[q.For, ...]) -> bool:
    """Whether the loops run through elements that are apart: `2 * v`, or `2 * v + r` with a short
    `r`, but not `8 * io + ii` where `ii` runs to 8."""
    assert isinstance(read, q.Read)
    last = read.idx[-1] if read.idx else q.Affine()
    steps = [(abs(last.coefficient(loop.iter)), -(loop.extent or LONG)) for loop in loops]
    run = 1  # of neighbours
    for step, extent in sorted(steps):  # of equal steps, the longest loop first
        if step == run:
            run *= -extent
    return run < LONG and any(step > 1 for step, _ in steps)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    for scalar in _scalars(ast):
        if (scalar.stmt.path, scalar.text) == (path, args["operand"]):
            yield from _expand(ast, scalar)
            return
    found = next(
        (f for f in _operands(ast) if f.stmt.path == path and f.text == args["operand"]), None
    )
    if found is None:
        raise RewriteError("there is no such operand that loops use again")
    route = found.route
    if route is None:
        yield from _reassociate(found)
        route = ("lhs",) * (len(found.leaves) - len(found.factors))
    name = fresh(names(ast), f"{next(reads(found.shaped)).buf.name}_f")
    bound = mirror((yield Op("bind_expr", (Parts(path, (route,)), name))))
    kind = value_type(found.stmt.rhs, found.stmt.type)
    match bound.by_path[path]:
        case q.Alloc(type=given) if given != kind:
            yield Op("set_precision", (At(path), str(kind)))
    yield from move_out(path, found.loops, lengths(found.loops, found.kept))
    gathered = isinstance(found.shaped, q.Read) and len(found.factors) == 1
    moved = path[: len(path) - len(found.loops)]
    yield from lay_out(moved, found.loops, found.kept, found.shaped, by_step=gathered)


def _expand(ast: q.Proc, found: _Operand) -> Steps:
    assert isinstance(found.stmt, q.Assign)
    alloc = _declared_beside(ast, found.stmt)
    assert alloc is not None
    *around, last = found.stmt.path
    for position in reversed(range(int(alloc.path[-1]) + 1, int(last))):
        yield Op("reorder_stmts", (Pair((*around, position)),))
    yield from move_out(alloc.path, found.loops, lengths(found.loops, found.kept))
    moved = alloc.path[: len(alloc.path) - len(found.loops)]
    yield from lay_out(moved, found.loops, found.kept, found.shaped)


def _reassociate(found: _Operand) -> Steps:
    """Multiply from the left on, the operand's factors first."""
    path, tree = found.stmt.path, found.stmt.rhs
    while (route := _right_product(tree, ())) is not None:
        after = yield Op("left_reassociate_expr", (Part(path, route),))
        stmt = mirror(after).by_path[path]
        assert isinstance(stmt, q.Assign | q.Reduce)
        tree = stmt.rhs
    order, last = list(range(len(found.leaves))), len(found.leaves) - 1
    for place, factor in enumerate(found.factors):
        while order.index(factor) > place:
            at = order.index(factor)
            product = ("lhs",) * (last - at)  # of all factors up to this one
            yield Op("commute_expr", (Parts(path, (product,)),))
            if at > 1:
                yield Op("left_reassociate_expr", (Part(path, product),))
                yield Op("commute_expr", (Parts(path, ((*product, "lhs"),)),))
            order[at - 1 : at + 1] = [factor, order[at - 1]]


def _right_product(expr: q.Expr, route: Route) -> Route | None:
    """The way to a product whose right side is one; None if there is none."""
    if not (isinstance(expr, q.BinOp) and expr.op == "*"):
        return None
    if isinstance(expr.rhs, q.BinOp) and expr.rhs.op == "*":
        return route
    return _right_product(expr.lhs, (*route, "lhs"))

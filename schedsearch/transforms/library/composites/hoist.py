"""Compute once before a loop what does not change in it.

```
for j in seq(0, 8):                              s: f32
    y[i, j] = x[i, j] / sqrt(v[i])     ->        s = sqrt(v[i])
                                                 for j in seq(0, 8):
                                                     y[i, j] = x[i, j] / s
```

For expressions that read arrays or arguments: the C compiler cannot move those out of
a loop that stores to arrays it cannot tell apart. `levels` loops are left.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.analysis.accesses import reads, written_buffers
from schedsearch.analysis.conversions import Route
from schedsearch.analysis.ranges import Ranges, bind_loops, ranges_of_args, trips
from schedsearch.analysis.walkers import fresh, names, next_path, shifted
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_expr
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import After, Args, At, Pair, Parts, Proposal, Steps

VERSION = 1

FLOATS = ("f32", "f64")
"""Integer arithmetic is left alone: C computes it wider than it stores it."""

MAX_BEFORE = 3
"""Statements before it in a loop that a value is moved past, one by one."""


@dataclass(frozen=True)
class _Invariant:
    """Equal parts of a statement's right side that do not change in `levels` loops around it."""

    stmt: q.Assign | q.Reduce
    text: str
    routes: tuple[Route, ...]
    levels: int


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for found in _invariants(proc):
        yield found.stmt, {"expr": found.text, "levels": found.levels}


def _invariants(proc: q.Proc) -> Iterator[_Invariant]:
    ranges = bind_loops(ranges_of_args(proc), proc.body)
    arguments = {arg.var for arg in proc.args}
    for stmt in q.walk(proc.body):
        if not isinstance(stmt, q.Assign | q.Reduce):
            continue
        around = list(_loops_around(proc, stmt, ranges))
        routes: dict[q.Expr, list[Route]] = {}
        for expr, route in _candidates(stmt.rhs, (), around, arguments):
            routes.setdefault(expr, []).append(route)
        # Names may repeat: of different expressions that read alike, the first.
        by_text = {show_expr(expr): expr for expr in reversed(routes)}
        for text, expr in by_text.items():
            yield _Invariant(stmt, text, tuple(routes[expr]), _levels(expr, around))


def _loops_around(proc: q.Proc, stmt: q.Stmt, ranges: Ranges) -> Iterator[q.For]:
    """The loops directly around `stmt`, inner first, that run at least once."""
    inner: q.Stmt = stmt
    while len(inner.path) > 1 and "e" not in inner.path:
        loop = proc.by_path[inner.path[:-1]]
        if not isinstance(loop, q.For) or loop.parallel or loop.lo != q.Affine(0):
            return
        if trips(loop, ranges)[0] < 1 or _position(inner) > MAX_BEFORE:
            return
        yield loop
        inner = loop


def _position(stmt: q.Stmt) -> int:
    last = stmt.path[-1]
    assert isinstance(last, int)
    return last


def _candidates(
    expr: q.Expr, route: Route, around: list[q.For], arguments: set[q.Var]
) -> Iterator[tuple[q.Expr, Route]]:
    """The largest parts of `expr` that are worth it, with the way there."""
    if _worthwhile(expr, arguments) and _levels(expr, around):
        yield expr, route
        return
    match expr:
        case q.BinOp():
            yield from _candidates(expr.lhs, (*route, "lhs"), around, arguments)
            yield from _candidates(expr.rhs, (*route, "rhs"), around, arguments)
        case q.USub():
            yield from _candidates(expr.arg, (*route, "arg"), around, arguments)
        case q.Extern():
            for number, arg in enumerate(expr.args):
                yield from _candidates(arg, (*route, number), around, arguments)


def _worthwhile(expr: q.Expr, arguments: set[q.Var]) -> bool:
    match expr:
        case q.Read():
            return bool(expr.idx) or expr.buf in arguments
        case q.BinOp() | q.USub() | q.Extern():
            used = list(reads(expr))
            memory = any(read.idx or read.buf in arguments for read in used)
            costly = any(isinstance(n, q.Extern) for n in q.walk_expr(expr))
            return expr.type in FLOATS and (memory or (costly and bool(used)))
        case _:
            return False


def _levels(expr: q.Expr, around: list[q.For]) -> int:
    """How many of the loops around leave the value of `expr` as it is."""
    used = q.expr_vars(expr)
    if q.may_change(expr):
        return 0
    for level, loop in enumerate(around):
        local = {stmt.buf for stmt in q.walk(loop.body) if isinstance(stmt, q.Alloc)}
        if loop.iter in used or used & (written_buffers(loop.body) | local):
            return level
    return len(around)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    text, levels = args["expr"], args["levels"]
    found = next((f for f in _invariants(ast) if f.stmt.path == path and f.text == text), None)
    if found is None or levels is True or levels != found.levels:
        raise RewriteError("no such expression stays the same in the loops around")
    name = fresh(names(ast), f"{found.stmt.buf.name}_h")
    p = Cursors((yield None))
    yield from p.do("bind_expr", Parts(path, found.routes), name)
    alloc, value = p.at(path), p.at(next_path(path))
    for _ in range(found.levels):
        yield from p.do("lift_alloc", alloc)
        while _position(p.stmt(value)):
            yield from p.do("reorder_stmts", Pair(shifted(p.path(value), -1)))
        yield from p.do("fission", After(p.path(value)))
        yield from p.do("remove_loop", At(p.path(value)[:-1]))

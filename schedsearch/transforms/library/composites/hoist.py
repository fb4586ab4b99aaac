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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.conversions import Route
from schedsearch.analysis.ranges import bind_loops, ranges_of_args, trips
from schedsearch.analysis.walkers import fresh, names
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.text import show_expr
from schedsearch.transforms.operators.ops import Args, Op, Parts, Proposal, Steps
from schedsearch.transforms.operators.outward import changes, loops_around, move_out

VERSION = 1

FLOATS = ("f32", "f64")
"""Integer arithmetic is left alone: C computes it wider than it stores it."""


@dataclass(frozen=True)
class _Invariant:
    """Equal parts of a statement's right side that do not change in `loops` around it, the
    innermost first."""

    stmt: q.Assign | q.Reduce
    text: str
    routes: tuple[Route, ...]
    loops: tuple[q.For, ...]

    @property
    def levels(self) -> int:
        return len(self.loops)


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for found in _invariants(proc):
        yield found.stmt, {"expr": found.text, "levels": found.levels}


def _invariants(proc: q.Proc) -> Iterator[_Invariant]:
    ranges = bind_loops(ranges_of_args(proc), proc.body)
    arguments = {arg.var for arg in proc.args}
    for stmt in q.walk(proc.body):
        if not isinstance(stmt, q.Assign | q.Reduce):
            continue
        around = list(takewhile(lambda x: trips(x, ranges)[0] > 0, loops_around(proc, stmt)))
        routes: dict[q.Expr, list[Route]] = {}
        for expr, route in _candidates(stmt.rhs, (), around, arguments):
            routes.setdefault(expr, []).append(route)
        # Names may repeat: of different expressions that read alike, the first.
        by_text = {show_expr(expr): expr for expr in reversed(routes)}
        for text, expr in by_text.items():
            yield _Invariant(stmt, text, tuple(routes[expr]), _unchanging(expr, around))


def _candidates(
    expr: q.Expr, route: Route, around: list[q.For], arguments: set[q.Var]
) -> Iterator[tuple[q.Expr, Route]]:
    """The largest parts of `expr` that are worth it, with the way there."""
    if _worthwhile(expr, arguments) and _unchanging(expr, around):
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


def _unchanging(expr: q.Expr, around: Sequence[q.For]) -> tuple[q.For, ...]:
    """The innermost of the loops around that leave the value of `expr` as it is."""
    used = q.expr_vars(expr)
    if q.may_change(expr):
        return ()
    return tuple(takewhile(lambda x: x.iter not in used and not changes(x, used), around))


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    text, levels = args["expr"], args["levels"]
    found = next((f for f in _invariants(ast) if f.stmt.path == path and f.text == text), None)
    if found is None or levels is True or levels != found.levels:
        raise RewriteError("no such expression stays the same in the loops around")
    name = fresh(names(ast), f"{found.stmt.buf.name}_h")
    yield Op("bind_expr", (Parts(path, found.routes), name))
    yield from move_out(path, found.loops)

"""Where temporaries are allocated.

In the iteration that needs them, so that iterations can run at once, and loops be fused. But what
an array has to go through (`t = f(A)`, then `A = t`, in each step of time) can only be whole, and
its loop only sequential: it is allocated once, before the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends.bounds import Loop, lengthened, lowest, never_negative, surely_positive
from schedsearch.frontends.views import replaced


def lifted(
    body: Sequence[q.Stmt], known: Sequence[q.Affine], around: tuple[Loop, ...] = ()
) -> Iterator[q.Stmt]:
    """The statements, with allocations moved out of loops; `known` are not negative."""
    for stmt in body:
        match stmt:
            case q.For():
                loop = Loop(stmt.iter, stmt.lo, stmt.hi)
                inner = tuple(lifted(stmt.body, known, (*around, loop)))
                left: list[q.Stmt] = []
                for each in inner:
                    if isinstance(each, q.Alloc):
                        shape = _before(each.shape, known, around, loop)
                        if shape is not None and _goes_round(each.buf, inner, around, loop):
                            yield replace(each, shape=shape)
                            continue
                    left.append(each)
                yield replace(stmt, body=tuple(left))
            case q.If():
                then, other = (tuple(lifted(b, known, around)) for b in (stmt.body, stmt.orelse))
                yield replace(stmt, body=then, orelse=other)
            case _:
                yield stmt


def _before(
    shape: g.Shape, known: Sequence[q.Affine], around: tuple[Loop, ...], loop: Loop
) -> g.Shape | None:
    """Lengths that are enough for all iterations, if they are found; none for scalars, which are
    registers."""
    found = []
    for n in shape:
        if loop.var in q.expr_vars(n):
            most = lowest(n.scaled(-1), [loop])
            longest = None if most is None or around else lengthened(most.scaled(-1), known)
            if longest is None:
                return None
            found.append(longest)
        else:
            least = lowest(n - 1, around)
            bases = (q.Affine(), *known)
            if least is None or not any(never_negative(least - base) for base in bases):
                return None
            found.append(n)
    return tuple(found) or None


def _goes_round(buf: q.Var, body: tuple[q.Stmt, ...], around: tuple[Loop, ...], loop: Loop) -> bool:
    """Whether what a temporary is computed from is also stored into from it, where iterations may
    store the same elements."""
    sources: dict[q.Var, set[q.Var]] = {}
    after: set[q.Var] = set()
    for stmt in body:
        stores = {each.buf for _, each in _stores((stmt,))}
        loads = _loads(stmt)
        behind = loads.union(*(sources.get(each, ()) for each in loads))
        for each in stores:
            sources.setdefault(each, set()).update(behind)
        if buf in loads:
            after |= stores
    before = sources.get(buf, set())
    own = {stmt.buf for stmt in q.walk(body) if isinstance(stmt, q.Alloc)}
    return any(
        each.buf in (before & after) - own and not _apart(each.idx, around, loop, inner)
        for inner, each in _stores(body)
    )


def _apart(
    index: tuple[q.Affine, ...], around: tuple[Loop, ...], loop: Loop, inner: tuple[Loop, ...]
) -> bool:
    """Whether later iterations of a loop surely have other indices."""
    copies: dict[q.Var, q.Affine] = {}
    later: list[Loop] = []
    for number, each in enumerate((loop, *inner)):
        var = g.fresh("")
        lo = replaced(each.lo, copies) if number else q.as_affine(loop.var) + 1
        later.append(Loop(var, lo, replaced(each.hi, copies)))
        copies[each.var] = q.as_affine(var)
    loops = [*around, loop, *inner, *later]
    steps = [replaced(each, copies) - each for each in index]
    return any(surely_positive(each.scaled(sign), loops) for each in steps for sign in (1, -1))


def _stores(
    body: tuple[q.Stmt, ...], loops: tuple[Loop, ...] = ()
) -> Iterator[tuple[tuple[Loop, ...], q.Assign | q.Reduce]]:
    """Stores, and the loops around each."""
    for stmt in body:
        if isinstance(stmt, q.Assign | q.Reduce):
            yield loops, stmt
        inner = (Loop(stmt.iter, stmt.lo, stmt.hi),) if isinstance(stmt, q.For) else ()
        for block in q.blocks(stmt):
            yield from _stores(block, (*loops, *inner))


def _loads(stmt: q.Stmt) -> set[q.Var]:
    return {
        part.buf
        for each in q.walk((stmt,))
        for expr in q.stmt_exprs(each)
        for part in q.walk_expr(expr)
        if isinstance(part, q.Read)
    }

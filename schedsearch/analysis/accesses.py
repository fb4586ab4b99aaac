"""The accesses of statements: every load and store in their text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.core import ast as q

Loops = tuple[q.For, ...]
Conditions = tuple[tuple[q.Expr, bool], ...]
"""Conditions, each with its outcome."""


@dataclass(frozen=True)
class Access:
    """A read or write of an array or scalar; whole buffers and windows given to calls or
    named by statements have no indices, and count as both. So does a buffer whose strides
    are asked for. `loops` and `conditions` are around it, where `placed` found it."""

    buf: q.Var
    idx: tuple[q.Affine, ...]
    writes: bool
    loops: Loops = ()
    conditions: Conditions = ()


def reads(expr: q.Expr) -> Iterator[q.Read]:
    """Elements, scalars and whole buffers that an expression reads."""
    return (node for node in q.walk_expr(expr) if isinstance(node, q.Read))


def touched(stmt: q.Stmt) -> Iterator[tuple[q.Var, tuple[q.Interval | q.Affine, ...], bool]]:
    """Elements, windows and whole buffers in the text of one statement, each with whether it is
    the target of an assignment or a reduction. The target comes first."""
    if isinstance(stmt, q.Assign | q.Reduce):
        yield stmt.buf, stmt.idx, True
    for part in q.stmt_parts(stmt):
        if isinstance(part, q.Read | q.Window):
            yield part.buf, part.idx, False


def accesses(body: tuple[q.Stmt, ...]) -> Iterator[Access]:
    """Every access in `body`, in textual order; a reduction is a write here."""
    for stmt in q.walk(body):
        opaque = isinstance(stmt, q.Call | q.WindowStmt)
        for part in q.stmt_parts(stmt):
            match part:
                case q.Read():
                    yield Access(part.buf, () if opaque else part.idx, opaque)
                case q.Window() | q.StrideOf():
                    yield Access(part.buf, (), True)
        if isinstance(stmt, q.Assign | q.Reduce):
            yield Access(stmt.buf, stmt.idx, True)


def placed(
    body: tuple[q.Stmt, ...], loops: Loops = (), conditions: Conditions = ()
) -> Iterator[Access]:
    """Every load and store of an inlined procedure, with the loops and conditions around it. Loads
    of a statement come first. A reduction loads and stores."""
    for stmt in body:
        for expr in q.stmt_exprs(stmt):
            for read in reads(expr):  # type: ignore[arg-type]  # there are no windows
                yield Access(read.buf, read.idx, False, loops, conditions)
        match stmt:
            case q.Assign() | q.Reduce():
                if isinstance(stmt, q.Reduce):
                    yield Access(stmt.buf, stmt.idx, False, loops, conditions)
                yield Access(stmt.buf, stmt.idx, True, loops, conditions)
            case q.For():
                yield from placed(stmt.body, (*loops, stmt), conditions)
            case q.If():
                yield from placed(stmt.body, loops, (*conditions, (stmt.cond, True)))
                yield from placed(stmt.orelse, loops, (*conditions, (stmt.cond, False)))
            case _:
                pass


def written_buffers(body: tuple[q.Stmt, ...]) -> frozenset[q.Var]:
    """Buffers assigned or reduced into, including whole buffers passed to calls."""
    found: set[q.Var] = set()
    for stmt in q.walk(body):
        match stmt:
            case q.Assign() | q.Reduce():
                found.add(stmt.buf)
            case q.Call():
                found |= {arg.buf for arg in stmt.args if isinstance(arg, q.Read | q.Window)}
    return frozenset(found)


def writes_all(proc: q.Proc, arg: q.Arg) -> bool:
    """Whether an inlined `proc` is seen to assign each element of an array: in loops over just its
    dimensions, one for each."""
    return any(
        access.buf == arg.var
        and access.writes
        and not access.conditions
        and len(access.loops) == len(access.idx) == len(arg.shape or ())
        and {index.as_var for index in access.idx} == {loop.iter for loop in access.loops}
        and all(_covers(access, extent, dim) for dim, extent in enumerate(arg.shape or ()))
        for access in placed(proc.body)
    )


def _covers(access: Access, extent: q.Affine, dim: int) -> bool:
    (loop,) = (loop for loop in access.loops if loop.iter == access.idx[dim].as_var)
    return loop.lo == q.as_affine(0) and loop.hi == extent


def read_buffers(body: tuple[q.Stmt, ...]) -> frozenset[q.Var]:
    """Buffers of an inlined procedure whose contents matter: read, or reduced into."""
    return frozenset(access.buf for access in placed(body) if not access.writes)

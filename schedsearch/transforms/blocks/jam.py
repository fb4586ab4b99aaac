"""Moving a loop inside everything it contains, and unrolling it there: the steps of `sink_loop`,
`unroll_and_jam` and `interleave`."""

from __future__ import annotations

from schedsearch.analysis.walkers import fresh, names, next_path, shifted
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.private import privatise
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import After, Steps

MAX_FACTOR = 16


def jammable(loop: q.For) -> bool:
    """Whether a part of `loop` can be moved below everything in it, as far as one can see."""
    fixed = not any(
        isinstance(stmt, q.Alloc) and any(not extent.is_const for extent in stmt.shape)
        for stmt in q.walk(loop.body)
    )
    return loop.lo.is_const and fixed and sinkable(loop)


def sinkable(loop: q.For) -> bool:
    """The same of all of it."""
    inside = list(q.walk(loop.body))
    return (
        not any(isinstance(stmt, q.If | q.WindowStmt | q.WriteConfig) for stmt in inside)
        and not any(
            isinstance(stmt, q.For)
            and (stmt.parallel or loop.iter in q.expr_vars(stmt.lo) | q.expr_vars(stmt.hi))
            for stmt in inside
        )
        and not loop.parallel
    )


def jam_steps(ast: q.Proc, path: q.Path, factor: object) -> Steps:
    """Divide the loop at `path` by `factor` and jam the inner part.

    The last iterations that `factor` does not divide get a loop of their own; a loop
    of exactly `factor` iterations is not divided.
    """
    loop = ast.by_path.get(path)
    if not isinstance(factor, int) or isinstance(factor, bool) or not 2 <= factor <= MAX_FACTOR:
        raise RewriteError(f"factors are from 2 to {MAX_FACTOR}")
    if not isinstance(loop, q.For) or not jammable(loop):
        raise RewriteError("there is no loop that can be jammed")
    p = Cursors((yield None))
    jammed = p.at(path)
    if loop.lo != q.Affine(0):
        yield from p.do("shift_loop", jammed, 0)
    length, extent = loop.hi - loop.lo, loop.extent
    if extent is not None and extent < factor:
        raise RewriteError(f"the loop has only {extent} iterations")
    if extent != factor:
        if not divides(p.ast, factor, length, path):
            whole = f"{factor} * (({show_affine(length)}) / {factor})"
            cut = whole if extent is None else extent // factor * factor
            yield from p.do("cut_loop", jammed, cut)
        new = (loop.iter.name, fresh(names(ast), f"{loop.iter.name}i"))
        yield from p.do("divide_loop", jammed, factor, new, perfect=True)
        jammed = p.at(p.path(jammed, 0))
    yield from privatise(p, jammed)
    yield from sink(p, jammed, unroll=True)


def sink(p: Cursors, cursor: Cursor, *, unroll: bool = False) -> Steps:
    """Move a loop inside all loops it contains; with `unroll`, which wants a constant one, give
    every statement its copies."""
    loop = p.stmt(cursor)
    assert isinstance(loop, q.For)
    if not unroll and not any(map(q.blocks, loop.body)):
        return
    first = p.at(loop.body[0].path)
    match loop.body[0]:
        case q.Alloc():
            # Every iteration gets a copy of its own: first in one array, then apart.
            if not loop.hi.is_const and loop.body[0].mem != "DRAM":
                raise RewriteError("only DRAM has arrays of lengths that are not constant")
            length = loop.hi.const if loop.hi.is_const else show_affine(loop.hi)
            yield from p.do("expand_dim", first, length, loop.iter.name)
            yield from p.do("lift_alloc", first)
            yield from sink(p, cursor, unroll=unroll)
            if unroll:
                yield from p.do("unroll_buffer", first, 0)
        case _ if len(loop.body) > 1:
            together = 1 if unroll else _leading(loop.body)
            yield from p.do("fission", After(shifted(p.path(first), together - 1)))
            rest = p.at(next_path(p.path(cursor)))
            yield from sink(p, cursor, unroll=unroll)
            yield from sink(p, rest, unroll=unroll)
        case q.For():
            yield from p.do("reorder_loops", cursor)
            yield from sink(p, cursor, unroll=unroll)
        case _:
            yield from p.do("unroll_loop", cursor)


def _leading(body: tuple[q.Stmt, ...]) -> int:
    """How many statements come before the first loop or temporary, but one at least."""
    apart = (n for n, s in enumerate(body) if q.blocks(s) or isinstance(s, q.Alloc))
    return max(next(apart, len(body)), 1)

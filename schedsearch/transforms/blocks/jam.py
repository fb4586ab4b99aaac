"""Unrolling a loop inside everything it contains: the steps of unroll-and-jam and interleave."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from schedsearch.analysis.walkers import fresh, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import After, At, Op, Steps

MAX_FACTOR = 16

Jamming = Generator[Op, Any, tuple[int, q.Proc]]
"""Operators in turn; gives how many statements came out, and what the procedure is then."""


def jammable(loop: q.For) -> bool:
    """Whether a part of `loop` can be moved below everything in it, as far as one can see."""
    inside = list(q.walk(loop.body))
    return (
        loop.lo.is_const
        and not any(isinstance(stmt, q.If | q.WindowStmt | q.WriteConfig) for stmt in inside)
        and not any(
            isinstance(stmt, q.For)
            and (stmt.parallel or loop.iter in q.expr_vars(stmt.lo) | q.expr_vars(stmt.hi))
            for stmt in inside
        )
        and not any(
            isinstance(stmt, q.Alloc) and any(not extent.is_const for extent in stmt.shape)
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
    if loop.lo != q.Affine(0):
        ast = mirror((yield Op("shift_loop", (At(path), 0))))
        return (yield from jam_steps(ast, path, factor))
    extent = loop.extent
    if extent is not None and extent < factor:
        raise RewriteError(f"the loop has only {extent} iterations")
    if extent == factor:
        yield from _jam(ast, path)
        return
    if not divides(ast, factor, loop.hi, path):
        whole = f"{factor} * (({show_affine(loop.hi)}) / {factor})"
        yield Op("cut_loop", (At(path), whole if extent is None else extent // factor * factor))
    inner = fresh(names(ast), f"{loop.iter.name}i")
    new = (loop.iter.name, inner)
    divided = yield Op("divide_loop", (At(path), factor, new), (("perfect", True),))
    yield from _jam(mirror(divided), (*path, 0))


def _jam(ast: q.Proc, path: q.Path) -> Jamming:
    """Unroll the constant loop at `path` inside everything it contains."""
    loop = ast.by_path[path]
    assert isinstance(loop, q.For)
    first = loop.body[0]
    match first:
        case q.Alloc():
            # Every iteration gets a copy of its own: first in one array, then apart.
            yield Op("expand_dim", (At(first.path), loop.extent or 0, loop.iter.name))
            lifted = yield Op("lift_alloc", (At(first.path),))
            count, ast = yield from _jam(mirror(lifted), next_path(path))
            apart = mirror((yield Op("unroll_buffer", (At(path), 0))))
            return count + len(_block(apart, path)) - len(_block(ast, path)) + 1, apart
        case _ if len(loop.body) > 1:
            ast = mirror((yield Op("fission", (After(first.path),))))
            count, ast = yield from _jam(ast, path)
            for _ in range(count):
                path = next_path(path)
            more, ast = yield from _jam(ast, path)
            return count + more, ast
        case q.For():
            ast = mirror((yield Op("reorder_loops", (At(path),))))
            _, ast = yield from _jam(ast, (*path, 0))
            return 1, ast
        case _:
            return loop.extent or 0, mirror((yield Op("unroll_loop", (At(path),))))


def _block(ast: q.Proc, path: q.Path) -> tuple[q.Stmt, ...]:
    """The statements among which the one at `path` is."""
    if len(path) == 1:
        return ast.body
    return q.blocks(ast.by_path[path[:-1]])[0]

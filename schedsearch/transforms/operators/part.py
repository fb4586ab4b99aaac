"""A part of a procedure's iterations: how long it takes tells how long all would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exo.API import Procedure
from exo.core.LoopIR import LoopIR, T

from schedsearch.core import ast as q
from schedsearch.transforms.exo.mirror import mirror

DEEPEST = 8
"""Levels of loops that are shortened."""

_ABOUT = 1.5


def part_of(procedure: Any, steps: Callable[[q.Proc], int], most: float) -> tuple[Any, float]:
    """The procedure with fewer iterations of its outermost loops, and, if these are not enough, of
    the next ones, so that it does at most about `most` of what `steps` counts; and how many times
    as much it does itself.

    ```
    for i in seq(0, n):            for i in seq(0, (n + 15) / 16):
        for j in seq(0, n):   ->       for j in seq(0, n):
            s(i, j)                        s(i, j)
    ```
    It computes something else.
    """
    whole = left = steps(mirror(procedure))
    for depth in range(DEEPEST):
        if left <= _ABOUT * most:
            break
        proc = procedure._loopir_proc
        body = _shortened(proc.body, depth, -int(-left // most))
        procedure = Procedure(proc.update(body=body))
        left = steps(mirror(procedure))
    return procedure, whole / max(left, 1)


def _shortened(stmts: Any, depth: int, times: int) -> list[Any]:
    """With loops at this depth run so many times less often, but once."""
    found = []
    for stmt in stmts:
        match stmt:
            case LoopIR.For() if depth == 0:
                found.append(stmt.update(hi=_last(stmt, times)))
            case LoopIR.For():
                found.append(stmt.update(body=_shortened(stmt.body, depth - 1, times)))
            case LoopIR.If():
                branches = {
                    name: _shortened(getattr(stmt, name), depth, times)
                    for name in ("body", "orelse")
                }
                found.append(stmt.update(**branches))
            case _:
                found.append(stmt)
    return found


def _last(loop: Any, times: int) -> Any:
    """`lo + (hi - lo + times - 1) / times`"""

    def of(op: str, lhs: Any, rhs: Any) -> Any:
        return LoopIR.BinOp(op, lhs, rhs, T.index, loop.srcinfo)

    def constant(value: int) -> Any:
        return LoopIR.Const(value, T.int, loop.srcinfo)

    rounded = of("+", of("-", loop.hi, loop.lo), constant(times - 1))
    return of("+", loop.lo, of("/", rounded, constant(times)))

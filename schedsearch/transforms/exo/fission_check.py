"""Exo 1.0.0 moves `s = 0` out of the loop around `s = 0; s += x`; here it does not.

`fission` lets a first part that looks the same in every iteration overwrite what the second
reads: it would only write the same values again. It forgets that the second part may add
to them. (What the second part assigns it does look at.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from exo.core.LoopIR import LoopIR
from exo.rewrite import LoopIR_scheduling

from schedsearch.transforms.exo.speed.facts import blocks


@cache
def install() -> None:
    """Make Exo's check sound. May be called twice."""
    LoopIR_scheduling.Check_FissionLoop = _without_sums(LoopIR_scheduling.Check_FissionLoop)


def _without_sums(exo: Callable[..., Any]) -> Callable[..., Any]:
    """The check, with `repeatable` only where no sum would be undone."""

    def check(proc: Any, loop: Any, before: Any, after: Any, repeatable: bool = False) -> Any:
        return exo(proc, loop, before, after, repeatable and not _undone(proc, before, after))

    return check


def _undone(proc: Any, before: Any, after: Any) -> bool:
    """Whether `after` may add to what `before` writes; certain to be seen only if no buffer
    has a second name."""
    if any(isinstance(stmt, LoopIR.WindowStmt) for stmt in _statements(proc.body)):
        return True
    sums = {stmt.name for stmt in _statements(after) if isinstance(stmt, LoopIR.Reduce)}
    return not _changed(before).isdisjoint(sums | _given(after))


def _changed(stmts: Any) -> set[Any]:
    simple = (s for s in _statements(stmts) if isinstance(s, LoopIR.Assign | LoopIR.Reduce))
    return {stmt.name for stmt in simple} | _given(stmts)


def _given(stmts: Any) -> set[Any]:
    """Buffers given to calls, which may do anything with them."""
    return {
        arg.name
        for stmt in _statements(stmts)
        if isinstance(stmt, LoopIR.Call)
        for arg in stmt.args
        if isinstance(arg, LoopIR.WindowExpr | LoopIR.Read) and arg.type.is_numeric()
    }


def _statements(stmts: Iterable[Any]) -> Iterator[Any]:
    for stmt in stmts:
        yield stmt
        for block in blocks(stmt):
            yield from _statements(block)

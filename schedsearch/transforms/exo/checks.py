"""Exo's checks of sums and of windows, made sound.

Exo 1.0.0 moves `s = 0` out of the loop around `s = 0; s += x`; here it does not. Nor does it leave
out accesses in an `else` when it stages a window.

Exo also takes additions to one element for commutative, as those of real numbers are; those of
floating-point numbers are not associative. Inside `sums_in_order` every check takes `x += e` for
`x = x + e`, which reads the value that came before. The rewrites that Exo then accepts add up
every element in the order as written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from exo.core.LoopIR import LoopIR
from exo.rewrite import LoopIR_scheduling, new_eff

from schedsearch.transforms.exo.mirror import statements

_IN_ORDER = ContextVar("sums_in_order", default=False)


def in_order() -> bool:
    """Whether checks keep the order of sums."""
    return _IN_ORDER.get()


@contextmanager
def sums_in_order(wanted: bool) -> Iterator[None]:
    """Checks keep the order of sums (or not) for as long as the context is open."""
    token = _IN_ORDER.set(wanted)
    try:
        yield
    finally:
        _IN_ORDER.reset(token)


@cache
def install() -> None:
    """Replace Exo's checks by those of this module. May be called twice."""
    LoopIR_scheduling.Check_FissionLoop = _without_sums(LoopIR_scheduling.Check_FissionLoop)
    LoopIR_scheduling.Check_Access_In_Window = _by_branch(LoopIR_scheduling.Check_Access_In_Window)
    new_eff.get_basic_locsets = _ordered(new_eff.get_basic_locsets)


def _ordered(exo: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    """Exo's sets of locations by effect; it calls itself, by this name, for loops and branches."""

    def locsets(effects: Sequence[Any]) -> Any:
        if in_order():
            effects = [part for effect in effects for part in _as_written(effect)]
        return exo(effects)

    return locsets


def _as_written(effect: Any) -> tuple[Any, ...]:
    effects = new_eff.E
    if not isinstance(effect, effects.Reduce):
        return (effect,)
    return effects.Read(effect.name, effect.coords), effects.Write(effect.name, effect.coords)


def _without_sums(exo: Callable[..., Any]) -> Callable[..., Any]:
    """Exo's check of `fission`, with `repeatable` only where no sum would be undone.

    `repeatable` lets a first part that looks the same in every iteration overwrite elements that
    the second reads: it would only write the same values again. Exo forgets that the second part
    may add to them. (It does look at the assignments of the second part.)
    """

    def check(proc: Any, loop: Any, before: Any, after: Any, repeatable: bool = False) -> Any:
        return exo(proc, loop, before, after, repeatable and not _undone(proc, before, after))

    return check


def _by_branch(exo: Callable[..., Any]) -> Callable[..., Any]:
    """Exo's check whether an access is in a window, which takes the condition of an `if` for that
    of its `else`, and the other way round where the `if` itself is in an `else`."""

    def check(proc: Any, access: Any, window: Any, block: Any) -> Any:
        inner = access
        while inner.depth() > block.depth():
            outer = inner.parent()
            if isinstance(outer._node, LoopIR.If) and _branch(inner) != _branch(outer):
                raise new_eff.SchedulingError("Exo takes the `if` for the `else` around an access")
            inner = outer
        return exo(proc, access, window, block)

    return check


def _branch(cursor: Any) -> bool:
    """Whether it is in the `else` of what is around."""
    return bool(cursor._path[-1][0] == "orelse")


def _undone(proc: Any, before: Any, after: Any) -> bool:
    """Whether `after` may add to elements that `before` writes. Without more analysis this is
    certain only if no buffer has a second name."""
    if any(isinstance(stmt, LoopIR.WindowStmt) for stmt in statements(proc.body)):
        return True
    sums = {stmt.name for stmt in statements(after) if isinstance(stmt, LoopIR.Reduce)}
    return not _changed(before).isdisjoint(sums | _given(after))


def _changed(stmts: Any) -> set[Any]:
    simple = (s for s in statements(stmts) if isinstance(s, LoopIR.Assign | LoopIR.Reduce))
    return {stmt.name for stmt in simple} | _given(stmts)


def _given(stmts: Any) -> set[Any]:
    """Buffers given to calls, which may do anything with them."""
    return {
        arg.name
        for stmt in statements(stmts)
        if isinstance(stmt, LoopIR.Call)
        for arg in stmt.args
        if isinstance(arg, LoopIR.WindowExpr | LoopIR.Read) and arg.type.is_numeric()
    }

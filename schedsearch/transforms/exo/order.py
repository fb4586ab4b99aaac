"""Exo's checks where the order of a sum counts.

Exo 1.0.0 takes additions to one element for commutative, as those of real numbers are; those of
floating-point numbers are not associative. Inside `sums_in_order` every check takes `x += e`
for what it is, `x = x + e`: it reads what came before. What Exo then accepts adds up every
element in the order as written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from exo.rewrite import new_eff

_IN_ORDER = ContextVar("sums_in_order", default=False)


def in_order() -> bool:
    """Whether checks keep the order of sums."""
    return _IN_ORDER.get()


@contextmanager
def sums_in_order(wanted: bool = True) -> Iterator[None]:
    """Checks keep the order of sums (or not) for as long as the context is open."""
    token = _IN_ORDER.set(wanted)
    try:
        yield
    finally:
        _IN_ORDER.reset(token)


@cache
def install() -> None:
    """Make Exo's checks ask `in_order`. May be called twice."""
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

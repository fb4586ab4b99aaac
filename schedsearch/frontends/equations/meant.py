"""What one equation means, with bounds and types."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from schedsearch.core import ast as q
from schedsearch.frontends.equations import syntax as s
from schedsearch.frontends.equations.extents import Index, Read


@dataclass(frozen=True)
class Term:
    """A part of the right side that is projected by itself: `gone` are its own indices."""

    value: s.Expr
    gone: tuple[Index, ...]


@dataclass(frozen=True)
class Meant:
    """An equation with bounds and types. `kept` are the indices of the left side, `kind` is the
    type that all is computed in; `whole`: it gives every element a value."""

    equation: s.Equation
    target: Read
    kept: tuple[Index, ...]
    indices: dict[str, Index]
    terms: tuple[Term, ...]
    kind: str
    whole: bool
    reads: tuple[Read, ...] = ()


def on_places(expr: s.Where, indices: Collection[str]) -> bool:
    """Whether a condition is one of indices, not of data."""
    parts = [*s.walk(expr.lhs), *s.walk(expr.rhs)]
    names = [each for each in parts if isinstance(each, s.Access)]
    return any(each.name in indices for each in names) and not any(
        isinstance(each, s.Call | s.Where) or (isinstance(each, s.Access) and each.index)
        for each in parts
    )


def length(index: Index) -> q.Affine:
    assert index.hi is not None, "bounds are known"
    return index.hi - index.lo

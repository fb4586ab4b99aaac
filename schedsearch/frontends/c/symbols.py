"""What names stand for."""

from __future__ import annotations

from dataclasses import dataclass

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.frontends import graph
from schedsearch.frontends.c.affine.linear import Polynomial
from schedsearch.frontends.c.c_types import CType


@dataclass(frozen=True, eq=False)
class Operand:
    """An expression's value: affine if it is made of integers, sizes and variables of loops, and a
    polynomial if it multiplies them by sizes. `made` is such a product as data."""

    type: CType
    value: q.Affine | Polynomial | graph.Value
    made: graph.Value | None = None

    @property
    def whole(self) -> q.Affine | Polynomial:
        """The value, where it is known to be made of these."""
        assert isinstance(self.value, q.Affine | Polynomial)
        return self.value


@dataclass(frozen=True, eq=False)
class Number:
    """An integer variable for sizes, bounds and indices."""

    name: str
    type: CType


@dataclass(frozen=True, eq=False)
class Data:
    """Storage of elements; of rank 0 a variable."""

    array: graph.Array
    type: CType


@dataclass(frozen=True, eq=False)
class Open:
    """A pointer: an array whose first extent, or all of them, C does not tell."""

    name: str
    type: CType
    inner: tuple[q.Affine, ...]


@dataclass(frozen=True)
class Pointer:
    """A pointer to an element or a row of an array, at its first indices. The last of these is what
    the pointer's own index is added to."""

    base: Data | Open
    at: tuple[Polynomial, ...]

    @property
    def inner(self) -> tuple[q.Affine, ...]:
        """Extents of what it points to."""
        shape = self.base.inner if isinstance(self.base, Open) else self.base.array.shape[1:]
        return shape[len(self.at) - 1 :]


@dataclass(frozen=True, eq=False)
class Cursor:
    """A variable that is a pointer. Where it points to is known as the value of a number is."""

    name: str
    decl: c_ast.Decl


Symbol = Number | Data | Open | Operand | Pointer | Cursor
Known = dict[Number | Cursor, q.Affine | Polynomial | Pointer | None]
"""What variables are where a statement stands; None if that is not known."""

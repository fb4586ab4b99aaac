"""Places in arrays: elements, rows, and pointers to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types
from schedsearch.frontends.c.affine.linear import Layout, Need, Polynomial, polynomial, product
from schedsearch.frontends.c.bits import Bits
from schedsearch.frontends.c.c_types import CType
from schedsearch.frontends.c.scopes import File
from schedsearch.frontends.c.symbols import Cursor, Data, Open, Pointer, Symbol
from schedsearch.frontends.c.trees import said


class Pointers(Bits):
    """Indices, those of pointers with one index as those of arrays of several."""

    def __init__(self, file: File, extents: dict[str, tuple[Layout, graph.Array]]) -> None:
        super().__init__(file)
        self.extents = extents
        """Of pointers, as an earlier translation found them."""
        self.needs: dict[str, list[Need]] = {}

    def element(self, node: Any) -> tuple[graph.Array, tuple[q.Affine, ...], CType]:
        """The array, the indices and the type of `A[i][j]`, `*p` or a variable."""
        subscripts, inner = _parts(node)
        symbol: Symbol | None = (
            self.lookup(inner) if isinstance(inner, c_ast.ID) else self.pointer(inner)
        )
        if isinstance(symbol, Cursor) and subscripts:
            symbol = self.pointed(symbol, inner)
        before: tuple[Polynomial, ...] = (Polynomial(()),)
        if isinstance(symbol, Pointer):
            before = symbol.at
            symbol = symbol.base
        if symbol is None:
            raise self.refusal(
                node,
                said(inner),
                "it is no place in an array",
                "use elements of arrays, `A[i]`",
            )
        if not isinstance(symbol, Data | Open):
            raise self.refusal(node, _name(inner), "it is no array", "use a variable of the data")
        name, shape = _array_of(symbol)
        given = len(before) - 1 + len(subscripts)
        if len(subscripts) < 1 and not shape and not isinstance(inner, c_ast.ID):
            subscripts = [c_ast.Constant("int", "0", node.coord)]
        if not shape and isinstance(symbol, Data):
            return self._scalar(symbol, before, subscripts, node)
        if not subscripts or given != len(shape):
            raise self.refusal(
                node,
                f"{name} with {given} of {len(shape)} indices",
                "what is left is a part of an array",
                "use an element",
            )
        polynomials = self._rows(name, self._moved(before, subscripts, symbol), shape, node)
        if isinstance(symbol, Open):
            return self._open(symbol, polynomials, node)
        index = tuple(each.part(()) for each in polynomials)
        self._inside(name, index, symbol.array.shape, node)
        return symbol.array, index, symbol.type

    def _rows(
        self, name: str, at: tuple[Polynomial, ...], shape: Sequence[q.Affine | None], node: Any
    ) -> tuple[Polynomial, ...]:
        """Indices of a pointer that moves from row to row: what multiplies the length of a row is
        rows. Only the first index of an array without a first extent may multiply other sizes."""
        left = list(at)
        for place in range(len(left) - 1, 0, -1):
            length = shape[place]
            size = length.terms[0][0] if length and length.terms else None
            found = left[place].split_by(size) if size and length == q.as_affine(size) else None
            if found is not None:
                left[place - 1] = left[place - 1].plus(found[0], 1)
                left[place] = Polynomial.of(found[1])
        for place, extent in enumerate(shape):
            whole = left[place].affine
            if extent is not None and whole is not None:  # `1 * n` is a sum
                left[place] = Polynomial.of(whole)
        for each, extent in zip(left, shape, strict=True):
            products = any(monomial and part != q.Affine() for monomial, part in each.parts)
            if products and extent is not None:
                raise self.refusal(
                    node,
                    f"index of {name}",
                    "it multiplies sizes that are not the length of a row",
                    "use an index for each dimension, `A[i][j]`",
                )
        return tuple(left)

    def _scalar(
        self, symbol: Data, before: tuple[Polynomial, ...], subscripts: list[Any], node: Any
    ) -> tuple[graph.Array, tuple[q.Affine, ...], CType]:
        """A variable, or `*p` of a pointer to one."""
        if subscripts and self._moved(before, subscripts, symbol) != (Polynomial(()),):
            raise self.refusal(
                node, f"index of {symbol.array.name}", "it is one variable", "use an array"
            )
        return symbol.array, (), symbol.type

    def _moved(
        self, before: tuple[Polynomial, ...], subscripts: list[Any], symbol: Data | Open
    ) -> tuple[Polynomial, ...]:
        """Indices after those of a pointer. The first one of a pointer that is a parameter may
        multiply by sizes."""
        name, use = _array_of(symbol)[0], f"index of {_array_of(symbol)[0]}"
        first, *rest = subscripts
        if isinstance(symbol, Open) and len(before) == 1:
            offset = self.polynomial(first, name)
        else:
            offset = Polynomial.of(self.affine(first, use))
        after = (Polynomial.of(self.affine(each, use)) for each in rest)
        return (*before[:-1], before[-1].plus(offset, 1), *after)

    def pointer(self, node: Any) -> Pointer | None:
        """The place in an array that an expression points to; None if it is no pointer to one."""
        none = (Polynomial(()),)
        match node:
            case c_ast.ID():
                symbol = self.lookup(node)
                if isinstance(symbol, Cursor):
                    return self.pointed(symbol, node)
                if isinstance(symbol, Pointer):
                    return symbol
                if isinstance(symbol, Open) or (isinstance(symbol, Data) and symbol.array.shape):
                    return Pointer(symbol, none)
                return None
            case c_ast.Cast() if isinstance(node.to_type.type, c_ast.PtrDecl):
                found = self.pointer(node.expr)
                of = node.to_type.type.type
                if found is None or found.inner or not isinstance(of, c_ast.TypeDecl):
                    return None
                return found if self.type_of(of) == found.base.type else None
            case c_ast.UnaryOp(op="&"):
                subscripts, inner = _parts(node.expr)
                if not subscripts:
                    one = self.lookup(inner) if isinstance(inner, c_ast.ID) else None
                    if isinstance(one, Data) and not one.array.shape:
                        return Pointer(one, none)
                    return None
                return self._pointer_at(subscripts, self.pointer(inner))
            case c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):  # of a row
                subscripts, inner = _parts(node)
                row = self._pointer_at(subscripts, self.pointer(inner))
                if row is None or not row.inner:
                    return None
                return Pointer(row.base, (*row.at, *none))
            case c_ast.BinaryOp(op="+" | "-"):
                base, moved = self.pointer(node.left), node.right
                if base is None and node.op == "+":
                    base, moved = self.pointer(node.right), node.left
                if base is None:
                    return None
                offset = self._moved(none, [moved], base.base)[0]
                if len(base.at) > 1 or isinstance(base.base, Data):
                    offset = Polynomial.of(self.affine(moved, "offset of a pointer"))
                at = base.at[-1].plus(offset, 1 if node.op == "+" else -1)
                return Pointer(base.base, (*base.at[:-1], at))
            case _:
                return None

    def pointed(self, symbol: Cursor, node: Any) -> Pointer:
        """Where a variable points to."""
        found = self.numbers.get(symbol)
        if isinstance(found, Pointer):
            return found
        raise self.refusal(
            node,
            f"pointer {symbol.name}",
            "where it points to is not known here",
            "move it by the same in each iteration, or index it, `p[i]`",
        )

    def _pointer_at(self, subscripts: list[Any], base: Pointer | None) -> Pointer | None:
        if base is None or len(subscripts) - 1 > len(base.inner):
            return None
        return Pointer(base.base, self._moved(base.at, subscripts, base.base))

    def _inside(
        self, name: str, index: tuple[q.Affine, ...], shape: graph.Shape, node: Any
    ) -> None:
        text = f"{name}[{', '.join(map(show_affine, index))}]"
        for each, extent in zip(index, shape, strict=True):
            reason = f"index {show_affine(each)} is not within 0 and {show_affine(extent - 1)}"
            self.require(each, node, text, reason)
            self.require(extent - 1 - each, node, text, reason)

    def _open(
        self, symbol: Open, polynomials: tuple[Polynomial, ...], node: Any
    ) -> tuple[graph.Array, tuple[q.Affine, ...], CType]:
        first, rest = polynomials[0], tuple(each.part(()) for each in polynomials[1:])
        if symbol.name in self.extents:
            layout, array = self.extents[symbol.name]
            index = (*layout.index(first, self.facts()), *rest)
            self._inside(symbol.name, index, array.shape, node)
            return array, index, symbol.type
        if not self._only_types:
            cases = tuple(map(tuple, self.cases()))
            need = Need(first, tuple(self.facts()), cases, node)
            self.needs.setdefault(symbol.name, []).append(need)
        return graph.Array(symbol.name, c_types.element(symbol.type)), (), symbol.type

    def polynomial(self, node: Any, name: str) -> Polynomial:
        """An index into a pointer, which may multiply by sizes."""
        if isinstance(node, c_ast.BinaryOp) and node.op in ("+", "-"):
            left, right = (self.polynomial(each, name) for each in (node.left, node.right))
            return left.plus(right, 1 if node.op == "+" else -1)
        if isinstance(node, c_ast.BinaryOp) and node.op == "*":
            left, right = (self.polynomial(each, name) for each in (node.left, node.right))
            found = product(left, right, frozenset(self.sizes))
            if found is not None:
                return found
        return polynomial(self.whole(node, f"index of {name}").whole)


def _parts(node: Any) -> tuple[list[Any], Any]:
    """The indices of `A[i][j]`, or of `*p`, and what they are of."""
    subscripts: list[Any] = []
    while isinstance(node, c_ast.ArrayRef) or (isinstance(node, c_ast.UnaryOp) and node.op == "*"):
        if isinstance(node, c_ast.ArrayRef):
            subscripts.insert(0, node.subscript)
            node = node.name
        else:
            subscripts.insert(0, c_ast.Constant("int", "0", node.coord))
            node = node.expr
    return subscripts, node


def _array_of(symbol: Data | Open) -> tuple[str, tuple[q.Affine | None, ...]]:
    """The name of an array, and its extents."""
    if isinstance(symbol, Open):
        return symbol.name, (None, *symbol.inner)
    return symbol.array.name, symbol.array.shape


def _name(node: Any) -> str:
    return node.name if isinstance(node, c_ast.ID) else said(node)


def at(array: graph.Array, index: tuple[q.Affine, ...]) -> graph.Value:
    return graph.View(graph.Load(array), (), (), index) if index else graph.Load(array)

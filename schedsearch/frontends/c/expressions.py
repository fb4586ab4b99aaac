"""Expressions of C as values, and as sums of sizes and variables of loops."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.frontends import graph
from schedsearch.frontends.c.affine.linear import Layout
from schedsearch.frontends.c.c_types import INT, ULONG, CType, Unsupported
from schedsearch.frontends.c.calls import Calls
from schedsearch.frontends.c.pointers import at
from schedsearch.frontends.c.scopes import File
from schedsearch.frontends.c.symbols import Cursor, Data, Number, Open, Operand, Pointer
from schedsearch.frontends.c.trees import COMPARISONS, said


class Expressions(Calls):
    """The translation of a function, as far as expressions go."""

    def __init__(self, file: File, extents: dict[str, tuple[Layout, graph.Array]]) -> None:
        super().__init__(file, extents)
        self.tables: dict[graph.Array, dict[tuple[q.Affine, ...], int]] = {}
        """Whole numbers in constant arrays, by place."""
        self.memory: set[Data] = set()
        """Arrays that are pointers to memory of their own in C."""

    def expr(self, node: Any) -> Operand:
        """The value of an expression."""
        try:
            return self._expr(node)
        except Unsupported as error:
            raise self.refusal(node, *error.parts) from None

    def _expr(self, node: Any) -> Operand:
        match node:
            case c_ast.Constant():
                return self.constant(node)
            case c_ast.ID():
                return self._read(node)
            case c_ast.ArrayRef():
                array, index, kind = self.element(node)
                known = self.tables.get(array, {}).get(index)
                if known is not None:
                    return Operand(INT, q.Affine(known))
                return Operand(kind, at(array, index))
            case c_ast.UnaryOp():
                return self._unary(node)
            case c_ast.BinaryOp() if node.op in (*COMPARISONS, "&&", "||"):
                return self.truth_as_number(node)
            case c_ast.BinaryOp():
                return self.binary(node.op, self.expr(node.left), self.expr(node.right), node)
            case c_ast.TernaryOp():
                return self.ternary(node)
            case c_ast.Cast():
                if not isinstance(node.to_type.type, c_ast.TypeDecl):
                    raise self.refusal(
                        node, "cast to a pointer", "arrays keep their type", "remove it"
                    )
                return self.converted(self.expr(node.expr), self.type_of(node.to_type), node)
            case c_ast.FuncCall():
                return self.call(node)
            case c_ast.Assignment():
                raise self.refusal(
                    node, "assignment within an expression", "its order matters", "write it before"
                )
            case _:
                raise self.refusal(
                    node,
                    said(node),
                    "kernels have no such expression",
                    "use arithmetic on numbers and elements of arrays",
                )

    def _read(self, node: c_ast.ID) -> Operand:
        symbol = self.lookup(node)
        match symbol:
            case Operand():
                return symbol
            case Number():
                value = self.numbers.get(symbol)
                if value is None or isinstance(value, Pointer):
                    raise self.refusal(
                        node,
                        node.name,
                        "its value is not known here as a sum of sizes and loop variables",
                        "compute it from them where it is used",
                    )
                return Operand(symbol.type, value)
            case Data() if not symbol.array.shape:
                return Operand(symbol.type, graph.Load(symbol.array))
            case _:
                raise self.refusal(
                    node,
                    f"pointer {node.name}",
                    "kernels have no arithmetic of pointers",
                    "use an element of the array",
                )

    def _unary(self, node: c_ast.UnaryOp) -> Operand:
        if node.op == "*":
            array, index, kind = self.element(node)
            return Operand(kind, at(array, index))
        if node.op == "!":
            return self.truth_as_number(node)
        if node.op == "~":
            return self.inverted(self.expr(node.expr), node)
        if node.op == "sizeof":
            return self._size(node)
        if node.op not in ("-", "+"):
            instead = {"&": "use the array itself"}.get(
                node.op, "write it as a statement of its own"
            )
            raise self.refusal(
                node, node.op.strip("p"), "kernels have no such operator here", instead
            )
        return self.signed(node.op, self.expr(node.expr), node)

    def _size(self, node: c_ast.UnaryOp) -> Operand:
        """`sizeof`, of types, elements, rows and arrays that the function declares."""
        if isinstance(node.expr, c_ast.Typename):
            of = node.expr.type
            bits = ULONG.bits if isinstance(of, c_ast.PtrDecl) else self.type_of(of).bits
            return Operand(ULONG, q.Affine(max(bits // 8, 1)))
        with self.only_types():
            extents, kind = self._shape(node.expr)
        total = Operand(ULONG, q.Affine(max(kind.bits // 8, 1)))
        for each in extents:
            total = self.binary("*", total, Operand(ULONG, each), node)
        return total

    def _shape(self, node: Any) -> tuple[tuple[q.Affine, ...], CType]:
        symbol = self.lookup(node) if isinstance(node, c_ast.ID) else None
        array = isinstance(symbol, Data) and symbol.array.shape and symbol not in self.memory
        if isinstance(symbol, Data) and array and node.name not in self.scopes[0]:
            return symbol.array.shape, symbol.type
        if isinstance(symbol, Data | Open | Pointer | Cursor) and not (
            isinstance(symbol, Data) and not symbol.array.shape
        ):
            raise self.refusal(
                node, f"sizeof {node.name}", "it may be that of a pointer", "write the number"
            )
        row = None if symbol is not None else self.pointer(node)
        if row is None or len(row.at) < 2:
            place = isinstance(node, c_ast.ArrayRef | c_ast.UnaryOp) and symbol is None
            return (), self.element(node)[2] if place else self.expr(node).type
        base = row.base
        inner = base.inner if isinstance(base, Open) else base.array.shape[1:]
        return inner[len(row.at) - 2 :], base.type

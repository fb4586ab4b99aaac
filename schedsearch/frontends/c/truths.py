"""Conditions, on places and on data."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types, numbers
from schedsearch.frontends.c.affine import conditions
from schedsearch.frontends.c.c_types import INT
from schedsearch.frontends.c.pointers import Pointers
from schedsearch.frontends.c.symbols import Cursor, Data, Open, Operand, Pointer
from schedsearch.frontends.c.trees import COMPARISONS


class Truths(Pointers):
    """Conditions, and what they choose."""

    def truth(self, node: Any) -> bool | graph.Condition:
        """Whether an expression is not zero. Parts on places are decided."""
        pointer = self._of_pointer(node)
        if pointer is not None:
            return pointer
        match node:
            case c_ast.BinaryOp() if node.op in ("&&", "||"):
                short = node.op == "||"
                left = self.truth(node.left)
                if self._only_types:  # nothing is decided: it depends on data if a side does
                    return left if not isinstance(left, bool) else self.truth(node.right)
                if isinstance(left, bool):
                    return left if left == short else self.truth(node.right)
                right = self.truth(node.right)
                if isinstance(right, bool):
                    return right if right == short else left
                return graph.Logical("or" if short else "and", (left, right))
            case c_ast.UnaryOp() if node.op == "!":
                inner = self.truth(node.expr)
                return not inner if isinstance(inner, bool) else graph.Logical("not", (inner,))
            case c_ast.BinaryOp() if node.op in COMPARISONS:
                return self._comparison(node.op, self.expr(node.left), self.expr(node.right), node)
            case _:
                return self._comparison("!=", self.expr(node), Operand(INT, q.Affine(0)), node)

    def _comparison(
        self, op: str, left: Operand, right: Operand, node: Any
    ) -> bool | graph.Condition:
        a, b = left.value, right.value
        if isinstance(a, q.Affine) and isinstance(b, q.Affine):
            return self.decide(self.compared(op, left, right, node))
        kind = c_types.common(left.type, right.type)
        lhs, rhs = self.data(left, kind), self.data(right, kind)
        if isinstance(lhs, graph.Constant) and isinstance(rhs, graph.Constant):
            return numbers.compared(op, lhs.value, rhs.value)
        return graph.Compare(op, lhs, rhs)

    def compared(self, op: str, left: Operand, right: Operand, node: Any) -> q.Expr | bool:
        """A comparison of places."""
        kind = c_types.common(left.type, right.type)
        if kind.unsigned:
            left, right = (self.converted(each, kind, node) for each in (left, right))
        assert isinstance(left.value, q.Affine)
        assert isinstance(right.value, q.Affine)
        return conditions.compared(op, left.value, right.value)

    def place_condition(self, node: Any) -> q.Expr | bool | None:
        """A condition on places alone, or None."""
        with self.only_types():
            if not self._is_of_places(node):
                return None
        return self._place_condition(node)

    def _of_pointer(self, node: Any) -> bool | None:
        """A comparison of a pointer with NULL: those of kernels are none. None of others."""
        match node:
            case c_ast.ID():
                symbol = self.named(node.name)
                array = isinstance(symbol, Data) and symbol.array.shape
                return True if array or isinstance(symbol, Open | Pointer | Cursor) else None
            case c_ast.BinaryOp(op="==" | "!=") if _is_null(node.right):
                found = self._of_pointer(node.left)
                return found if node.op == "!=" or found is None else not found
            case _:
                return None

    def _is_of_places(self, node: Any) -> bool:
        if self._of_pointer(node) is not None:
            return True
        match node:
            case c_ast.BinaryOp() if node.op in ("&&", "||"):
                return self._is_of_places(node.left) and self._is_of_places(node.right)
            case c_ast.UnaryOp() if node.op == "!":
                return self._is_of_places(node.expr)
            case c_ast.BinaryOp() if node.op in COMPARISONS:
                sides = (self.expr(node.left), self.expr(node.right))
                return all(isinstance(each.value, q.Affine) for each in sides)
            case _:
                return isinstance(self.expr(node).value, q.Affine)

    def _place_condition(self, node: Any) -> q.Expr | bool:
        pointer = self._of_pointer(node)
        if pointer is not None:
            return pointer
        match node:
            case c_ast.BinaryOp() if node.op in ("&&", "||"):
                left = self._place_condition(node.left)
                before = self.place
                known = left if node.op == "&&" else conditions.negated(left)
                self.place = before.given(known)
                try:
                    right = self._place_condition(node.right)
                finally:
                    self.place = before
                return (conditions.both if node.op == "&&" else conditions.either)(left, right)
            case c_ast.UnaryOp() if node.op == "!":
                return conditions.negated(self._place_condition(node.expr))
            case c_ast.BinaryOp() if node.op in COMPARISONS:
                sides = (self.expr(node.left), self.expr(node.right))
                return self.known(self.compared(node.op, *sides, node))
            case _:
                zero = Operand(INT, q.Affine(0))
                return self.known(self.compared("!=", self.expr(node), zero, node))

    def ternary(self, node: c_ast.TernaryOp) -> Operand:
        condition = self.truth(node.cond)
        if isinstance(condition, bool):
            taken, other = (node.iftrue, node.iffalse)[:: 1 if condition else -1]
            found = self.expr(taken)
            with self.only_types():
                left = self.expr(other)
                kind = c_types.common(found.type, left.type)
            if self._only_types and not isinstance(left.value, q.Affine):
                return self.converted(left, kind, node)
            return self.converted(found, kind, node)
        yes, no = self.expr(node.iftrue), self.expr(node.iffalse)
        kind = c_types.common(yes.type, no.type)
        then, other = self.data(yes, kind), self.data(no, kind)
        return Operand(kind, chosen(condition, then, other))

    def truth_as_number(self, node: Any) -> Operand:
        truth = self.truth(node)
        if isinstance(truth, bool):
            return Operand(INT, q.Affine(int(truth)))
        one, zero = graph.Constant(1, "i32"), graph.Constant(0, "i32")
        return Operand(INT, graph.Select(truth, one, zero))


def _is_null(node: Any) -> bool:
    """`NULL`, or 0."""
    inner = node.expr if isinstance(node, c_ast.Cast) else node
    return isinstance(inner, c_ast.Constant) and inner.value == "0"


def chosen(condition: graph.Condition, then: graph.Value, other: graph.Value) -> graph.Value:
    """`condition ? then : other`; of integers, the larger or the smaller one."""
    if then.type == "i32" and isinstance(condition, graph.Compare) and condition.op in "<=>=":
        a, b = condition.lhs, condition.rhs
        larger = condition.op in (">", ">=")
        if condition.op in ("<", "<=", ">", ">="):
            if numbers.same(a, then) and numbers.same(b, other):
                return graph.Apply("max" if larger else "min", (then, other), "i32", ())
            if numbers.same(a, other) and numbers.same(b, then):
                return graph.Apply("min" if larger else "max", (then, other), "i32", ())
    return graph.Select(condition, then, other)

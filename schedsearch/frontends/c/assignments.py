"""Assignments to elements, variables and indices."""

from __future__ import annotations

from typing import Any, NoReturn

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types
from schedsearch.frontends.c.arithmetic import Whole
from schedsearch.frontends.c.c_types import INT, CType
from schedsearch.frontends.c.numbers import same
from schedsearch.frontends.c.pointers import at
from schedsearch.frontends.c.storage import Block, Storage
from schedsearch.frontends.c.symbols import Cursor, Number, Operand
from schedsearch.frontends.c.trees import STEPS, line_of
from schedsearch.frontends.c.truths import chosen


class Assignments(Storage):
    """Assignments, as stores and as what is known of integers."""

    def expression(self, node: Any) -> Block:
        """A statement that is an expression."""
        match node:
            case c_ast.Assignment():
                return self.assignment(node)[0]
            case c_ast.UnaryOp() if node.op in STEPS:
                one = c_ast.Constant("int", "1", node.coord)
                op = "+=" if "+" in node.op else "-="
                return self.assignment(c_ast.Assignment(op, node.expr, one, node.coord))[0]
            case _:
                return self.statement(node)

    def assignment(self, node: c_ast.Assignment) -> tuple[Block, Operand]:
        """The statements of an assignment, and its value."""
        before: Block = []
        value: Operand | None = None
        if isinstance(node.rvalue, c_ast.Assignment):
            before, value = self.assignment(node.rvalue)
        target = node.lvalue
        symbol = self.lookup(target) if isinstance(target, c_ast.ID) else None
        op = node.op[:-1]
        if isinstance(symbol, Number):
            out, result = self._set(symbol, op, value or self.expr(node.rvalue), node)
            return [*before, *out], result
        if isinstance(symbol, Operand):
            raise self.refusal(
                node,
                f"assignment to {target.name}",
                "a parameter of an inlined function keeps its value",
                "copy it into a variable",
            )
        if isinstance(symbol, Cursor):
            return self._move(symbol, op, node), Operand(INT, q.Affine())
        array, index, kind = self.element(target)
        old = at(array, index)
        value = value or self.expr(node.rvalue)
        store = self.stored(array, index, Operand(kind, old), op, value, node)
        return [*before, store], Operand(kind, old)

    def _move(self, cursor: Cursor, op: str, node: c_ast.Assignment) -> Block:
        """Where a variable points to from here on."""
        if not op:
            return self.aim(cursor, node)
        by = c_ast.BinaryOp(op, node.lvalue, node.rvalue, node.coord)
        return self.aim(cursor, c_ast.Assignment("=", node.lvalue, by, node.coord))

    def _set(self, number: Number, op: str, value: Operand, node: Any) -> tuple[Block, Operand]:
        known = self.numbers.get(number)
        if op:
            if known is None:
                self._unknown(number, node)
            assert isinstance(known, Whole)
            value = self.binary(op, Operand(number.type, known), value, node)
        if not isinstance(value.value, Whole) or value.type.floating:
            raise self.refusal(
                node,
                f"{number.name}, which is an index or a size",
                "it depends on data",
                "use sums of sizes and loop variables",
            )
        value = self.converted(value, number.type, node)
        self.numbers[number] = value.whole
        return [], value

    def _unknown(self, number: Number, node: Any) -> NoReturn:
        raise self.refusal(
            node,
            number.name,
            "its value is not known here as a sum of sizes and loop variables",
            "compute it from them where it is used",
        )

    def stored(
        self,
        array: graph.Array,
        index: tuple[q.Affine, ...],
        old: Operand,
        op: str,
        value: Operand,
        node: Any,
    ) -> graph.Store:
        kind = old.type
        assert not isinstance(old.value, Whole)
        line = line_of(node)
        if op and (added := self._added(op, kind, value)) is not None and not self.place.guards:
            return graph.Store(array, (), index, added, add=True, line=line)
        if op:
            value = self.binary(op, old, value, node)
        new = self.data(value, kind)
        if self.place.guards:
            guards = self.place.guards
            condition = guards[0] if len(guards) == 1 else graph.Logical("and", guards)
            return graph.Store(array, (), index, chosen(condition, new, old.value), line=line)
        if not op and (rest := _sum_with(new, old.value)) is not None:
            return graph.Store(array, (), index, rest, add=True, line=line)
        return graph.Store(array, (), index, new, line=line)

    def _added(self, op: str, kind: CType, value: Operand) -> graph.Value | None:
        """What is added, where C computes in the type of the array."""
        if op not in ("+", "-") or c_types.common(kind, value.type) != kind:
            return None
        if kind.element not in ("f32", "f64", "i32"):
            return None
        found = self.data(value, kind)
        if op == "+":
            return found
        return graph.Apply("neg", (found,), found.type, ())


def _sum_with(value: graph.Value, old: graph.Value) -> graph.Value | None:
    """What is added to the old value, if that is what is stored: `a = a + x`, `a = x + a`."""
    if not isinstance(value, graph.Apply) or value.type not in ("f32", "f64", "i32"):
        return None
    if value.function == "+":
        left, right = value.args
        if same(left, old):
            return right
        if same(right, old):
            return left
    if value.function == "-" and same(value.args[0], old):
        return graph.Apply("neg", (value.args[1],), value.type, ())
    return None

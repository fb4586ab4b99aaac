"""By how much a loop's body changes a variable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.frontends.c import constants
from schedsearch.frontends.c.affine.linear import Polynomial, polynomial, product
from schedsearch.frontends.c.arithmetic import Whole
from schedsearch.frontends.c.branches import Branches
from schedsearch.frontends.c.loops.ranges import conjunction, trips
from schedsearch.frontends.c.plain import Loop
from schedsearch.frontends.c.symbols import Cursor, Number
from schedsearch.frontends.c.trees import STEPS, assigned, in_order, names_in

NONE = Polynomial(())


class Changes(Branches):
    """Variables that each iteration changes by the same. What is not the same is None."""

    def forget(self, names: frozenset[str]) -> None:
        """Variables whose values are not known from here on."""
        for name in names:
            symbol = self.named(name)
            if isinstance(symbol, Number | Cursor):
                self.numbers[symbol] = None

    def change(self, nodes: Iterable[Any], name: str, other: frozenset[str]) -> Polynomial | None:
        """By how much statements change a variable. `other` are names whose values differ from one
        iteration to the next, or that stand for other variables within."""
        total = NONE
        for each in nodes:
            found = self._change(each, name, other)
            if found is None:
                return None
            total = total.plus(found, 1)
        return total

    def _change(self, node: Any, name: str, other: frozenset[str]) -> Polynomial | None:
        if node is None or name not in assigned(node):
            return NONE
        match node:
            case c_ast.Compound():
                items = node.block_items or []
                if any(isinstance(each, c_ast.Decl) and each.name == name for each in items):
                    return None
                return self.change(items, name, other)
            case c_ast.ExprList():
                return self.change(node.exprs, name, other)
            case c_ast.UnaryOp(expr=c_ast.ID()) if node.op in STEPS:
                return Polynomial.of(q.Affine(1 if "+" in node.op else -1))
            case c_ast.Assignment(op="+=" | "-=", lvalue=c_ast.ID()) if node.lvalue.name == name:
                return self._amount(node.rvalue, other, 1 if node.op == "+=" else -1)
            case c_ast.Assignment(
                op="=", lvalue=c_ast.ID(), rvalue=c_ast.BinaryOp(op="+" | "-") as sum_
            ) if node.lvalue.name == name:
                if isinstance(sum_.left, c_ast.ID) and sum_.left.name == name:
                    return self._amount(sum_.right, other, 1 if sum_.op == "+" else -1)
                if isinstance(sum_.right, c_ast.ID) and (sum_.right.name, sum_.op) == (name, "+"):
                    return self._amount(sum_.left, other, 1)
                return None
            case c_ast.If():
                yes, no = (self._change(each, name, other) for each in (node.iftrue, node.iffalse))
                same = yes is not None and no is not None and yes.plus(no, -1) == NONE
                return yes if same else None
            case Loop():
                return self._repeated_change(node, name, other)
            case c_ast.DoWhile() if constants.value_of(node.cond, {}) == 0:
                return self._change(node.stmt, name, other)
            case _:
                return None

    def _amount(self, node: Any, other: frozenset[str], sign: int) -> Polynomial | None:
        """An expression that is the same in all iterations."""
        if node is None or names_in(node) & other:
            return None
        try:
            found = self.expr(node)
        except UserError:
            return None  # said where the statement is translated
        if not isinstance(found.value, Whole) or found.type.floating:
            return None
        return NONE.plus(polynomial(found.value), sign)

    def _repeated_change(self, node: Loop, name: str, other: frozenset[str]) -> Polynomial | None:
        inside = [node.stmt, *in_order(node.next)]
        once = self.change(inside, name, other)
        times = self._trips(node, inside, other)
        begun = any(name in assigned(each) for each in in_order(node.init))
        if once is None or times is None or begun:
            return None
        return product(once, Polynomial.of(times), frozenset(self.sizes))

    def _trips(self, node: Loop, inside: Iterable[Any], other: frozenset[str]) -> q.Affine | None:
        """How often an inner loop runs, if that is the same in all iterations of the outer one."""
        parts = [] if node.cond is None else conjunction(node.cond)
        if len(parts) != 1 or node.leaves is not None:
            return None
        [part] = parts
        if not isinstance(part, c_ast.BinaryOp) or not isinstance(part.left, c_ast.ID):
            return None
        start = self._amount(_starts(node, part.left.name), other, 1)
        bound = self._amount(part.right, other, 1)
        change = self.change(inside, part.left.name, other)
        if start is None or bound is None or change is None:
            return None
        first, beyond, step = start.affine, bound.affine, change.affine
        if first is None or beyond is None or step is None or not step.is_const or not step.const:
            return None
        up = step.const > 0
        ends = {"<": beyond - 1, "<=": beyond} if up else {">": beyond + 1, ">=": beyond}
        if abs(step.const) == 1:
            ends["!="] = beyond - step.const
        if part.op not in ends:
            return None
        total = trips(first, ends[part.op], step.const)
        return total if self.holds(total) else None


def _starts(node: Loop, name: str) -> Any:
    """What a loop's variable begins with."""
    for each in in_order(node.init):
        match each:
            case c_ast.Decl() if each.name == name:
                return each.init
            case c_ast.Assignment(op="=", lvalue=c_ast.ID()) if each.lvalue.name == name:
                return each.rvalue
            case _:
                pass
    return None

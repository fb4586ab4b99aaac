"""Branches, and statements that depend on conditions on places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.frontends import graph
from schedsearch.frontends.c.affine import conditions
from schedsearch.frontends.c.affine.knowledge import Split
from schedsearch.frontends.c.assignments import Assignments
from schedsearch.frontends.c.pointers import at
from schedsearch.frontends.c.storage import Block
from schedsearch.frontends.c.symbols import Data, Known, Operand
from schedsearch.frontends.c.trees import line_of, only
from schedsearch.frontends.c.truths import chosen

MOST_SPLITS = 12
"""Conditions on places in one statement. Each makes two of it."""


class Branches(Assignments):
    """Conditions around statements."""

    def split(self, make: Callable[[], Block], node: Any) -> Block:
        """Statements; two versions of them if an expression depends on a condition on places."""
        numbers, place = dict(self.numbers), self.place
        outer, self.before = self.before, []
        try:
            made = make()
            return [*self.before, *made]
        except Split as split:
            condition = split.condition
        finally:
            self.before = outer
        self.numbers = dict(numbers)
        if len(place.decided) >= MOST_SPLITS:
            raise self.refusal(
                node, "conditions on indices", "there are too many", "split the statement"
            )
        self.place = place.where(condition, True)
        yes = self.split(make, node)
        after, self.numbers = self.numbers, dict(numbers)
        self.place = place.where(condition, False)
        no = self.split(make, node)
        self.place = place
        self._merge(after)
        return either_block(condition, yes, no, line_of(node))

    def _merge(self, other: Known) -> None:
        """What is known of integers after one of two paths."""
        self.numbers = {
            number: value if other.get(number) == value else None
            for number, value in self.numbers.items()
        }

    def branch(self, node: c_ast.If) -> Block:
        condition = self.place_condition(node.cond)
        if condition is not None:
            return self._if_place(node, self.known(condition))
        if (
            isinstance(node.cond, c_ast.BinaryOp)
            and node.cond.op == "&&"
            and node.iffalse is None
            and self.place_condition(node.cond.left) is not None
        ):
            inner = c_ast.If(node.cond.right, node.iftrue, None, node.coord)
            return self.branch(c_ast.If(node.cond.left, inner, None, node.coord))
        truth = self.truth(node.cond)
        if isinstance(truth, bool):
            taken = node.iftrue if truth else node.iffalse
            return [] if taken is None else self.block(taken)
        return self._if_data(node, truth)

    def _if_place(self, node: c_ast.If, condition: q.Expr | bool) -> Block:
        if isinstance(condition, bool):
            taken = node.iftrue if condition else node.iffalse
            return [] if taken is None else self.block(taken)
        place, numbers = self.place, dict(self.numbers)
        self.place = place.given(condition)
        yes = self.block(node.iftrue)
        after, self.numbers = self.numbers, numbers
        self.place = place.given(conditions.negated(condition))
        no = [] if node.iffalse is None else self.block(node.iffalse)
        self.place = place
        self._merge(after)
        return either_block(condition, yes, no, node.coord.line)

    def _if_data(self, node: c_ast.If, truth: graph.Condition) -> Block:
        place, line = self.place, node.coord.line
        both = self._one_target(node)
        if both is not None:
            yes = both[0]
            array, index, own = self.element(yes.lvalue)
            then, other = (self.data(self.expr(each.rvalue), own) for each in both)
            old = at(array, index)
            choice = Operand(own, chosen(truth, then, other))
            return [self.stored(array, index, Operand(own, old), "", choice, yes)]
        kind = "i32"
        flag = graph.Array("holds", kind)
        one, zero = graph.Constant(1, kind), graph.Constant(0, kind)
        flagged = graph.Compare("!=", graph.Load(flag), zero)
        single = node.iffalse is None and _is_assignment(node.iftrue)
        held: graph.Condition = truth if single else flagged
        out: Block = []
        if not single:
            out.append(graph.Allocate(flag, line))
            value = graph.Select(truth, one, zero)
            out.append(graph.Store(flag, (), (), value, line=line))
        numbers = dict(self.numbers)
        self.place = place.guarded(held)
        try:
            out += self.block(node.iftrue)
            after, self.numbers = self.numbers, numbers
            if node.iffalse is not None:
                self.place = place.guarded(graph.Compare("==", graph.Load(flag), zero))
                out += self.block(node.iffalse)
        finally:
            self.place = place
        self._merge(after)
        return out

    def _one_target(self, node: c_ast.If) -> tuple[Any, Any] | None:
        """`if (c) x = a; else x = b;`"""
        pair = [only(each) for each in (node.iftrue, node.iffalse)]
        if not all(isinstance(each, c_ast.Assignment) and each.op == "=" for each in pair):
            return None
        yes, no = pair
        if any(isinstance(each.rvalue, c_ast.Assignment) for each in pair):
            return None
        if isinstance(yes.lvalue, c_ast.ID) and not isinstance(self.lookup(yes.lvalue), Data):
            return None
        targets = [self.element(each.lvalue)[:2] for each in pair]
        if targets[0][0] is not targets[1][0] or targets[0][1] != targets[1][1]:
            return None
        return yes, no


def either_block(condition: q.Expr, yes: Block, no: Block, line: int) -> Block:
    if yes:
        return [graph.If(condition, tuple(yes), tuple(no), line)]
    if no:
        opposite = conditions.negated(condition)
        assert not isinstance(opposite, bool)
        return [graph.If(opposite, tuple(no), (), line)]
    return []


def _is_assignment(node: Any) -> bool:
    inner = only(node)
    return isinstance(inner, c_ast.Assignment) and not isinstance(inner.rvalue, c_ast.Assignment)

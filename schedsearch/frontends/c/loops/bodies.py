"""Loops of C as loops of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends import graph
from schedsearch.frontends.c.affine import conditions
from schedsearch.frontends.c.affine.linear import (
    Polynomial,
    product,
)
from schedsearch.frontends.c.arithmetic import Whole
from schedsearch.frontends.c.branches import either_block
from schedsearch.frontends.c.loops import tables
from schedsearch.frontends.c.loops.counting import FOR, Counting, Moves, Range
from schedsearch.frontends.c.loops.ranges import Flat, conjunction, trips
from schedsearch.frontends.c.plain import Loop
from schedsearch.frontends.c.storage import SMALL, Block
from schedsearch.frontends.c.symbols import Cursor, Data, Number, Operand
from schedsearch.frontends.c.trees import assigned, in_order


class Loops(Counting):
    """Loops whose variables change by the same in each iteration."""

    turned = False
    """Whether a loop over a product of sizes begins with the last of them."""

    def loop(self, node: Loop) -> Block:
        self.scopes.append({})
        try:
            begun = [out for each in in_order(node.init) for out in self._begun(each)]
            return [*begun, *self._repeated(node)]
        finally:
            self.scopes.pop()

    def at_least_once(self, node: c_ast.DoWhile) -> Block:
        """`do ... while (c)` is `while (c) ...` where `c` holds before it."""
        reason = "whether its condition holds before the first iteration is not known"
        for part in conjunction(node.cond):
            found = self.place_condition(part)
            if found is None:
                raise self.refusal(node, "do", "how often it runs depends on data", FOR)
            if isinstance(found, q.BinOp) and len(conditions.cases_of(found)) > 1:
                assert isinstance(found.rhs, q.BinOp)  # `!=`: that it is greater
                found = found.rhs
            if found is False:
                raise self.refusal(node, "do", "it runs once only", "remove the loop")
            for fact in conditions.facts_of(found):
                self.require(fact, node, "do", reason)
        return self.loop(Loop(node.cond, None, node.stmt, None, node.coord))

    def _begun(self, node: Any) -> Block:
        """What a loop begins with. If that depends on a condition, the whole loop does."""
        match node:
            case c_ast.Decl(type=c_ast.TypeDecl()) if node.init is not None:
                kind = self.type_of(node.type)
                if kind.floating or kind in SMALL:
                    return self.declaration(node)
                start = self._start(node.name, node.init, node)
                number = Number(node.name, kind)
                self.scopes[-1][node.name] = number
                self.numbers[number] = self.converted(start, kind, node).whole
                return []
            case c_ast.Decl(type=c_ast.PtrDecl()) if node.init is not None:
                cursor = Cursor(node.name, node)
                self.aim(cursor, node)
                self.scopes[-1][node.name] = cursor
                return []
            case c_ast.Decl():
                return self.declaration(node)
            case c_ast.Assignment(op="=", lvalue=c_ast.ID()) if isinstance(
                self.lookup(node.lvalue), Number
            ):
                self._start(node.lvalue.name, node.rvalue, node)
                return self.assignment(node)[0]
            case _:
                return self.expression(node)

    def _start(self, name: str, node: Any, loop: Any) -> Operand:
        while isinstance(node, c_ast.Assignment):  # `i = j = 0`
            node = node.rvalue
        start = self.expr(node)
        if isinstance(start.value, Whole) and not start.type.floating:
            return start
        raise self.refusal(
            loop,
            f"for ({name} = ...)",
            "where it begins depends on data",
            "use sums of sizes and loop variables",
        )

    def _repeated(self, node: Loop) -> Block:
        if node.cond is None:
            raise self.refusal(node, node.word, "it has no condition", FOR)
        parts = conjunction(node.cond)
        inside = [node.stmt, *in_order(node.next)]
        changed = frozenset().union(*map(assigned, inside))
        moves = self.moves_of(inside, changed)
        found = self.counter(node, parts, moves, changed)
        self.forget(changed)
        ends = self.ends(node, parts, moves, found)
        if isinstance(ends, Flat):
            out = self._flat(node, moves, found, ends)
        else:
            out = self._counted(node, moves, found, ends)
        if node.leaves is not None:
            self.leave(node.leaves)
        return out

    # -- bodies ----------------------------------------------------------------------------------

    def _body(self, node: Loop) -> Block:
        body = self.block(node.stmt)
        return [*body, *(out for each in in_order(node.next) for out in self.statement(each))]

    def _counted(self, node: Loop, moves: Moves, found: Range, ends: Sequence[q.Affine]) -> Block:
        first, step, here = found.first, found.step, found.here
        at = tables.numbers(first, ends, step) if found.own is not None else None
        if at is not None and tables.looked_up(node.stmt, found.name, self.is_table, self.places):
            self.numbers |= moves.before
            return [out for _ in at for out in self._body(node)]
        place, line, up = self.place, node.coord.line, step > 0
        if step == 1 and self.holds(first):  # Exo's conversions of indices want none below 0
            lo, hi, value = first, ends[0] + 1, here
            known = [here - lo, hi - 1 - here]
            times = here - first
        else:
            lo, hi = q.Affine(), trips(first, ends[0], step)
            value = first + here.scaled(step)
            known = [here, ends[0] - value if up else value - ends[0]]
            times = here
        if found.own is not None:
            self.numbers[found.own] = value
        self.set_to(moves, found, times)
        condition: q.Expr | bool = True
        for each in ends[1:]:
            within = conditions.compared("<=" if up else ">=", value, each)
            condition = conditions.both(condition, within)
        self.place = place.with_facts(*known).given(condition)
        try:
            body = self._body(node)
        finally:
            self.place = place
        if isinstance(condition, bool):
            body = body if condition else []
        else:
            body = either_block(condition, body, [], line)
        loop = graph.For(found.var, lo, hi, tuple(body), line)
        out = self._run(loop, found.name, node) if body else []
        self.forget(frozenset().union(*map(assigned, [node.stmt, *in_order(node.next)])))
        total = trips(first, ends[0], step)
        if len(ends) == 1 and self.holds(total):
            self.set_to(moves, None, total)
        return out

    def _flat(self, node: Loop, moves: Moves, found: Range, ends: Flat) -> Block:
        """A loop over a product of sizes: one over each."""
        place, line = self.place, node.coord.line
        value, known = Polynomial(()), list[q.Affine]()
        loops: list[tuple[q.Var, q.Affine]] = []
        for extent in ends.extents[:: -1 if self.turned else 1]:
            var = graph.fresh(found.name)
            here = q.as_affine(var)
            self.require(
                extent, node, f"loop over {found.name}", "a factor of its bound is negative"
            )
            scaled = product(value, Polynomial.of(extent), frozenset(self.sizes))
            assert scaled is not None
            value = scaled.plus(Polynomial.of(here), 1)
            known += [here, extent - 1 - here]
            loops.append((var, extent))
        self.set_to(moves, None, value)
        self.place = place.with_facts(*known)
        try:
            body = self._body(node)
        finally:
            self.place = place
        self.forget(frozenset().union(*map(assigned, [node.stmt, *in_order(node.next)])))
        self.set_to(moves, None, ends.total)
        for var, extent in reversed(loops):
            body = [graph.For(var, q.Affine(), extent, tuple(body), line)] if body else []
        return body

    def is_table(self, name: str) -> bool:
        """Whether it is a constant array of known whole numbers."""
        symbol = self.named(name)
        return isinstance(symbol, Data) and symbol.array in self.tables

    def _run(self, loop: graph.For, name: str, node: Any) -> Block:
        """Exo's loops have no end before their beginning. That a size is not so small that the loop
        never runs becomes an assert, anything else a condition."""
        trips = loop.hi - loop.lo
        if self.holds(trips):
            return [loop]
        if self.holds(trips.scaled(-1)):
            return []
        cases = self.cases()
        never = len(cases) == 1 and all(atom in self.sizes for atom, _ in trips.terms)
        below = self.violated(trips, cases[0]) if never else []
        if len(below) == 1 and not self.place.decided and _is_small(below[0]):
            bound = f"{show_affine(loop.lo)} .. {show_affine(loop.hi)}"
            self.require(trips, node, f"loop over {name}", f"{bound} has no numbers")
            return [loop]
        condition = conditions.compared("<", loop.lo, loop.hi)
        assert not isinstance(condition, bool)
        return [graph.If(condition, (loop,), (), loop.line)]


def _is_small(row: q.Affine) -> bool:
    """Whether it says that one size is small."""
    return len(row.terms) == 1 and row.terms[0][1] < 0

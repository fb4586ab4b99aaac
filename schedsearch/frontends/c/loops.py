"""Loops: how often they run, and what their variables are in each iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends import graph
from schedsearch.frontends.c import tables
from schedsearch.frontends.c.affine import conditions
from schedsearch.frontends.c.affine.linear import (
    Polynomial,
    common,
    polynomial,
    product,
    simplest,
    without,
)
from schedsearch.frontends.c.arithmetic import Whole
from schedsearch.frontends.c.branches import either_block
from schedsearch.frontends.c.c_types import LONG
from schedsearch.frontends.c.changes import Changes
from schedsearch.frontends.c.plain import Loop
from schedsearch.frontends.c.ranges import Flat, conjunction, flat, last, trips
from schedsearch.frontends.c.storage import SMALL, Block
from schedsearch.frontends.c.symbols import Cursor, Data, Known, Number, Operand, Pointer
from schedsearch.frontends.c.trees import COMPARISONS, assigned, in_order, walk

Variable = Number | Cursor

_FOR = "use a loop with bounds of sizes, `for (int i = 0; i < n; i++)`, and conditions within it"


@dataclass(frozen=True)
class Moves:
    """What the variables of a loop are before it, and by how much an iteration changes each."""

    before: Known
    by: Mapping[Variable, Polynomial]


@dataclass(frozen=True)
class Range:
    """A loop's variable, its first value and its step: the user's own, or one that counts the
    iterations."""

    name: str
    var: q.Var
    own: Variable | None
    first: q.Affine
    step: int

    @property
    def here(self) -> q.Affine:
        return q.as_affine(self.var)

    @property
    def times(self) -> q.Affine | None:
        """How many iterations there were before, if the variable says it."""
        if abs(self.step) != 1:
            return None
        return (self.here - self.first).scaled(self.step)


class Loops(Changes):
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
                raise self.refusal(node, "do", "how often it runs depends on data", _FOR)
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
            raise self.refusal(node, node.word, "it has no condition", _FOR)
        parts = conjunction(node.cond)
        inside = [node.stmt, *in_order(node.next)]
        changed = frozenset().union(*map(assigned, inside))
        moves = self._moves(inside, changed)
        found = self._counter(node, parts, moves, changed)
        self.forget(changed)
        ends = self._ends(node, parts, moves, found)
        if isinstance(ends, Flat):
            out = self._flat(node, moves, found, ends)
        else:
            out = self._counted(node, moves, found, ends)
        if node.leaves is not None:
            self._leave(node.leaves)
        return out

    # -- variables -------------------------------------------------------------------------------

    def _moves(self, inside: Sequence[Any], changed: frozenset[str]) -> Moves:
        by: dict[Variable, Polynomial] = {}
        declared = {
            each.name for node in inside for each in walk(node) if isinstance(each, c_ast.Decl)
        }
        other = changed | declared
        for name in sorted(changed):
            symbol = self.named(name)
            if isinstance(symbol, Variable) and self.numbers.get(symbol) is not None:
                change = self.change(inside, name, other)
                if change is not None:
                    by[symbol] = change
        return Moves({each: self.numbers[each] for each in by}, by)

    def _counter(
        self, node: Loop, parts: Sequence[Any], moves: Moves, changed: frozenset[str]
    ) -> Range:
        """The variable that a loop's condition bounds."""
        names = [each.name for part in parts for each in walk(part) if isinstance(each, c_ast.ID)]
        for name in names:
            symbol = self.named(name)
            if not isinstance(symbol, Variable) or symbol not in moves.by:
                continue
            by, first, var = moves.by[symbol], moves.before[symbol], graph.fresh(name)
            if by == Polynomial(()):
                continue
            step = by.affine.const if by.affine is not None and by.affine.is_const else 0
            others = any(self.named(each) in moves.by for each in names if each != name)
            if isinstance(symbol, Number):
                if not 0 < abs(step) < 2**31:
                    continue
                if isinstance(first, q.Affine) and (abs(step) == 1 or not others):
                    return Range(name, var, symbol, first, step)
            return Range(name, var, None, q.Affine(), 1)
        for name in names:
            symbol = self.named(name)
            if (
                isinstance(symbol, Data)
                and name in changed
                and (node.word == "for" or not symbol.type.floating)
            ):
                raise self.refusal(
                    node, f"loop variable {name}", "it is no local integer", "declare it as int"
                )
            if isinstance(symbol, Variable) and name in changed:
                raise self.refusal(
                    node,
                    f"loop variable {name}",
                    "its step is no constant, or not the same in each iteration",
                    "write `for (int i = 0; i < n; i += 4)`",
                )
        reason = "nothing in its condition changes by a constant: how often it runs is not known"
        raise self.refusal(node, node.word, reason, _FOR)

    def _set_to(
        self, moves: Moves, found: Range | None, times: q.Affine | Polynomial | None
    ) -> None:
        """Variables after a number of iterations."""
        for symbol, by in moves.by.items():
            if found is not None and symbol is found.own:
                continue
            self.numbers[symbol] = self._moved_by(moves.before[symbol], by, times)

    def _moved_by(
        self,
        before: q.Affine | Polynomial | Pointer | None,
        by: Polynomial,
        times: q.Affine | Polynomial | None,
    ) -> q.Affine | Polynomial | Pointer | None:
        if by == Polynomial(()) or before is None:
            return before
        sizes = frozenset(self.sizes)
        change = None if times is None else product(by, polynomial(times), sizes)
        if change is None:
            return None
        if isinstance(before, Pointer):
            return Pointer(before.base, (*before.at[:-1], before.at[-1].plus(change, 1)))
        return simplest(polynomial(before).plus(change, 1))

    def _leave(self, step: c_ast.UnaryOp) -> None:
        """What the last comparison of `while (n--)` does to its variable. Of an unsigned one that
        is 0 it is not said what follows."""
        symbol = self.named(step.expr.name)
        if not isinstance(symbol, Variable) or self.numbers.get(symbol) is None:
            return
        value = self.numbers[symbol]
        down = "-" in step.op
        wraps = isinstance(symbol, Number) and symbol.type.unsigned and down
        if wraps and not (isinstance(value, q.Affine) and self.holds(value - 1)):
            self.numbers[symbol] = None
            return
        self.expression(step)

    # -- ends ------------------------------------------------------------------------------------

    def _ends(
        self, node: Any, parts: Sequence[Any], moves: Moves, found: Range
    ) -> list[q.Affine] | Flat:
        """The last values of the variable, one for each comparison of the condition."""
        here, up = found.here, found.step > 0
        known = [here - found.first if up else found.first - here]
        if isinstance(found.own, Number) and found.own.type.unsigned:
            known.append(here)
        place = self.place
        if found.own is not None:
            self.numbers[found.own] = here
        self._set_to(moves, found, found.times)
        self.place = place.with_facts(*known)
        ends: list[q.Affine] = []
        try:
            for part in parts:  # each is computed where those before it hold
                end = self._end(part, found)
                if isinstance(end, Flat) and len(parts) == 1:
                    return end
                if not isinstance(end, q.Affine):
                    break
                ends.append(end)
                self.place = self.place.with_facts(end - here if up else here - end)
        finally:
            self.place = place
        if len(ends) < len(parts):
            raise self.refusal(
                part if part.coord is not None else node,
                f"condition of the loop over {found.name}",
                f"it does not bound {found.name} by sizes and variables of loops around",
                f"write `{found.name} {'<' if up else '>='} bound`; what depends on data goes into "
                "an `if`",
            )
        return ends

    def _end(self, node: Any, found: Range) -> q.Affine | Flat | None:
        sides = self._sides(node)
        if sides is None:
            return None
        op, left, right = sides
        a, b = left.value, right.value
        if not isinstance(a, q.Affine) or not isinstance(b, q.Affine):
            span = polynomial(left.whole).plus(polynomial(right.whole), -1)
            factor = common(span)
            if all(self.holds(q.as_affine(each) - 1) for each in factor):
                span = without(span, factor)
            less = simplest(span)
            if isinstance(less, q.Affine):
                zero = Operand(LONG, q.Affine())
                return self._bound(op, Operand(LONG, less), zero, node, found)
            return _flat(op, less, found)
        return self._bound(op, left, right, node, found)

    def _bound(
        self, op: str, left: Operand, right: Operand, node: Any, found: Range
    ) -> q.Affine | None:
        var, up = found.var, found.step > 0
        if op != "!=":
            condition = self.compared(op, left, right, node)
            return last(condition, var, up) if isinstance(condition, q.BinOp) else None
        assert isinstance(left.value, q.Affine)
        assert isinstance(right.value, q.Affine)
        span = left.value - right.value
        coefficient = span.coefficient(var)
        rest = span - found.here.scaled(coefficient)
        if abs(coefficient) != 1 or abs(found.step) != 1 or q.mentions(rest, var):
            return None
        bound = rest.scaled(-coefficient)
        distance = bound - found.first if up else found.first - bound
        reason = "the loop has no end if it begins beyond its bound"
        self.require(distance, node, f"{found.name} != {show_affine(bound)}", reason)
        return bound - found.step

    def _sides(self, node: Any) -> tuple[str, Operand, Operand] | None:
        """A comparison of places, or of pointers to one array: of how far one is behind."""
        zero = Operand(LONG, q.Affine())
        if not isinstance(node, c_ast.BinaryOp) or node.op not in COMPARISONS:
            value = self.expr(node)
            return ("!=", value, zero) if isinstance(value.value, Whole) else None
        one, other = (self.pointer(each) for each in (node.left, node.right))
        if one is not None and other is not None:
            if one.base is not other.base or one.at[:-1] != other.at[:-1]:
                return None
            return node.op, Operand(LONG, simplest(one.at[-1].plus(other.at[-1], -1))), zero
        left, right = self.expr(node.left), self.expr(node.right)
        if not isinstance(left.value, Whole) or not isinstance(right.value, Whole):
            return None
        if left.type.floating or right.type.floating:
            return None
        return node.op, left, right

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
        self._set_to(moves, found, times)
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
            self._set_to(moves, None, total)
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
        self._set_to(moves, None, value)
        self.place = place.with_facts(*known)
        try:
            body = self._body(node)
        finally:
            self.place = place
        self.forget(frozenset().union(*map(assigned, [node.stmt, *in_order(node.next)])))
        self._set_to(moves, None, ends.total)
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


def _flat(op: str, span: Polynomial, found: Range) -> Flat | None:
    """What `span op 0` says of a variable that counts from 0."""
    coefficient = span.part(()).coefficient(found.var)
    upper = {1: ("<", "!="), -1: (">", "!=")}.get(coefficient, ())
    if found.first != q.Affine() or found.step != 1 or op not in upper:
        return None
    own = flat(Polynomial.of(found.here).plus(span, -coefficient))
    extents = () if own is None else own.extents
    return None if any(q.mentions(each, found.var) for each in extents) else own


def _is_small(row: q.Affine) -> bool:
    """Whether it says that one size is small."""
    return len(row.terms) == 1 and row.terms[0][1] < 0

"""How often loops run: the variables that their conditions bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types
from schedsearch.frontends.c.affine.linear import (
    Polynomial,
    common,
    polynomial,
    product,
    simplest,
    without,
)
from schedsearch.frontends.c.arithmetic import Whole
from schedsearch.frontends.c.c_types import LONG
from schedsearch.frontends.c.loops.changes import Changes
from schedsearch.frontends.c.loops.ranges import Flat, flat, last
from schedsearch.frontends.c.plain import Loop
from schedsearch.frontends.c.symbols import Cursor, Data, Known, Number, Operand, Pointer
from schedsearch.frontends.c.trees import COMPARISONS, walk

Variable = Number | Cursor

FOR = "use a loop with bounds of sizes, `for (int i = 0; i < n; i++)`, and conditions within it"


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


class Counting(Changes):
    """What the variables of a loop are in each iteration."""

    def moves_of(self, inside: Sequence[Any], changed: frozenset[str]) -> Moves:
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

    def counter(
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
        raise self.refusal(node, node.word, reason, FOR)

    def set_to(
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

    def leave(self, step: c_ast.UnaryOp) -> None:
        """What the last comparison of `while (n--)` does to its variable. Of an unsigned one that
        may be 0 it is not said what follows."""
        symbol = self.named(step.expr.name)
        if not isinstance(symbol, Variable) or self.numbers.get(symbol) is None:
            return
        value = self.numbers[symbol]
        down = "-" in step.op
        wraps = isinstance(symbol, Number) and symbol.type.unsigned and down
        known = isinstance(value, q.Affine) and (value.is_const or self.holds(value - 1))
        if wraps and not known:
            self.numbers[symbol] = None
            return
        self.expression(step)

    # -- ends ------------------------------------------------------------------------------------

    def ends(
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
        self.set_to(moves, found, found.times)
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
            if c_types.common(left.type, right.type).unsigned:
                for side in (left, right):
                    self.parts_not_negative(polynomial(side.whole), node)
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
        kind = c_types.common(left.type, right.type)
        constants = [each.const for each in (left.value, right.value) if each.is_const]
        if kind.unsigned and any(each >= 2 ** (kind.bits - 1) for each in constants):
            reason = f"{constants[0]} is a negative number that became unsigned"
            what = f"condition of the loop over {found.name}"
            raise self.refusal(node, what, reason, "write `for (size_t i = n; i-- > 0;)`")
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


def _flat(op: str, span: Polynomial, found: Range) -> Flat | None:
    """What `span op 0` says of a variable that counts from 0."""
    coefficient = span.part(()).coefficient(found.var)
    upper = {1: ("<", "!="), -1: (">", "!=")}.get(coefficient, ())
    if found.first != q.Affine() or found.step != 1 or op not in upper:
        return None
    own = flat(Polynomial.of(found.here).plus(span, -coefficient))
    extents = () if own is None else own.extents
    return None if any(q.mentions(each, found.var) for each in extents) else own

"""Arithmetic of C: its types, its conversions, and integers that are indices."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types, numbers
from schedsearch.frontends.c.affine.linear import (
    Polynomial,
    factors_of,
    polynomial,
    product,
    simplest,
    split_by,
)
from schedsearch.frontends.c.c_types import DOUBLE, FLOAT, INT, CType, Unsupported
from schedsearch.frontends.c.constants import character, integer, towards_zero
from schedsearch.frontends.c.scopes import Scopes
from schedsearch.frontends.c.symbols import Operand

Whole = q.Affine | Polynomial


class Arithmetic(Scopes):
    """Operations on values that are known, or computed by the kernel."""

    def data(self, operand: Operand, kind: CType) -> graph.Value:
        """The operand as data of a type."""
        element = c_types.element(kind)
        if kind == c_types.BOOL and operand.type != c_types.BOOL:
            return self._truth_of(operand)
        value = operand.value
        if isinstance(value, Polynomial):
            return numbers.cast(operand.made or self._made(operand.type, value, element), element)
        if not isinstance(value, q.Affine):
            return numbers.cast(value, element)
        if value.is_const:
            return numbers.constant(value.const, element)
        if operand.type.bits > INT.bits and sum(abs(c) for _, c in value.terms) >= 2**22:
            text = show_affine(value)
            raise Unsupported(text, "it may be larger than double is exact", "use a double")
        if element in ("i32", "f32", "f64"):
            return graph.Count(value, element)
        return graph.Cast(graph.Count(value, "i32"), element)

    def _truth_of(self, operand: Operand) -> graph.Value:
        """1 or 0: not the last bits of a number."""
        own = c_types.promoted(operand.type)
        value = self.data(operand, own)
        one, zero = graph.Constant(1, "ui8"), graph.Constant(0, "ui8")
        if isinstance(value, graph.Constant):
            return one if value.value else zero
        none = graph.Constant(0, c_types.element(own))
        return graph.Select(graph.Compare("!=", value, none), one, zero)

    def _made(self, kind: CType, value: Polynomial, element: str) -> graph.Value:
        """A sum of products of sizes. In double a product of two is rounded once, as C does it."""
        if kind == INT:
            element = "i32"
        elif element != "f64" or not numbers.is_of_two(value):
            reason = f"it is `{kind.name}`, and kernels have no such data"
            raise Unsupported("product of sizes", reason, "convert it, `(double)(n * m)`")
        return numbers.made(value, element)

    def converted(self, operand: Operand, kind: CType, node: Any) -> Operand:
        """As by a cast or an assignment."""
        if kind == operand.type:
            return operand
        value = operand.value
        if isinstance(value, q.Affine) and not kind.floating and kind.bits >= INT.bits:
            return Operand(kind, self.in_type(value, kind, node))
        if isinstance(value, Polynomial) and not kind.floating and kind.bits >= INT.bits:
            return self._widened(Operand(kind, value), operand.type, node)
        return Operand(kind, self.data(operand, kind))

    def _widened(self, operand: Operand, before: CType, node: Any) -> Operand:
        """A product of sizes: C's may have wrapped in a narrower unsigned type, if a part of it is
        negative. Elsewhere it is computed modulo a power of two, as addresses are."""
        if before.unsigned and before.bits < operand.type.bits:
            assert isinstance(operand.value, Polynomial)
            self.parts_not_negative(operand.value, node)
        return operand

    def parts_not_negative(self, value: Polynomial, node: Any) -> None:
        """Of an unsigned sum of products."""
        for _, part in () if self._only_types else value.parts:
            if part.is_const and part.const < 0 and not self.holds(part):  # as of `n * m - 1`
                what = "difference with a product of sizes"
                reason = "whether it is negative, which an unsigned number is not, is not known"
                raise self.refusal(node, what, reason, "write a loop for each size")
            self.not_negative(part, node)

    def in_type(self, value: q.Affine, kind: CType, node: Any) -> q.Affine:
        if value.is_const:
            low = 0 if kind.unsigned else -(2 ** (kind.bits - 1))
            inside = (value.const - low) % 2**kind.bits + low
            if inside != value.const and not kind.unsigned and not self._only_types:
                reason = f"it is no `{kind.name}`: what it becomes, C leaves open"
                raise self.refusal(node, str(value.const), reason, "use a type that has it")
            return q.Affine(inside)
        if kind.unsigned:
            self.not_negative(value, node)
            if max(abs(value.const), *(abs(c) for _, c in value.terms)) >= 2 ** (kind.bits // 2):
                reason = f"it may be too large for `{kind.name}`"
                raise self.refusal(node, show_affine(value), reason, "use smaller numbers")
        return value

    def not_negative(self, value: q.Affine, node: Any) -> None:
        text = show_affine(value)
        self.require(
            value, node, text, "an unsigned number that is negative here would be a very large one"
        )

    def affine(self, node: Any, use: str) -> q.Affine:
        """An integer made of sizes, variables of loops and constants."""
        found = self.whole(node, use).value
        if isinstance(found, q.Affine):
            return found
        raise self.refusal(
            node,
            use,
            "it multiplies sizes or variables",
            "use sums and constant multiples of sizes and loop variables",
        )

    def whole(self, node: Any, use: str) -> Operand:
        """The same, perhaps times sizes."""
        found = self.expr(node)
        if isinstance(found.value, Whole) and not found.type.floating:
            return found
        raise self.refusal(
            node,
            use,
            "it depends on data, or multiplies variables",
            "use sums and constant multiples of sizes and loop variables",
        )

    def constant(self, node: c_ast.Constant) -> Operand:
        text = node.value
        if node.type in ("float", "double", "long double"):
            single, long_ = text[-1] in "fF" and "x" not in text.lower(), text[-1] in "lL"
            body = text.rstrip("fFlL") if single or long_ else text
            if long_:
                raise self.refusal(node, text, "kernels have no long double", "remove the suffix")
            if "x" in body.lower():
                if body[-1] in "fF":
                    return Operand(FLOAT, graph.Constant(numbers.single(body[:-1]), "f32"))
                return Operand(DOUBLE, graph.Constant(float.fromhex(body), "f64"))
            if single:
                return Operand(FLOAT, graph.Constant(numbers.single(body), "f32"))
            return Operand(DOUBLE, graph.Constant(float(body), "f64"))
        if node.type == "char":
            return Operand(INT, q.Affine(character(text)))
        if node.type == "string" or not text[0].isdigit():
            raise self.refusal(node, text, "kernels have numbers only", "remove it")
        kind, value = integer(text)
        return Operand(kind, q.Affine(value))

    # -- operators -------------------------------------------------------------------------------

    def signed(self, op: str, found: Operand, node: Any) -> Operand:
        """`+x` or `-x`."""
        kind = c_types.promoted(found.type)
        if op == "+":
            return self.converted(found, kind, node)
        if isinstance(found.value, q.Affine):
            return Operand(kind, self.in_type(found.value.scaled(-1), kind, node))
        if isinstance(found.value, Polynomial):
            return self.binary("*", found, Operand(INT, q.Affine(-1)), node)
        value = self.data(found, kind)
        return Operand(kind, numbers.folded("neg", (value,), c_types.element(kind)))

    def binary(self, op: str, left: Operand, right: Operand, node: Any) -> Operand:
        kind = c_types.common(left.type, right.type)
        a, b = left.value, right.value
        if isinstance(a, Whole) and isinstance(b, Whole) and not kind.floating:
            found = self._of_wholes(op, left, right, kind, node)
            if found is not None:
                return found
        if not kind.floating and op in ("/", "%"):
            return self._divided(op, self.data(left, kind), b, kind, node)
        if op == "%":
            raise self.refusal(node, "%", "C has no remainder of floating numbers", "use integers")
        args = (self.data(left, kind), self.data(right, kind))
        return Operand(kind, numbers.folded(op, args, c_types.element(kind)))

    def _of_wholes(
        self, op: str, left: Operand, right: Operand, kind: CType, node: Any
    ) -> Operand | None:
        """Of sizes, variables of loops and products of them."""
        a, b = left.value, right.value
        if isinstance(a, q.Affine) and isinstance(b, q.Affine):
            affine = self._affine_binary(op, a, b, node)
            if affine is not None:
                return Operand(kind, self.in_type(affine, kind, node))
        for each in (left, right):
            if isinstance(each.value, Polynomial):
                self._widened(Operand(kind, each.value), each.type, node)
        found = self._polynomial_binary(op, polynomial(left.whole), polynomial(right.whole))
        if isinstance(found, Polynomial):
            made = None
            if kind.element is not None and op in numbers.RING:
                args = (self.data(left, kind), self.data(right, kind))
                made = numbers.folded(op, args, kind.element)
            return Operand(kind, found, made)
        return None if found is None else Operand(kind, self.in_type(found, kind, node))

    def _polynomial_binary(
        self, op: str, a: Polynomial, b: Polynomial
    ) -> q.Affine | Polynomial | None:
        if op in ("+", "-"):
            return simplest(a.plus(b, 1 if op == "+" else -1))
        if op == "*":
            found = product(a, b, frozenset(self.sizes))
            return None if found is None else simplest(found)
        by = b.affine
        if by is not None and by.is_const:
            exact = a.divided(by.const) if by.const > 0 else None
            return None if exact is None else q.Affine() if op == "%" else simplest(exact)
        factors = factors_of(b, frozenset(self.sizes))
        split = None if factors is None else split_by(a, *factors, frozenset(self.sizes))
        if factors is None or split is None:
            return None
        times, rest = split
        number, monomial = factors
        positive = [q.as_affine(atom).scaled(number) - 1 - rest for atom in monomial]
        if not self.holds(rest) or not all(map(self.holds, positive)):
            return None
        whole = times.affine
        parts = [part for _, part in times.parts] if whole is None else [whole]
        nonnegative = all(map(self.holds, parts))
        return (simplest(times) if op == "/" else rest) if nonnegative else None

    def _affine_binary(self, op: str, a: q.Affine, b: q.Affine, node: Any) -> q.Affine | None:
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*" if b.is_const:
                return a.scaled(b.const)
            case "*" if a.is_const:
                return b.scaled(a.const)
            case "/" | "%" if b.is_const and a.is_const and b.const:
                quotient = towards_zero(a.const, b.const)
                return q.Affine(quotient if op == "/" else a.const - b.const * quotient)
            case "/" | "%" if b.is_const and b.const > 0:
                reason = "C rounds towards zero, so that what is divided must not be negative"
                self.require(a, node, f"({show_affine(a)}) {op} {b.const}", reason)
                return q.floor_div(a, b.const) if op == "/" else q.modulo(a, b.const)
            case _:
                return None

    def _divided(self, op: str, value: graph.Value, by: Any, kind: CType, node: Any) -> Operand:
        """Data by a constant."""
        if isinstance(by, q.Affine) and by.is_const and not by.const:
            raise self.refusal(node, f"integers {op} 0", "C leaves open what it is", "correct it")
        if not isinstance(by, q.Affine) or not by.is_const or kind != INT:
            raise self.refusal(
                node,
                f"integers {op}",
                "kernels divide integers by constants only",
                "divide by a constant; convert data to double, and choose an index that wraps by "
                "`j < m - 1 ? j + 1 : 0`",
            )
        quotient: graph.Value
        if by.const == -1:  # processors trap where it overflows, and C as compiled wraps
            quotient = graph.Apply("neg", (value,), "i32", ())
        else:
            quotient = numbers.of_constant("sdiv", value, by.const)
        if op == "/":
            return Operand(kind, quotient)
        return Operand(kind, numbers.minus_multiple(value, quotient, by.const))

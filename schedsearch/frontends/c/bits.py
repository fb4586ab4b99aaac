"""Operators on bits, as arithmetic."""

from __future__ import annotations

from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types, numbers
from schedsearch.frontends.c.affine.linear import Polynomial
from schedsearch.frontends.c.arithmetic import Arithmetic
from schedsearch.frontends.c.symbols import Operand

SHIFTS = ("<<", ">>")
OF_DATA = {"&": "bit_and", "|": "bit_or", "^": "bit_xor"}
BITS = (*SHIFTS, *OF_DATA)


class Bits(Arithmetic):
    """Operations on the bits of data, and those of sizes and loop variables that are arithmetic."""

    def binary(self, op: str, left: Operand, right: Operand, node: Any) -> Operand:
        if op in BITS:
            return self._of_bits(op, left, right, node)
        return super().binary(op, left, right, node)

    def _of_bits(self, op: str, left: Operand, right: Operand, node: Any) -> Operand:
        """Shifts are by constants."""
        shift = op in SHIFTS
        kind = c_types.promoted(left.type) if shift else c_types.common(left.type, right.type)
        if kind.floating or right.type.floating:
            raise self.refusal(node, op, "C has it of integers only", "use integers")
        if not shift and _constant_of(right) is None:
            left, right = right, left
        by = _constant_of(right)
        left = self.converted(left, kind, node)
        if shift:
            if by is None:
                raise self.refusal(node, op, "its width is no constant", "use arithmetic")
            return self._by_constant(op, left, by, node)
        known = _constant_of(left)
        if known is not None and by is not None:
            by = self.in_type(q.Affine(by), kind, node).const
            bits = {"&": known & by, "|": known | by, "^": known ^ by}[op]
            return Operand(kind, q.Affine(bits))
        if op == "&" and by is not None and self._is_counted(left.value):
            mask = by - 2**kind.bits if by >= 2 ** (kind.bits - 1) else by
            low, high = (mask + 1).bit_length() - 1, (-mask).bit_length() - 1
            if mask >= 0 and mask + 1 == 2**low:
                return self._below(left, low, node)
            if mask < 0 and -mask == 2**high:
                return self.binary("-", left, self._below(left, high, node), node)
        values = self.data(left, kind), self.data(self.converted(right, kind, node), kind)
        return Operand(kind, graph.Apply(OF_DATA[op], values, "i32", ()))

    def _by_constant(self, op: str, left: Operand, by: int, node: Any) -> Operand:
        kind = left.type
        if not 0 <= by < kind.bits:
            raise self.refusal(node, op, f"C leaves open what shifts by {by} are", "use arithmetic")
        if op == ">>":
            return self._floored(left, by, node)
        factor = Operand(kind, self.in_type(q.Affine(2**by), kind, node))
        return self.binary("*", left, factor, node)

    def _floored(self, operand: Operand, bits: int, node: Any) -> Operand:
        """`x >> bits`, rounded down."""
        kind, value = operand.type, operand.value
        if isinstance(value, q.Affine) and value.is_const:
            return Operand(kind, q.Affine(value.const >> bits))
        if self._is_counted(value):
            self._of_a_size(value, ">>", node)
            return self.binary("/", operand, Operand(kind, q.Affine(2**bits)), node)
        return Operand(kind, numbers.of_constant("ashr", self.data(operand, kind), bits))

    def _is_counted(self, value: Any) -> bool:
        """Whether it is of sizes and loop variables, as an index may be. A product that may be
        negative is data."""
        if isinstance(value, Polynomial):
            return all(self.holds(part) for _, part in value.parts)
        return isinstance(value, q.Affine)

    def _below(self, operand: Operand, bits: int, node: Any) -> Operand:
        """The lowest bits of a size or loop variable, which are not negative."""
        self._of_a_size(operand.value, "&", node)
        return self.binary("%", operand, Operand(operand.type, q.Affine(2**bits)), node)

    def _of_a_size(self, value: Any, op: str, node: Any) -> None:
        if isinstance(value, q.Affine):
            reason = "of sizes and loop variables kernels have it where they are not negative"
            self.require(value, node, f"{show_affine(value)} {op} ...", reason)

    def inverted(self, found: Operand, node: Any) -> Operand:
        """`~x`, which is `-x - 1`."""
        kind = c_types.promoted(found.type)
        if kind.unsigned and (known := _constant_of(found)) is not None:
            return Operand(kind, q.Affine(2**kind.bits - 1 - known))
        if kind.unsigned or kind.floating:
            raise self.refusal(node, "~", "kernels have it of signed integers", "use arithmetic")
        return self.binary("-", self.signed("-", found, node), Operand(kind, q.Affine(1)), node)


def _constant_of(operand: Operand) -> int | None:
    value = operand.value
    return value.const if isinstance(value, q.Affine) and value.is_const else None

"""Operators on bits, as arithmetic."""

from __future__ import annotations

from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_types, numbers, quotients
from schedsearch.frontends.c.affine.linear import Polynomial
from schedsearch.frontends.c.arithmetic import Arithmetic, Whole
from schedsearch.frontends.c.symbols import Operand

BITS = ("<<", ">>", "&", "|", "^")


class Bits(Arithmetic):
    """Shifts and masks by constants."""

    def binary(self, op: str, left: Operand, right: Operand, node: Any) -> Operand:
        if op in BITS:
            return self._of_bits(op, left, right, node)
        return super().binary(op, left, right, node)

    def _of_bits(self, op: str, left: Operand, right: Operand, node: Any) -> Operand:
        """Shifts by constants, and masks that are powers of two, less one or negated."""
        shift = op in ("<<", ">>")
        kind = c_types.promoted(left.type) if shift else c_types.common(left.type, right.type)
        if kind.floating or right.type.floating:
            raise self.refusal(node, op, "C has it of integers only", "use integers")
        if not shift and _constant_of(right) is None:
            left, right = right, left
        by = _constant_of(right)
        if by is None:
            raise self.refusal(node, op, "its width or mask is no constant", "use arithmetic")
        left = self.converted(left, kind, node)
        known = _constant_of(left)
        if shift and not 0 <= by < kind.bits:
            raise self.refusal(node, op, f"C leaves open what shifts by {by} are", "use arithmetic")
        if op == "<<":
            factor = Operand(kind, self.in_type(q.Affine(2**by), kind, node))
            return self.binary("*", left, factor, node)
        if op == ">>":
            return self._floored(left, by, node)
        if known is not None:
            by = self.in_type(q.Affine(by), kind, node).const
            bits = {"&": known & by, "|": known | by, "^": known ^ by}[op]
            return Operand(kind, q.Affine(bits))
        mask = by - 2**kind.bits if by >= 2 ** (kind.bits - 1) else by
        low, high = (mask + 1).bit_length() - 1, (-mask).bit_length() - 1
        if op == "&" and mask >= 0 and mask + 1 == 2**low:
            return self._below(left, low, node)
        if op == "&" and mask < 0 and -mask == 2**high:
            return self.binary("-", left, self._below(left, high, node), node)
        raise self.refusal(
            node,
            op,
            "kernels have `&` with 2**n - 1 or -2**n only of operators on bits",
            "use arithmetic",
        )

    def _floored(self, operand: Operand, bits: int, node: Any) -> Operand:
        """`x >> bits`, rounded down."""
        kind, value = operand.type, operand.value
        if isinstance(value, q.Affine) and value.is_const:
            return Operand(kind, q.Affine(value.const >> bits))
        if isinstance(value, Whole):
            self._of_a_size(value, ">>", node)
            return self.binary("/", operand, Operand(kind, q.Affine(2**bits)), node)
        return Operand(kind, self._shifted(self.data(operand, kind), bits))

    def _shifted(self, value: graph.Value, bits: int) -> graph.Value:
        return quotients.floored(value, bits, quotients.bounds_of(value, self.within))

    def _below(self, operand: Operand, bits: int, node: Any) -> Operand:
        """The lowest bits, which are not negative."""
        kind = operand.type
        if isinstance(operand.value, Whole):
            self._of_a_size(operand.value, "&", node)
            return self.binary("%", operand, Operand(kind, q.Affine(2**bits)), node)
        value = self.data(operand, kind)
        whole = self._shifted(value, bits)
        return Operand(kind, numbers.minus_multiple(value, whole, 2**bits))

    def _of_a_size(self, value: q.Affine | Polynomial, op: str, node: Any) -> None:
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

"""Constants of integers, as C writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pycparser import c_ast

from schedsearch.frontends.c import c_types
from schedsearch.frontends.c.c_types import INT, CType, Unsupported


def value_of(node: Any, names: Mapping[str, int]) -> int | None:
    """The value of a constant expression of ints, such as that of an enumerator. None for others,
    and where `int` overflows."""
    found = _value_of(node, names)
    return found if found is not None and -(2**31) <= found < 2**31 else None


def _value_of(node: Any, names: Mapping[str, int]) -> int | None:
    match node:
        case c_ast.Constant(type="char"):
            return _const(character, node.value)
        case c_ast.Constant(type="int"):
            return _const(lambda text: integer(text)[1], node.value)
        case c_ast.ID():
            return names.get(node.name)
        case c_ast.UnaryOp(op="-" | "+" as op):
            inner = value_of(node.expr, names)
            return -inner if inner is not None and op == "-" else inner
        case c_ast.BinaryOp(op="+" | "-" | "*" | "<<" as op):
            a, b = value_of(node.left, names), value_of(node.right, names)
            if a is None or b is None:
                return None
            if op == "<<":
                return a << b if 0 <= b < 32 else None
            return {"+": a + b, "-": a - b, "*": a * b}[op]
        case _:
            return None


def _const(read: Callable[[str], int], text: str) -> int | None:
    try:
        return read(text)
    except Unsupported:
        return None


def integer(text: str) -> tuple[CType, int]:
    """The type and the value of a constant."""
    digits = text.rstrip("uUlL")
    suffix = text[len(digits) :].lower()
    base = 10
    if digits[:2].lower() == "0x":
        base = 16
    elif digits[:2].lower() == "0b":
        base = 2
    elif len(digits) > 1 and digits[0] == "0":
        base = 8
    value = int(digits, base)
    unsigned = "u" in suffix
    small = (c_types.UINT if unsigned else INT) if "l" not in suffix else None
    limit = 2**32 if unsigned else 2**31
    if small and base != 10 and limit <= value < 2**32:
        small, limit = c_types.UINT, 2**32
    kind = small if small and value < limit else c_types.ULONG if unsigned else c_types.LONG
    if value >= 2**63:
        raise Unsupported(text, "it is too large", "use a smaller number")
    return kind, value


_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8}


def character(text: str) -> int:
    body = text[1:-1]
    if len(body) == 1 and ord(body) < 128:
        return ord(body)
    if len(body) == 2 and body[0] == "\\" and body[1] in _ESCAPES:
        return _ESCAPES[body[1]]
    raise Unsupported(text, "kernels have numbers only", "write the number")

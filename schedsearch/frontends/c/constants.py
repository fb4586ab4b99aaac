"""Constants of integers, as C writes them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from pycparser import c_ast

from schedsearch.frontends.c import c_types
from schedsearch.frontends.c.c_types import INT, CType, Unsupported


def enumeration(node: Any) -> c_ast.Enum | None:
    """The one that a declaration has."""
    kind = getattr(node, "type", None)
    kind = kind if isinstance(kind, c_ast.Enum) else getattr(kind, "type", None)
    return kind if isinstance(kind, c_ast.Enum) else None


def enumerators(node: Any, known: Mapping[str, int]) -> dict[str, int | None]:
    """Constants of the enumeration that a declaration has: given as numbers, or counted. None for
    what is not known."""
    kind = enumeration(node)
    if kind is None or kind.values is None:
        return {}
    found: dict[str, int | None] = {}
    value: int | None = -1
    for each in kind.values.enumerators:
        if each.value is None:
            value = None if value is None else value + 1
        else:
            numbers = {name: one for name, one in found.items() if one is not None}
            value = value_of(each.value, {**known, **numbers})
        found[each.name] = value
    return found


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
        case c_ast.UnaryOp() if node.op in _UNARY:
            inner = value_of(node.expr, names)
            return None if inner is None else _UNARY[node.op](inner)
        case c_ast.BinaryOp() if node.op in _BINARY:
            a, b = value_of(node.left, names), value_of(node.right, names)
            return None if a is None or b is None else _BINARY[node.op](a, b)
        case c_ast.TernaryOp():
            chosen = value_of(node.cond, names)
            if chosen is None:
                return None
            return value_of(node.iftrue if chosen else node.iffalse, names)
        case _:
            return None


_Binary = Callable[[int, int], int | None]


def _whole(op: Callable[[int, int], Any]) -> _Binary:
    return lambda a, b: int(op(a, b))


def _shifted(op: Callable[[int, int], int]) -> _Binary:
    return lambda a, b: op(a, b) if 0 <= b < 32 else None


def _divided(a: int, b: int) -> int | None:
    return towards_zero(a, b) if b else None


def _remainder(a: int, b: int) -> int | None:
    return a - b * towards_zero(a, b) if b else None


def towards_zero(a: int, b: int) -> int:
    """C's quotient."""
    return abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))


_UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": lambda a: int(not a),
}
_BINARY: dict[str, _Binary] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "%": _remainder,
    "<<": _shifted(operator.lshift),
    ">>": _shifted(operator.rshift),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": _whole(operator.lt),
    "<=": _whole(operator.le),
    ">": _whole(operator.gt),
    ">=": _whole(operator.ge),
    "==": _whole(operator.eq),
    "!=": _whole(operator.ne),
    "&&": _whole(lambda a, b: bool(a and b)),
    "||": _whole(lambda a, b: bool(a or b)),
}


def _const(read: Callable[[str], int], text: str) -> int | None:
    try:
        return read(text)
    except Unsupported:
        return None


def integer(text: str) -> tuple[CType, int]:
    """The type and the value of a constant."""
    if not text[:1].isdigit():
        raise Unsupported(text, "kernels have numbers only", "write the number")
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

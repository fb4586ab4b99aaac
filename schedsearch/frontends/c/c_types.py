"""Types of C's arithmetic, and its conversions."""

from __future__ import annotations

from dataclasses import dataclass


class Unsupported(Exception):
    """A construct, why kernels do not have it, and what to write instead. The line is known to
    who catches it."""

    def __init__(self, construct: str, reason: str, instead: str) -> None:
        super().__init__(f"{construct}: {reason}; {instead}")
        self.parts = construct, reason, instead


@dataclass(frozen=True)
class CType:
    """An arithmetic type on machines where `int` has 32 bits and `long` 64. `element` is the type
    of a kernel's data, or None if kernels have none: such a type is for sizes and indices only."""

    name: str
    bits: int
    floating: bool = False
    unsigned: bool = False
    rank: int = 0

    @property
    def element(self) -> str | None:
        if self.floating:
            return {32: "f32", 64: "f64"}.get(self.bits)
        key = self.bits, self.unsigned
        if key == (1, True):
            return "ui8"
        return {(8, False): "i8", (8, True): "ui8", (16, True): "ui16", (32, False): "i32"}.get(key)


BOOL = CType("_Bool", 1, unsigned=True)
SCHAR = CType("signed char", 8, rank=1)
UCHAR = CType("unsigned char", 8, unsigned=True, rank=1)
SHORT = CType("short", 16, rank=2)
USHORT = CType("unsigned short", 16, unsigned=True, rank=2)
INT = CType("int", 32, rank=3)
UINT = CType("unsigned int", 32, unsigned=True, rank=3)
LONG = CType("long", 64, rank=4)
ULONG = CType("unsigned long", 64, unsigned=True, rank=4)
LLONG = CType("long long", 64, rank=5)
ULLONG = CType("unsigned long long", 64, unsigned=True, rank=5)
FLOAT = CType("float", 32, floating=True, rank=6)
DOUBLE = CType("double", 64, floating=True, rank=7)

_TYPES = {each.name: each for each in (BOOL, INT, UINT, FLOAT, DOUBLE, SHORT, USHORT)}
_UNKNOWN_INSTEAD = "kernels have float, double, int, int8_t, uint8_t and uint16_t"


def arithmetic_type(words: tuple[str, ...]) -> CType:
    """The type that specifiers name, in whatever order: `long unsigned int`."""
    if len(words) == 1 and words[0] in _TYPES:
        return _TYPES[words[0]]
    counted = sorted(words)
    unsigned = "unsigned" in counted
    rest = [word for word in counted if word not in ("unsigned", "signed", "int")]
    integers = {
        (): (INT, UINT),
        ("char",): (SCHAR, UCHAR),
        ("short",): (SHORT, USHORT),
        ("long",): (LONG, ULONG),
        ("long", "long"): (LLONG, ULLONG),
    }
    known = set(words) <= {"unsigned", "signed", "int", "char", "short", "long"}
    if known and words and tuple(rest) in integers:
        return integers[tuple(rest)][unsigned]
    raise Unsupported(" ".join(words), "kernels have no data of this type", _UNKNOWN_INSTEAD)


def promoted(kind: CType) -> CType:
    """Integers that are smaller than `int` are computed with as `int`."""
    return INT if not kind.floating and kind.rank < INT.rank else kind


def common(a: CType, b: CType) -> CType:
    """C's usual arithmetic conversions."""
    if a.floating or b.floating:
        return max((a, b), key=lambda kind: kind.rank)
    a, b = promoted(a), promoted(b)
    if a.unsigned == b.unsigned:
        return max((a, b), key=lambda kind: kind.rank)
    low, high = (a, b) if a.rank < b.rank else (b, a)
    if a.rank == b.rank:
        return a if a.unsigned else b
    if high.unsigned or high.bits > low.bits:
        return high
    return {LLONG: ULLONG}.get(high, high)


def element(kind: CType) -> str:
    """The type of data. Raises Unsupported if kernels have none."""
    if kind.element is None:
        raise Unsupported(kind.name, "kernels have no data of this type", _UNKNOWN_INSTEAD)
    return kind.element

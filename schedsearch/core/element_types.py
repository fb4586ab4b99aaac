"""Types of array elements: what each is to Exo, C, NumPy, the harness and intrinsics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ElementType:
    """A row of the table.

    `harness` is the type's position in the enum of `evaluate/runtime/harness.h`, `bounds` are
    the least and the greatest integer. `x86` and `neon` are the suffixes of intrinsics, for
    f16 of those that move it; types without `x86` have no vector code. `plain`: C computes in the
    type itself, and there are vector registers of it that procedures can declare.
    """

    bits: int
    c: str
    numpy: str
    harness: int
    bounds: tuple[int, int] | None = None
    x86: str = ""
    neon: str = ""
    plain: bool = False


ELEMENT_TYPES = {
    "R": ElementType(32, "float", "float32", 1),
    "f16": ElementType(16, "_Float16", "float16", 0, None, "epi16", "f16"),
    "f32": ElementType(32, "float", "float32", 1, None, "ps", "f32", plain=True),
    "f64": ElementType(64, "double", "float64", 2, None, "pd", "f64", plain=True),
    "i8": ElementType(8, "int8_t", "int8", 3, (-128, 127), "epi8", "s8"),
    "ui8": ElementType(8, "uint8_t", "uint8", 4, (0, 255), "epi8", "u8"),
    "ui16": ElementType(16, "uint16_t", "uint16", 5, (0, 65535), "epi16", "u16"),
    "i32": ElementType(
        32, "int32_t", "int32", 6, (-(2**31), 2**31 - 1), "epi32", "s32", plain=True
    ),
}
"""By Exo's names; `R` is a type that is not chosen yet, for which Exo's C has float."""

ELEMENT_BITS = {name: each.bits for name, each in ELEMENT_TYPES.items()}

INTEGERS = {name: each.bounds for name, each in ELEMENT_TYPES.items() if each.bounds}
"""The integer types and their bounds."""

FLOATS = frozenset(ELEMENT_TYPES) - {"R"} - INTEGERS.keys()

PLAIN = frozenset(name for name, each in ELEMENT_TYPES.items() if each.plain)

VECTORS = frozenset(name for name, each in ELEMENT_TYPES.items() if each.x86)
"""Types that there is vector code for."""


def known_type(name: str) -> str:
    """`f32` for `R`, which Exo and its C take for that."""
    return "f32" if name == "R" else name

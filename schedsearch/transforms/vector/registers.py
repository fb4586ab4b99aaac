"""Names of vector registers: as memories of Exo, and as types of C."""

from __future__ import annotations

import re

from schedsearch.core.element_types import PLAIN


def set_name(kind: str, lanes: int) -> str:
    """`("f32", 16)` -> `"vec_f32x16"`, prefix of everything in that set."""
    return f"vec_{kind}x{lanes}"


def memory_name(kind: str, lanes: int) -> str:
    """`("f32", 16)` -> `"VEC_F32X16"`"""
    return set_name(kind, lanes).upper()


def register_kind(memory: str) -> tuple[str, int] | None:
    """`"VEC_F32X16"` -> `("f32", 16)`; None for any other memory."""
    match = re.fullmatch(r"VEC_([A-Z]+[0-9]+)X([1-9][0-9]*)", memory)
    known = match is not None and match[1].lower() in PLAIN
    return (match[1].lower(), int(match[2])) if match and known else None

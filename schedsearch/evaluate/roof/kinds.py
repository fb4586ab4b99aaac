"""Types of operations that take longer than a multiply-add: `f32 expf`, `f32 /`, `f32 sqrt`."""

from __future__ import annotations

from typing import Literal

from schedsearch.core.functions import FUNCTIONS

DIVISION, ROOT = "/", "sqrt"
"""What they are called after the type; other functions have their own names."""

Functions = tuple[tuple[str, str, str], ...]
"""Type of operation, and C of `void NAME(const T *a, const T *b, T *out, long n)`, which computes
`n` values: its name, its text."""

Unit = Literal["functions", "divider", "arithmetic"]
"""What does an operation: each may work while the others do."""


def unit_of(kind: str) -> Unit:
    how = kind.partition(" ")[2]
    if how in (DIVISION, ROOT):
        return "divider"
    return "functions" if how in FUNCTIONS else "arithmetic"


def spoken(kind: str) -> str:
    """`f32 expf`, `f32 division`, `f32 square root`, `f32 add and minimum`, `f32 multiply-add`"""
    kind, _, how = kind.partition(" ")
    words = {"": "multiply-add", "min": "add and minimum", DIVISION: "division"}
    return f"{kind} {words.get(how) or ('square root' if how == ROOT else how.rstrip('_'))}"

"""Vector registers by name, for files of instructions.

`from schedsearch.transforms.registers import VEC_F32X16` gives the memory of 16 f32: the
one that register blocks and generated instructions use, so that their buffers can be
given to instructions of any file. An exported schedule defines it instead of importing it.
"""

from __future__ import annotations

import re
from typing import Any

from schedsearch.transforms.vectors import C_TYPES, vector_set


def register_kind(name: str) -> tuple[str, int] | None:
    """`"VEC_F32X16"` -> `("f32", 16)`; None for other names."""
    match = re.fullmatch(r"VEC_([A-Z]+\d+)X([1-9]\d*)", name)
    if match is None or match[1].lower() not in C_TYPES:
        return None
    return match[1].lower(), int(match[2])


def __getattr__(name: str) -> Any:
    found = register_kind(name)
    if found is None:
        raise AttributeError(f"no vector register {name!r}; they are called like VEC_F32X16")
    return vector_set(*found)[name]

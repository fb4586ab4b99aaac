"""Vector registers by name, for files of instructions.

`from schedsearch.ext import VEC_F32X16` gives the memory of 16 f32: the
one that register blocks and generated instructions use, so that their buffers can be
given to instructions of any file. An exported schedule defines it instead of importing it.
"""

from __future__ import annotations

from typing import Any

from schedsearch.transforms.vector.extension import vector_set
from schedsearch.transforms.vector.registers import register_kind


def __getattr__(name: str) -> Any:
    found = register_kind(name)
    if found is None:
        raise AttributeError(f"no vector register {name!r}; they are called like VEC_F32X16")
    return vector_set(*found)[name]

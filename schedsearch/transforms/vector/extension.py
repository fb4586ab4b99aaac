"""Vector registers and instructions for Exo, as generated Python source.

One set per element type and register length, in the vector extension of gcc and
clang: the same text compiles to SSE, AVX2, AVX-512 or NEON, and stays readable.
It is text because an exported schedule has to carry it along.
"""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.instruction_text import Row, definition, register_words
from schedsearch.transforms.vector.registers import memory_name, set_name
from schedsearch.transforms.vector.table import OPERATIONS

_MEMORY = '''
class {mem}(DRAM):
    """Registers of {lanes} {type} each: the last dimension of a buffer is one register."""

    @classmethod
    def global_(cls):
        return (
            "typedef {ctype} {vec} __attribute__((vector_size({bytes})));\\n"
            "typedef {ctype} {vec}_u "
            "__attribute__((vector_size({bytes}), aligned({align}), may_alias));\\n"
        )

    @classmethod
    def can_read(cls):
        return False

    @classmethod
    def alloc(cls, new_name, prim_type, shape, srcinfo):
        if not shape or shape[-1] != "{lanes}":
            raise MemGenError(f"{{srcinfo}}: the last dimension has to be {lanes}")
        return f"{vec} {{new_name}}" + "".join(f"[{{extent}}]" for extent in shape[:-1]) + ";"

    @classmethod
    def free(cls, new_name, prim_type, shape, srcinfo):
        return ""

    @classmethod
    def window(cls, basetyp, baseptr, indices, strides, srcinfo):
        return baseptr + "".join(f"[{{index}}]" for index in indices[:-1])
'''

IMPORTS = """
from exo import DRAM, instr
from exo.core.memory import MemGenError
"""


_OF = OPERATIONS
_INSTRUCTIONS = {
    "load": replace(_OF["load"], c="{dst_data} = <get src>;"),
    "store": replace(_OF["store"], c="*(<vec>_u *)&{dst_data} = {src_data};"),
    "fma_scalar_vector": replace(_OF["fma_broadcast_load"], c="{acc_data} += {a_data} * <get b>;"),
    "fma_vector_scalar": replace(_OF["fma_load_broadcast"], c="{acc_data} += <get a> * {b_data};"),
    "fma_vector_vector": Row(
        "acc: <R>, a: <M>, b: <M>", "acc[l] += a[l] * b[l]", "{acc_data} += <get a> * <get b>;"
    ),
    "add_vector": replace(_OF["add_load"], c="{acc_data} += <get a>;"),
}


def vector_source(kind: str, lanes: int) -> str:
    """Python text that defines one set; needs postponed annotations and `IMPORTS` before it."""
    element, vec = ELEMENT_TYPES[kind], set_name(kind, lanes)
    memory = _MEMORY.format(
        type=kind,
        lanes=lanes,
        vec=vec,
        mem=memory_name(kind, lanes),
        ctype=element.c,
        bytes=lanes * element.bits // 8,
        align=element.bits // 8,
    )
    words = register_words(kind, lanes) | {"get": "*(const <vec>_u *)&{$1_data}"}
    texts = (definition(f"{vec}_{name}", row, words) for name, row in _INSTRUCTIONS.items())
    return f"{memory}\n\n" + "\n\n\n".join(texts) + "\n"


@cache
def vector_set(kind: str, lanes: int) -> dict[str, Any]:
    """The memory and the instructions of one set, by name."""
    namespace = define(set_name(kind, lanes), vector_source(kind, lanes), {})
    return {name: value for name, value in namespace.items() if name.lower().startswith("vec_")}


def define(name: str, source: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The names that generated Exo source defines, given those it uses."""
    return execute(name, f"from __future__ import annotations\n{IMPORTS}{source}", given)


def execute(name: str, text: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The names that a text defines which is in no file, given those it uses."""
    file = f"<schedsearch {name}>"
    # Exo reads source code through linecache.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = dict(given)
    exec(compile(text, file, "exec"), namespace)
    return namespace

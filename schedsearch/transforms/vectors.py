"""Vector registers and instructions for Exo, as generated Python source.

One set per element type and register length, in the vector extension of gcc and
clang: the same text compiles to SSE, AVX2, AVX-512 or NEON, and stays readable.
It is text because an exported schedule has to carry it along.
"""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from functools import cache
from typing import Any

C_TYPES = {"f32": "float", "f64": "double", "i32": "int32_t"}
"""Element types that have vector sets."""

_BYTES = {"f32": 4, "f64": 8, "i32": 4}

_TEMPLATE = '''
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


@instr("{{dst_data}} = *(const {vec}_u *)&{{src_data}};")
def {vec}_load(dst: [{type}][{lanes}] @ {mem}, src: [{type}][{lanes}] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, {lanes}):
        dst[l] = src[l]


@instr("*({vec}_u *)&{{dst_data}} = {{src_data}};")
def {vec}_store(dst: [{type}][{lanes}] @ DRAM, src: [{type}][{lanes}] @ {mem}):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, {lanes}):
        dst[l] = src[l]


@instr("{{acc_data}} += {{a_data}} * *(const {vec}_u *)&{{b_data}};")
def {vec}_fma_scalar_vector(
    acc: [{type}][{lanes}] @ {mem}, a: [{type}][1] @ DRAM, b: [{type}][{lanes}] @ DRAM
):
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, {lanes}):
        acc[l] += a[0] * b[l]


@instr("{{acc_data}} += *(const {vec}_u *)&{{a_data}} * {{b_data}};")
def {vec}_fma_vector_scalar(
    acc: [{type}][{lanes}] @ {mem}, a: [{type}][{lanes}] @ DRAM, b: [{type}][1] @ DRAM
):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, {lanes}):
        acc[l] += a[l] * b[0]


@instr("{{acc_data}} += *(const {vec}_u *)&{{a_data}} * *(const {vec}_u *)&{{b_data}};")
def {vec}_fma_vector_vector(
    acc: [{type}][{lanes}] @ {mem}, a: [{type}][{lanes}] @ DRAM, b: [{type}][{lanes}] @ DRAM
):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, {lanes}):
        acc[l] += a[l] * b[l]


@instr("{{acc_data}} += *(const {vec}_u *)&{{a_data}};")
def {vec}_add_vector(acc: [{type}][{lanes}] @ {mem}, a: [{type}][{lanes}] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, {lanes}):
        acc[l] += a[l]
'''

IMPORTS = """
from exo import DRAM, instr
from exo.core.memory import MemGenError
"""


def set_name(kind: str, lanes: int) -> str:
    """`("f32", 16)` -> `"vec_f32x16"`, prefix of everything in that set."""
    return f"vec_{kind}x{lanes}"


def memory_name(kind: str, lanes: int) -> str:
    """`("f32", 16)` -> `"VEC_F32X16"`"""
    return set_name(kind, lanes).upper()


def register_of(memory: str) -> tuple[str, int] | None:
    """`"VEC_F32X16"` -> `("f32", 16)`; None for any other memory."""
    kind, _, lanes = memory.removeprefix("VEC_").lower().partition("x")
    known = kind in C_TYPES and lanes.isdigit() and memory == memory_name(kind, int(lanes))
    return (kind, int(lanes)) if known else None


def vector_source(kind: str, lanes: int) -> str:
    """Python text that defines one set; needs postponed annotations and `IMPORTS` before it."""
    return _TEMPLATE.format(
        type=kind,
        lanes=lanes,
        vec=set_name(kind, lanes),
        mem=memory_name(kind, lanes),
        ctype=C_TYPES[kind],
        bytes=lanes * _BYTES[kind],
        align=_BYTES[kind],
    )


@cache
def vector_set(kind: str, lanes: int) -> dict[str, Any]:
    """The memory and the instructions of one set, by name."""
    namespace = define(set_name(kind, lanes), vector_source(kind, lanes), {})
    return {name: value for name, value in namespace.items() if name.lower().startswith("vec_")}


def define(name: str, source: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The names that generated Exo source defines, given those it uses."""
    text = f"from __future__ import annotations\n{IMPORTS}{source}"
    file = f"<schedsearch {name}>"
    # Exo reads the source of what it parses through linecache.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = dict(given)
    exec(compile(text, file, "exec"), namespace)
    return namespace

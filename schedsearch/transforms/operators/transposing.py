"""Transposition in vector registers for Exo: an instruction for a copy of rows to columns.

Squares of as many rows as a register has lanes are read row by row, and transposed in registers.
Within 16 bytes, neighbouring lanes of two registers are interleaved; then parts of 16 bytes
change places. On every CPU each of these shuffles is one instruction without a table of indices.

The squares begin where cache lines of the arrays do. Those that would begin before the matrix or
end behind it are moved inside: they copy some elements twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from schedsearch.core.element_types import ELEMENT_BITS, ELEMENT_TYPES
from schedsearch.transforms.vector.extension import define

BLOCKWISE, STRIPS, STREAMED = "blocks", "strips", "streamed"
WALKS = (BLOCKWISE, STRIPS, STREAMED)
"""Ways through a matrix: blocks that stay in a cache; strips of rows as high as a cache line is
long; such strips, written past the caches."""

LANES = (2, 4, 8, 16)

_LINE = 64
_PART = 16
_BLOCK = 16
"""Bytes of a cache line, and of what is interleaved; lines along a side of a block."""

_STORES = {64: ("_mm512", "__m512", "__AVX512F__"), 32: ("_mm256", "__m256", "__AVX__")}
"""Past the caches, by the bytes of a register: intrinsics, their type, and the CPU feature. Shorter
registers would send lines in many parts."""


@dataclass(frozen=True)
class Transpose:
    """The transposition of a matrix of `kind`, in registers of `lanes` elements."""

    kind: str
    lanes: int
    walk: str

    @property
    def name(self) -> str:
        return f"transpose_{self.kind}x{self.lanes}_{self.walk}"


def has_squares(kind: str, lanes: int) -> bool:
    """Whether registers of `lanes` elements are transposed."""
    return lanes in LANES and _PART <= lanes * ELEMENT_BITS[kind] // 8 <= _LINE


def streams(kind: str, lanes: int) -> bool:
    """Whether registers of `lanes` elements are written past the caches."""
    return lanes * ELEMENT_BITS[kind] // 8 in _STORES


def transpose_source(transpose: Transpose) -> str:
    """Python text that defines one transposition; needs `extension.IMPORTS` before it."""
    name, kind = transpose.name, transpose.kind
    arguments = "&{dst_data}, {dst}.strides[0], &{src_data}, {src}.strides[0]"
    code = "\n".join(_function(transpose))
    return f'''
@instr(
    "{name}({{rows}}, {{columns}}, {arguments});",
    """
{code}
    """,
)
def {name}(
    rows: size,
    columns: size,
    dst: [{kind}][columns, rows] @ DRAM,
    src: [{kind}][rows, columns] @ DRAM,
):
    assert stride(dst, 1) == 1
    assert stride(src, 1) == 1
    for r in seq(0, rows):
        for c in seq(0, columns):
            dst[c, r] = src[r, c]
'''


def _function(transpose: Transpose) -> Iterator[str]:
    """C text of what the instruction calls; compilers without the builtin copy elements."""
    name, n, element = transpose.name, transpose.lanes, ELEMENT_TYPES[transpose.kind]
    size = element.bits // 8
    line = _LINE // size
    width = _BLOCK * line if transpose.walk == BLOCKWISE else "columns - left"
    height = _BLOCK * line if transpose.walk == BLOCKWISE else line
    streamed = transpose.walk == STREAMED
    intrinsic, register, feature = _STORES[n * size] if streamed else ("", "", "")
    if streamed:
        yield f"#ifdef {feature}\n#include <immintrin.h>\n#endif"
    yield f"""#ifndef {name.upper()}
#define {name.upper()}
typedef {element.c} {name}_v __attribute__((vector_size({n * size})));
typedef {name}_v {name}_u __attribute__((aligned({size}), may_alias));
static inline void {name}(long rows, long columns, {element.c} *dst, long dst_s,
    const {element.c} *src, long src_s)
{{
#if defined(__clang__) || __GNUC__ >= 12
    if (rows >= {n} && columns >= {n}) {{
        const long top = -(long)((uintptr_t)dst / {size} % {line});
        const long left = -(long)((uintptr_t)src / {size} % {line});
        const long height = {height}, width = {width};
        for (long cb = left; cb < columns; cb += width)
        for (long rb = top; rb < rows; rb += height)
        for (long c0 = cb; c0 < columns && c0 < cb + width; c0 += {n})
        for (long r0 = rb; r0 < rows && r0 < rb + height; r0 += {n}) {{
            if (c0 <= -{n} || r0 <= -{n})
                continue;
            const long c = c0 < 0 ? 0 : c0 > columns - {n} ? columns - {n} : c0;
            const long r = r0 < 0 ? 0 : r0 > rows - {n} ? rows - {n} : r0;
            const {element.c} *from = src + r * src_s + c;
            {element.c} *to = dst + c * dst_s + r;
            {name}_v v[{n}], w[{n}];
#pragma GCC unroll {n}
            for (int i = 0; i < {n}; i++)
                v[i] = *(const {name}_u *)(from + i * src_s);"""
    *levels, result = _levels(n, _PART // size)
    yield from levels
    if streamed:
        yield f"""#ifdef {feature}
            if (r == r0 && dst_s % {line} == 0) {{
#pragma GCC unroll {n}
                for (int i = 0; i < {n}; i++)
                    {intrinsic}_stream_ps((float *)(to + i * dst_s), ({register}){result}[i]);
                continue;
            }}
#endif"""
    yield f"""#pragma GCC unroll {n}
            for (int i = 0; i < {n}; i++)
                *({name}_u *)(to + i * dst_s) = {result}[i];
        }}"""
    if streamed:
        yield f"#ifdef {feature}\n        _mm_sfence();\n#endif"
    yield """        return;
    }
#endif
    for (long r = 0; r < rows; r++)
        for (long c = 0; c < columns; c++)
            dst[c * dst_s + r] = src[r * src_s + c];
}
#endif"""


def _levels(n: int, part: int) -> Iterator[str]:
    """C text of the shuffles of `n` registers, level by level, and the name of the results.

    First squares of `part` rows and lanes are transposed, then the parts.
    """
    half = part // 2
    neighbours = [
        [lane + k for h in range(start, n, part) for lane in range(h, h + half) for k in (0, n)]
        for start in (0, half)
    ]
    parts = [
        [lane for h in range(odd * part, 2 * n, 2 * part) for lane in range(h, h + part)]
        for odd in (0, 1)
    ]
    before, after = "v", "w"
    for level in range(n.bit_length() - 1):
        if 1 << level < part:
            groups, members, chosen = n, half, neighbours
            pair, to = ("i", f"i + {half}"), ("2 * i - g", "2 * i - g + 1")
        else:
            groups, members, chosen = n // 2, part, parts
            pair, to = ("i + g", f"i + g + {part}"), ("i", f"i + {n // 2}")
        both = f"{before}[{pair[0]}], {before}[{pair[1]}]"
        yield f"""#pragma GCC unroll {n}
            for (int g = 0; g < {groups}; g += {part})
#pragma GCC unroll {n}
                for (int i = g; i < g + {members}; i++) {{
                    {after}[{to[0]}] = __builtin_shufflevector({both},
                        {", ".join(map(str, chosen[0]))});
                    {after}[{to[1]}] = __builtin_shufflevector({both},
                        {", ".join(map(str, chosen[1]))});
                }}"""
        before, after = after, before
    yield before


@cache
def transpose_instruction(transpose: Transpose) -> Any:
    """The Exo procedure; the same object for equal transpositions."""
    return define(transpose.name, transpose_source(transpose), {})[transpose.name]

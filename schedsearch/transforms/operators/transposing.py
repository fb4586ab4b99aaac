"""Transposition in vector registers for Exo: an instruction for a copy of rows to columns.

Squares of as many rows as a register has lanes are read row by row, and transposed by exchanging
blocks of 1, 2, 4, ... lanes between registers: each exchange is one shuffle of two registers. What
is left at the edges is copied element by element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.extension import define


@dataclass(frozen=True)
class Transpose:
    """The transposition of a matrix of `kind`, in registers of `lanes` elements."""

    kind: str
    lanes: int

    @property
    def name(self) -> str:
        return f"transpose_{self.kind}x{self.lanes}"


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
    yield f"""#ifndef {name.upper()}
#define {name.upper()}
typedef {element.c} {name}_v __attribute__((vector_size({n * element.bits // 8})));
typedef {name}_v {name}_u __attribute__((aligned({element.bits // 8}), may_alias));
static inline void {name}(long rows, long columns, {element.c} *dst, long dst_s,
    const {element.c} *src, long src_s)
{{
    long down = 0, across = 0;
#if defined(__clang__) || __GNUC__ >= 12
    down = rows - rows % {n}, across = columns - columns % {n};
    for (long r = 0; r < down; r += {n})
        for (long c = 0; c < across; c += {n}) {{
            {name}_v v[{n}];
#pragma GCC unroll {n}
            for (int i = 0; i < {n}; i++)
                v[i] = *(const {name}_u *)&src[(r + i) * src_s + c];"""
    block = n // 2
    while block:
        yield from _exchange(name, n, block)
        block //= 2
    yield f"""#pragma GCC unroll {n}
            for (int i = 0; i < {n}; i++)
                *({name}_u *)&dst[(c + i) * dst_s + r] = v[i];
        }}
#endif
    for (long r = 0; r < rows; r++)
        for (long c = r < down ? across : 0; c < columns; c++)
            dst[c * dst_s + r] = src[r * src_s + c];
}}
#endif"""


def _exchange(name: str, n: int, block: int) -> Iterator[str]:
    """The right block of each upper row changes places with the left block of the lower one."""
    upper = (lane ^ block | n if lane & block else lane for lane in range(n))
    lower = (lane | n if lane & block else lane ^ block for lane in range(n))
    yield f"""#pragma GCC unroll {n}
            for (int i = 0; i < {n}; i++)
                if (!(i & {block})) {{
                    const {name}_v a = v[i], b = v[i + {block}];
                    v[i] = __builtin_shufflevector(a, b,
                        {", ".join(map(str, upper))});
                    v[i + {block}] = __builtin_shufflevector(a, b,
                        {", ".join(map(str, lower))});
                }}"""


@cache
def transpose_instruction(transpose: Transpose) -> Any:
    """The Exo procedure; the same object for equal transpositions."""
    return define(transpose.name, transpose_source(transpose), {})[transpose.name]

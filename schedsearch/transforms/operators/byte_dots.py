"""Sums of products of bytes for Exo: an instruction for a tile of results in vector registers.

VNNI adds to every 32-bit lane four products of an unsigned and a signed byte. Nothing saturates,
and sums wrap as those of two's complement do, in any order. Of two signed operands one is made
unsigned, 128 larger; 128 times the sum of the other one's rows is subtracted before:
`a * b == a * (b + 128) - 128 * a`, for all bytes. Of two unsigned ones likewise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.keys import digest
from schedsearch.transforms.vector.extension import define, vector_set
from schedsearch.transforms.vector.fused import snippets
from schedsearch.transforms.vector.instruction_text import filled, register_words
from schedsearch.transforms.vector.registers import memory_name

STEPS = 4
"""Bytes that are summed in a lane of 32 bits."""

LANES = (8, 16)
"""Registers that the instruction has: of 256 bits and of 512."""


@dataclass(frozen=True)
class ByteDots:
    """Sums in a tile of `rows` times `vectors` registers of `lanes` elements of i32.

    `a` has elements of type `kind_a` and `rank` dimensions, of which `row` (-1: none) goes through
    the tile's rows and the last through the sum. `b` is a panel of elements of type `kind_b`, four
    steps of the sum next to each other. `body` is what is done for each product, with `x` and `y`
    for elements of `a` and `b` that are converted first. If `columns` is not 0, a row has one
    register, of which so many lanes count.
    """

    rows: int
    vectors: int
    lanes: int
    kind_a: str
    kind_b: str
    rank: int
    row: int
    body: tuple[str, ...]
    columns: int = 0

    @property
    def name(self) -> str:
        tile = f"{self.kind_a}_{self.kind_b}_dots_{self.rows}x{self.vectors}x{self.lanes}"
        return f"{tile}_{digest(repr(self))[:10]}"


def dots_source(dots: ByteDots) -> str:
    """Python text that defines one instruction; needs `extension.IMPORTS` before it, and the
    vector set of its registers."""
    name, columns = dots.name, dots.columns or dots.vectors * dots.lanes
    box = [str(dots.rows if dim == dots.row else 1) for dim in range(dots.rank - 1)]
    tile = [str(dots.rows)] * (dots.row >= 0) + [str(dots.vectors)] * (not dots.columns)
    stride = "0" if dots.row < 0 else f"{{a}}.strides[{dots.row}]"
    code = "\n".join(f"    {line}" if line else "" for line in c_function(dots).splitlines())
    return f'''
@instr(
    "{name}({{n}}, &{{acc_data}}, &{{a_data}}, {stride}, &{{b_data}});",
    """
{code}
    """,
)
def {name}(
    n: size,
    acc: [i32][{", ".join([*tile, str(dots.lanes)])}] @ {memory_name("i32", dots.lanes)},
    a: [{dots.kind_a}][{", ".join([*box, f"{STEPS} * n"])}] @ DRAM,
    b: [{dots.kind_b}][n, {columns}, {STEPS}] @ DRAM,
):
    assert stride(a, {dots.rank - 1}) == 1
    assert stride(b, 0) == {columns * STEPS}
    assert stride(b, 1) == {STEPS}
    assert stride(b, 2) == 1
{chr(10).join(_loops(dots))}
'''


def _loops(dots: ByteDots) -> Iterator[str]:
    """The body of the instruction: what it means."""
    rows, vectors = [("r", dots.rows)] * (dots.row >= 0), [("v", dots.vectors)]
    inner = [("l", dots.columns or dots.lanes), ("q", STEPS)]
    loops = [("k", "n"), *rows, *(vectors if not dots.columns else []), *inner]
    for depth, (name, extent) in enumerate(loops, 1):
        yield f"{'    ' * depth}for {name} in seq(0, {extent}):"
    places = ["r" if dim == dots.row else "0" for dim in range(dots.rank - 1)]
    register = "r, " * (dots.row >= 0) + "v, " * (not dots.columns)
    words = {
        "a": f"a[{', '.join([*places, f'{STEPS} * k + q'])}]",
        "b": "b[k, l, q]" if dots.columns else f"b[k, {dots.lanes} * v + l, q]",
        "acc": f"acc[{register}l]",
    }
    for line in dots.body:
        yield "    " * (len(loops) + 1) + " ".join(words.get(word, word) for word in line.split())


# Accumulators have the register's own type: of another, gcc 12 copies each before and after every
# product.
_C = """
#ifndef <macro>
#define <macro>
#include <stdint.h>
#include <string.h>
<types>
#if <condition>
#include <immintrin.h>
<defined>static inline __attribute__((always_inline)) void <name>(
    long n, <vec> *acc, const <of_a> *a, long a_s, const <of_b> *b)
{
    <vec> c[<rows>][<vectors>];
#pragma GCC unroll <rows>
    for (int r = 0; r < <rows>; r++) {
<corrected>#pragma GCC unroll <vectors>
        for (int v = 0; v < <vectors>; v++)
            c[r][v] = <first>;
    }
    for (long k = 0; k < n; k++) {
        <reg> y[<vectors>];
#pragma GCC unroll <vectors>
        for (int v = 0; v < <vectors>; v++)
            y[v] = <panel>;
#pragma GCC unroll <rows>
        for (int r = 0; r < <rows>; r++) {
            int32_t four;
            memcpy(&four, a + r * a_s + 4 * k, 4);
            const <reg> x = <mm>_set1_epi32(four);
#pragma GCC unroll <vectors>
            for (int v = 0; v < <vectors>; v++)
                c[r][v] = (<vec>)<dot>((<reg>)c[r][v], <factors>);
        }
    }
#pragma GCC unroll <rows>
    for (int r = 0; r < <rows>; r++)
#pragma GCC unroll <vectors>
        for (int v = 0; v < <vectors>; v++)
            acc[<vectors> * r + v] = c[r][v];
}
#else
static inline void <name>(
    long n, <vec> *acc, const <of_a> *a, long a_s, const <of_b> *b)
{
    for (long k = 0; k < n; k++)
        for (int r = 0; r < <rows>; r++)
            for (int l = 0; l < <columns>; l++)
                for (int q = 0; q < 4; q++)
                    acc[<vectors> * r + l / <lanes>][l % <lanes>] +=
                        a[r * a_s + 4 * k + q] * b[4 * (k * <columns> + l) + q];
}
#endif
#endif
"""

_CORRECTED = """\
        <reg> sums = <mm>_setzero_<suffix>();
        long q = 0;
        for (; q + <bytes> <= 4 * n; q += <bytes>) {
            const <reg> x = <mm>_loadu_<suffix>((const <reg> *)(a + r * a_s + q));
            sums = <dot>(sums, <summed>);
        }
<rest>        const <reg> more = <mm>_set1_epi32((int32_t)(<sign>128u * sum));
"""

_BY_LANES = {
    8: {
        "condition": "defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__))",
        "dot": "<macro>_DOT",
        "defined": """\
#ifdef __AVXVNNI__
#define <macro>_DOT _mm256_dpbusd_avx_epi32
#else
#define <macro>_DOT _mm256_dpbusd_epi32
#endif
""",
        "rest": """\
        uint32_t sum = 0;
        for (; q < 4 * n; q++)
            sum += (uint32_t)a[r * a_s + q];
        for (int l = 0; l < 8; l++)
            sum += (uint32_t)((<vec>)sums)[l];
""",
    },
    16: {
        "condition": "defined(__AVX512VNNI__) && defined(__AVX512BW__)",
        "dot": "_mm512_dpbusd_epi32",
        "defined": "",
        "rest": """\
        if (q < 4 * n) {
            const __mmask64 rest = ((__mmask64)1 << (4 * n - q)) - 1;
            const <reg> x = _mm512_maskz_loadu_epi8(rest, a + r * a_s + q);
            sums = <dot>(sums, <summed>);
        }
        const uint32_t sum = (uint32_t)_mm512_reduce_add_epi32(sums);
""",
    },
}


_FIRST = {
    8: "_mm256_maskload_epi32((const int *)($place),\n                _mm256_cmpgt_epi32("
    "_mm256_set1_epi32(<columns>), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)))",
    16: "_mm512_maskz_loadu_epi32((1u << <columns>) - 1, $place)",
}
"""The first lanes of a register, where there is no more of a panel."""


def c_function(dots: ByteDots) -> str:
    """C text of what the instruction calls. Without VNNI it adds one product after the other."""
    signed_a, alike = dots.kind_a == "i8", dots.kind_a == dots.kind_b
    tile = "acc[<vectors> * r + v]"
    place = "b + 4 * (k * <columns> + <lanes> * v)"
    panel = f"<mm>_loadu_<suffix>((const <reg> *)({place}))"
    if dots.columns:
        panel = _FIRST[dots.lanes].replace("$place", place)
    ones = "<mm>_set1_epi8(1)"
    words = {
        **register_words("i32", dots.lanes),
        **_BY_LANES[dots.lanes],
        "types": snippets.types("i32", dots.lanes)[1],
        "corrected": _CORRECTED if alike else "",
        "first": f"(<vec>)<mm>_add_epi32((<reg>){tile}, more)" if alike else tile,
        "panel": f"<mm>_xor_<suffix>(\n                {panel}, <mm>_set1_epi8(-128))"
        if alike
        else panel,
        # The unsigned one comes first.
        "factors": "y[v], x" if signed_a else "x, y[v]",
        "summed": f"{ones}, x" if signed_a else f"x, {ones}",
        "sign": "-" if signed_a else "",
        "reg": f"__m{32 * dots.lanes}i",
        "mm": f"_mm{32 * dots.lanes}",
        "suffix": f"si{32 * dots.lanes}",
        "of_a": ELEMENT_TYPES[dots.kind_a].c,
        "of_b": ELEMENT_TYPES[dots.kind_b].c,
        "rows": str(dots.rows),
        "vectors": str(dots.vectors),
        "columns": str(dots.columns or dots.vectors * dots.lanes),
        "bytes": str(4 * dots.lanes),
        "name": dots.name,
        "macro": dots.name.upper(),
    }
    return filled(_C.strip(), words)


@cache
def dots_instruction(dots: ByteDots) -> Any:
    """The Exo procedure; the same object for equal instructions."""
    memory = memory_name("i32", dots.lanes)
    given = {memory: vector_set("i32", dots.lanes)[memory]}
    return define(dots.name, dots_source(dots), given)[dots.name]

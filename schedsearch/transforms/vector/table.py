"""The instruction sets of this package: rows of operations, for rows of registers.

A set is the text of a Python file of Exo `@instr` procedures, as a user would write it. Traces
name the digest of that text, and so does the target: another row in a set is another target.

A set has the operations for which its families say every word (`instruction_text.py`), among
them `<reg>`, the register's type for intrinsics, and what makes an argument of operand `x`:
`<r x>` as it is, `<get x>` loaded, `<all x>` with its one element in all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from schedsearch.core.element_types import ELEMENT_BITS, INTEGERS
from schedsearch.transforms.vector.instruction_text import (
    Row,
    Words,
    definition,
    known,
    register_words,
)
from schedsearch.transforms.vector.registers import memory_name

_PAIR = "dst: <R>, a: <R>, b: <R>"
_GREATER = "dst[0] = select(dst[0], src[l], src[l], dst[0])"

OPERATIONS = {
    "load": Row("dst: <R>, src: <M>", "dst[l] = src[l]", "<dst><get src>;"),
    "store": Row("dst: <M>, src: <R>", "dst[l] = src[l]", "<put>;"),
    "load_n": Row("n: size, dst: <R>, src: <N>", "dst[l] = src[l]", "<get_n>"),
    "store_n": Row("n: size, dst: <N>, src: <R>", "dst[l] = src[l]", "<put_n>"),
    "zero": Row("dst: <R>", "dst[l] = 0.0", "<dst><none>;"),
    "broadcast": Row("dst: <R>, src: <S>", "dst[l] = src[0]", "<dst><all src>;"),
    "add": Row(_PAIR, "dst[l] = a[l] + b[l]", "<dst><add>(<r a>, <r b>);"),
    "sub": Row(_PAIR, "dst[l] = a[l] - b[l]", "<dst><sub>(<r a>, <r b>);"),
    "mul": Row(_PAIR, "dst[l] = a[l] * b[l]", "<dst><mul>(<r a>, <r b>);"),
    "div": Row(_PAIR, "dst[l] = a[l] / b[l]", "<dst><div>(<r a>, <r b>);"),
    "max": Row(_PAIR, "dst[l] = select(a[l], b[l], b[l], a[l])", "<dst><max>;"),
    "fma": Row("acc: <R>, a: <R>, b: <R>", "acc[l] += a[l] * b[l]", "<acc><fma r r>;"),
    "fma_broadcast_load": Row(
        "acc: <R>, a: <S>, b: <M>", "acc[l] += a[0] * b[l]", "<acc><fma all get>;"
    ),
    "fma_load_broadcast": Row(
        "acc: <R>, a: <M>, b: <S>", "acc[l] += a[l] * b[0]", "<acc><fma get all>;"
    ),
    "fma_broadcast_load_n": Row(
        "n: size, acc: <R>, a: <S>, b: <N>", "acc[l] += a[0] * b[l]", "<fma_n>"
    ),
    "add_load": Row("acc: <R>, a: <M>", "acc[l] += a[l]", "<acc><add>(<r acc>, <get a>);"),
    "sum": Row("dst: <S>, src: <R>", "dst[0] += src[l]", "<sum>"),
    "max_of": Row("dst: <S>, src: <R>", _GREATER, "<max_of>"),
}
"""Operations of each element type."""

_F32, _I8, _I32 = (f"[{kind}][<lanes>] @ " for kind in ("f32", "i8", "i32"))
CONVERSIONS = {
    ("f64", "load_f32_as_f64"): Row(f"dst: <R>, src: {_F32}DRAM", "dst[l] = src[l]", "<widen>"),
    ("f64", "store_f64_as_f32"): Row(f"dst: {_F32}DRAM, src: <R>", "dst[l] = src[l]", "<narrow>"),
    ("i32", "load_i8_as_i32"): Row(f"dst: <R>, src: {_I8}DRAM", "dst[l] = src[l]", "<bytes>"),
    ("f32", "convert_i32_to_f32"): Row(
        f"dst: <R>, src: {_I32}VEC_I32X<lanes>", "dst[l] = src[l]", "<round>"
    ),
}
"""Operations of one element type."""


def _dot(length: int, c: str) -> Row:
    """The product of two vectors of bytes."""
    operands = f"acc: <S>, a: [i8][{length}] @ DRAM, b: [i8][{length}] @ DRAM"
    return Row(operands, "acc[0] += a[k] * b[k]", c, (("k", str(length)),))


def _dots(length: int, c: str, kind: str = "i8") -> Row:
    """In each lane the product of `a` and a row of `b`; the rows follow each other."""
    operands = f"acc: <R>, a: [{kind}][{length}] @ DRAM, b: [i8][<lanes>, {length}] @ DRAM"
    return Row(operands, "acc[l] += a[k] * b[l, k]", c, (("l", "<lanes>"), ("k", str(length))))


def _dots_rows(length: int, c: str, kind: str = "i8") -> Row:
    """In each lane the product of `a` and a column of `b`."""
    operands = f"acc: <R>, a: [{kind}][{length}] @ DRAM, b: [i8][{length}, <lanes>] @ DRAM"
    return Row(operands, "acc[l] += a[k] * b[k, l]", c, (("k", str(length)), ("l", "<lanes>")))


# Words of a family or a set: for all types of element, for kinds of them, for one.

_BOTH = {
    "r": "(<reg>){$1_data}",
    "if_greater": "{dst_data} = {dst_data} < $1 ? $1 : {dst_data}; }}",
}
X86 = {
    "all": {
        **_BOTH,
        "s": "<x86>",
        "reg": "__m<w><t>",
        "get": "_mm<w>_loadu_<bits>(&{$1_data})",
        "put": "_mm<w>_storeu_<bits>(&{dst_data}, <r src>)",
        "none": "_mm<w>_setzero_<bits>()",
        "all": "_mm<w>_set1_<s>({$1_data})",
        "add": "_mm<w>_add_<s>",
        "sub": "_mm<w>_sub_<s>",
    },
    "float": {
        "bits": "<s>",
        "mul": "_mm<w>_mul_<s>",
        "div": "_mm<w>_div_<s>",
        "max": "_mm<w>_max_<s>(<r b>, <r a>)",  # of NaN `a`, as the body says
        "fma": "_mm<w>_fmadd_<s>(<$1 a>, <$2 b>, <r acc>)",
    },
    "integer": {
        "bits": "si<w>",
        "mul": "_mm<w>_mullo_<s>",
        "fma": "<add>(<r acc>, <mul>(<$1 a>, <$2 b>))",
    },
    "f32": {"t": "", "round": "<dst>_mm<w>_cvtepi32_ps((__m<w>i){src_data});"},
    "f64": {
        "t": "d",
        "widen": "<dst>_mm<w>_cvtps_pd(_mm<half>_loadu_ps(&{src_data}));",
        "narrow": "_mm<half>_storeu_ps(&{dst_data}, _mm<w>_cvtpd_ps(<r src>));",
    },
    "i32": {
        "t": "i",
        "bytes": "<dst>_mm<w>_cvtepi8_epi32(<get_bytes>((const __m128i *)&{src_data}));",
    },
}

AVX512 = {
    "all": {
        **{"w": "512", "half": "256", "get_bytes": "_mm_loadu_si128"},
        "k": "(__mmask<lanes>)((1u << {n}) - 1)",
        "get_n": "<dst>_mm512_mask_loadu_<s>(<r dst>, <k>, &{src_data});",
        "put_n": "_mm512_mask_storeu_<s>(&{dst_data}, <k>, <r src>);",
        "sum": "{dst_data} += _mm512_reduce_add_<s>(<r src>);",
    },
    "float": {
        "fma_n": "<acc>_mm512_mask3_fmadd_<s>(<all a>, "
        "_mm512_maskz_loadu_<s>(<k>, &{b_data}), <r acc>, <k>);",
        "max_of": "{{ <c> isa_m = _mm512_reduce_max_<s>(<r src>);\n<if_greater isa_m>",
    },
}

AVX2 = {
    "all": {"w": "256", "half": "", "get_bytes": "_mm_loadl_epi64"},
    "float": {
        "k": "{{ __m256i isa_n = _mm256_cmpgt_epi<size>(_mm256_set1_epi<count>({n}), "
        "_mm256_setr_epi<count>(<each>));",
        "get_n": """<k>
            <dst>_mm256_blendv_<s>(<r dst>,
            _mm256_maskload_<s>(&{src_data}, isa_n), _mm256_castsi256_<s>(isa_n)); }}""",
        "put_n": "<k>\n_mm256_maskstore_<s>(&{dst_data}, isa_n, <r src>); }}",
        "fma_n": """<k>
            <acc>_mm256_blendv_<s>(<r acc>, _mm256_fmadd_<s>(<all a>,
            _mm256_maskload_<s>(&{b_data}, isa_n), <r acc>), _mm256_castsi256_<s>(isa_n)); }}""",
        "halves": """{{ <reg> isa_v = <r src>;
            __m128<t> isa_s = _mm_$1_<s>(<low>(isa_v), _mm256_extractf128_<s>(isa_v, 1));
            <last $1>""",
        "low": "_mm256_cast<s>256_<s>128",
        "sum": "<halves add>\n{dst_data} += isa_r; }}",
        "max_of": "<halves max>\n<if_greater isa_r>",
    },
    "f32": {
        **{"size": "32", "count": "32", "each": "0, 1, 2, 3, 4, 5, 6, 7"},
        "last": """isa_s = _mm_$1_ps(isa_s, _mm_movehl_ps(isa_s, isa_s));
            float isa_r = _mm_cvtss_f32(_mm_$1_ss(isa_s, _mm_movehdup_ps(isa_s)));""",
    },
    "f64": {
        **{"size": "64", "count": "64x", "each": "0, 1, 2, 3"},
        "last": "double isa_r = _mm_cvtsd_f64(_mm_$1_sd(isa_s, _mm_unpackhi_pd(isa_s, isa_s)));",
    },
    "i32": {
        "get": "_mm256_loadu_si256((const __m256i *)&{$1_data})",
        "put": "_mm256_storeu_si256((__m256i *)&{dst_data}, <r src>)",
        "sum": "{{ __m256i isa_v = <r src>;\n<total isa_v dst>",
        "total": """__m128i isa_s = _mm_add_epi32(<low>($1), _mm256_extracti128_si256($1, 1));
            isa_s = _mm_add_epi32(isa_s, _mm_shuffle_epi32(isa_s, 0x4e));
            {$2_data} += _mm_cvtsi128_si32(<end>); }}""",
        "low": "_mm256_castsi256_si128",
        "end": "_mm_add_epi32(isa_s, _mm_shuffle_epi32(isa_s, 0xb1))",
        "widen_a": "(uint16_t)(int16_t)(&{a_data})",
    },
}

NEON = {
    "all": {
        **_BOTH,
        "s": "<neon>",
        "get": "vld1q_<s>(&{$1_data})",
        "put": "vst1q_<s>(&{dst_data}, <r src>)",
        "none": "vdupq_n_<s>(0)",
        "all": "vdupq_n_<s>({$1_data})",
        "add": "vaddq_<s>",
        "sub": "vsubq_<s>",
        "mul": "vmulq_<s>",
        "sum": "{dst_data} += vaddvq_<s>(<r src>);",
    },
    "float": {
        "div": "vdivq_<s>",
        "max": "vbslq_<s>(vcltq_<s>(<r a>, <r b>), <r b>, <r a>)",
        "fma": "vfmaq_<s>(<r acc>, <$1 a>, <$2 b>)",
        "max_of": "{{ <c> isa_m = vmaxvq_<s>(<r src>);\n<if_greater isa_m>",
    },
    "integer": {"fma": "vmlaq_<s>(<r acc>, <$1 a>, <$2 b>)"},
    "f32": {
        "reg": "float32x4_t",
        "round": "<dst>vcvtq_f32_s32((int32x4_t){src_data});",
    },
    "f64": {
        "reg": "float64x2_t",
        "widen": "<dst>vcvt_f64_f32(vld1_f32(&{src_data}));",
        "narrow": "vst1_f32(&{dst_data}, vcvt_f32_f64(<r src>));",
    },
    "i32": {
        "reg": "int32x4_t",
        "bytes": """{{ int32_t isa_b; __builtin_memcpy(&isa_b, &{src_data}, 4);
            int8x8_t isa_v = vreinterpret_s8_s32(vdup_n_s32(isa_b));
            <dst>vmovl_s16(vget_low_s16(vmovl_s8(isa_v))); }}""",
    },
}

_FOUR = "{{ int32_t isa_a; __builtin_memcpy(&isa_a, &{a_data}, 4);"

VNNI = {
    "i32": {
        "dots": "_mm512_dpbusd_epi32",
        "all_80": "_mm512_set1_epi32(0x80808080)",
        "packed": f"{_FOUR}\n__m512i isa_b = _mm512_loadu_si512(&{{b_data}});",
        "rows": f"""{_FOUR}
            <row 0>
            <row 1>
            <row 2>
            <row 3>
            <mixed lo>
            <mixed hi>
            <joined lo>
            <joined hi>
            __m512i isa_b = _mm512_inserti64x4(_mm512_castsi256_si512(isa_lo), isa_hi, 1);""",
        "row": "__m128i isa_b$1 = "
        "_mm_loadu_si128((const __m128i *)(&{b_data} + $1 * {b}.strides[0]));",
        "mixed": "__m128i isa_$10 = <mix $1>(isa_b0, isa_b1), isa_$12 = <mix $1>(isa_b2, isa_b3);",
        "mix": "_mm_unpack$1_epi8",
        "joined": "__m256i isa_$1 = _mm256_set_m128i("
        "_mm_unpackhi_epi16(isa_$10, isa_$12), _mm_unpacklo_epi16(isa_$10, isa_$12));",
        "signed": """<acc>_mm512_sub_epi32(<dots>(<r acc>, <flipped>, isa_b),
            <dots>(<none>, <all_80>, isa_b)); }}""",
        "flipped": "_mm512_set1_epi32(isa_a ^ 0x80808080)",
        "unsigned": "<acc><dots>(<r acc>, _mm512_set1_epi32(isa_a), isa_b); }}",
    },
}

DOTPROD = {
    "i32": {
        "row": "__builtin_memcpy(isa_rows + $1, &{b_data} + $1 * {b}.strides[0], 4);",
        "dots": "<acc>vdotq_s32(<r acc>, isa_b, vreinterpretq_s8_s32(vdupq_n_s32(isa_a))); }}",
    },
}


@dataclass(frozen=True)
class Set:
    """A row: the length of registers, their types of element, and the families that say the C;
    of two, the later one's word holds.

    `operations`: whether it has those that are not its own. `dots` are: sums in i32. With
    `masked_last` the order of the text is another, which the digests of stored traces need.
    """

    about: str
    include: str
    bits: int
    families: tuple[Mapping[str, Words], ...]
    kinds: tuple[str, ...] = ("f32", "f64", "i32")
    operations: bool = True
    masked_last: bool = False
    dots: Mapping[str, Row] = field(default_factory=dict)


SETS = {
    "avx2": Set(
        "AVX2 and FMA: 16 registers of 256 bits; masks keep what lies beyond `n`.",
        "immintrin.h",
        256,
        (X86, AVX2),
        masked_last=True,
        dots={
            "avx2_i8_dot2_rows": _dots_rows(
                2,
                """{{ int32_t isa_a = <widen_a>[0] | (int32_t)((uint32_t)<widen_a>[1] << 16);
                __m128i isa_b0 = _mm_loadl_epi64((const __m128i *)&{b_data});
                __m128i isa_b1 = _mm_loadl_epi64((const __m128i *)(&{b_data} + {b}.strides[0]));
                __m256i isa_b = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(isa_b0, isa_b1));
                <acc>_mm256_add_epi32(<r acc>,
                _mm256_madd_epi16(_mm256_set1_epi32(isa_a), isa_b)); }}""",
            ),
            "avx2_i8_dot": _dot(
                16,
                """{{ __m128i isa_a = _mm_loadu_si128((const __m128i *)&{a_data});
                __m128i isa_b = _mm_loadu_si128((const __m128i *)&{b_data});
                __m256i isa_p = _mm256_madd_epi16("""
                """_mm256_cvtepi8_epi16(isa_a), _mm256_cvtepi8_epi16(isa_b));
                <total isa_p acc>""",
            ),
        },
    ),
    "avx512": Set(
        "AVX-512 (F, BW, DQ, VL): 32 registers of 512 bits; masks keep what lies beyond `n`.",
        "immintrin.h",
        512,
        (X86, AVX512),
        dots={
            "avx512_i8_dot": _dot(
                32,
                """{{ __m256i isa_a = _mm256_loadu_si256((const __m256i *)&{a_data});
                __m256i isa_b = _mm256_loadu_si256((const __m256i *)&{b_data});
                {acc_data} += _mm512_reduce_add_epi32(_mm512_madd_epi16(
                _mm512_cvtepi8_epi16(isa_a), _mm512_cvtepi8_epi16(isa_b))); }}""",
            )
        },
    ),
    "avx512_vnni": Set(
        """AVX-512 VNNI: sums of four byte products per 32-bit lane.

The instruction multiplies unsigned by signed bytes and does not saturate. Signed by signed
is `(a + 128) * b - 128 * b`, exact in 32 bits.
""",
        "immintrin.h",
        512,
        (X86, AVX512, VNNI),
        ("i32",),
        operations=False,
        dots={
            "vnni_i8_dot4": _dots(4, "<packed>\n<signed>"),
            "vnni_i8_dot4_rows": _dots_rows(4, "<rows>\n<signed>"),
            "vnni_ui8_i8_dot4": _dots(4, "<packed>\n<unsigned>", "ui8"),
            "vnni_ui8_i8_dot4_rows": _dots_rows(4, "<rows>\n<unsigned>", "ui8"),
            "vnni_i8_dot": _dot(
                64,
                """{{ __m512i isa_a = <get a>, isa_b = <get b>;
                __m512i isa_80 = <all_80>;
                __m512i isa_u = <dots>(<none>, _mm512_xor_si512(isa_a, isa_80), isa_b);
                __m512i isa_c = <dots>(<none>, isa_80, isa_b);
                {acc_data} += _mm512_reduce_add_epi32(_mm512_sub_epi32(isa_u, isa_c)); }}""",
            ),
        },
    ),
    "neon": Set(
        "NEON (Advanced SIMD of AArch64): 32 registers of 128 bits, no masks.",
        "arm_neon.h",
        128,
        (NEON,),
    ),
    "neon_dotprod": Set(
        "NEON with dot products (FEAT_DotProd): sums of four signed byte products per 32-bit lane.",
        "arm_neon.h",
        128,
        (NEON, DOTPROD),
        ("i32",),
        operations=False,
        dots={
            "sdot_i8_dot4": _dots(4, f"{_FOUR}\nint8x16_t isa_b = vld1q_s8(&{{b_data}});\n<dots>"),
            "sdot_i8_dot4_rows": _dots_rows(
                4,
                f"""{_FOUR}
                int32_t isa_rows[4];
                <row 0>
                <row 1>
                <row 2>
                <row 3>
                const uint8x16_t isa_order = """
                """{{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}};
                int8x16_t isa_b = """
                """vqtbl1q_s8(vreinterpretq_s8_s32(vld1q_s32(isa_rows)), isa_order);
                <dots>""",
            ),
            "sdot_i8_dot": _dot(
                16,
                """{acc_data} += vaddvq_s32(vdotq_s32(vdupq_n_s32(0),
                vld1q_s8(&{a_data}), vld1q_s8(&{b_data})));""",
            ),
        },
    ),
}
"""The sets by name; `core/isa.py` says which CPUs can run them."""


def set_text(name: str) -> str:
    """The Python text of a set."""
    table = SETS[name]
    definitions = [definition(*each, "INCLUDE") for each in _instructions(name, table)]
    memories = (memory_name(kind, _lanes(table, kind)) for kind in table.kinds)
    select = any("select(" in each for each in definitions)
    head = [
        f'"""{table.about}"""',
        "from __future__ import annotations",
        "from exo import DRAM, instr" + "\nfrom exo.libs.externs import select" * select,
        f"from schedsearch.transforms.registers import {', '.join(memories)}",
        f'INCLUDE = "#include <{table.include}>"',
    ]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(definitions) + "\n"


def _instructions(name: str, table: Set) -> Iterator[tuple[str, Row, Words]]:
    words = {kind: _words(table, kind) for kind in table.kinds}
    if table.operations:
        order = sorted(OPERATIONS, key=lambda each: table.masked_last and each.endswith("_n"))
        for kind in table.kinds:
            for operation in order:
                if known(OPERATIONS[operation].c, words[kind]):
                    yield f"{name}_{kind}_{operation}", OPERATIONS[operation], words[kind]
        for (kind, operation), row in CONVERSIONS.items():
            if known(row.c, words.get(kind, {})):
                yield f"{name}_{operation}", row, words[kind]
    yield from ((dot, row, words["i32"]) for dot, row in table.dots.items())


def _lanes(table: Set, kind: str) -> int:
    return table.bits // ELEMENT_BITS[kind]


def _words(table: Set, kind: str) -> Words:
    group = "integer" if kind in INTEGERS else "float"
    found = register_words(kind, _lanes(table, kind))
    for level in ("all", group, kind):
        for family in table.families:
            found |= family.get(level, {})
    return found

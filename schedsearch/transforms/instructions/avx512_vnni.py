"""AVX-512 VNNI: sums of four byte products per 32-bit lane.

The instruction multiplies unsigned by signed bytes and does not saturate. Signed by signed
is `(a + 128) * b - 128 * b`, exact in 32 bits.
"""

from __future__ import annotations

from exo import DRAM, instr

from schedsearch.transforms.registers import VEC_I32X16

INCLUDE = "#include <immintrin.h>"


@instr(
    "{{ int32_t isa_a; __builtin_memcpy(&isa_a, &{a_data}, 4); "
    "__m512i isa_b = _mm512_loadu_si512(&{b_data}); "
    "{acc_data} = (vec_i32x16)_mm512_sub_epi32(_mm512_dpbusd_epi32((__m512i){acc_data}, _mm512_set1_epi32(isa_a ^ 0x80808080), isa_b), "
    "_mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi32(0x80808080), isa_b)); }}",
    INCLUDE,
)
def vnni_i8_dot4(acc: [i32][16] @ VEC_I32X16, a: [i8][4] @ DRAM, b: [i8][16, 4] @ DRAM):
    assert stride(b, 0) == 4
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 1) == 1
    for l in seq(0, 16):
        for k in seq(0, 4):
            acc[l] += a[k] * b[l, k]


@instr(
    "{{ int32_t isa_a; __builtin_memcpy(&isa_a, &{a_data}, 4); "
    "__m128i isa_b0 = _mm_loadu_si128((const __m128i *)(&{b_data} + 0 * {b}.strides[0])); "
    "__m128i isa_b1 = _mm_loadu_si128((const __m128i *)(&{b_data} + 1 * {b}.strides[0])); "
    "__m128i isa_b2 = _mm_loadu_si128((const __m128i *)(&{b_data} + 2 * {b}.strides[0])); "
    "__m128i isa_b3 = _mm_loadu_si128((const __m128i *)(&{b_data} + 3 * {b}.strides[0])); "
    "__m128i isa_lo0 = _mm_unpacklo_epi8(isa_b0, isa_b1), isa_lo2 = _mm_unpacklo_epi8(isa_b2, isa_b3); "
    "__m128i isa_hi0 = _mm_unpackhi_epi8(isa_b0, isa_b1), isa_hi2 = _mm_unpackhi_epi8(isa_b2, isa_b3); "
    "__m256i isa_lo = _mm256_set_m128i(_mm_unpackhi_epi16(isa_lo0, isa_lo2), _mm_unpacklo_epi16(isa_lo0, isa_lo2)); "
    "__m256i isa_hi = _mm256_set_m128i(_mm_unpackhi_epi16(isa_hi0, isa_hi2), _mm_unpacklo_epi16(isa_hi0, isa_hi2)); "
    "__m512i isa_b = _mm512_inserti64x4(_mm512_castsi256_si512(isa_lo), isa_hi, 1); "
    "{acc_data} = (vec_i32x16)_mm512_sub_epi32(_mm512_dpbusd_epi32((__m512i){acc_data}, _mm512_set1_epi32(isa_a ^ 0x80808080), isa_b), "
    "_mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi32(0x80808080), isa_b)); }}",
    INCLUDE,
)
def vnni_i8_dot4_rows(acc: [i32][16] @ VEC_I32X16, a: [i8][4] @ DRAM, b: [i8][4, 16] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 1) == 1
    for k in seq(0, 4):
        for l in seq(0, 16):
            acc[l] += a[k] * b[k, l]


@instr(
    "{{ int32_t isa_a; __builtin_memcpy(&isa_a, &{a_data}, 4); "
    "__m512i isa_b = _mm512_loadu_si512(&{b_data}); "
    "{acc_data} = (vec_i32x16)_mm512_dpbusd_epi32((__m512i){acc_data}, _mm512_set1_epi32(isa_a), isa_b); }}",
    INCLUDE,
)
def vnni_ui8_i8_dot4(acc: [i32][16] @ VEC_I32X16, a: [ui8][4] @ DRAM, b: [i8][16, 4] @ DRAM):
    assert stride(b, 0) == 4
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 1) == 1
    for l in seq(0, 16):
        for k in seq(0, 4):
            acc[l] += a[k] * b[l, k]


@instr(
    "{{ int32_t isa_a; __builtin_memcpy(&isa_a, &{a_data}, 4); "
    "__m128i isa_b0 = _mm_loadu_si128((const __m128i *)(&{b_data} + 0 * {b}.strides[0])); "
    "__m128i isa_b1 = _mm_loadu_si128((const __m128i *)(&{b_data} + 1 * {b}.strides[0])); "
    "__m128i isa_b2 = _mm_loadu_si128((const __m128i *)(&{b_data} + 2 * {b}.strides[0])); "
    "__m128i isa_b3 = _mm_loadu_si128((const __m128i *)(&{b_data} + 3 * {b}.strides[0])); "
    "__m128i isa_lo0 = _mm_unpacklo_epi8(isa_b0, isa_b1), isa_lo2 = _mm_unpacklo_epi8(isa_b2, isa_b3); "
    "__m128i isa_hi0 = _mm_unpackhi_epi8(isa_b0, isa_b1), isa_hi2 = _mm_unpackhi_epi8(isa_b2, isa_b3); "
    "__m256i isa_lo = _mm256_set_m128i(_mm_unpackhi_epi16(isa_lo0, isa_lo2), _mm_unpacklo_epi16(isa_lo0, isa_lo2)); "
    "__m256i isa_hi = _mm256_set_m128i(_mm_unpackhi_epi16(isa_hi0, isa_hi2), _mm_unpacklo_epi16(isa_hi0, isa_hi2)); "
    "__m512i isa_b = _mm512_inserti64x4(_mm512_castsi256_si512(isa_lo), isa_hi, 1); "
    "{acc_data} = (vec_i32x16)_mm512_dpbusd_epi32((__m512i){acc_data}, _mm512_set1_epi32(isa_a), isa_b); }}",
    INCLUDE,
)
def vnni_ui8_i8_dot4_rows(acc: [i32][16] @ VEC_I32X16, a: [ui8][4] @ DRAM, b: [i8][4, 16] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 1) == 1
    for k in seq(0, 4):
        for l in seq(0, 16):
            acc[l] += a[k] * b[k, l]


@instr(
    "{{ __m512i isa_a = _mm512_loadu_si512(&{a_data}), isa_b = _mm512_loadu_si512(&{b_data}); "
    "__m512i isa_80 = _mm512_set1_epi32(0x80808080); "
    "__m512i isa_u = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_xor_si512(isa_a, isa_80), isa_b); "
    "__m512i isa_c = _mm512_dpbusd_epi32(_mm512_setzero_si512(), isa_80, isa_b); "
    "{acc_data} += _mm512_reduce_add_epi32(_mm512_sub_epi32(isa_u, isa_c)); }}",
    INCLUDE,
)
def vnni_i8_dot(acc: [i32][1] @ DRAM, a: [i8][64] @ DRAM, b: [i8][64] @ DRAM):
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for k in seq(0, 64):
        acc[0] += a[k] * b[k]

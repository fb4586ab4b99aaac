"""AVX-512 (F, BW, DQ, VL): 32 registers of 512 bits; masks keep what lies beyond `n`."""

from __future__ import annotations

from exo import DRAM, instr
from exo.libs.externs import select

from schedsearch.transforms.registers import VEC_F32X16, VEC_F64X8, VEC_I32X16

INCLUDE = "#include <immintrin.h>"


@instr(
    "{dst_data} = (vec_f32x16)_mm512_loadu_ps(&{src_data});",
    INCLUDE,
)
def avx512_f32_load(dst: [f32][16] @ VEC_F32X16, src: [f32][16] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 16):
        dst[l] = src[l]


@instr(
    "_mm512_storeu_ps(&{dst_data}, (__m512){src_data});",
    INCLUDE,
)
def avx512_f32_store(dst: [f32][16] @ DRAM, src: [f32][16] @ VEC_F32X16):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 16):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_f32x16)_mm512_mask_loadu_ps((__m512){dst_data}, (__mmask16)((1u << {n}) - 1), &{src_data});",
    INCLUDE,
)
def avx512_f32_load_n(n: size, dst: [f32][16] @ VEC_F32X16, src: [f32][n] @ DRAM):
    assert n <= 16
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, n):
        dst[l] = src[l]


@instr(
    "_mm512_mask_storeu_ps(&{dst_data}, (__mmask16)((1u << {n}) - 1), (__m512){src_data});",
    INCLUDE,
)
def avx512_f32_store_n(n: size, dst: [f32][n] @ DRAM, src: [f32][16] @ VEC_F32X16):
    assert n <= 16
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, n):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_f32x16)_mm512_setzero_ps();",
    INCLUDE,
)
def avx512_f32_zero(dst: [f32][16] @ VEC_F32X16):
    assert stride(dst, 0) == 1
    for l in seq(0, 16):
        dst[l] = 0.0


@instr(
    "{dst_data} = (vec_f32x16)_mm512_set1_ps({src_data});",
    INCLUDE,
)
def avx512_f32_broadcast(dst: [f32][16] @ VEC_F32X16, src: [f32][1] @ DRAM):
    assert stride(dst, 0) == 1
    for l in seq(0, 16):
        dst[l] = src[0]


@instr(
    "{dst_data} = (vec_f32x16)_mm512_add_ps((__m512){a_data}, (__m512){b_data});",
    INCLUDE,
)
def avx512_f32_add(
    dst: [f32][16] @ VEC_F32X16, a: [f32][16] @ VEC_F32X16, b: [f32][16] @ VEC_F32X16
):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        dst[l] = a[l] + b[l]


@instr(
    "{dst_data} = (vec_f32x16)_mm512_sub_ps((__m512){a_data}, (__m512){b_data});",
    INCLUDE,
)
def avx512_f32_sub(
    dst: [f32][16] @ VEC_F32X16, a: [f32][16] @ VEC_F32X16, b: [f32][16] @ VEC_F32X16
):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        dst[l] = a[l] - b[l]


@instr(
    "{dst_data} = (vec_f32x16)_mm512_mul_ps((__m512){a_data}, (__m512){b_data});",
    INCLUDE,
)
def avx512_f32_mul(
    dst: [f32][16] @ VEC_F32X16, a: [f32][16] @ VEC_F32X16, b: [f32][16] @ VEC_F32X16
):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        dst[l] = a[l] * b[l]


@instr(
    "{dst_data} = (vec_f32x16)_mm512_div_ps((__m512){a_data}, (__m512){b_data});",
    INCLUDE,
)
def avx512_f32_div(
    dst: [f32][16] @ VEC_F32X16, a: [f32][16] @ VEC_F32X16, b: [f32][16] @ VEC_F32X16
):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        dst[l] = a[l] / b[l]


@instr(
    "{dst_data} = (vec_f32x16)_mm512_max_ps((__m512){b_data}, (__m512){a_data});",
    INCLUDE,
)
def avx512_f32_max(
    dst: [f32][16] @ VEC_F32X16, a: [f32][16] @ VEC_F32X16, b: [f32][16] @ VEC_F32X16
):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        dst[l] = select(a[l], b[l], b[l], a[l])


@instr(
    "{acc_data} = (vec_f32x16)_mm512_fmadd_ps((__m512){a_data}, (__m512){b_data}, (__m512){acc_data});",
    INCLUDE,
)
def avx512_f32_fma(
    acc: [f32][16] @ VEC_F32X16, a: [f32][16] @ VEC_F32X16, b: [f32][16] @ VEC_F32X16
):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        acc[l] += a[l] * b[l]


@instr(
    "{acc_data} = (vec_f32x16)_mm512_fmadd_ps(_mm512_set1_ps({a_data}), _mm512_loadu_ps(&{b_data}), (__m512){acc_data});",
    INCLUDE,
)
def avx512_f32_fma_broadcast_load(
    acc: [f32][16] @ VEC_F32X16, a: [f32][1] @ DRAM, b: [f32][16] @ DRAM
):
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        acc[l] += a[0] * b[l]


@instr(
    "{acc_data} = (vec_f32x16)_mm512_fmadd_ps(_mm512_loadu_ps(&{a_data}), _mm512_set1_ps({b_data}), (__m512){acc_data});",
    INCLUDE,
)
def avx512_f32_fma_load_broadcast(
    acc: [f32][16] @ VEC_F32X16, a: [f32][16] @ DRAM, b: [f32][1] @ DRAM
):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 16):
        acc[l] += a[l] * b[0]


@instr(
    "{acc_data} = (vec_f32x16)_mm512_mask3_fmadd_ps(_mm512_set1_ps({a_data}), _mm512_maskz_loadu_ps((__mmask16)((1u << {n}) - 1), &{b_data}), (__m512){acc_data}, (__mmask16)((1u << {n}) - 1));",
    INCLUDE,
)
def avx512_f32_fma_broadcast_load_n(
    n: size, acc: [f32][16] @ VEC_F32X16, a: [f32][1] @ DRAM, b: [f32][n] @ DRAM
):
    assert n <= 16
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, n):
        acc[l] += a[0] * b[l]


@instr(
    "{acc_data} = (vec_f32x16)_mm512_add_ps((__m512){acc_data}, _mm512_loadu_ps(&{a_data}));",
    INCLUDE,
)
def avx512_f32_add_load(acc: [f32][16] @ VEC_F32X16, a: [f32][16] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 16):
        acc[l] += a[l]


@instr(
    "{dst_data} += _mm512_reduce_add_ps((__m512){src_data});",
    INCLUDE,
)
def avx512_f32_sum(dst: [f32][1] @ DRAM, src: [f32][16] @ VEC_F32X16):
    assert stride(src, 0) == 1
    for l in seq(0, 16):
        dst[0] += src[l]


@instr(
    "{{ float isa_m = _mm512_reduce_max_ps((__m512){src_data}); "
    "{dst_data} = {dst_data} < isa_m ? isa_m : {dst_data}; }}",
    INCLUDE,
)
def avx512_f32_max_of(dst: [f32][1] @ DRAM, src: [f32][16] @ VEC_F32X16):
    assert stride(src, 0) == 1
    for l in seq(0, 16):
        dst[0] = select(dst[0], src[l], src[l], dst[0])


@instr(
    "{dst_data} = (vec_f64x8)_mm512_loadu_pd(&{src_data});",
    INCLUDE,
)
def avx512_f64_load(dst: [f64][8] @ VEC_F64X8, src: [f64][8] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[l]


@instr(
    "_mm512_storeu_pd(&{dst_data}, (__m512d){src_data});",
    INCLUDE,
)
def avx512_f64_store(dst: [f64][8] @ DRAM, src: [f64][8] @ VEC_F64X8):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_f64x8)_mm512_mask_loadu_pd((__m512d){dst_data}, (__mmask8)((1u << {n}) - 1), &{src_data});",
    INCLUDE,
)
def avx512_f64_load_n(n: size, dst: [f64][8] @ VEC_F64X8, src: [f64][n] @ DRAM):
    assert n <= 8
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, n):
        dst[l] = src[l]


@instr(
    "_mm512_mask_storeu_pd(&{dst_data}, (__mmask8)((1u << {n}) - 1), (__m512d){src_data});",
    INCLUDE,
)
def avx512_f64_store_n(n: size, dst: [f64][n] @ DRAM, src: [f64][8] @ VEC_F64X8):
    assert n <= 8
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, n):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_f64x8)_mm512_setzero_pd();",
    INCLUDE,
)
def avx512_f64_zero(dst: [f64][8] @ VEC_F64X8):
    assert stride(dst, 0) == 1
    for l in seq(0, 8):
        dst[l] = 0.0


@instr(
    "{dst_data} = (vec_f64x8)_mm512_set1_pd({src_data});",
    INCLUDE,
)
def avx512_f64_broadcast(dst: [f64][8] @ VEC_F64X8, src: [f64][1] @ DRAM):
    assert stride(dst, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[0]


@instr(
    "{dst_data} = (vec_f64x8)_mm512_add_pd((__m512d){a_data}, (__m512d){b_data});",
    INCLUDE,
)
def avx512_f64_add(dst: [f64][8] @ VEC_F64X8, a: [f64][8] @ VEC_F64X8, b: [f64][8] @ VEC_F64X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = a[l] + b[l]


@instr(
    "{dst_data} = (vec_f64x8)_mm512_sub_pd((__m512d){a_data}, (__m512d){b_data});",
    INCLUDE,
)
def avx512_f64_sub(dst: [f64][8] @ VEC_F64X8, a: [f64][8] @ VEC_F64X8, b: [f64][8] @ VEC_F64X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = a[l] - b[l]


@instr(
    "{dst_data} = (vec_f64x8)_mm512_mul_pd((__m512d){a_data}, (__m512d){b_data});",
    INCLUDE,
)
def avx512_f64_mul(dst: [f64][8] @ VEC_F64X8, a: [f64][8] @ VEC_F64X8, b: [f64][8] @ VEC_F64X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = a[l] * b[l]


@instr(
    "{dst_data} = (vec_f64x8)_mm512_div_pd((__m512d){a_data}, (__m512d){b_data});",
    INCLUDE,
)
def avx512_f64_div(dst: [f64][8] @ VEC_F64X8, a: [f64][8] @ VEC_F64X8, b: [f64][8] @ VEC_F64X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = a[l] / b[l]


@instr(
    "{dst_data} = (vec_f64x8)_mm512_max_pd((__m512d){b_data}, (__m512d){a_data});",
    INCLUDE,
)
def avx512_f64_max(dst: [f64][8] @ VEC_F64X8, a: [f64][8] @ VEC_F64X8, b: [f64][8] @ VEC_F64X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = select(a[l], b[l], b[l], a[l])


@instr(
    "{acc_data} = (vec_f64x8)_mm512_fmadd_pd((__m512d){a_data}, (__m512d){b_data}, (__m512d){acc_data});",
    INCLUDE,
)
def avx512_f64_fma(acc: [f64][8] @ VEC_F64X8, a: [f64][8] @ VEC_F64X8, b: [f64][8] @ VEC_F64X8):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[l] * b[l]


@instr(
    "{acc_data} = (vec_f64x8)_mm512_fmadd_pd(_mm512_set1_pd({a_data}), _mm512_loadu_pd(&{b_data}), (__m512d){acc_data});",
    INCLUDE,
)
def avx512_f64_fma_broadcast_load(
    acc: [f64][8] @ VEC_F64X8, a: [f64][1] @ DRAM, b: [f64][8] @ DRAM
):
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[0] * b[l]


@instr(
    "{acc_data} = (vec_f64x8)_mm512_fmadd_pd(_mm512_loadu_pd(&{a_data}), _mm512_set1_pd({b_data}), (__m512d){acc_data});",
    INCLUDE,
)
def avx512_f64_fma_load_broadcast(
    acc: [f64][8] @ VEC_F64X8, a: [f64][8] @ DRAM, b: [f64][1] @ DRAM
):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[l] * b[0]


@instr(
    "{acc_data} = (vec_f64x8)_mm512_mask3_fmadd_pd(_mm512_set1_pd({a_data}), _mm512_maskz_loadu_pd((__mmask8)((1u << {n}) - 1), &{b_data}), (__m512d){acc_data}, (__mmask8)((1u << {n}) - 1));",
    INCLUDE,
)
def avx512_f64_fma_broadcast_load_n(
    n: size, acc: [f64][8] @ VEC_F64X8, a: [f64][1] @ DRAM, b: [f64][n] @ DRAM
):
    assert n <= 8
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, n):
        acc[l] += a[0] * b[l]


@instr(
    "{acc_data} = (vec_f64x8)_mm512_add_pd((__m512d){acc_data}, _mm512_loadu_pd(&{a_data}));",
    INCLUDE,
)
def avx512_f64_add_load(acc: [f64][8] @ VEC_F64X8, a: [f64][8] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[l]


@instr(
    "{dst_data} += _mm512_reduce_add_pd((__m512d){src_data});",
    INCLUDE,
)
def avx512_f64_sum(dst: [f64][1] @ DRAM, src: [f64][8] @ VEC_F64X8):
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[0] += src[l]


@instr(
    "{{ double isa_m = _mm512_reduce_max_pd((__m512d){src_data}); "
    "{dst_data} = {dst_data} < isa_m ? isa_m : {dst_data}; }}",
    INCLUDE,
)
def avx512_f64_max_of(dst: [f64][1] @ DRAM, src: [f64][8] @ VEC_F64X8):
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[0] = select(dst[0], src[l], src[l], dst[0])


@instr(
    "{dst_data} = (vec_i32x16)_mm512_loadu_si512(&{src_data});",
    INCLUDE,
)
def avx512_i32_load(dst: [i32][16] @ VEC_I32X16, src: [i32][16] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 16):
        dst[l] = src[l]


@instr(
    "_mm512_storeu_si512(&{dst_data}, (__m512i){src_data});",
    INCLUDE,
)
def avx512_i32_store(dst: [i32][16] @ DRAM, src: [i32][16] @ VEC_I32X16):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 16):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_i32x16)_mm512_mask_loadu_epi32((__m512i){dst_data}, (__mmask16)((1u << {n}) - 1), &{src_data});",
    INCLUDE,
)
def avx512_i32_load_n(n: size, dst: [i32][16] @ VEC_I32X16, src: [i32][n] @ DRAM):
    assert n <= 16
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, n):
        dst[l] = src[l]


@instr(
    "_mm512_mask_storeu_epi32(&{dst_data}, (__mmask16)((1u << {n}) - 1), (__m512i){src_data});",
    INCLUDE,
)
def avx512_i32_store_n(n: size, dst: [i32][n] @ DRAM, src: [i32][16] @ VEC_I32X16):
    assert n <= 16
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, n):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_i32x16)_mm512_setzero_si512();",
    INCLUDE,
)
def avx512_i32_zero(dst: [i32][16] @ VEC_I32X16):
    assert stride(dst, 0) == 1
    for l in seq(0, 16):
        dst[l] = 0.0


@instr(
    "{dst_data} = (vec_i32x16)_mm512_set1_epi32({src_data});",
    INCLUDE,
)
def avx512_i32_broadcast(dst: [i32][16] @ VEC_I32X16, src: [i32][1] @ DRAM):
    assert stride(dst, 0) == 1
    for l in seq(0, 16):
        dst[l] = src[0]


@instr(
    "{dst_data} = (vec_i32x16)_mm512_add_epi32((__m512i){a_data}, (__m512i){b_data});",
    INCLUDE,
)
def avx512_i32_add(
    dst: [i32][16] @ VEC_I32X16, a: [i32][16] @ VEC_I32X16, b: [i32][16] @ VEC_I32X16
):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        dst[l] = a[l] + b[l]


@instr(
    "{dst_data} = (vec_i32x16)_mm512_sub_epi32((__m512i){a_data}, (__m512i){b_data});",
    INCLUDE,
)
def avx512_i32_sub(
    dst: [i32][16] @ VEC_I32X16, a: [i32][16] @ VEC_I32X16, b: [i32][16] @ VEC_I32X16
):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        dst[l] = a[l] - b[l]


@instr(
    "{dst_data} = (vec_i32x16)_mm512_mullo_epi32((__m512i){a_data}, (__m512i){b_data});",
    INCLUDE,
)
def avx512_i32_mul(
    dst: [i32][16] @ VEC_I32X16, a: [i32][16] @ VEC_I32X16, b: [i32][16] @ VEC_I32X16
):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        dst[l] = a[l] * b[l]


@instr(
    "{acc_data} = (vec_i32x16)_mm512_add_epi32((__m512i){acc_data}, _mm512_mullo_epi32((__m512i){a_data}, (__m512i){b_data}));",
    INCLUDE,
)
def avx512_i32_fma(
    acc: [i32][16] @ VEC_I32X16, a: [i32][16] @ VEC_I32X16, b: [i32][16] @ VEC_I32X16
):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        acc[l] += a[l] * b[l]


@instr(
    "{acc_data} = (vec_i32x16)_mm512_add_epi32((__m512i){acc_data}, _mm512_mullo_epi32(_mm512_set1_epi32({a_data}), _mm512_loadu_si512(&{b_data})));",
    INCLUDE,
)
def avx512_i32_fma_broadcast_load(
    acc: [i32][16] @ VEC_I32X16, a: [i32][1] @ DRAM, b: [i32][16] @ DRAM
):
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 16):
        acc[l] += a[0] * b[l]


@instr(
    "{acc_data} = (vec_i32x16)_mm512_add_epi32((__m512i){acc_data}, _mm512_mullo_epi32(_mm512_loadu_si512(&{a_data}), _mm512_set1_epi32({b_data})));",
    INCLUDE,
)
def avx512_i32_fma_load_broadcast(
    acc: [i32][16] @ VEC_I32X16, a: [i32][16] @ DRAM, b: [i32][1] @ DRAM
):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 16):
        acc[l] += a[l] * b[0]


@instr(
    "{acc_data} = (vec_i32x16)_mm512_add_epi32((__m512i){acc_data}, _mm512_loadu_si512(&{a_data}));",
    INCLUDE,
)
def avx512_i32_add_load(acc: [i32][16] @ VEC_I32X16, a: [i32][16] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 16):
        acc[l] += a[l]


@instr(
    "{dst_data} += _mm512_reduce_add_epi32((__m512i){src_data});",
    INCLUDE,
)
def avx512_i32_sum(dst: [i32][1] @ DRAM, src: [i32][16] @ VEC_I32X16):
    assert stride(src, 0) == 1
    for l in seq(0, 16):
        dst[0] += src[l]


@instr(
    "{dst_data} = (vec_f64x8)_mm512_cvtps_pd(_mm256_loadu_ps(&{src_data}));",
    INCLUDE,
)
def avx512_load_f32_as_f64(dst: [f64][8] @ VEC_F64X8, src: [f32][8] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[l]


@instr(
    "_mm256_storeu_ps(&{dst_data}, _mm512_cvtpd_ps((__m512d){src_data}));",
    INCLUDE,
)
def avx512_store_f64_as_f32(dst: [f32][8] @ DRAM, src: [f64][8] @ VEC_F64X8):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_i32x16)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)&{src_data}));",
    INCLUDE,
)
def avx512_load_i8_as_i32(dst: [i32][16] @ VEC_I32X16, src: [i8][16] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 16):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_f32x16)_mm512_cvtepi32_ps((__m512i){src_data});",
    INCLUDE,
)
def avx512_convert_i32_to_f32(dst: [f32][16] @ VEC_F32X16, src: [i32][16] @ VEC_I32X16):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 16):
        dst[l] = src[l]


@instr(
    "{{ __m256i isa_a = _mm256_loadu_si256((const __m256i *)&{a_data}); "
    "__m256i isa_b = _mm256_loadu_si256((const __m256i *)&{b_data}); "
    "{acc_data} += _mm512_reduce_add_epi32(_mm512_madd_epi16("
    "_mm512_cvtepi8_epi16(isa_a), _mm512_cvtepi8_epi16(isa_b))); }}",
    INCLUDE,
)
def avx512_i8_dot(acc: [i32][1] @ DRAM, a: [i8][32] @ DRAM, b: [i8][32] @ DRAM):
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for k in seq(0, 32):
        acc[0] += a[k] * b[k]

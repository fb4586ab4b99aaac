"""AVX2 and FMA: 16 registers of 256 bits; masks keep what lies beyond `n`."""

from __future__ import annotations

from exo import DRAM, instr
from exo.libs.externs import select

from schedsearch.transforms.registers import VEC_F32X8, VEC_F64X4, VEC_I32X8

INCLUDE = "#include <immintrin.h>"


@instr(
    "{dst_data} = (vec_f32x8)_mm256_loadu_ps(&{src_data});",
    INCLUDE,
)
def avx2_f32_load(dst: [f32][8] @ VEC_F32X8, src: [f32][8] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[l]


@instr(
    "_mm256_storeu_ps(&{dst_data}, (__m256){src_data});",
    INCLUDE,
)
def avx2_f32_store(dst: [f32][8] @ DRAM, src: [f32][8] @ VEC_F32X8):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_f32x8)_mm256_setzero_ps();",
    INCLUDE,
)
def avx2_f32_zero(dst: [f32][8] @ VEC_F32X8):
    assert stride(dst, 0) == 1
    for l in seq(0, 8):
        dst[l] = 0.0


@instr(
    "{dst_data} = (vec_f32x8)_mm256_set1_ps({src_data});",
    INCLUDE,
)
def avx2_f32_broadcast(dst: [f32][8] @ VEC_F32X8, src: [f32][1] @ DRAM):
    assert stride(dst, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[0]


@instr(
    "{dst_data} = (vec_f32x8)_mm256_add_ps((__m256){a_data}, (__m256){b_data});",
    INCLUDE,
)
def avx2_f32_add(dst: [f32][8] @ VEC_F32X8, a: [f32][8] @ VEC_F32X8, b: [f32][8] @ VEC_F32X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = a[l] + b[l]


@instr(
    "{dst_data} = (vec_f32x8)_mm256_sub_ps((__m256){a_data}, (__m256){b_data});",
    INCLUDE,
)
def avx2_f32_sub(dst: [f32][8] @ VEC_F32X8, a: [f32][8] @ VEC_F32X8, b: [f32][8] @ VEC_F32X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = a[l] - b[l]


@instr(
    "{dst_data} = (vec_f32x8)_mm256_mul_ps((__m256){a_data}, (__m256){b_data});",
    INCLUDE,
)
def avx2_f32_mul(dst: [f32][8] @ VEC_F32X8, a: [f32][8] @ VEC_F32X8, b: [f32][8] @ VEC_F32X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = a[l] * b[l]


@instr(
    "{dst_data} = (vec_f32x8)_mm256_div_ps((__m256){a_data}, (__m256){b_data});",
    INCLUDE,
)
def avx2_f32_div(dst: [f32][8] @ VEC_F32X8, a: [f32][8] @ VEC_F32X8, b: [f32][8] @ VEC_F32X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = a[l] / b[l]


@instr(
    "{dst_data} = (vec_f32x8)_mm256_max_ps((__m256){b_data}, (__m256){a_data});",
    INCLUDE,
)
def avx2_f32_max(dst: [f32][8] @ VEC_F32X8, a: [f32][8] @ VEC_F32X8, b: [f32][8] @ VEC_F32X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = select(a[l], b[l], b[l], a[l])


@instr(
    "{acc_data} = (vec_f32x8)_mm256_fmadd_ps((__m256){a_data}, (__m256){b_data}, (__m256){acc_data});",
    INCLUDE,
)
def avx2_f32_fma(acc: [f32][8] @ VEC_F32X8, a: [f32][8] @ VEC_F32X8, b: [f32][8] @ VEC_F32X8):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[l] * b[l]


@instr(
    "{acc_data} = (vec_f32x8)_mm256_fmadd_ps(_mm256_set1_ps({a_data}), _mm256_loadu_ps(&{b_data}), (__m256){acc_data});",
    INCLUDE,
)
def avx2_f32_fma_broadcast_load(acc: [f32][8] @ VEC_F32X8, a: [f32][1] @ DRAM, b: [f32][8] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[0] * b[l]


@instr(
    "{acc_data} = (vec_f32x8)_mm256_fmadd_ps(_mm256_loadu_ps(&{a_data}), _mm256_set1_ps({b_data}), (__m256){acc_data});",
    INCLUDE,
)
def avx2_f32_fma_load_broadcast(acc: [f32][8] @ VEC_F32X8, a: [f32][8] @ DRAM, b: [f32][1] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[l] * b[0]


@instr(
    "{acc_data} = (vec_f32x8)_mm256_add_ps((__m256){acc_data}, _mm256_loadu_ps(&{a_data}));",
    INCLUDE,
)
def avx2_f32_add_load(acc: [f32][8] @ VEC_F32X8, a: [f32][8] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[l]


@instr(
    "{{ __m256 isa_v = (__m256){src_data}; "
    "__m128 isa_s = _mm_add_ps(_mm256_castps256_ps128(isa_v), _mm256_extractf128_ps(isa_v, 1)); "
    "isa_s = _mm_add_ps(isa_s, _mm_movehl_ps(isa_s, isa_s)); "
    "float isa_r = _mm_cvtss_f32(_mm_add_ss(isa_s, _mm_movehdup_ps(isa_s))); "
    "{dst_data} += isa_r; }}",
    INCLUDE,
)
def avx2_f32_sum(dst: [f32][1] @ DRAM, src: [f32][8] @ VEC_F32X8):
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[0] += src[l]


@instr(
    "{{ __m256 isa_v = (__m256){src_data}; "
    "__m128 isa_s = _mm_max_ps(_mm256_castps256_ps128(isa_v), _mm256_extractf128_ps(isa_v, 1)); "
    "isa_s = _mm_max_ps(isa_s, _mm_movehl_ps(isa_s, isa_s)); "
    "float isa_r = _mm_cvtss_f32(_mm_max_ss(isa_s, _mm_movehdup_ps(isa_s))); "
    "{dst_data} = {dst_data} < isa_r ? isa_r : {dst_data}; }}",
    INCLUDE,
)
def avx2_f32_max_of(dst: [f32][1] @ DRAM, src: [f32][8] @ VEC_F32X8):
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[0] = select(dst[0], src[l], src[l], dst[0])


@instr(
    "{{ __m256i isa_n = _mm256_cmpgt_epi32(_mm256_set1_epi32({n}), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); "
    "{dst_data} = (vec_f32x8)_mm256_blendv_ps((__m256){dst_data}, "
    "_mm256_maskload_ps(&{src_data}, isa_n), _mm256_castsi256_ps(isa_n)); }}",
    INCLUDE,
)
def avx2_f32_load_n(n: size, dst: [f32][8] @ VEC_F32X8, src: [f32][n] @ DRAM):
    assert n <= 8
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, n):
        dst[l] = src[l]


@instr(
    "{{ __m256i isa_n = _mm256_cmpgt_epi32(_mm256_set1_epi32({n}), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); "
    "_mm256_maskstore_ps(&{dst_data}, isa_n, (__m256){src_data}); }}",
    INCLUDE,
)
def avx2_f32_store_n(n: size, dst: [f32][n] @ DRAM, src: [f32][8] @ VEC_F32X8):
    assert n <= 8
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, n):
        dst[l] = src[l]


@instr(
    "{{ __m256i isa_n = _mm256_cmpgt_epi32(_mm256_set1_epi32({n}), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); "
    "{acc_data} = (vec_f32x8)_mm256_blendv_ps((__m256){acc_data}, _mm256_fmadd_ps(_mm256_set1_ps({a_data}), "
    "_mm256_maskload_ps(&{b_data}, isa_n), (__m256){acc_data}), _mm256_castsi256_ps(isa_n)); }}",
    INCLUDE,
)
def avx2_f32_fma_broadcast_load_n(
    n: size, acc: [f32][8] @ VEC_F32X8, a: [f32][1] @ DRAM, b: [f32][n] @ DRAM
):
    assert n <= 8
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, n):
        acc[l] += a[0] * b[l]


@instr(
    "{dst_data} = (vec_f64x4)_mm256_loadu_pd(&{src_data});",
    INCLUDE,
)
def avx2_f64_load(dst: [f64][4] @ VEC_F64X4, src: [f64][4] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[l]


@instr(
    "_mm256_storeu_pd(&{dst_data}, (__m256d){src_data});",
    INCLUDE,
)
def avx2_f64_store(dst: [f64][4] @ DRAM, src: [f64][4] @ VEC_F64X4):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_f64x4)_mm256_setzero_pd();",
    INCLUDE,
)
def avx2_f64_zero(dst: [f64][4] @ VEC_F64X4):
    assert stride(dst, 0) == 1
    for l in seq(0, 4):
        dst[l] = 0.0


@instr(
    "{dst_data} = (vec_f64x4)_mm256_set1_pd({src_data});",
    INCLUDE,
)
def avx2_f64_broadcast(dst: [f64][4] @ VEC_F64X4, src: [f64][1] @ DRAM):
    assert stride(dst, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[0]


@instr(
    "{dst_data} = (vec_f64x4)_mm256_add_pd((__m256d){a_data}, (__m256d){b_data});",
    INCLUDE,
)
def avx2_f64_add(dst: [f64][4] @ VEC_F64X4, a: [f64][4] @ VEC_F64X4, b: [f64][4] @ VEC_F64X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = a[l] + b[l]


@instr(
    "{dst_data} = (vec_f64x4)_mm256_sub_pd((__m256d){a_data}, (__m256d){b_data});",
    INCLUDE,
)
def avx2_f64_sub(dst: [f64][4] @ VEC_F64X4, a: [f64][4] @ VEC_F64X4, b: [f64][4] @ VEC_F64X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = a[l] - b[l]


@instr(
    "{dst_data} = (vec_f64x4)_mm256_mul_pd((__m256d){a_data}, (__m256d){b_data});",
    INCLUDE,
)
def avx2_f64_mul(dst: [f64][4] @ VEC_F64X4, a: [f64][4] @ VEC_F64X4, b: [f64][4] @ VEC_F64X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = a[l] * b[l]


@instr(
    "{dst_data} = (vec_f64x4)_mm256_div_pd((__m256d){a_data}, (__m256d){b_data});",
    INCLUDE,
)
def avx2_f64_div(dst: [f64][4] @ VEC_F64X4, a: [f64][4] @ VEC_F64X4, b: [f64][4] @ VEC_F64X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = a[l] / b[l]


@instr(
    "{dst_data} = (vec_f64x4)_mm256_max_pd((__m256d){b_data}, (__m256d){a_data});",
    INCLUDE,
)
def avx2_f64_max(dst: [f64][4] @ VEC_F64X4, a: [f64][4] @ VEC_F64X4, b: [f64][4] @ VEC_F64X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = select(a[l], b[l], b[l], a[l])


@instr(
    "{acc_data} = (vec_f64x4)_mm256_fmadd_pd((__m256d){a_data}, (__m256d){b_data}, (__m256d){acc_data});",
    INCLUDE,
)
def avx2_f64_fma(acc: [f64][4] @ VEC_F64X4, a: [f64][4] @ VEC_F64X4, b: [f64][4] @ VEC_F64X4):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[l] * b[l]


@instr(
    "{acc_data} = (vec_f64x4)_mm256_fmadd_pd(_mm256_set1_pd({a_data}), _mm256_loadu_pd(&{b_data}), (__m256d){acc_data});",
    INCLUDE,
)
def avx2_f64_fma_broadcast_load(acc: [f64][4] @ VEC_F64X4, a: [f64][1] @ DRAM, b: [f64][4] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[0] * b[l]


@instr(
    "{acc_data} = (vec_f64x4)_mm256_fmadd_pd(_mm256_loadu_pd(&{a_data}), _mm256_set1_pd({b_data}), (__m256d){acc_data});",
    INCLUDE,
)
def avx2_f64_fma_load_broadcast(acc: [f64][4] @ VEC_F64X4, a: [f64][4] @ DRAM, b: [f64][1] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[l] * b[0]


@instr(
    "{acc_data} = (vec_f64x4)_mm256_add_pd((__m256d){acc_data}, _mm256_loadu_pd(&{a_data}));",
    INCLUDE,
)
def avx2_f64_add_load(acc: [f64][4] @ VEC_F64X4, a: [f64][4] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[l]


@instr(
    "{{ __m256d isa_v = (__m256d){src_data}; "
    "__m128d isa_s = _mm_add_pd(_mm256_castpd256_pd128(isa_v), _mm256_extractf128_pd(isa_v, 1)); "
    "double isa_r = _mm_cvtsd_f64(_mm_add_sd(isa_s, _mm_unpackhi_pd(isa_s, isa_s))); "
    "{dst_data} += isa_r; }}",
    INCLUDE,
)
def avx2_f64_sum(dst: [f64][1] @ DRAM, src: [f64][4] @ VEC_F64X4):
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[0] += src[l]


@instr(
    "{{ __m256d isa_v = (__m256d){src_data}; "
    "__m128d isa_s = _mm_max_pd(_mm256_castpd256_pd128(isa_v), _mm256_extractf128_pd(isa_v, 1)); "
    "double isa_r = _mm_cvtsd_f64(_mm_max_sd(isa_s, _mm_unpackhi_pd(isa_s, isa_s))); "
    "{dst_data} = {dst_data} < isa_r ? isa_r : {dst_data}; }}",
    INCLUDE,
)
def avx2_f64_max_of(dst: [f64][1] @ DRAM, src: [f64][4] @ VEC_F64X4):
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[0] = select(dst[0], src[l], src[l], dst[0])


@instr(
    "{{ __m256i isa_n = _mm256_cmpgt_epi64(_mm256_set1_epi64x({n}), _mm256_setr_epi64x(0, 1, 2, 3)); "
    "{dst_data} = (vec_f64x4)_mm256_blendv_pd((__m256d){dst_data}, "
    "_mm256_maskload_pd(&{src_data}, isa_n), _mm256_castsi256_pd(isa_n)); }}",
    INCLUDE,
)
def avx2_f64_load_n(n: size, dst: [f64][4] @ VEC_F64X4, src: [f64][n] @ DRAM):
    assert n <= 4
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, n):
        dst[l] = src[l]


@instr(
    "{{ __m256i isa_n = _mm256_cmpgt_epi64(_mm256_set1_epi64x({n}), _mm256_setr_epi64x(0, 1, 2, 3)); "
    "_mm256_maskstore_pd(&{dst_data}, isa_n, (__m256d){src_data}); }}",
    INCLUDE,
)
def avx2_f64_store_n(n: size, dst: [f64][n] @ DRAM, src: [f64][4] @ VEC_F64X4):
    assert n <= 4
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, n):
        dst[l] = src[l]


@instr(
    "{{ __m256i isa_n = _mm256_cmpgt_epi64(_mm256_set1_epi64x({n}), _mm256_setr_epi64x(0, 1, 2, 3)); "
    "{acc_data} = (vec_f64x4)_mm256_blendv_pd((__m256d){acc_data}, _mm256_fmadd_pd(_mm256_set1_pd({a_data}), "
    "_mm256_maskload_pd(&{b_data}, isa_n), (__m256d){acc_data}), _mm256_castsi256_pd(isa_n)); }}",
    INCLUDE,
)
def avx2_f64_fma_broadcast_load_n(
    n: size, acc: [f64][4] @ VEC_F64X4, a: [f64][1] @ DRAM, b: [f64][n] @ DRAM
):
    assert n <= 4
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, n):
        acc[l] += a[0] * b[l]


@instr(
    "{dst_data} = (vec_i32x8)_mm256_loadu_si256((const __m256i *)&{src_data});",
    INCLUDE,
)
def avx2_i32_load(dst: [i32][8] @ VEC_I32X8, src: [i32][8] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[l]


@instr(
    "_mm256_storeu_si256((__m256i *)&{dst_data}, (__m256i){src_data});",
    INCLUDE,
)
def avx2_i32_store(dst: [i32][8] @ DRAM, src: [i32][8] @ VEC_I32X8):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_i32x8)_mm256_setzero_si256();",
    INCLUDE,
)
def avx2_i32_zero(dst: [i32][8] @ VEC_I32X8):
    assert stride(dst, 0) == 1
    for l in seq(0, 8):
        dst[l] = 0.0


@instr(
    "{dst_data} = (vec_i32x8)_mm256_set1_epi32({src_data});",
    INCLUDE,
)
def avx2_i32_broadcast(dst: [i32][8] @ VEC_I32X8, src: [i32][1] @ DRAM):
    assert stride(dst, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[0]


@instr(
    "{dst_data} = (vec_i32x8)_mm256_add_epi32((__m256i){a_data}, (__m256i){b_data});",
    INCLUDE,
)
def avx2_i32_add(dst: [i32][8] @ VEC_I32X8, a: [i32][8] @ VEC_I32X8, b: [i32][8] @ VEC_I32X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = a[l] + b[l]


@instr(
    "{dst_data} = (vec_i32x8)_mm256_sub_epi32((__m256i){a_data}, (__m256i){b_data});",
    INCLUDE,
)
def avx2_i32_sub(dst: [i32][8] @ VEC_I32X8, a: [i32][8] @ VEC_I32X8, b: [i32][8] @ VEC_I32X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = a[l] - b[l]


@instr(
    "{dst_data} = (vec_i32x8)_mm256_mullo_epi32((__m256i){a_data}, (__m256i){b_data});",
    INCLUDE,
)
def avx2_i32_mul(dst: [i32][8] @ VEC_I32X8, a: [i32][8] @ VEC_I32X8, b: [i32][8] @ VEC_I32X8):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        dst[l] = a[l] * b[l]


@instr(
    "{acc_data} = (vec_i32x8)_mm256_add_epi32((__m256i){acc_data}, _mm256_mullo_epi32((__m256i){a_data}, (__m256i){b_data}));",
    INCLUDE,
)
def avx2_i32_fma(acc: [i32][8] @ VEC_I32X8, a: [i32][8] @ VEC_I32X8, b: [i32][8] @ VEC_I32X8):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[l] * b[l]


@instr(
    "{acc_data} = (vec_i32x8)_mm256_add_epi32((__m256i){acc_data}, _mm256_mullo_epi32(_mm256_set1_epi32({a_data}), _mm256_loadu_si256((const __m256i *)&{b_data})));",
    INCLUDE,
)
def avx2_i32_fma_broadcast_load(acc: [i32][8] @ VEC_I32X8, a: [i32][1] @ DRAM, b: [i32][8] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[0] * b[l]


@instr(
    "{acc_data} = (vec_i32x8)_mm256_add_epi32((__m256i){acc_data}, _mm256_mullo_epi32(_mm256_loadu_si256((const __m256i *)&{a_data}), _mm256_set1_epi32({b_data})));",
    INCLUDE,
)
def avx2_i32_fma_load_broadcast(acc: [i32][8] @ VEC_I32X8, a: [i32][8] @ DRAM, b: [i32][1] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[l] * b[0]


@instr(
    "{acc_data} = (vec_i32x8)_mm256_add_epi32((__m256i){acc_data}, _mm256_loadu_si256((const __m256i *)&{a_data}));",
    INCLUDE,
)
def avx2_i32_add_load(acc: [i32][8] @ VEC_I32X8, a: [i32][8] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 8):
        acc[l] += a[l]


@instr(
    "{{ __m256i isa_v = (__m256i){src_data}; "
    "__m128i isa_s = _mm_add_epi32(_mm256_castsi256_si128(isa_v), _mm256_extracti128_si256(isa_v, 1)); "
    "isa_s = _mm_add_epi32(isa_s, _mm_shuffle_epi32(isa_s, 0x4e)); "
    "{dst_data} += _mm_cvtsi128_si32(_mm_add_epi32(isa_s, _mm_shuffle_epi32(isa_s, 0xb1))); }}",
    INCLUDE,
)
def avx2_i32_sum(dst: [i32][1] @ DRAM, src: [i32][8] @ VEC_I32X8):
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[0] += src[l]


@instr(
    "{dst_data} = (vec_f64x4)_mm256_cvtps_pd(_mm_loadu_ps(&{src_data}));",
    INCLUDE,
)
def avx2_load_f32_as_f64(dst: [f64][4] @ VEC_F64X4, src: [f32][4] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[l]


@instr(
    "_mm_storeu_ps(&{dst_data}, _mm256_cvtpd_ps((__m256d){src_data}));",
    INCLUDE,
)
def avx2_store_f64_as_f32(dst: [f32][4] @ DRAM, src: [f64][4] @ VEC_F64X4):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_i32x8)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)&{src_data}));",
    INCLUDE,
)
def avx2_load_i8_as_i32(dst: [i32][8] @ VEC_I32X8, src: [i8][8] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_f32x8)_mm256_cvtepi32_ps((__m256i){src_data});",
    INCLUDE,
)
def avx2_convert_i32_to_f32(dst: [f32][8] @ VEC_F32X8, src: [i32][8] @ VEC_I32X8):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 8):
        dst[l] = src[l]


@instr(
    "{{ int32_t isa_a = (uint16_t)(int16_t)(&{a_data})[0] | (int32_t)((uint32_t)(uint16_t)(int16_t)(&{a_data})[1] << 16); "
    "__m128i isa_b0 = _mm_loadl_epi64((const __m128i *)&{b_data}); "
    "__m128i isa_b1 = _mm_loadl_epi64((const __m128i *)(&{b_data} + {b}.strides[0])); "
    "__m256i isa_b = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(isa_b0, isa_b1)); "
    "{acc_data} = (vec_i32x8)_mm256_add_epi32((__m256i){acc_data}, "
    "_mm256_madd_epi16(_mm256_set1_epi32(isa_a), isa_b)); }}",
    INCLUDE,
)
def avx2_i8_dot2_rows(acc: [i32][8] @ VEC_I32X8, a: [i8][2] @ DRAM, b: [i8][2, 8] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 1) == 1
    for k in seq(0, 2):
        for l in seq(0, 8):
            acc[l] += a[k] * b[k, l]


@instr(
    "{{ __m128i isa_a = _mm_loadu_si128((const __m128i *)&{a_data}); "
    "__m128i isa_b = _mm_loadu_si128((const __m128i *)&{b_data}); "
    "__m256i isa_p = _mm256_madd_epi16(_mm256_cvtepi8_epi16(isa_a), _mm256_cvtepi8_epi16(isa_b)); "
    "__m128i isa_s = _mm_add_epi32(_mm256_castsi256_si128(isa_p), _mm256_extracti128_si256(isa_p, 1)); "
    "isa_s = _mm_add_epi32(isa_s, _mm_shuffle_epi32(isa_s, 0x4e)); "
    "{acc_data} += _mm_cvtsi128_si32(_mm_add_epi32(isa_s, _mm_shuffle_epi32(isa_s, 0xb1))); }}",
    INCLUDE,
)
def avx2_i8_dot(acc: [i32][1] @ DRAM, a: [i8][16] @ DRAM, b: [i8][16] @ DRAM):
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for k in seq(0, 16):
        acc[0] += a[k] * b[k]

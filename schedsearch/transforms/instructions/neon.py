"""NEON (Advanced SIMD of AArch64): 32 registers of 128 bits, no masks."""

from __future__ import annotations

from exo import DRAM, instr
from exo.libs.externs import select

from schedsearch.transforms.registers import VEC_F32X4, VEC_F64X2, VEC_I32X4

INCLUDE = "#include <arm_neon.h>"


@instr(
    "{dst_data} = (vec_f32x4)vld1q_f32(&{src_data});",
    INCLUDE,
)
def neon_f32_load(dst: [f32][4] @ VEC_F32X4, src: [f32][4] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[l]


@instr(
    "vst1q_f32(&{dst_data}, (float32x4_t){src_data});",
    INCLUDE,
)
def neon_f32_store(dst: [f32][4] @ DRAM, src: [f32][4] @ VEC_F32X4):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_f32x4)vdupq_n_f32(0);",
    INCLUDE,
)
def neon_f32_zero(dst: [f32][4] @ VEC_F32X4):
    assert stride(dst, 0) == 1
    for l in seq(0, 4):
        dst[l] = 0.0


@instr(
    "{dst_data} = (vec_f32x4)vdupq_n_f32({src_data});",
    INCLUDE,
)
def neon_f32_broadcast(dst: [f32][4] @ VEC_F32X4, src: [f32][1] @ DRAM):
    assert stride(dst, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[0]


@instr(
    "{dst_data} = (vec_f32x4)vaddq_f32((float32x4_t){a_data}, (float32x4_t){b_data});",
    INCLUDE,
)
def neon_f32_add(dst: [f32][4] @ VEC_F32X4, a: [f32][4] @ VEC_F32X4, b: [f32][4] @ VEC_F32X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = a[l] + b[l]


@instr(
    "{dst_data} = (vec_f32x4)vsubq_f32((float32x4_t){a_data}, (float32x4_t){b_data});",
    INCLUDE,
)
def neon_f32_sub(dst: [f32][4] @ VEC_F32X4, a: [f32][4] @ VEC_F32X4, b: [f32][4] @ VEC_F32X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = a[l] - b[l]


@instr(
    "{dst_data} = (vec_f32x4)vmulq_f32((float32x4_t){a_data}, (float32x4_t){b_data});",
    INCLUDE,
)
def neon_f32_mul(dst: [f32][4] @ VEC_F32X4, a: [f32][4] @ VEC_F32X4, b: [f32][4] @ VEC_F32X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = a[l] * b[l]


@instr(
    "{dst_data} = (vec_f32x4)vdivq_f32((float32x4_t){a_data}, (float32x4_t){b_data});",
    INCLUDE,
)
def neon_f32_div(dst: [f32][4] @ VEC_F32X4, a: [f32][4] @ VEC_F32X4, b: [f32][4] @ VEC_F32X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = a[l] / b[l]


@instr(
    "{dst_data} = (vec_f32x4)vbslq_f32(vcltq_f32((float32x4_t){a_data}, (float32x4_t){b_data}), (float32x4_t){b_data}, (float32x4_t){a_data});",
    INCLUDE,
)
def neon_f32_max(dst: [f32][4] @ VEC_F32X4, a: [f32][4] @ VEC_F32X4, b: [f32][4] @ VEC_F32X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = select(a[l], b[l], b[l], a[l])


@instr(
    "{acc_data} = (vec_f32x4)vfmaq_f32((float32x4_t){acc_data}, (float32x4_t){a_data}, (float32x4_t){b_data});",
    INCLUDE,
)
def neon_f32_fma(acc: [f32][4] @ VEC_F32X4, a: [f32][4] @ VEC_F32X4, b: [f32][4] @ VEC_F32X4):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[l] * b[l]


@instr(
    "{acc_data} = (vec_f32x4)vfmaq_f32((float32x4_t){acc_data}, vdupq_n_f32({a_data}), vld1q_f32(&{b_data}));",
    INCLUDE,
)
def neon_f32_fma_broadcast_load(acc: [f32][4] @ VEC_F32X4, a: [f32][1] @ DRAM, b: [f32][4] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[0] * b[l]


@instr(
    "{acc_data} = (vec_f32x4)vfmaq_f32((float32x4_t){acc_data}, vld1q_f32(&{a_data}), vdupq_n_f32({b_data}));",
    INCLUDE,
)
def neon_f32_fma_load_broadcast(acc: [f32][4] @ VEC_F32X4, a: [f32][4] @ DRAM, b: [f32][1] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[l] * b[0]


@instr(
    "{acc_data} = (vec_f32x4)vaddq_f32((float32x4_t){acc_data}, vld1q_f32(&{a_data}));",
    INCLUDE,
)
def neon_f32_add_load(acc: [f32][4] @ VEC_F32X4, a: [f32][4] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[l]


@instr(
    "{dst_data} += vaddvq_f32((float32x4_t){src_data});",
    INCLUDE,
)
def neon_f32_sum(dst: [f32][1] @ DRAM, src: [f32][4] @ VEC_F32X4):
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[0] += src[l]


@instr(
    "{{ float isa_m = vmaxvq_f32((float32x4_t){src_data}); "
    "{dst_data} = {dst_data} < isa_m ? isa_m : {dst_data}; }}",
    INCLUDE,
)
def neon_f32_max_of(dst: [f32][1] @ DRAM, src: [f32][4] @ VEC_F32X4):
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[0] = select(dst[0], src[l], src[l], dst[0])


@instr(
    "{dst_data} = (vec_f64x2)vld1q_f64(&{src_data});",
    INCLUDE,
)
def neon_f64_load(dst: [f64][2] @ VEC_F64X2, src: [f64][2] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 2):
        dst[l] = src[l]


@instr(
    "vst1q_f64(&{dst_data}, (float64x2_t){src_data});",
    INCLUDE,
)
def neon_f64_store(dst: [f64][2] @ DRAM, src: [f64][2] @ VEC_F64X2):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 2):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_f64x2)vdupq_n_f64(0);",
    INCLUDE,
)
def neon_f64_zero(dst: [f64][2] @ VEC_F64X2):
    assert stride(dst, 0) == 1
    for l in seq(0, 2):
        dst[l] = 0.0


@instr(
    "{dst_data} = (vec_f64x2)vdupq_n_f64({src_data});",
    INCLUDE,
)
def neon_f64_broadcast(dst: [f64][2] @ VEC_F64X2, src: [f64][1] @ DRAM):
    assert stride(dst, 0) == 1
    for l in seq(0, 2):
        dst[l] = src[0]


@instr(
    "{dst_data} = (vec_f64x2)vaddq_f64((float64x2_t){a_data}, (float64x2_t){b_data});",
    INCLUDE,
)
def neon_f64_add(dst: [f64][2] @ VEC_F64X2, a: [f64][2] @ VEC_F64X2, b: [f64][2] @ VEC_F64X2):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 2):
        dst[l] = a[l] + b[l]


@instr(
    "{dst_data} = (vec_f64x2)vsubq_f64((float64x2_t){a_data}, (float64x2_t){b_data});",
    INCLUDE,
)
def neon_f64_sub(dst: [f64][2] @ VEC_F64X2, a: [f64][2] @ VEC_F64X2, b: [f64][2] @ VEC_F64X2):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 2):
        dst[l] = a[l] - b[l]


@instr(
    "{dst_data} = (vec_f64x2)vmulq_f64((float64x2_t){a_data}, (float64x2_t){b_data});",
    INCLUDE,
)
def neon_f64_mul(dst: [f64][2] @ VEC_F64X2, a: [f64][2] @ VEC_F64X2, b: [f64][2] @ VEC_F64X2):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 2):
        dst[l] = a[l] * b[l]


@instr(
    "{dst_data} = (vec_f64x2)vdivq_f64((float64x2_t){a_data}, (float64x2_t){b_data});",
    INCLUDE,
)
def neon_f64_div(dst: [f64][2] @ VEC_F64X2, a: [f64][2] @ VEC_F64X2, b: [f64][2] @ VEC_F64X2):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 2):
        dst[l] = a[l] / b[l]


@instr(
    "{dst_data} = (vec_f64x2)vbslq_f64(vcltq_f64((float64x2_t){a_data}, (float64x2_t){b_data}), (float64x2_t){b_data}, (float64x2_t){a_data});",
    INCLUDE,
)
def neon_f64_max(dst: [f64][2] @ VEC_F64X2, a: [f64][2] @ VEC_F64X2, b: [f64][2] @ VEC_F64X2):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 2):
        dst[l] = select(a[l], b[l], b[l], a[l])


@instr(
    "{acc_data} = (vec_f64x2)vfmaq_f64((float64x2_t){acc_data}, (float64x2_t){a_data}, (float64x2_t){b_data});",
    INCLUDE,
)
def neon_f64_fma(acc: [f64][2] @ VEC_F64X2, a: [f64][2] @ VEC_F64X2, b: [f64][2] @ VEC_F64X2):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 2):
        acc[l] += a[l] * b[l]


@instr(
    "{acc_data} = (vec_f64x2)vfmaq_f64((float64x2_t){acc_data}, vdupq_n_f64({a_data}), vld1q_f64(&{b_data}));",
    INCLUDE,
)
def neon_f64_fma_broadcast_load(acc: [f64][2] @ VEC_F64X2, a: [f64][1] @ DRAM, b: [f64][2] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 2):
        acc[l] += a[0] * b[l]


@instr(
    "{acc_data} = (vec_f64x2)vfmaq_f64((float64x2_t){acc_data}, vld1q_f64(&{a_data}), vdupq_n_f64({b_data}));",
    INCLUDE,
)
def neon_f64_fma_load_broadcast(acc: [f64][2] @ VEC_F64X2, a: [f64][2] @ DRAM, b: [f64][1] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 2):
        acc[l] += a[l] * b[0]


@instr(
    "{acc_data} = (vec_f64x2)vaddq_f64((float64x2_t){acc_data}, vld1q_f64(&{a_data}));",
    INCLUDE,
)
def neon_f64_add_load(acc: [f64][2] @ VEC_F64X2, a: [f64][2] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 2):
        acc[l] += a[l]


@instr(
    "{dst_data} += vaddvq_f64((float64x2_t){src_data});",
    INCLUDE,
)
def neon_f64_sum(dst: [f64][1] @ DRAM, src: [f64][2] @ VEC_F64X2):
    assert stride(src, 0) == 1
    for l in seq(0, 2):
        dst[0] += src[l]


@instr(
    "{{ double isa_m = vmaxvq_f64((float64x2_t){src_data}); "
    "{dst_data} = {dst_data} < isa_m ? isa_m : {dst_data}; }}",
    INCLUDE,
)
def neon_f64_max_of(dst: [f64][1] @ DRAM, src: [f64][2] @ VEC_F64X2):
    assert stride(src, 0) == 1
    for l in seq(0, 2):
        dst[0] = select(dst[0], src[l], src[l], dst[0])


@instr(
    "{dst_data} = (vec_i32x4)vld1q_s32(&{src_data});",
    INCLUDE,
)
def neon_i32_load(dst: [i32][4] @ VEC_I32X4, src: [i32][4] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[l]


@instr(
    "vst1q_s32(&{dst_data}, (int32x4_t){src_data});",
    INCLUDE,
)
def neon_i32_store(dst: [i32][4] @ DRAM, src: [i32][4] @ VEC_I32X4):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_i32x4)vdupq_n_s32(0);",
    INCLUDE,
)
def neon_i32_zero(dst: [i32][4] @ VEC_I32X4):
    assert stride(dst, 0) == 1
    for l in seq(0, 4):
        dst[l] = 0.0


@instr(
    "{dst_data} = (vec_i32x4)vdupq_n_s32({src_data});",
    INCLUDE,
)
def neon_i32_broadcast(dst: [i32][4] @ VEC_I32X4, src: [i32][1] @ DRAM):
    assert stride(dst, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[0]


@instr(
    "{dst_data} = (vec_i32x4)vaddq_s32((int32x4_t){a_data}, (int32x4_t){b_data});",
    INCLUDE,
)
def neon_i32_add(dst: [i32][4] @ VEC_I32X4, a: [i32][4] @ VEC_I32X4, b: [i32][4] @ VEC_I32X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = a[l] + b[l]


@instr(
    "{dst_data} = (vec_i32x4)vsubq_s32((int32x4_t){a_data}, (int32x4_t){b_data});",
    INCLUDE,
)
def neon_i32_sub(dst: [i32][4] @ VEC_I32X4, a: [i32][4] @ VEC_I32X4, b: [i32][4] @ VEC_I32X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = a[l] - b[l]


@instr(
    "{dst_data} = (vec_i32x4)vmulq_s32((int32x4_t){a_data}, (int32x4_t){b_data});",
    INCLUDE,
)
def neon_i32_mul(dst: [i32][4] @ VEC_I32X4, a: [i32][4] @ VEC_I32X4, b: [i32][4] @ VEC_I32X4):
    assert stride(dst, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        dst[l] = a[l] * b[l]


@instr(
    "{acc_data} = (vec_i32x4)vmlaq_s32((int32x4_t){acc_data}, (int32x4_t){a_data}, (int32x4_t){b_data});",
    INCLUDE,
)
def neon_i32_fma(acc: [i32][4] @ VEC_I32X4, a: [i32][4] @ VEC_I32X4, b: [i32][4] @ VEC_I32X4):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[l] * b[l]


@instr(
    "{acc_data} = (vec_i32x4)vmlaq_s32((int32x4_t){acc_data}, vdupq_n_s32({a_data}), vld1q_s32(&{b_data}));",
    INCLUDE,
)
def neon_i32_fma_broadcast_load(acc: [i32][4] @ VEC_I32X4, a: [i32][1] @ DRAM, b: [i32][4] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[0] * b[l]


@instr(
    "{acc_data} = (vec_i32x4)vmlaq_s32((int32x4_t){acc_data}, vld1q_s32(&{a_data}), vdupq_n_s32({b_data}));",
    INCLUDE,
)
def neon_i32_fma_load_broadcast(acc: [i32][4] @ VEC_I32X4, a: [i32][4] @ DRAM, b: [i32][1] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[l] * b[0]


@instr(
    "{acc_data} = (vec_i32x4)vaddq_s32((int32x4_t){acc_data}, vld1q_s32(&{a_data}));",
    INCLUDE,
)
def neon_i32_add_load(acc: [i32][4] @ VEC_I32X4, a: [i32][4] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[l]


@instr(
    "{dst_data} += vaddvq_s32((int32x4_t){src_data});",
    INCLUDE,
)
def neon_i32_sum(dst: [i32][1] @ DRAM, src: [i32][4] @ VEC_I32X4):
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[0] += src[l]


@instr(
    "{dst_data} = (vec_f64x2)vcvt_f64_f32(vld1_f32(&{src_data}));",
    INCLUDE,
)
def neon_load_f32_as_f64(dst: [f64][2] @ VEC_F64X2, src: [f32][2] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 2):
        dst[l] = src[l]


@instr(
    "vst1_f32(&{dst_data}, vcvt_f32_f64((float64x2_t){src_data}));",
    INCLUDE,
)
def neon_store_f64_as_f32(dst: [f32][2] @ DRAM, src: [f64][2] @ VEC_F64X2):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 2):
        dst[l] = src[l]


@instr(
    "{{ int32_t isa_b; __builtin_memcpy(&isa_b, &{src_data}, 4); "
    "int8x8_t isa_v = vreinterpret_s8_s32(vdup_n_s32(isa_b)); "
    "{dst_data} = (vec_i32x4)vmovl_s16(vget_low_s16(vmovl_s8(isa_v))); }}",
    INCLUDE,
)
def neon_load_i8_as_i32(dst: [i32][4] @ VEC_I32X4, src: [i8][4] @ DRAM):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[l]


@instr(
    "{dst_data} = (vec_f32x4)vcvtq_f32_s32((int32x4_t){src_data});",
    INCLUDE,
)
def neon_convert_i32_to_f32(dst: [f32][4] @ VEC_F32X4, src: [i32][4] @ VEC_I32X4):
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, 4):
        dst[l] = src[l]

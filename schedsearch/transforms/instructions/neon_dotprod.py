"""NEON with dot products (FEAT_DotProd): sums of four signed byte products per 32-bit lane."""

from __future__ import annotations

from exo import DRAM, instr

from schedsearch.transforms.registers import VEC_I32X4

INCLUDE = "#include <arm_neon.h>"


@instr(
    "{{ int32_t isa_a; __builtin_memcpy(&isa_a, &{a_data}, 4); "
    "int8x16_t isa_b = vld1q_s8(&{b_data}); "
    "{acc_data} = (vec_i32x4)vdotq_s32((int32x4_t){acc_data}, isa_b, vreinterpretq_s8_s32(vdupq_n_s32(isa_a))); }}",
    INCLUDE,
)
def sdot_i8_dot4(acc: [i32][4] @ VEC_I32X4, a: [i8][4] @ DRAM, b: [i8][4, 4] @ DRAM):
    assert stride(b, 0) == 4
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 1) == 1
    for l in seq(0, 4):
        for k in seq(0, 4):
            acc[l] += a[k] * b[l, k]


@instr(
    "{{ int32_t isa_a; __builtin_memcpy(&isa_a, &{a_data}, 4); "
    "int32_t isa_rows[4]; "
    "__builtin_memcpy(isa_rows + 0, &{b_data} + 0 * {b}.strides[0], 4); "
    "__builtin_memcpy(isa_rows + 1, &{b_data} + 1 * {b}.strides[0], 4); "
    "__builtin_memcpy(isa_rows + 2, &{b_data} + 2 * {b}.strides[0], 4); "
    "__builtin_memcpy(isa_rows + 3, &{b_data} + 3 * {b}.strides[0], 4); "
    "const uint8x16_t isa_order = {{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}}; "
    "int8x16_t isa_b = vqtbl1q_s8(vreinterpretq_s8_s32(vld1q_s32(isa_rows)), isa_order); "
    "{acc_data} = (vec_i32x4)vdotq_s32((int32x4_t){acc_data}, isa_b, vreinterpretq_s8_s32(vdupq_n_s32(isa_a))); }}",
    INCLUDE,
)
def sdot_i8_dot4_rows(acc: [i32][4] @ VEC_I32X4, a: [i8][4] @ DRAM, b: [i8][4, 4] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(a, 0) == 1
    assert stride(b, 1) == 1
    for k in seq(0, 4):
        for l in seq(0, 4):
            acc[l] += a[k] * b[k, l]


@instr(
    "{acc_data} += vaddvq_s32(vdotq_s32(vdupq_n_s32(0), "
    "vld1q_s8(&{a_data}), vld1q_s8(&{b_data})));",
    INCLUDE,
)
def sdot_i8_dot(acc: [i32][1] @ DRAM, a: [i8][16] @ DRAM, b: [i8][16] @ DRAM):
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for k in seq(0, 16):
        acc[0] += a[k] * b[k]

"""Instructions for any machine, as a user might write them: one uses registers of the
generated vector sets, one a memory of its own, one takes a length, one calls a helper."""

from __future__ import annotations

from exo import DRAM, instr

from schedsearch.transforms.registers import VEC_F32X4

HELPER = """
#ifndef PORTABLE_DOT
#define PORTABLE_DOT
static inline int32_t portable_dot(const int8_t *a, const int8_t *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}
#endif
"""


class SCRATCH(DRAM):
    """Plain memory, but only for instructions."""

    @classmethod
    def alloc(cls, new_name, prim_type, shape, srcinfo):
        return f"static {prim_type} {new_name}[{' * '.join(shape)}];"

    @classmethod
    def free(cls, new_name, prim_type, shape, srcinfo):
        return ""


@instr("{acc_data} += portable_dot(&{a_data}, &{b_data});", HELPER)
def portable_i8_dot4(acc: [i32][1] @ DRAM, a: [i8][4] @ DRAM, b: [i8][4] @ DRAM):
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for k in seq(0, 4):
        acc[0] += a[k] * b[k]


@instr("for (int isa_l = 0; isa_l < {n}; isa_l++) (&{x_data})[isa_l] *= (&{y_data})[isa_l];")
def portable_scale_n(n: size, x: [f32][n] @ DRAM, y: [f32][n] @ DRAM):
    assert n <= 4
    assert stride(x, 0) == 1
    assert stride(y, 0) == 1
    for l in seq(0, n):
        x[l] = x[l] * y[l]


@instr("for (int isa_l = 0; isa_l < 4; isa_l++) (&{x_data})[isa_l] *= (&{y_data})[isa_l];")
def portable_scale(x: [f32][4] @ DRAM, y: [f32][4] @ DRAM):
    assert stride(x, 0) == 1
    assert stride(y, 0) == 1
    for l in seq(0, 4):
        x[l] = x[l] * y[l]


@instr("{acc_data} += {a_data} * *(const vec_f32x4_u *)&{b_data};")
def portable_fma(acc: [f32][4] @ VEC_F32X4, a: [f32][1] @ DRAM, b: [f32][4] @ DRAM):
    assert stride(acc, 0) == 1
    assert stride(b, 0) == 1
    for l in seq(0, 4):
        acc[l] += a[0] * b[l]


@instr("for (int isa_l = 0; isa_l < 16; isa_l++) (&{out_data})[isa_l] = (&{block_data})[isa_l];")
def portable_copy_block(out: [f32][4, 4] @ SCRATCH, block: [f32][4, 4] @ DRAM):
    assert stride(out, 0) == 4
    assert stride(out, 1) == 1
    assert stride(block, 0) == 4
    assert stride(block, 1) == 1
    for i in seq(0, 4):
        for j in seq(0, 4):
            out[i, j] = block[i, j]

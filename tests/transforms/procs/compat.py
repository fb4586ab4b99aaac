"""Procedures that Exo 1.0.0 gets wrong."""

from __future__ import annotations

from exo import DRAM, config, instr, proc
from exo.libs.externs import relu, select
from exo.libs.memories import DRAM_STACK


@proc
def parentheses(x: f32[16], y: f32[16]):
    for i in seq(0, 4):
        x[i] = y[5 * (i % 2)]


@proc
def modulo_long(n: size, x: f32[3, n % 8], y: f32[3, 2 * n % 8], z: f32[3, n % 8]):
    assert n % 8 > 0
    assert 2 * n % 8 > 0
    t: f32[3, 2 * (n % 8)]
    for i in seq(0, 3):
        for j in seq(0, n % 8):
            t[i, j] = x[i, j]
    for i in seq(0, 3):
        for j in seq(0, n % 8):
            z[i, j] = t[i, j]
        for j in seq(0, 2 * n % 8):
            y[i, j] += 1.0


@proc
def negative_modulo(x: f32[16], y: f32[16]):
    for i in seq(0, 10):
        x[i] = y[(i - 5) % 10]


@proc
def constant_division(x: f32[16], y: f32[16]):
    for i in seq(0, 4):
        x[i] = y[i + 7 / 2]


@proc
def double_negation(x: f32[4]):
    for i in seq(0, 4):
        x[i] = -(-x[i])


@proc
def dropped_modulo(x: f32[16], y: f32[16]):
    for i in seq(0, 10):
        x[i] = y[(i - 5) % 10]


@proc
def kept_modulo(x: f32[16], y: f32[16]):
    for i in seq(0, 10):
        x[i] = y[(i + 5) % 10] + y[i % 16]


@proc
def index_terms(x: f32[8, 8, 8], y: f32[512]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            for k in seq(0, 8):
                x[i, j, k] = y[64 * i + 8 * j + k]


@proc
def empty_loop(n: size, x: f32[8]):
    assert n < 4
    for i in seq(5, n + 5):
        x[0] = 1.0
    for i in seq(n, 3):
        x[1] = 1.0


@proc
def write(w: [f32][8], by: f32):
    for i in seq(0, 8):
        w[i] = by


@proc
def windows(x: f32[4, 8], by: f32):
    x[0, 0] = 0.0
    for i in seq(0, 4):
        w = x[i, 0:8]
        write(w, by)


@proc
def hard(n: size, x: f32[n, 6]):
    for i in par(0, n):
        for j in par(0, 6):
            x[i, j] = x[i, j] * 2.0


@proc
def scratch(n: size, x: f32[n]):
    for i in par(0, n):
        t: f32[1]
        t[0] = x[i]
        x[i] = t[0] + t[0]


@proc
def copy_row(to: [f32][8], row: [f32][8]):
    for i in seq(0, 8):
        to[i] = row[i]


@proc
def copies(x: f32[64, 64], y: f32[512]):
    for i in seq(0, 4):
        for j in seq(0, 4):
            for k in seq(0, 4):
                for l in seq(0, 8):
                    x[i, 8 * j + l] = y[128 * i + 32 * j + 8 * k + l]


@instr("{dst_data} = {src_data};")
def copy_element(dst: [f32][1] @ DRAM, src: [f32][1] @ DRAM):
    dst[0] = src[0]


@proc
def window_of_row(x: f32[4, 4], y: f32[4, 4]):
    for i in seq(0, 4):
        for j in seq(0, 4):
            copy_element(x[i : i + 1, j], y[i : i + 1, j])


@proc
def window_of_column(x: f32[4, 4], y: f32[4, 4]):
    for i in seq(0, 4):
        for j in seq(0, 4):
            copy_element(x[i, j : j + 1], y[i, j : j + 1])


@instr("memcpy(&{dst_data}, &{src_data}, {n} * sizeof(float));")
def copy_up_to_8(n: size, dst: [f32][n] @ DRAM, src: [f32][n] @ DRAM):
    assert n <= 8
    assert stride(dst, 0) == 1
    assert stride(src, 0) == 1
    for l in seq(0, n):
        dst[l] = src[l]


@proc
def too_long(x: f32[16], y: f32[16]):
    for i in seq(0, 16):
        x[i] = y[i]


@proc
def down_a_column(x: f32[8], y: f32[8, 8]):
    for i in seq(0, 8):
        x[i] = y[i, 3]


@proc
def of_unknown_stride(x: [f32][8], y: f32[8]):
    for i in seq(0, 8):
        x[i] = y[i]


@proc
def of_unknown_length(n: size, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        x[i] = y[i]


@proc
def along_a_row(x: f32[8], y: f32[8, 8]):
    for i in seq(0, 8):
        x[i] = y[3, i]


@proc
def rows_that_grow(x: f32[8, 8], y: f32[8, 8]):
    for k in seq(0, 8):
        for i in seq(0, k + 1):
            x[k, i] = y[k, i]


@proc
def of_known_stride(n: size, x: [f32][n, 8], y: f32[n, 2, 8]):
    assert stride(x, 1) == 1
    for k in seq(0, n):
        for i in seq(0, 8):
            x[k, i] = y[k, 1, i]


@proc
def sums(y: f32[4], A: f32[4, 3]):
    s: f32[1]
    for i in seq(0, 4):
        s[0] = 0.0
        for j in seq(0, 3):
            s[0] += A[i, j]
        y[i] = s[0]


@proc
def clear(s: [f32][1]):
    s[0] = 0.0


@proc
def add(s: [f32][1], x: [f32][1]):
    s[0] += x[0]


@proc
def sums_by_calls(y: f32[4], A: f32[4]):
    s: f32[1]
    for i in seq(0, 4):
        clear(s[0:1])
        add(s[0:1], A[i : i + 1])
        y[i] = s[0]


@proc
def sums_through_windows(y: f32[4], A: f32[4]):
    s: f32[1]
    for i in seq(0, 4):
        s[0] = 0.0
        w = s[0:1]
        w[0] += A[i]
        y[i] = s[0]


@proc
def copied(y: f32[4], x: f32[1]):
    s: f32[1]
    for i in seq(0, 4):
        s[0] = x[0]
        y[i] = s[0]


@proc
def column_sums(s: f32[4], A: f32[4, 4]):
    for j in seq(0, 4):
        s[j] = 0.0
        for k in seq(0, 4):
            s[j] += A[k, j]


@proc
def rows_of_growing_length(n: size, x: f32[n]):
    for i in seq(0, n):
        t: f32[i + 1]
        for j in seq(0, i + 1):
            t[j] = x[j]
        x[i] = t[i]


@proc
def rows_of_one_length(x: f32[16, 4]):
    for i in seq(0, 16):
        t: f32[i + 4 - i]
        for j in seq(0, 4):
            t[j] = x[i, j]
        for j in seq(0, 4):
            x[i, j] += t[3 - j]


@proc
def two_names(x: f32[8], y: f32[4]):
    w = x[2:6]
    for i in seq(0, 4):
        w[i] = 1.0
    for i in seq(0, 4):
        y[i] = x[i]
    for i in seq(0, 4):
        y[i] = x[i]
        w[i] = 2.0


@proc
def one_name_twice(x: f32[4], y: f32[4]):
    t: f32
    t = x[0]
    y[0] = t
    t: f32
    t = x[1]
    y[1] = t


@proc
def one_index_twice(x: f32[4], y: f32[4]):
    t: f32[4]
    for i in seq(0, 4):
        t[i] = 1.0
    for i in seq(0, 4):
        t[i] = x[i]
        for i in seq(0, 4):
            y[i] += t[i]


@proc
def one_name_of_two_ranks(x: f32[4], y: f32[4]):
    t: f32[2]
    t[1] = x[0]
    y[0] = t[1]
    t: f32
    t = x[1]
    y[1] = t


@proc
def other_branch(n: size, x: f32[8]):
    for i in seq(0, 8):
        if n > 4:
            if i < 3:
                x[i] += 1.0
        else:
            x[i] += 2.0


@proc
def else_if(n: size, x: f32[8]):
    for i in seq(0, 8):
        if n > 4:
            x[i] += 1.0
        else:
            if i < 3:
                x[i] += 2.0


@proc
def both_branches(n: size, x: f32[8]):
    for i in seq(0, 8):
        if n > 4:
            if i < 3:
                x[i] += 1.0
            else:
                x[i] += 3.0
        else:
            x[i] += 2.0


@proc
def read_of_moved_window(x: f32[8], y: f32[4]):
    x[0] = 0.0
    w = x[2:6]
    for i in seq(0, 4):
        w[i] = 1.0
    for i in seq(0, 4):
        y[i] = x[i]


@proc
def read_beside_window(x: f32[8], y: f32[4]):
    x[0] = 0.0
    w = x[2:6]
    for i in seq(0, 4):
        y[i] = x[i]
        w[i] = 2.0


@proc
def read_before_window(x: f32[8], y: f32[4]):
    x[0] = 0.0
    w = x[2:6]
    for i in seq(0, 4):
        y[i] = x[i]
    for i in seq(0, 4):
        w[i] = 1.0


@proc
def kept_rows(x: f32[8, 512], y: f32[8]):
    t: f32[512]
    for i in seq(0, 8):
        if i == 0:
            for j in seq(0, 512):
                t[j] = x[0, j]
        y[i] = t[100 + i]


@proc
def kept_row(x: f32[8], y: f32[8]):
    t: f32[8]
    for i in seq(0, 8):
        if i == 0:
            for j in seq(0, 8):
                t[j] = x[j]
        y[i] = t[i]


@proc
def kept_on_stack(x: f32[8], y: f32[8]):
    t: f32[8] @ DRAM_STACK
    for i in seq(0, 8):
        if i == 0:
            for j in seq(0, 8):
                t[j] = x[j]
        y[i] = t[i]


@proc
def read_again(x: f32[8], y: f32[8]):
    t: f32[8]
    for i in seq(0, 8):
        t[i] = x[i] * 2.0
        y[i] = t[i]
    for i in seq(0, 8):
        y[i] += t[7 - i]


@proc
def scratch_of_each(x: f32[64, 64], y: f32[64]):
    for r in seq(0, 2):
        for i in par(0, 64):
            t: f32[64] @ DRAM_STACK
            for j in seq(0, 64):
                t[j] = x[i, j] * 2.0
            for j in seq(0, 64):
                y[i] += t[63 - j]


@proc
def write_last(a: [f32][9]):
    a[8] = 0.0


@proc
def written_outside(x: f32[4]):
    x[0] = 0.0
    w = x[0:1]
    w[8] = 0.0


@proc
def written_outside_by_a_call(x: f32[4]):
    x[0] = 0.0
    w = x[0:9]
    write_last(w)


@proc
def read_outside(x: f32[4], y: f32[1]):
    y[0] = relu(x[8])


@proc
def rectify(x: f32[16]):
    for i in seq(0, 16):
        x[i] = relu(x[i])


@proc
def nested_functions(x: f32[16], y: f32[16]):
    for i in seq(0, 16):
        x[i] = select(x[i], y[i], relu(-x[i]), y[i])


@proc
def merged(y: i32[8], x: f32[8], z: f32[8]):
    for i in seq(0, 8):
        y[i] = x[i] * 0.5
        y[i] += z[i] * 0.5


@proc
def stored_between(y: f32[8], x: f32[8]):
    for i in seq(0, 8):
        t: i8
        t = x[i] * 0.5
        y[i] = t * 3.0


@proc
def computed_wide(y: i32[8], x: i8[8], z: i8[8]):
    for i in seq(0, 8):
        y[i] = x[i] * 50.0 * z[i]


@proc
def constants(y: f32[8], x: f32[8]):
    for i in seq(0, 8):
        y[i] = x[i] * (3.0 / 2.0)


@proc
def whole_constants(y: f32[8], x: f32[8], z: i8[8]):
    for i in seq(0, 8):
        y[i] = x[i] / (260.0 - 1.0) + 6.0 / 3.0
    for i in seq(0, 8):
        z[i] += z[i] * (3.0 - 1.0)


@proc
def constants_that_are_converted(z: i8[8]):
    for i in seq(0, 8):
        z[i] += z[i] * (0.5 + 0.5)


@proc
def constants_too_large(z: i8[8]):
    for i in seq(0, 8):
        z[i] = z[i] + (260.0 - 1.0)


@proc
def of_another_type(x: f64[8], y: f64[8]):
    for i in seq(0, 8):
        y[i] = x[i]


@proc
def odd_rest(n: size, x: f32[n]):
    for i in seq(0, 4):
        if n % 2 > 0:
            x[n - 1] += 1.0


@proc
def rows_of_a_triangle(x: f32[8, 8]):
    for i in seq(2, 8):
        row: f32[i]
        for j in seq(0, i):
            row[j] = x[i, j]
        for j in seq(0, i):
            x[i, j] += row[j] * row[0]


@proc
def begins_later(x: f32[8]):
    for i in seq(0, 8):
        x[i] = 1.0
    for j in seq(2, 8):
        x[j] += 1.0


@proc
def goes_on(n: size, y: f32[8], z: f32[8]):
    for i in seq(0, 4):
        t: f32
        t = z[i]
        y[i] = t
    for i in seq(4, 8):
        t: f32
        t = z[i]
        y[i] = t


@proc
def goes_on_otherwise(n: size, y: f32[8], z: f32[8]):
    for i in seq(0, 4):
        if n < 2:
            y[i] = 1.0
        z[i] = 2.0
    for i in seq(4, 8):
        if n < 2:
            y[i] = 1.0
        else:
            z[i] = 2.0


@proc
def goes_on_with_more(n: size, y: f32[8], z: f32[8]):
    for i in seq(0, 4):
        y[i] = 1.0
    for i in seq(4, 8):
        y[i] = 1.0
        z[i] = 2.0


@proc
def rows_of_both_ends(n: size, x: f32[n + 8], y: f32[8]):
    t: f32[n + 8]
    for i in seq(0, n + 8):
        t[i] = x[i]
    for j in seq(0, 8):
        y[j] = t[j]


@proc
def rows_upwards(x: f32[10], y: f32[8]):
    t: f32[10]
    for i in seq(0, 10):
        t[i] = x[i]
        if i > 1:
            y[i - 2] = t[i] + t[i - 2]


@proc
def changed_meanwhile(x: f32[8], y: f32[8]):
    t: f32[8]
    for i in seq(0, 8):
        t[i] = x[i] * 2.0
        x[i] = 0.0
        y[i] = t[i]


@proc
def read_after_its_block(x: f32[8], y: f32[8]):
    t: f32[8]
    for i in seq(0, 8):
        t[i] = x[i] * 2.0
        y[i] = t[i]
    for i in seq(0, 4):
        y[i] += t[i + 4]


@proc
def read_in_the_next_iteration(x: f32[8], y: f32[8]):
    t: f32[8]
    for i in seq(0, 8):
        t[i] = 0.0
    for k in seq(0, 2):
        for i in seq(0, 8):
            y[i] += t[7 - i]
            t[i] = x[i] * 2.0
            y[i] += t[i]


@proc
def read_by_the_caller(x: f32[8], y: f32[8]):
    for i in seq(0, 8):
        x[i] = 2.0
        y[i] = x[i]


@proc
def read_beyond(n: size, x: f32[n + 8], y: f32[n + 8]):
    t: f32[n + 8]
    for i in seq(0, 8):
        t[n + i] = x[i]
    for i in seq(0, n):
        t[i] = x[i] * 2.0
        y[i] = t[i]
    for i in seq(0, 8):
        y[n + i] = t[n + i]


@proc
def private_rows(x: f32[8, 16], y: f32[8]):
    t: f32[8, 16]
    for i in seq(0, 8):
        for j in seq(0, 16):
            t[i, j] = x[i, j]
        for j in seq(0, 16):
            y[i] += t[i, j]


@proc
def private_scalar(x: f32[8], y: f32[8]):
    t: f32
    for i in seq(0, 8):
        t = x[i]
        y[i] = t * t


@proc
def never_runs(n: size, x: f32[8]):
    for i in seq(0, n % 8 / 8):
        x[i] = 0.0
    for j in seq(n % 8 / 8, 0):
        x[j] = 1.0


@config
class Place:
    at: size


@proc
def place_in_loops(y: f32[8], x: f32[8]):
    t: f32[16]
    for i in seq(0, 8):
        Place.at = 1
        if i > 0:
            y[i] = t[i + Place.at]
        Place.at = 2
        t[i + Place.at] = x[i]


@proc
def place_read_later(y: f32[8], x: f32[8]):
    t: f32[16]
    Place.at = 3
    for i in seq(0, 1):
        t[Place.at] = x[i]
    Place.at = 2
    y[0] = t[Place.at + 1]


@proc
def with_another_branch(x: f32[8], y: f32[8]):
    for i in seq(0, 8):
        if i < 4:
            t: f32
            t = x[i]
            y[i] += t
        else:
            y[i] = x[i]


def stored_in_two(first, second):
    """A procedure with two memories of one name; the text that each adds to C."""
    one, other = memory_with_text(first), memory_with_text(second)

    @proc
    def stored(x: f32[4] @ DRAM):
        a: f32[4] @ one
        b: f32[4] @ other
        for i in seq(0, 4):
            a[i] = x[i]
            b[i] = a[i]
            x[i] = b[i]

    return stored


def memory_with_text(text):
    class VEC_F32X4(DRAM_STACK):
        @classmethod
        def global_(cls):
            return f"/* {text} */"

    return VEC_F32X4


@proc
def added_in_else(x: f32[12], y: f32[12]):
    for t in seq(0, 1):
        for i in seq(0, 12):
            if i < 4:
                y[i] += 1.0
            else:
                x[i] += y[i]
        for i in seq(4, 12):
            x[i] += 2.0


@proc
def added_in_if_in_else(x: f32[12], y: f32[12]):
    for t in seq(0, 1):
        for i in seq(0, 12):
            if i < 2:
                y[i] += 1.0
            else:
                if i > 3:
                    x[i] += y[i]
        for i in seq(4, 12):
            x[i] += 2.0


@proc
def added_in_if(x: f32[12], y: f32[12]):
    for t in seq(0, 1):
        for i in seq(0, 12):
            if i > 3:
                x[i] += y[i]
            else:
                y[i] += 1.0


@proc
def begins_at_one(x: f32[1], y: f32[9], c: f32[2]):
    x[0] = 1.0
    for i in seq(0, 9):
        x[0] += c[0] * y[i]


@proc
def scaled_in_one_branch(n: size, x: f32[1], y: f32[9], c: f32[2]):
    x[0] = 0.0
    if n < 5:
        x[0] += c[0] * y[0]
    else:
        x[0] += y[1]


@proc
def scaled_by_branch(x: f32[1], y: f32[9], c: f32[4]):
    x[0] = 0.0
    for i in seq(0, 9):
        if i < 8:
            x[0] += c[0] * y[i]
        else:
            x[0] += c[3] * y[i]


@proc
def scaled_then_rounded(x: f32[1], y: f64[9], c: f64[1]):
    x[0] = 0.0
    for i in seq(0, 9):
        x[0] += c[0] * y[i]


@proc
def scaled_then_truncated(x: i8[1], y: f32[9], c: f32[1]):
    x[0] = 0.0
    for i in seq(0, 9):
        x[0] += c[0] * y[i]


@proc
def scaled_through_a_window(x: f32[1], y: f32[9], c: f32[2]):
    w = c[0:1]
    x[0] = 0.0
    for i in seq(0, 9):
        x[0] += c[0] * y[i]
        w[0] = 2.0


@proc
def scaled_if_it_runs(n: size, x: f32[1], y: f32[n], c: f32[n]):
    x[0] = 0.0
    for i in seq(0, n / 6):
        x[0] += c[n - 6] * y[i]


@proc
def scaled_alike(x: f32[1], y: f32[9], c: f32[2]):
    x[0] = 0.0
    for i in seq(0, 9):
        if i < 4:
            x[0] += c[1] * y[i]
        else:
            x[0] += c[1] * (y[i] + 1.0)


@proc
def scaled_by_an_iteration(x: f32[1], y: f32[9], c: f32[9]):
    x[0] = 0.0
    for i in seq(0, 9):
        x[0] += c[i] * y[i]


@proc
def scaled_by_what_changes(x: f32[1], y: f32[9], c: f32[2]):
    x[0] = 0.0
    for i in seq(0, 9):
        x[0] += c[0] * y[i]
        c[0] += 1.0


@proc
def scaled_among_others(x: f32[9], y: f32[9], c: f32[2]):
    x[0] = 0.0
    for i in seq(0, 9):
        x[i] += c[0] * y[i]


@proc
def read_before_it_is_stored(x: f32[8], y: f32[8]):
    for i in seq(0, 8):
        t: f32
        t = x[i]
        y[i] += t
        t = x[i] * 2.0
        y[i] += t


@proc
def scaled_if_it_has_a_value(n: size, x: f32[n], y: f32[n], c: f32[n]):
    t: f32[n]
    for i in seq(1, n):
        t[i] = c[i]
    for k in seq(0, n):
        x[k] = 0.0
        for i in seq(0, k):
            x[k] += t[k] * y[i]


@proc
def scaled_in_an_if(n: size, x: f32[1], y: f32[9]):
    c: f32[n]
    if n < 5:
        c[0] = 2.0
    x[0] = 0.0
    for i in seq(0, 9):
        if n < 5:
            x[0] += c[0] * y[i]


@proc
def billions(n: size, m: size, x: f32[3]):
    assert m <= n
    assert n <= 1500000000
    for i in seq(0, (2 * n - m) / 1000000000):
        x[i] += 1.0


@proc
def scaled_by_a_temporary(n: size, x: f32[n], y: f32[9], c: f32[n]):
    a: f32[1]
    a[0] = c[n - 1]
    for k in seq(0, n):
        t: f32
        t = c[k]
        x[k] = 0.0
        for i in seq(0, k):
            x[k] += t * y[0]
        x[k] = 0.0
        for i in seq(0, k):
            x[k] += a[0] * y[0]
    b: f32[n]
    for k in seq(0, n):
        b[k] = c[k]
    for k in seq(0, n):
        x[k] = 0.0
        for i in seq(0, n):
            for j in seq(i, n):
                x[k] += b[k] * y[0]


@proc
def one_variable(n: size, x: f32[n], y: f32[n, n], z: f32[n]):
    for i in seq(0, n):
        x[i] = 1.0
        for k in seq(0, n):
            y[k, i] += z[k]

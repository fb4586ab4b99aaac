"""Procedures in which values are converted: where they are is part of what they mean."""

from __future__ import annotations

from exo import proc


@proc
def scaled_into_bytes(n: size, y: i8[n], x: f32[n], s: f32):
    for i in seq(0, n):
        y[i] += x[i] * s


@proc
def truncated_sums(n: size, y: i32[3], x: f32[3, n]):
    for i in seq(0, 3):
        s: i32
        s = 0.0
        for k in seq(0, n):
            s += x[i, k]
        y[i] = s


@proc
def sums_in_place(n: size, y: i32[8], x: f32[8, n]):
    for i in seq(0, 8):
        for k in seq(0, n):
            y[i] += x[i, k]


@proc
def products_of_bytes(n: size, y: i32[8, 8], x: i8[8, n], z: i8[n, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            for k in seq(0, n):
                y[i, j] += x[i, k] * z[k, j]


@proc
def rounded_products(n: size, y: f32[8, 8], x: f64[8, n], z: f64[n, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            for k in seq(0, n):
                y[i, j] += x[i, k] * z[k, j]


@proc
def two_truncations(n: size, y: i32[n], x: f32[n], z: f32[n]):
    for i in seq(0, n):
        y[i] = x[i]
        y[i] += z[i]


@proc
def two_roundings(n: size, y: f32[n], x: f64[n], z: f64[n]):
    for i in seq(0, n):
        y[i] = x[i] * z[i]
        y[i] += x[i] * 0.1


@proc
def widened_halves(n: size, y: f64[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = x[i] * 0.1
        y[i] += x[i] * 3.0


@proc
def through_an_integer(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        t: i32
        t = x[i]
        y[i] = t * 2.0


@proc
def through_a_byte(n: size, y: i32[n], x: i8[n]):
    for i in seq(0, n):
        t: i8
        t = x[i] * x[i] * 4.0
        y[i] = t
        y[i] += t * t


@proc
def constant_of_another_type(n: size, y: f64[n]):
    t: f32
    t = 0.1
    for i in seq(0, n):
        y[i] = t


@proc
def through_a_half(n: size, y: f32[n], x: f16[n], h: f16[n]):
    for i in seq(0, n):
        t: f16
        t = x[i] * x[i]
        h[i] += t
        y[i] = t


@proc
def copied_through_a_byte(n: size, y: i8[n], x: f32[n]):
    t: i8[n]
    for i in seq(0, n):
        t[i] = x[i]
        y[i] = t[i]


@proc
def grey_by_way_of_integers(y: ui8[8], z: i32[8], x: ui8[8, 3], w: i32[8]):
    for i in seq(0, 8):
        r: f32
        r = x[i, 0]
        t: i32
        t = 0.299 * r
        y[i] = t + w[i]
        z[i] = w[i] * w[i]

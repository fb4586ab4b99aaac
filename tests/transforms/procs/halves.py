"""f16 in memory: converted, computed with, added to. Those called `no_...` have no vector form."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import relu


@proc
def widened(n: size, y: f32[n], x: f16[n]):
    for i in seq(0, n):
        y[i] = x[i]


@proc
def widened_twice(n: size, y: f64[n], x: f16[n]):
    for i in seq(0, n):
        y[i] = x[i]


@proc
def narrowed(n: size, y: f16[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = x[i]


@proc
def scaled(n: size, y: f16[n], x: f16[n], a: f16):
    for i in seq(0, n):
        y[i] = 0.5 * x[i] - a * y[i]


@proc
def added(n: size, y: f16[n], x: f16[n]):
    for i in seq(0, n):
        y[i] += x[i] * x[i]


@proc
def in_singles(n: size, y: f16[n], x: f16[n], a: f32):
    for i in seq(0, n):
        s: f32
        t: f32
        s = x[i]
        t = y[i]
        y[i] = relu(a * s + t)


@proc
def rounded_between(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        t: f16
        t = x[i] * x[i]
        y[i] += t


@proc
def no_rounding_twice(n: size, y: f16[n], x: f64[n]):
    for i in seq(0, n):
        y[i] = x[i]


@proc
def no_rounding_of_integers(n: size, y: f16[n], x: i32[n]):
    for i in seq(0, n):
        y[i] = x[i]


@proc
def no_rounding_before_adding(n: size, y: f16[n], x: f32[n]):
    for i in seq(0, n):
        y[i] += x[i] * x[i]


@proc
def no_rounded_constant(n: size, y: f16[n], x: f16[n]):
    for i in seq(0, n):
        y[i] = 0.1 * x[i]


@proc
def no_function(n: size, y: f16[n], x: f16[n]):
    for i in seq(0, n):
        y[i] = relu(x[i])


@proc
def no_sum(n: size, y: f16[1], x: f16[n]):
    for i in seq(0, n):
        y[0] += x[i]


@proc
def product(C: f32[6, 33], A: f16[6, 5], B: f16[5, 33]):
    for i in seq(0, 6):
        for j in seq(0, 33):
            for k in seq(0, 5):
                a: f32
                b: f32
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b


@proc
def total(n: size, y: f32[1], x: f16[n]):
    for i in seq(0, n):
        t: f32
        t = x[i]
        y[0] += t * t

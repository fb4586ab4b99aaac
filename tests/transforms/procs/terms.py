"""Sums of terms that are more than a product of two elements."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import fmaxf


@proc
def squares(n: size, m: size, d: size, X: f32[n, d], Y: f32[m, d], D: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            s: f32
            s = 0.0
            for k in seq(0, d):
                a: f32
                b: f32
                a = X[i, k] - Y[j, k]
                b = 2.0 * a
                s += a * b
            D[i, j] = s + 1.0


@proc
def magnitudes(n: size, m: size, d: size, X: f32[n, d], Y: f32[m, d], D: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for k in seq(0, d):
                t: f32
                t = X[i, k] - Y[j, k]
                D[i, j] += fmaxf(t, -t)


@proc
def above(n: size, m: size, d: size, X: f32[n, d], Y: f32[d, m], D: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for k in seq(0, d):
                D[i, j] += fmaxf(X[i, k], Y[k, j])


@proc
def bent(n: size, m: size, d: size, X: f32[n, d], Y: f32[d, m], D: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for k in seq(0, d):
                D[i, j] += -(X[i, k] * (Y[k, j] + 0.5))


@proc
def assigned(n: size, m: size, d: size, X: f32[n, d], Y: f32[d, m], D: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            s: f32
            s = D[i, j]
            for k in seq(0, d):
                p: f32
                p = X[i, k] * Y[k, j]
                s = s + p
            D[i, j] = s * 0.5


@proc
def running(n: size, x: f32[n + 1], y: f32[n], s: f32[1]):
    for i in seq(0, n):
        x[i + 1] = x[i + 1] + x[i]
        y[i] = y[i] + 1.0
        s[0] = s[0] + s[0]


@proc
def converted(n: size, m: size, d: size, X: i8[n, d], Y: i8[m, d], D: i32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            for k in seq(0, d):
                a: i32
                b: i32
                a = X[i, k]
                b = Y[j, k]
                D[i, j] += a * b


@proc
def used_once(n: size, m: size, X: f32[n, m], Y: f32[n, m], D: f32[n]):
    for i in seq(0, n):
        for j in seq(0, m):
            t: f32
            t = X[i, j] - Y[i, j]
            D[i] += t * t


@proc
def used_later(n: size, m: size, d: size, X: f32[n, d], Y: f32[m, d], D: f32[n, m], z: f32[d]):
    for i in seq(0, n):
        for j in seq(0, m):
            for k in seq(0, d):
                t: f32
                t = X[i, k] - Y[j, k]
                z[k] = t
                D[i, j] += t * t

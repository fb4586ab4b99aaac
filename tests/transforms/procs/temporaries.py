"""Temporaries whose value some loops around them do not change, and others."""

from __future__ import annotations

from exo import proc
from exo.libs.externs import relu, sqrt


@proc
def cosines(n: size, m: size, p: size, D: f32[n, m], X: f32[n, p], Y: f32[m, p]):
    for i in seq(0, n):
        for j in seq(0, m):
            xy: f32
            xy = 0.0
            xx: f32
            xx = 1.0
            yy: f32
            yy = 1.0
            for k in seq(0, p):
                d: f32
                d = X[i, k] + Y[j, k]
                xy += d * Y[j, k]
                xx += X[i, k] * X[i, k]
                yy += Y[j, k] * Y[j, k]
            D[i, j] = xy / sqrt(xx * yy)


@proc
def triangle(n: size, D: f32[n, n, 4], X: f32[n, 3], w: f32[4]):
    for b in seq(0, 4):
        for i in seq(0, n):
            for j in seq(0, i + 1):
                D[i, j, b] = 0.0
                mean: f32
                mean = 0.0
                for k in seq(0, 3):
                    mean += X[i, k] * X[j, k]
                mean = mean * 0.5
                D[i, j, b] += mean * w[b]


@proc
def functions(n: size, y: f32[n, 8], x: f32[n], w: f32[8]):
    for i in seq(0, n):
        for j in seq(0, 8):
            s: f32
            s = sqrt(x[i] * x[i] + 1.0)
            r: f32
            r = relu(w[j])
            y[i, j] = y[i, j] / s + r


@proc
def rows(n: size, y: f32[n, 5], x: f32[5, 7]):
    for i in seq(0, n):
        for j in seq(0, 5):
            row: f32[7]
            for k in seq(0, 7):
                row[k] = x[j, k] + 1.0
            for k in seq(0, 7):
                y[i, j] += row[k]


@proc
def overwritten(y: f32[8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            t: f32
            t = 0.0
            for k in seq(0, 8):
                t += y[i, k]
            y[i, j] = t


@proc
def of_another(y: f32[8, 8], x: f32[8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            a: f32
            a = y[i, j]
            t: f32
            t = 0.0
            for k in seq(0, 8):
                t += x[k] * a
            y[i, j] = t


@proc
def in_turn(y: f32[8, 8], x: f32[8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            t: f32
            t = 0.0
            for k in seq(0, 8):
                t += x[k]
                t = t * x[k]
            y[i, j] += t


@proc
def sometimes(y: f32[8, 8], x: f32[8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            t: f32
            t = 0.0
            for k in seq(0, 8):
                if k < 4:
                    t += x[k]
            y[i, j] += t


@proc
def in_either_branch(y: f32[8, 8], x: f32[8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            t: f32
            for k in seq(0, 8):
                if k < 4:
                    t = x[k]
                else:
                    t += x[1] * x[k]
            y[i, j] += t


@proc
def depends_on_all(y: f32[8, 8], x: f32[8, 8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            t: f32
            t = 0.0
            for k in seq(0, 8):
                t += x[i, j, k]
            y[i, j] += t


@proc
def goes_on(y: f32[8, 8], x: f32[8]):
    for i in seq(0, 8):
        t: f32
        t = 0.0
        for j in seq(0, 8):
            for k in seq(0, 8):
                t += x[k]
            y[i, j] += t


@proc
def used_between(y: f32[8, 8], x: f32[8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            t: f32
            t = 2.0
            y[i, j] += t
            for k in seq(0, 8):
                t += x[k]
            y[i, j] = y[i, j] * t


@proc
def perhaps_never(n: size, y: f32[n, n], x: f32[8]):
    for i in seq(0, n):
        for j in seq(0, i):
            t: f32
            t = 0.0
            for k in seq(0, 8):
                t += x[k]
            y[i, j] = t

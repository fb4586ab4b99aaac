"""Procedures whose windows Exo 1.0.0 gives the wrong type in C."""

from __future__ import annotations

from exo import config, proc


@proc
def add(n: size, to: [f32][n], x: [f32][n]):
    for i in seq(0, n):
        to[i] += x[i]


@proc
def add_shifted(n: size, to: [f32][n + 1], x: [f32][n]):
    for i in seq(0, n):
        to[i + 1] += x[i]


@proc
def add_behind(n: size, to: [f32][n + 1], x: [f32][n]):
    part = to[1 : n + 1]
    for i in seq(0, n):
        part[i] += x[i]


@proc
def written(n: size, x: f32[2 * n + 4]):
    first = x[2 : n + 2]
    rest = x[n + 2 : 2 * n + 4]
    for i in seq(0, n):
        first[i] = rest[i] + 1.0
    for i in seq(0, n):
        rest[i + 2] += first[i]


@proc
def column(n: size, m: size, x: f32[n, m], y: f32[m, n]):
    for j in seq(0, m):
        to = x[0:n, j]
        for i in seq(0, n):
            to[i] += y[j, i]


@proc
def block(n: size, x: [f32][n, n + 2, n]):
    for i in seq(0, n):
        to = x[i, 1 : n + 1, 0:n]
        if i < n - 1:
            for j in seq(0, n):
                to[j, i] = 1.0
        else:
            from_ = x[0, 0:n, i]
            for j in seq(0, n):
                to[i, j] = from_[j]


@proc
def temporary(n: size, y: f32[n]):
    t: f32[n + 1]
    w = t[1 : n + 1]
    for i in seq(0, n):
        w[i] = y[i]
    for i in seq(0, n):
        y[i] = 2.0 * t[i + 1]


@proc
def passed(n: size, x: f32[2 * n], y: f32[n], z: f32[n]):
    w = x[n : 2 * n]
    v = y[0:n]
    add(n, w, v)
    add(n, w, z[0:n])


@proc
def passed_to_be_read(n: size, x: f32[2 * n], y: f32[n]):
    w = x[0:n]
    add(n, y[0:n], w)
    for i in seq(0, n):
        x[i + n] = y[i]


@proc
def passed_on(n: size, x: [f32][n], y: f32[n]):
    for i in seq(0, n):
        x[i] += 1.0
    for k in seq(0, 2):
        if k < 1:
            add(n, y[0:n], x)


@proc
def called(n: size, m: size, x: f32[n, m], y: f32[m, n]):
    for j in seq(0, m):
        add(n, x[0:n, j], y[j, 0:n])


@proc
def called_behind(n: size, m: size, x: f32[n + 1, m], y: f32[m, n]):
    for j in seq(0, m):
        add_behind(n, x[0 : n + 1, j], y[j, 0:n])


@config
class Place:
    at: size


@proc
def moving(x: f32[8]):
    Place.at = 2
    there = x[Place.at : Place.at + 2]
    Place.at = 3
    there[0] = 1.0


@config
class Limit:
    end: index


@proc
def set_limit():
    Limit.end = 3


@proc
def below_limit(n: size, x: f32[n]):
    set_limit()
    for i in seq(0, n):
        if i < Limit.end:
            x[i] = 0.0

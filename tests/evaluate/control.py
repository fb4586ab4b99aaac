# ruff: noqa: F821
"""Exo procedures with branches and loops that depend on indices and booleans, or on the
configuration."""

from __future__ import annotations

from exo import config, proc


@config
class Set:
    step: i32
    gain: i8
    end: index


@proc
def shifted(n: size, k: index, y: f32[n], x: f32[n]):
    assert k >= 0
    assert k < n
    for i in seq(0, n):
        if i < k:
            y[i] = x[i]
        else:
            y[i] = 2.0 * x[i]


@proc
def flagged(n: size, flag: bool, y: f32[n], x: f32[n]):
    if flag:
        for i in seq(0, n):
            y[i] = x[i]
    else:
        for i in seq(0, n):
            y[i] = 2.0 * x[i]


@proc
def both(a: bool, b: bool, y: f32[64], x: f32[64]):
    for i in seq(0, 64):
        y[i] = x[i]
        if a:
            if b:
                y[i] += x[i]
            else:
                y[i] += 2.0 * x[i]


@proc
def stepped(n: size, y: i32[n], x: i32[n], z: i8[n]):
    for i in seq(0, n):
        y[i] += x[i] * Set.step
        z[i] = Set.gain


@proc
def up_to(k: index, y: [f32][8], x: [f32][8]):
    Set.end = 5
    for i in seq(0, 8):
        if i < k:
            y[i] = x[i]
        else:
            y[i] = 0.5 * x[i]


@proc
def given_before_it_is_set(y: f32[8], x: f32[8]):
    up_to(Set.end, y[0:8], x[0:8])

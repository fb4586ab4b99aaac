"""Loops that only move memory, f32, each another mix of loads, stores and updates."""

from __future__ import annotations

from exo import proc


@proc
def fill(n: size, y: f32[n]):
    for i in seq(0, n):
        y[i] = 1.0


@proc
def total(n: size, result: f32, x: f32[n]):
    for i in seq(0, n):
        result += x[i]


@proc
def dot(n: size, result: f32, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        result += x[i] * y[i]


@proc
def copy(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = x[i]


@proc
def add(n: size, z: f32[n], x: f32[n], y: f32[n]):
    for i in seq(0, n):
        z[i] = x[i] + y[i]


@proc
def scal(n: size, x: f32[n], alpha: f32):
    for i in seq(0, n):
        x[i] = alpha * x[i]


@proc
def axpy(n: size, y: f32[n], alpha: f32, x: f32[n]):
    for i in seq(0, n):
        y[i] += alpha * x[i]


@proc
def swap(n: size, x: f32[n], y: f32[n]):
    for i in seq(0, n):
        held: f32
        held = x[i]
        x[i] = y[i]
        y[i] = held

"""C as a syntax: kernels do what gcc's code does, bit for bit; what they cannot is refused."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frontends.c_pairs import Pairs
from frontends.c_programs import PARAMETERS, Text, arguments, texts
from schedsearch.core.errors import UserError
from schedsearch.core.text import show_expr
from schedsearch.frontends import graph
from schedsearch.frontends.c import c_kernel, prototype, wrapper
from schedsearch.frontends.c.numbers import single
from schedsearch.frontends.lower import lower
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source, pick

RNG = np.random.default_rng(7)

Arguments = Callable[[], list[Any]]


def f64(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def f32(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(kind: str, *shape: int) -> Any:
    low = 0 if kind.startswith("u") else -100
    return RNG.integers(low, 100, shape).astype(kind)


CASES: dict[str, tuple[str, Arguments]] = {
    "product": (
        """void f(int n, int m, int k, double alpha, double C[n][m], double A[n][k],
                 double B[k][m]) {
             for (int i = 0; i < n; i++)
               for (int j = 0; j < m; j++) {
                 C[i][j] *= alpha;
                 for (int l = 0; l < k; l++) C[i][j] += A[i][l] * B[l][j];
               } }""",
        lambda: [5, 4, 3, 1.5, f64(5, 4), f64(5, 3), f64(3, 4)],
    ),
    "directions": (
        """void f(int n, double x[n]) {
             int i;
             for (i = 1; i <= n - 1; ++i) x[i] = x[i] - 0.5 * x[i - 1];
             for (i = n - 2; i >= 0; i--) x[i] -= 0.25 * x[i + 1];
             for (i = n - 1; i > 0; i -= 2) x[i] = x[i] * 1.5 + x[i - 1];
             for (i = 0; i + 1 < n; i += 3) x[i] /= 1.0 + x[i + 1] * x[i + 1];
             for (i = 0; 2 * i < n; i = i + 1) x[2 * i] += 1;
             for (i = 0; n > i; i++) x[i] *= 3;
             for (i = 0; i != n; i++) x[i] += i;
             for (i = n - 1; i != -1; --i) x[i] -= x[n - 1 - i]; }""",
        lambda: [11, f64(11)],
    ),
    "compound": (
        """void f(double a[7], double b[7], float c[7]) {
             for (int i = 0; i < 7; i++) {
               a[i] += b[i]; a[i] -= 2 * b[i]; a[i] *= b[i] + 1; a[i] /= b[i];
               a[i] = b[i] + a[i]; a[i] = a[i] - b[i]; a[i] = b[i] - a[i];
               c[i] += b[i]; c[i] *= 0.1; c[i] -= 1; c[i] = c[i] * 0.5 + b[i]; } }""",
        lambda: [f64(7), f64(7), f32(7)],
    ),
    "single_and_double": (
        """void f(int n, float x[n], float y[n], double z[n], float s) {
             for (int i = 0; i < n; i++) {
               y[i] = x[i] * 0.1f + s; y[i] = y[i] + 0.1 * x[i]; z[i] = x[i] * x[i];
               y[i] = x[i] * 0.25; x[i] = x[i] / 3.0; x[i] = (float)z[i] - (double)s; } }""",
        lambda: [9, f32(9), f32(9), f64(9), np.float32(0.3)],
    ),
    "narrow_integers": (
        """#include <stdint.h>
           void f(int n, int8_t a[n], uint8_t b[n], uint16_t c[n], int d[n], signed char e[n]) {
             for (int i = 0; i < n; i++) {
               d[i] += a[i] * b[i]; a[i] = a[i] + b[i]; b[i] -= c[i]; c[i] = c[i] * 700 + a[i];
               e[i] = -e[i] - 90; d[i] = d[i] * 3 - c[i]; b[i] += 300; c[i] = -1 * a[i]; } }""",
        lambda: [
            50,
            ints("int8", 50),
            ints("uint8", 50),
            ints("uint16", 50),
            ints("int32", 50),
            ints("int8", 50),
        ],
    ),
    "ternaries": (
        """#define MAX(a, b) ((a) > (b) ? (a) : (b))
           #define MIN(a, b) ((a) < (b) ? (a) : (b))
           void f(int n, double x[n], int y[n], int z[n], float w[n]) {
             for (int i = 0; i < n; i++) {
               x[i] = x[i] > 0 ? x[i] : -x[i] / 3; y[i] = MAX(y[i], z[i]); z[i] = MIN(y[i], 3);
               x[i] = i > 0 ? x[i - 1] : 7; w[i] = w[i] <= x[i] ? 1 : w[i];
               y[i] += i == 2 || i > n - 3 ? 10 : i % 3; w[i] = MAX(w[i], x[i]);
               z[i] += (x[i] > 0.5) + (i < 2) + !y[i] + (y[i] && z[i] != 1); } }""",
        lambda: [12, f64(12), ints("int32", 12), ints("int32", 12), f32(12)],
    ),
    "conditions": (
        """void f(int n, double x[n][n], int y[n]) {
             for (int i = 0; i < n; i++)
               for (int j = 0; j < n; j++) {
                 if (i == j) x[i][j] = 1; else if (i > j && j > 0) x[i][j] = x[i][j - 1];
                 else { x[i][j] += 2; }
                 if (i > 0 && x[i - 1][j] > 0.5) x[i][j] -= 0.125;
                 if (x[i][j] > 1) { x[i][j] = 0.5; y[i] += 1; } else { y[i] -= j; }
                 if (x[i][j] < 0) y[i] = 3; else y[i] = y[i] * 2;
                 if (!(x[i][j] < 0) && i != 3) { for (int k = 0; k < n; k++) x[i][j] *= 1.25; }
               } }""",
        lambda: [6, f64(6, 6), ints("int32", 6)],
    ),
    "locals": (
        """void f(int n, double x[n], double y[n]) {
             double t, s = 0, z[n]; int last = n - 1; const int half = n / 2;
             double w[3] = {1, 0.5}; int k;
             for (int i = 0; i < n; i++) { t = x[i] * 2; s += t; z[i] = s; }
             for (k = 0; k < half; k++) { int mirror = last - k; double u = z[mirror];
               z[mirror] = z[k]; z[k] = u + w[1] + w[2]; }
             for (int i = 0; i < n; i++) y[i] = z[i] - s / n + i * 0.5 + (double)half; }""",
        lambda: [9, f64(9), f64(9)],
    ),
    "chains": (
        """void f(double x[3], float y[3], int z[3]) {
             double a, b; a = b = x[0]; x[1] = y[1] = a + 0.1; x[2] = a + b; y[0] = z[0] = 3.75f;
             z[1]++; --z[2]; }""",
        lambda: [f64(3), f32(3), ints("int32", 3)],
    ),
    "functions": (
        """#include <math.h>
           void f(int n, double x[n], float y[n], double p) {
             for (int i = 0; i < n; i++) {
               x[i] = sqrt(fabs(x[i])) + exp(2.0 * x[i]) + pow(fabs(x[i]), p) + exp(-p);
               x[i] = sin(x[i]) + cos(x[i]) * tanh(x[i]) + erf(x[i]) + atan2(x[i], p);
               y[i] = sqrtf(fabsf(y[i])) + expf(y[i]) + fabs(y[i]) + powf(2.0f, y[i]);
               y[i] = fmax(y[i], 0.25) + fminf(y[i], 1) + floor(y[i] * 3) + ceil(x[i] * 3);
               x[i] += log(2.0 + x[i] * x[i]) + M_PI + sqrt(y[i]); } }""",
        lambda: [8, f64(8), f32(8), 1.25],
    ),
    "pointers": (
        """void f(int n, int m, const double *restrict a, double *x, double *y, double (*b)[m]) {
             for (int i = 0; i < n; i++) {
               double s = 0;
               for (int j = 0; j < m; j++) { s += a[i * m + j] * x[j]; b[i][j] = a[m * i + j]; }
               y[i] = s; }
             *y += 1; x[2 * m] = 3; }""",
        lambda: [4, 3, f64(12), f64(7), f64(4), f64(4, 3)],
    ),
    "image": (
        """#include <stddef.h>
           void f(size_t h, size_t w, const unsigned char *in, float *out) {
             for (size_t y = 1; y + 1 < h; y++)
               for (size_t x = 0; x < w; x++)
                 for (int c = 0; c < 3; c++)
                   out[(y * w + x) * 3 + c] = (in[((y - 1) * w + x) * 3 + c]
                     + in[((y + 1) * w + x) * 3 + c]) / 2.0f; }""",
        lambda: [5, 4, ints("uint8", 60), f32(60)],
    ),
    "helpers": (
        """static inline double helper_square(double v) { const double t = v; return t * t; }
           static double helper(double a, int b) { return helper_square(a) / b; }
           static void helper_scale(int n, double x[n], double by) {
             for (int i = 0; i < n; i++) { double t = x[i] * by; x[i] = t + helper(t, i + 1); } }
           void f(int n, double x[n], double y[n]) {
             helper_scale(n, y, 0.5);
             for (int i = 0; i < n; i++) x[i] = helper(y[i] + 1, 3) + helper_square(2); }""",
        lambda: [6, f64(6), f64(6)],
    ),
    "constants": (
        """enum { TAPS = 3, MORE };
           static const double helper_w[TAPS] = {0.25, 0.5, 0.25};
           static const double helper_gain = 1.0 / 3;
           typedef float helper_real;
           void f(int n, helper_real x[n], helper_real y[n]) {
             for (int i = 1; i < n - 1; i++) {
               y[i] = 0;
               for (int t = 0; t < TAPS; t++) y[i] += helper_w[t] * x[i + t - 1];
               y[i] *= helper_gain * MORE + 'a' + 0x10 + 010 + 1e-3f; } }""",
        lambda: [9, f32(9), f32(9)],
    ),
    "parameters_that_change": (
        """void f(int n, double a, double x[n], int rounds) {
             a *= 2; n = n - 1; a += rounds;
             for (int i = 0; i < n; i++) { x[i] += a; a = a * 0.5 + x[i]; } }""",
        lambda: [7, 1.5, f64(7), 3],
    ),
    "several_bounds": (
        """void f(int n, int m, double x[n][n]) {
             for (int ii = 0; ii < n; ii += 4)
               for (int i = ii; i < n && i < ii + 4; i++)
                 for (int j = i + 1; j < n - 1; j++) x[i][j] += x[j][i];
             for (int i = 0; i < (n < m ? n : m); i++) x[i][0] = i;
             #pragma omp parallel for
             for (int i = n / 2; i < n; i++) { x[i][i] = i / 2 + i % 4; ; } }""",
        lambda: [11, 6, f64(11, 11)],
    ),
    "old_style": (
        """void f(int n, double x[20], double *sum) {
             int i; int empty = 0;
             *sum = 0.;
             for (i = 0; i < n; i++) { *sum = *sum + x[i]; }
             x[i - 1] = 3;
             if (empty) x[0] = 0;
             for (i = 3; i < 3; i++) x[i] = 7;
             (void)n;
             return; }""",
        lambda: [13, f64(20), f64(1)],
    ),
    "counts_as_data": (
        """void f(int n, int x[n], double y[n]) {
             int total = 0; int best = -1; double top = -1e30;
             for (int i = 0; i < n; i++) {
               total += i * i; x[i] = i * n - total; y[i] = 1.0 / n + (double)i / 3;
               if (y[i] > top) { top = y[i]; best = i; } }
             x[0] = best; y[0] = total; }""",
        lambda: [8, ints("int32", 8), f64(8)],
    ),
    "not_a_number": (
        """#include <math.h>
           void f(int n, double x[n], double y[n], double z[n]) {
             for (int i = 0; i < n; i++) {
               z[i] = x[i] > y[i] ? x[i] : y[i];
               y[i] = fmax(x[i], y[i]); x[i] = x[i] != x[i] ? -1 : -x[i]; } }""",
        lambda: [
            5,
            np.array([np.nan, 1, 0.0, -0.0, np.inf]),
            np.array([1, np.nan, -0.0, 0.0, np.nan]),
            f64(5),
        ],
    ),
}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return Pairs([text for text, _ in CASES.values()], tmp_path_factory.mktemp("c"))


@pytest.mark.normal
@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
def test_does_what_the_c_does(pairs: Pairs, number: int) -> None:
    _, make = list(CASES.values())[number]
    for _ in range(3):
        pairs.check(number, make())

"""C as a syntax: kernels do what gcc's code does, bit for bit; what they cannot is refused."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frontends.c_pairs import Pairs
from frontends.c_programs import arguments, text
from schedsearch.core.errors import UserError
from schedsearch.core.text import show_expr
from schedsearch.frontends import graph
from schedsearch.frontends.c import (
    as_written,
    c_kernel,
    exported,
    otherwise,
    prototype,
    read,
    replacement,
    wrapper,
)
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
    "one target, two types": (
        """void f(int n, double d[n], int t[n], int k[n], float g[n]) {
             for (int i = 0; i < n; i++) {
               if (g[i] > 0) d[i] = k[i]; else d[i] = g[i];
               if (g[i] > 0) t[i] = 2147483647; else t[i] = g[i] * 1.5f;
             } }""",
        lambda: [4, f64(4), np.zeros(4, "i4"), np.full(4, 16777217, "i4"), f32(4)],
    ),
    "targets that differ": (
        """void f(int n, int x[2], int y[n]) {
             for (int i = 0; i < n; i++) if (y[i] > 0) x[i > 2 ? 0 : 1] = i; else x[0] = 7; }""",
        lambda: [5, np.zeros(2, "i4"), np.array([1, -1, 1, 1, -2], "i4")],
    ),
    "constants have a width": (
        """void f(int n, double x[8]) {
             x[0] = 3000000000u + 2000000000u; x[1] = 4294967295u * 2u; x[2] = 0xFFFFFFFF + 1;
             x[3] = -0xFFFFFFFF; x[4] = (unsigned)-1;
             { unsigned w = -2; x[5] = w; } x[6] = x[7] = 0;
             for (int i = 0; i < n; i++) { if (-1 < 0xFFFFFFFF) x[6] = 1; } }""",
        lambda: [3, f64(8)],
    ),
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
    "pointers to places": (
        """static void add(int n, const double *u, double *v, double *total) {
             for (int i = 0; i < n; i++) { v[i] += u[i]; *total += u[i]; } }
           static inline double first(const double *u) { return u[0] + 2 * u[1]; }
           void f(int n, int m, const double *a, double *x, double b[n][m], double (*c)[m],
                  double s) {
             for (int i = 0; i < n; i++) {
               const double *row = a + i * m, *last = &a[i * m + m - 1];
               double *out = b[i], (*same)[m] = c + i;
               for (int j = 0; j < m; j++) {
                 out[j] = row[j] + 3 * last[-j];
                 same[0][j] = *(row + j) * 2 - (i * m + a)[j]; }
               *(x + i) = (1 + a)[m * i] + first(row + 1) + first(&b[i][1]) + first(c[i]);
               *out += 1;
               double sum = 0, *t = &sum;
               add(m, a + i * m, &b[i][0], t);
               add(m - 1, row + 1, out + 1, &s);
               *t -= 0.5; x[i] += *&sum; }
             x[0] += s; }""",
        lambda: [4, 3, f64(16), f64(4), f64(4, 3), f64(4, 3), 0.5],
    ),
    "helpers with conditions": (
        """#include <math.h>
           static inline double minmod(double a, double b) {
             if (a * b <= 0) return 0;
             if (fabs(a) < fabs(b)) { const double t = a; return t; } else return b; }
           static inline float clamp(float x, int top) {
             if (x < 0) return 0; else if (x > top) return top;
             return x; }
           static double inner(double a, double b) {
             const double t = a;
             { const double t = b; if (t > 0.5) { const double t = 1; if (t < a) return t; } }
             if (b < 0) { const double t = b; if (t < -1) return 2; }
             return t; }
           static int sign(int i, double x) { if (i > 2) { return x > 0 ? 3 : 2; } return -1; }
           void f(int n, double x[n], float y[n]) {
             for (int i = 1; i < n - 1; i++) {
               y[i] = clamp(y[i], 1) + clamp(y[i] * 2, i) + inner(x[i], 2 * y[i]);
               x[i] = minmod(x[i + 1] - x[i], x[i] - x[i - 1]) * sign(i, x[i]); } }""",
        lambda: [9, f64(9), f32(9)],
    ),
    "early returns": (
        """static void g(int n, double *x) { if (n < 3) { return; } x[2] += 1; }
           void f(int n, int m, double x[n], double y[m]) {
             if (n <= 0) return;
             x[0] = 3;
             if (n < 2 || m < 4) return;
             const double t = x[1];
             if (m > 100) return;
             y[3] = t;
             for (int i = 0; i < m; i++) { if (i < 7) g(n, x); }
             g(m, y); }""",
        lambda: [5, 4, f64(5), f64(4)],
    ),
    "tables of places": (
        """static const int DX[5] = {0, 1, -1}, OFF[3][2] = {{0, 1}, {1, 0}, {-1, -1}};
           static const float W[3] = {0.5f, 1, 2};
           void f(int n, const double u[n][n], double v[n][n], const double *p) {
             const signed char back[2] = {-1, 1};
             for (int i = 1; i < n - 1; i++)
               for (int j = 1; j < n - 1; j++) {
                 v[i][j] = 0;
                 for (int q = 0; q < 3; q++) {
                   int y = i + OFF[q][0];
                   v[i][j] += u[y][j + OFF[q][1]] * OFF[q][0] * W[q] + DX[q]; }
                 for (int q = 2; q >= 0; q--) v[i][j] -= u[i + DX[q]][j];
                 for (int q = 0; q < 2; q++) {
                   const double *r = p + i * n + back[q];
                   v[i][j] += r[j]; }
                 for (int q = 0; q < 5; q++) if (q > 2) v[i][j] += u[i][j] * DX[q]; } }""",
        lambda: [6, f64(6, 6), f64(6, 6), f64(36)],
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
    "helpers_of_arrays": (
        """static double helper_at(int m, const double a[][m], const double *x, int i, int j)
           { return a[i][j] * x[j]; }
           static void helper_rows(int n, int m, double a[n][m], double *x, float y[]) {
             for (int i = 0; i < n; i++) {
               y[i] = 0;
               for (int j = 0; j < m; j++) y[i] += helper_at(m, a, x, i, j); } }
           void f(int n, int m, double lambda[n][m], double *in, float def[n]) {
             helper_rows(n, m, lambda, in, def); }""",
        lambda: [4, 5, f64(4, 5), f64(5), f32(4)],
    ),
    "helpers_get_copies": (
        """static const double helper_one = 1, helper_two = helper_one * 2;
           static void helper_all(int n, double *x, double by, float f) {
             by += f; for (int i = 0; i < n; i++) { x[i] = x[i] * by; by = by + 1; } }
           void f(int n, double *x) {
             double helper_one = 5; x[0] += helper_one + helper_two;
             helper_all(n, x, x[0], x[1]); helper_all(n - 1, x, 2, x[0] + 0.1); }""",
        lambda: [6, f64(6)],
    ),
    "conversions": (
        """#include <stdint.h>
           void f(int n, double x[n], int k[n], int8_t a[n], uint8_t b[n], uint16_t c[n]) {
             for (int i = 0; i < n; i++) {
               k[i] += (int)(x[i] * 10) + (int)x[i] * 3 + (uint8_t)k[i] - (int8_t)(k[i] * 3);
               a[i] = 20 * x[i]; b[i] = 5.5f + x[i]; c[i] = (uint16_t)k[i] + 1;
               x[i] = (float)k[i] / 3 + (float)x[i] + (double)a[i] + b[i] * 0.1f - c[i];
               x[i] = -x[i] * 0 - 0.0; } }""",
        lambda: [
            20,
            f64(20),
            ints("int32", 20),
            ints("int8", 20),
            ints("uint8", 20),
            ints("uint16", 20),
        ],
    ),
    "constant_conditions": (
        """#include <math.h>
           void f(int k[9], float y[3]) {
             k[0] = 0.1 >= 0.1f ? 3 : 7; k[1] = 0.1 < 0.1f; k[2] = 0.4 && 0.1;
             if (0.1 < 0.1f) k[3] = 4; else k[3] = 5;
             k[4] = exp(0.7) > 2.5; k[5] = sqrt(0.3) < 0.6 && exp(0.1) != 1 ? 4 : 5;
             k[6] = !0.25; k[7] = fmax(0.25, 0.75) > 0.5; k[8] = exp(0.7) > k[4] + 1;
             y[0] = exp(0.7); y[1] = 1 / sqrt(3.0); y[2] = pow(2.5, 0.3) * 3; }""",
        lambda: [ints("int32", 9), f32(3)],
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
    "shadows": (
        """void f(int n, double x[n], double y[n]) {
             int t = 1;
             for (int i = 0; i < n; i++) {
               for (int i = 1; i < n; i++) { int t = i - 1; x[i] += x[t]; t = 0; x[t] *= 0.5; }
               { int n = 2; for (int j = 0; j < n; j++) y[i] += j; }
               x[i] += y[i] * t; y[t] -= 1; } }""",
        lambda: [6, f64(6), f64(6)],
    ),
    "loops_of_all_kinds": (
        """enum { STEP = 1 << 1, TWO = 2, FOUR = TWO * 2 };
           #define SWAP(a, b) do { double t = a; a = b; b = t; } while (0)
           void f(int n, double x[n], int k[n]) {
             const int by = 3;
             for (int i = 0; i < n; i += 02) x[i] += i;
             for (int i = 0; i < 010 && i < n; i += 0x3) x[i] *= 2;
             for (int i = n - 1; i >= 0; i -= FOUR - 1) x[i] += by;
             for (int i = 0; i < n; i += by) k[i] -= i;
             for (int i = -3; i < n - 3; i++) { x[i + 3] -= i; k[i + 3] += i * 1000000; }
             for (int i = -2 * n; i < n; i++) if (i >= 0) x[i] += i;
             for (int i = 0; i < n / 2; i++) SWAP(x[i], x[n - 1 - i]); }""",
        lambda: [11, f64(11), ints("int32", 11)],
    ),
    "loops_that_may_be_empty": (
        """void f(int n, int m, double x[n], double y[8]) {
             for (int i = 0; i < n; i++) for (int j = i; j < 5; j++) y[j] += x[i];
             for (int i = 0; i < 5; i++) for (int j = i; j < n; j++) x[j - i] += 1;
             for (int i = 0; i < n % 4; i++) x[i] += 2;
             for (int i = n - n % 4; i < n; i++) x[i] -= y[m % 8];
             for (int i = n / 4 * 4; i < n; i++) x[i] *= 3;
             for (int i = 0; i < n; i++) { if (i < 0 || i >= n) x[i + 5] = 1; else x[i] += 1;
               if (i != m && (i == 0 || m < i)) x[i] += 2;
               if ((i < 2 || i > 3) && (i == 2 || i >= n)) x[i + n] = 1; } }""",
        lambda: [int(RNG.integers(1, 9)), int(RNG.integers(1, 9)), f64(8), f64(8)],
    ),
    "conditions_of_places_and_data": (
        """void f(int n, double x[n], int k[n]) {
             for (int i = 0; i < n; i++) {
               if (((x[i] > 0 || i == 1) ? i % 3 : n) != i && i > 0) k[i - 1] += 1;
               if (((i == 2 || x[i] > 0) ? i % 3 : n) != i && i > 0) k[i - 1] -= 3;
               if (((i > 1 && x[i] > 0) ? i : 2) == i) k[i] *= 2; } }""",
        lambda: [7, f64(7), ints("int32", 7)],
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
    "zeros_are_positive": (
        """void f(int n, double x[n]) {
             for (int i = 0; i < n; i++) {
               x[0] = 1.0 / (i * (-2)); x[1] = 1.0 / (n - 3 * i); } }""",
        lambda: [3, f64(3)],
    ),
    "the_first_is_zero": (
        "void f(int n, double x[n]) { for (int i = 0; i < n; i++) x[0] = 1.0 / (i * (-2)); }",
        lambda: [1, f64(1)],
    ),
    "effects_under_void": (
        """static void all(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] = 5; }
           void f(int n, double x[n]) {
             int k; x[0] = 1; (void)n; (void)(k = 2); x[k] = 9; if (n > 4) (void)all(n, x); }""",
        lambda: [5, f64(5)],
    ),
    "asserts_of_unsigned_sizes": (
        """void f(unsigned n, unsigned m, double x[4]) {
             if (n > m + 3) x[0] = 1; else x[0] = 2; }""",
        lambda: [1, 1, f64(4)],
    ),
    "hexadecimal_float": (
        "void f(int n, float x[n]) { x[0] = 0x1.000001000000001p0f; x[1] = 0x.8p-1f; }",
        lambda: [2, f32(2)],
    ),
    "not_a_number": (
        """#include <math.h>
           void f(int n, double x[n], double y[n], double z[n], double w[n]) {
             for (int i = 0; i < n; i++) {
               z[i] = x[i] > w[i] ? x[i] : w[i];
               y[i] = fmax(x[i], y[i]); x[i] = x[i] != x[i] ? -1 : -x[i]; } }""",
        lambda: [
            5,
            np.array([np.nan, 1, 0.0, -0.0, np.inf]),
            np.array([1, np.nan, 2, -3, np.nan]),
            f64(5),
            np.array([1, np.nan, -0.0, 0.0, np.nan]),
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


@pytest.mark.normal
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(seeds=st.lists(st.integers(0, 2**40), min_size=8, max_size=8, unique=True))
def test_random_programs(seeds: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    pairs = Pairs([text(seed) for seed in seeds], tmp_path_factory.mktemp("random"))
    for number, seed in enumerate(seeds):
        for other in range(3):
            pairs.check(number, arguments(seed + other))


@pytest.mark.slow
def test_many_random_programs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Few are refused, for elements that conditions around do not show to be there."""
    taken = [seed for seed in range(200) if _is_taken(seed, tmp_path_factory.mktemp("taken"))]
    assert len(taken) >= 195
    for first in range(0, len(taken), 40):
        seeds = taken[first : first + 40]
        pairs = Pairs([text(seed) for seed in seeds], tmp_path_factory.mktemp("random"))
        for number, seed in enumerate(seeds):
            pairs.check(number, arguments(seed))


def _is_taken(seed: int, folder: Path) -> bool:
    file = folder / "random.c"
    file.write_text(text(seed))
    try:
        lower(c_kernel(file, "f"))
    except UserError as error:
        if "is not within" not in str(error):
            raise
        return False
    return True


TOKEN = re.compile(r"\s+|\w+(?:\.\w+)?|[-+*/%<>=!&|]+|[^\w\s]")


def mutated(seed: int) -> str:
    """A program that may be cut off, with some tokens exchanged, left out or doubled."""
    random = Random(seed)
    tokens = TOKEN.findall(random.choice([*(each for each, _ in CASES.values()), text(seed)]))
    if random.random() < 0.2:
        tokens = tokens[: random.randrange(len(tokens))]
    for _ in range(random.randint(1, 3)):
        if tokens:
            at, other = random.randrange(len(tokens)), random.choice(tokens)
            tokens[at] = random.choice([other, other, other, "", tokens[at] * 2])
    return "".join(tokens)


@pytest.mark.normal
@pytest.mark.parametrize("first", range(0, 100, 50))
def test_mutants_are_taken_or_refused(tmp_path: Path, first: int) -> None:
    refused = 0
    for seed in range(first, first + 50):
        try:
            done = lower(translated(tmp_path, mutated(seed)))
        except UserError:
            refused += 1
            continue
        module = tmp_path / f"m{seed}.py"
        module.write_text(done.text)
        load_source(module)
    assert 0 < refused < 50


def translated(tmp_path: Path, source: str, function: str | None = "f") -> graph.Program:
    file = tmp_path / "k.c"
    file.write_text(source)
    return c_kernel(file, function)


HEAD = "void f(int n, int m, double x[n], double *y, int k[n], double s) {\n"

REFUSED: dict[str, tuple[str, int, str]] = {
    "local enum": ("enum { K = 5 };\nx[0] = K;", 2, "enum: "),
    "local typedef": ("\ntypedef float T; T t = 0.1f; x[0] = t;", 3, "typedef: "),
    "counter after a loop under data": (
        "int i = 0;\nif (x[0] > 0) for (i = 0; i < n; i++) x[i] += 1;\nx[i] = 5;",
        4,
        "i: its value is not known here",
    ),
    "effect of a condition that decides nothing": (
        "int c = 0;\nfor (int i = 0; i < n; i++) { x[i] += 1; if (c++ > 3) continue; }\nk[0] = c;",
        3,
        r"\+\+: kernels have no such operator here",
    ),
    "while": ("while (s > 0) s -= 1;", 2, "while: .*; use a loop"),
    "endless": ("while (1) s -= 1;", 2, "while: nothing in its condition"),
    "do": ("do s -= 1; while (s > 0);", 2, "do: how often it runs depends on data"),
    "break on data": (
        "for (int i = 0; i < n; i++) {\n if (x[i] > 0)\n break; x[i] = 1; }",
        3,
        "condition of the loop over i: .* what depends on data goes into an `if`",
    ),
    "break in the middle": ("for (int i = 0; i < n; i++) {\nx[i] = 1;\nbreak; }", 4, "break: "),
    "continue within a branch": (
        "for (int i = 0; i < n; i++) {\nif (i > 2) {\nif (i > 3) continue; x[i] = 1; } x[i] = 2; }",
        4,
        "continue: ",
    ),
    "continue past another name": (
        "for (int i = 0; i < n; i++) { double t = 1;\n{ double t = x[i]; if (t > 0)\ncontinue; }\n"
        "x[i] = t; }",
        4,
        "continue: ",
    ),
    "goto": ("goto end;\nend: x[0] = 1;", 2, "goto: "),
    "switch": ("switch (n) { case 1: x[0] = 1; }", 2, "switch: "),
    "return in a loop": (
        "for (int i = 0; i < n; i++) {\nif (i > 3) return;\nx[i] = 1; }",
        3,
        "return",
    ),
    "end on data": ("for (int i = 0; i < k[0]; i++) x[i] = 1;", 2, "condition of the loop over i"),
    "start on data": ("for (int i = k[0]; i < n; i++) x[i] = 1;", 2, "begins depends on data"),
    "gather": ("\nx[0] = x[k[0]];", 3, "index of x: it depends on data"),
    "product index": ("for (int i = 0; i < n; i++) x[i * n] = 1;", 2, "index of x: "),
    "data index": ("int at = 0;\nif (x[0] > 1) at = 1;\nx[at] = 1;", 4, "at: its value is not"),
    "index from data": ("int at = 0;\nat = k[0];\nx[at] = 1;", 3, "at, which is an index"),
    "unknown index": (
        "int at;\nfor (int i = 0; i < n; i++) {\nx[at] = 1;\nat = i; }",
        4,
        "at: its value is not known here",
    ),
    "pointer by data": ("\n*(y + k[0]) = 2;", 3, "index of y: it depends on data"),
    "pointer that moves by data": (
        "double *p = x;\nif (s > 1) p++;\n*p = 1;",
        4,
        "pointer p: where it points to is not known",
    ),
    "pointer that moves by more and more": (
        "double *p = x;\nfor (int i = 0; i < n; i++) {\n*p = 1;\np += i; }",
        4,
        "pointer p: where it points to is not known",
    ),
    "pointer to one of two": ("double *p = x + (n > m);\n*p = 1;", 3, "pointer p: where it"),
    "pointer to nothing": ("double *p;\n*p = 1;", 3, "pointer p: where it points to"),
    "pointer and its step": ("double *p = x;\n*p++ = *p;", 3, "it is no place in an array"),
    "pointer to another type": ("float *p = x;\np[0] = 1;", 2, "pointer p: .* another shape"),
    "pointer beyond": ("double *p = x + n;\np[0] = 1;", 3, "x.n.: index n is not within"),
    "pointer to a sum": ("double *p = &x[0] + y;\np[0] = 1;", 2, "offset of a pointer|pointer"),
    "element of a variable": ("double *p = &s;\nx[0] = p[1];", 3, "index of s_?: it is one"),
    "address of an index": ("int i = 0;\nint *p = &i;\nx[i] = *p;", 3, "pointer p: "),
    "table by data": (
        "static const int t[2] = {0, 1};\nfor (int i = 0; i < n; i++) x[t[k[0]]] = 1;",
        3,
        "index of",
    ),
    "long table": (
        "static const int t[99] = {1};\nfor (int i = 0; i < 99; i++) x[t[i]] = 1;",
        3,
        "index of x: it depends on data",
    ),
    "struct": ("struct { double a; } t;\nx[0] = t.a;", 2, "struct: "),
    "call": ("x[0] = cbrt(s);", 2, "call of cbrt: "),
    "call of a statement": ("printf(0);", 2, "call of printf: "),
    "declared nowhere": ("x[0] = z;", 2, "z: it is not declared"),
    "bits of long": ("k[0] = (long)k[0] | 1;", 2, "long: kernels have no data"),
    "bits as an index": ("for (int i = 0; i < n; i++) x[i & 5] = 1;", 2, "index of x: it depends"),
    "by zero": ("k[0] = k[0] / 0;", 2, "integers / 0: C leaves open"),
    "shift by data": ("k[0] = 1 << k[0];", 2, "<<: its width is no constant"),
    "shift too far": ("k[0] = k[0] << 32;", 2, "<<: C leaves open"),
    "shift of a negative": ("for (int i = 0; i < n; i++) x[(i - 1) >> 1] = 1;", 2, "not negative"),
    "bits of floating": ("x[0] = s & 1;", 2, "&: C has it of integers"),
    "sizeof of a parameter": ("k[0] = sizeof x;", 2, "sizeof x: it may be that of a pointer"),
    "sizeof of memory": (
        "double *t = malloc(n * sizeof *t);\nmemset(t, 0, sizeof(t));\nx[0] = t[0];",
        3,
        "sizeof t: it may be that of a pointer",
    ),
    "sizeof of memory that it asks for": (
        "float *t = malloc(sizeof t);\nt[0] = 1; x[0] = t[0];",
        2,
        "sizeof t: it may be that of a pointer",
    ),
    "free of a parameter": ("x[0] = 1;\nfree(y);", 3, "free: its argument is no memory"),
    "free of an array": ("double t[2] = {1};\nx[0] = t[0];\nfree(t);", 4, "free: its argument"),
    "free of a sum": ("x[0] = 1;\nfree((void *)(s + 1));", 3, "free: its argument"),
    "memset of other values": ("memset(x, 1, n * sizeof(double));", 2, "memset: its value"),
    "memset of parts": ("memset(x, 0, n);", 2, "memset: its length is no multiple"),
    "memset of less than a product": (
        "memset(k, 0, sizeof(int) * (n * m - 1));",
        2,
        "difference with a product of sizes: whether it is negative, .* is not known; write a loop",
    ),
    "memset of less than all rows": (
        "double t[n][m]; t[0][0] = 1; x[0] = t[0][0];\nmemset(t, 0, sizeof *x * (n * m - 1));",
        3,
        "memset: its length is no multiple",
    ),
    "memcpy of another type": ("memcpy(x, k, n * sizeof(*x));", 2, "memcpy: the arrays have other"),
    "memmove": ("memmove(x, y, 8);", 2, "call of memmove"),
    "comma": ("x[0] = (s, 1);", 2, "comma: "),
    "nested assignment": ("x[0] = 1 + (s = 2);", 2, "assignment within an expression"),
    "nested increment": ("int i = 0;\nx[i++] = i;", 3, "write it as a statement of its own"),
    "increment or not": ("int i = 0;\nx[0] = s > 1 ? x[i++] : 1;", 3, "a statement of its own"),
    "increment in a condition": ("int i = 0;\nif (x[i++] > 1) x[0] = 1;", 3, "of its own"),
    "step that is no constant": ("for (int i = 0; i < n; i += m) x[i] = 1;", 2, "its step"),
    "geometric loop": ("for (int i = 1; i < n; i *= 2) x[i] = 1;", 2, "loop variable i: its step"),
    "no condition": ("for (int i = 0;; i++) x[i] = 1;", 2, "for: it has no condition"),
    "other variable": ("int j = 0;\nfor (int i = 0; i < n; j++) x[i] = 1;", 3, "for: nothing"),
    "changed variable": (
        "for (int i = 0; i < n; i++) { x[i] = 1; if (i > 2) i += 1; }",
        2,
        "loop variable i: its step",
    ),
    "wrong direction": ("for (int i = 0; i >= 0; i++) x[0] = 1;", 2, "condition of the loop"),
    "float loop": ("for (float t = 0; t < 1; t++) x[0] = 1;", 2, "no local integer"),
    "endless unsigned": ("for (unsigned i = n; i >= 0; i--) x[0] = 1;", 2, "i|unsigned"),
    "out of bounds": ("for (int i = 0; i < n; i++)\nx[i] = x[i + 1];", 3, "x.i . 1.: index"),
    "negative index": ("x[-1] = 1;", 2, "x.-1.: index -1 is not within 0 and n - 1"),
    "too large": ("double t[4];\nt[4] = 1;\nx[0] = t[0];", 3, "t.4.: index 4"),
    "too large in a loop": (
        "double t[4];\nfor (int i = 4; i < n; i++)\nx[i] = t[i];",
        4,
        "t.i.: index i is not within 0 and 3",
    ),
    "too large under a condition": ("if (n > m)\nx[n + 2] = y[m];", 3, "x.n . 2.: index"),
    "parts of arrays": ("double t[4][4];\nt[1] = 1;", 3, "t with 1 of 2 indices"),
    "integer division": ("k[0] = k[0] / k[1];", 2, "integers /: .* by constants only"),
    "unsigned end of a negative": (
        "for (int i = -2; i * m < n * (unsigned)m; i++) x[i + 2] = 1;",
        2,
        "i: an unsigned number that is negative here",
    ),
    "division that may be negative": (
        "for (int i = 0; i < 4; i++)\n"
        "for (int j = 0; j < m; j++) y[((i - 2) * m + j) / m + 2] = 1;",
        3,
        "integers /: ",
    ),
    "division of products": ("k[0] = n * m / (n + 1);", 2, "integers /: "),
    "integer remainder": ("k[0] = k[0] % m;", 2, "integers %: "),
    "negative division": ("for (int i = 0; i < n; i++) x[(i - 1) / 2] = 1;", 2, "towards zero"),
    "long data": ("long t = k[0];\nx[0] = t;", 2, "long|t"),
    "unsigned data": ("unsigned t = k[0];\nx[0] = t;", 2, "unsigned|t"),
    "short data": ("short t[3];\nx[0] = 1;", 2, "short: "),
    "long double": ("long double t = 1;\nx[0] = t;", 2, "long double|double long"),
    "complex": ("double _Complex t = 1;\nx[0] = 1;", 2, "_Complex"),
    "static": ("static double t;\nx[0] = t;", 2, "static t: kernels keep nothing"),
    "extern": ("extern double t;\nx[0] = t;", 2, "extern t: "),
    "string": ('x[0] = "a";', 2, '"a": '),
    "nothing written": ("double t = s;", 1, "f: it changes no array"),
    "values of another shape": ("double t[2] = {1, 2, 3};\nx[0] = t[0];", 2, "initial values"),
    "designated": ("double t[2] = {[1] = 2};\nx[0] = t[0];", 2, "designated"),
    "large constant": ("k[0] = 3000000000;", 2, "3000000000: it is no `int`"),
    "large initial value": ("int t = 3000000000L;\nx[t] = 1;", 2, "3000000000: it is no `int`"),
    "large cast": ("x[0] = (int)3000000000L;", 2, "3000000000: it is no `int`"),
    "overflow": ("x[0] = 2147483647 + 1;", 2, "2147483648: it is no `int`"),
    "unsigned overflow": ("x[0] = n + 4294967295u;", 2, "4294967295 . n|n . 4294967295: it may be"),
    "long overflow": ("x[0] = n * 10000000000L;", 2, "10000000000 . n: it may be larger"),
    "extent by a condition": (
        "double t[n > 3 ? n : 3];\nt[0] = 1; x[0] = t[0];",
        2,
        "t: it depends",
    ),
    "step that is its variable": ("int i = 1;\nfor (i = 1; i < n; i += i) x[i] = 1;", 3, "i: its"),
    "step that changes": (
        "int t = 2;\nfor (int i = 0; i < n; i += t) { x[i] = 1;\nt = 3; }",
        3,
        "loop variable i: its step",
    ),
    "rows that an array of one extent has not": (
        "double *p = x;\nfor (int i = 0; i < n; i++) {\n*p = 1; p += m; }",
        4,
        "index of x: it multiplies sizes that are not the length of a row; ",
    ),
    "an end before 0 of what is unsigned": (
        "unsigned long i;\nfor (i = n - 1; i != (unsigned long)-1; i--) x[i] = 1;",
        3,
        "loop over i: 18446744073709551615 is a negative number that became unsigned; ",
    ),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_refuses(tmp_path: Path, name: str) -> None:
    body, line, message = REFUSED[name]
    with pytest.raises(UserError, match=message) as refusal:
        translated(tmp_path, f"{HEAD}{body}\n}}\n")
    assert str(refusal.value).startswith(f"{tmp_path}/k.c:{line}: "), refusal.value
    assert ";" in str(refusal.value), "an alternative"


WHOLE: dict[str, tuple[str, str]] = {
    "old style": ("void f(n, x) int n; double x[3]; { x[0] = n; }\n", "k.c:1: parameters of f"),
    "old style of helpers": (
        "static void g(x) double x[3]; { x[0] = 1; }\nvoid f(double x[3]) { g(x); }\n",
        "k.c:1: parameters of g",
    ),
    "syntax": ("void f(int n) {\n  x[ = 1;\n}\n", "k.c:2: syntax error"),
    "end of file": ("void f(int n) {\n", "k.c.*syntax error"),
    "no C": ("def f(x):\n    return x\n", "k.c:1: syntax error"),
    "unknown type": ("void f(real x[3]) { x[0] = 1; }\n", "k.c:1: syntax error"),
    "include": ('#include "there.h"\nvoid f(void) {}\n', "k.c:1: preprocessor: there.h.*folder"),
    "error": ("\n#error too old\n", "k.c:2: preprocessor: #error too old"),
    "empty": ("", "no function"),
    "only main": ("int main(void) { return 0; }\n", "no function; define"),
    "two of a file's own": (
        "static int g(int i) { return i; }\nstatic void f(double x[1]) { x[0] = g(1); }\n",
        "several functions; name one of g, f",
    ),
    "two": ("void f(void) {}\nvoid g(void) {}\n", "several functions; name one of f, g"),
    "result": ("double *f(double x[3]) { return x; }\n", "k.c:1: result of f: it is a pointer"),
    "return in a loop": (
        "int f(int n, int x[n]) {\nfor (int i = 0; i < n; i++)\nif (x[i]) return i;\nreturn 0; }",
        "k.c:3: return: something comes after it",
    ),
    "helper with effects": (
        "static int g(int *x) { x[0] = 1; return 2; }\nvoid f(int *x) { x[1] = g(x); }",
        "k.c:2: call of g: it changes arrays",
    ),
    "pointers to pointers": ("void f(double **x) { x[0][0] = 1; }\n", "k.c:1: pointer to pointers"),
    "array of pointers": ("void f(double *x[3]) { x[0][0] = 1; }\n", "pointer"),
    "struct": (
        "struct s { int a; };\nvoid f(struct s *x) { x->a = 1; }\n",
        "k.c:2: struct s: kernels have arrays",
    ),
    "function pointer": ("void f(double (*g)(double), double x[1]) { x[0] = g(1); }\n", "k.c:1: "),
    "long array": ("void f(long x[3]) { x[0] = 1; }\n", "k.c:1: x of long: kernels have no data"),
    "recursion": (
        "void g(double x[1]);\nvoid f(double x[1]) { x[0] = 1; f(x); }\n",
        "k.c:2: call of f: kernels do not recur",
    ),
    "global": ("double t;\nvoid f(double x[1]) { x[0] = t; }\n", "k.c:2: global variable t"),
    "void data": ("void f(void *x) {}\n", "k.c:1: void: kernels have no data"),
    "variadic": ("void f(double x[1], ...) { x[0] = 1; }\n", "k.c:1: ...: "),
    "pointer without bound": (
        "void f(int n, int m, double *x) {\n"
        "for (int i = 0; i < n; i++) x[i] = 1;\nfor (int i = 0; i < m; i++) x[i] = 1; }\n",
        "k.c:2: pointer x: no sum of sizes bounds",
    ),
    "another shape": (
        "static void g(double x[2][6]) { x[1][0] = 1; }\nvoid f(double x[3][4]) { g(x); }\n",
        "k.c:2: argument x: the function declares another shape",
    ),
    "another type": (
        "static void g(float *x) { x[0] = 1; }\nvoid f(double *x) { g(x); }\n",
        "k.c:2: argument x: the function declares another shape or type",
    ),
    "part of a row": (
        "static void g(double *x) { x[4] = 1; }\nvoid f(double x[3][4]) { g(x[1]); }\n",
        "k.c:1: x.1, 4.: index 4 is not within 0 and 3",
    ),
    "no place": (
        "static void g(double *x) { x[0] = 1; }\nvoid f(double x[3][4]) { g(x[1][0] + 1); }\n",
        "k.c:2: argument x: it is no place in an array; pass an array",
    ),
    "deep": (f"void f(double x[1]) {{ x[0] = {'(' * 3000}1{')' * 3000}; }}\n", "nested too deeply"),
    "long sum": (f"void f(double x[1]) {{ x[0] = x[0]{'+ x[0]' * 3000}; }}\n", "nested too deeply"),
}


@pytest.mark.parametrize("name", list(WHOLE))
def test_refuses_files(tmp_path: Path, name: str) -> None:
    source, message = WHOLE[name]
    with pytest.raises(UserError, match=message):
        translated(tmp_path, source, None if message.startswith(("no f", "several")) else "f")


def test_files_that_are_none(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "missing.c", "cannot read"),
        (tmp_path, "cannot read"),
    ):
        with pytest.raises(UserError, match=message):
            c_kernel(path)
    (tmp_path / "bytes.c").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="cannot read"):
        c_kernel(tmp_path / "bytes.c")
    with pytest.raises(UserError, match="no function g; it defines f"):
        translated(tmp_path, "void f(double x[1]) { x[0] = 1; }\n", "g")


def test_lines_are_those_of_the_file_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "h.h").write_text("static void g(double *x) {\n\n  while (1) x[0] = 1;\n}\n")
    with pytest.raises(UserError, match=r"h\.h:3: while"):
        translated(tmp_path, '#include "h.h"\nvoid f(double *x) { g(x); }\n', None)


@pytest.mark.parametrize(
    ("body", "asserts"),
    [
        ("for (int i = 1; i < n - 1; i++) x[i] = 1;", ["(n > 1)"]),
        ("for (int i = 0; i < m; i++) x[i] = 1;", ["(m < n + 1)"]),
        ("x[3] = 1;", ["(n > 3)"]),
        ("for (int i = 0; i < n; i++) for (int j = i + 1; j < n - 1; j++) x[j] = 1;", []),
        ("double t[n - 3]; t[0] = 1; x[0] = t[0];", ["(n > 3)"]),
        ("if (n > 2) x[2] = 1;", []),
        ("for (int i = 0; i < m; i++) y[i] = y[3];", ["(m > 3)"]),
        ("for (int i = 0; i < m; i++) if (i < n) y[i] = 1;\ny[m - 1] = 1;", []),
        ("if (m < n && n > 2) x[m] = x[2];", []),
        ("for (unsigned i = 0; i < n - 3u; i++) x[i] = 1;", ["(n > 2)"]),
        ("for (int i = 0; i < n; i++) for (int j = i; j < 5; j++) x[j] = 1;", ["(n > 4)"]),
        ("for (int i = 0; i < n; i++) for (int j = i; j < 5 && j < n; j++) x[j] = 1;", []),
        ("for (int i = 0; i < 5; i++) for (int j = i; j < n; j++) x[j - i] = 1;", []),
        ("for (int i = 0; i < n % 4; i++) x[i] = 1;", []),
        ("for (int i = n - n % 4; i < n; i++) x[i] = 1;", []),
        ("for (int i = 0; i < n; i += 4) if (i + 3 < n) x[i + 3] = 1;", []),
        ("for (int i = 0; i <= n - 4; i += 4) x[i + 3] = 1;", []),
        ("for (int i = 0; i < n; i++) if (i < 0 || i >= n) x[i + 5] = 1; x[0] = 1;", []),
        ("for (int i = 0; i < n; i++) if (i != 0 && i != 1) x[i - 2] = 1;", []),
        ("if (n > 3 || m > 9) { if (m < 9) x[3] = 1; } y[m - 1] = 1;", []),
        ("for (int i = m; i < n; i++) x[i - m + 2] = 1;", ["((m > 1) or (n < m + 1))"]),
        ("for (int i = 0; i < n; i++) if (m > n + i) x[i] = y[m - n - i - 1];", ["(n < m)"]),
        ("int i = m; do { x[i - m] = 1; } while (++i < n);", ["(m < n)"]),
        ("do { x[n - 1] = 1; } while (--n);", []),
        ("while (n--) x[n] = 1;", []),
        ("if (x == 0 || !y) return; x[n - 1] = y[0];", []),
    ],
)
def test_asserts_what_bounds_need(tmp_path: Path, body: str, asserts: list[str]) -> None:
    program = translated(tmp_path, f"{HEAD}{body}\n}}\n")
    assert [show_expr(each) for each in program.asserts] == asserts


def test_sums_are_reductions(tmp_path: Path) -> None:
    """As Exo schedules them; where C converts, or rounds, in between they are not."""
    body = "x[0] += s; x[0] = x[0] + s; x[0] = s + x[0]; x[0] -= s; x[0] = x[0] - s;"
    stores = translated(tmp_path, f"{HEAD}{body}\n}}\n").body
    assert all(isinstance(each, graph.Store) and each.add for each in stores)
    body = "x[0] = s - x[0]; x[0] = x[0] + s + s; x[0] *= s; k[0] += s;"
    stores = translated(tmp_path, f"{HEAD}{body}\n}}\n").body
    assert not any(isinstance(each, graph.Store) and each.add for each in stores)


def allocations(body: tuple[graph.Statement, ...], depth: int = 0) -> list[tuple[str, int]]:
    """Variables, and how many loops and branches are around them."""
    out = []
    for each in body:
        match each:
            case graph.Allocate():
                out.append((each.array.name, depth))
            case graph.For():
                out += allocations(each.body, depth + 1)
            case graph.If():
                out += allocations((*each.body, *each.orelse), depth + 1)
            case _:
                pass
    return out


@pytest.mark.parametrize(
    ("body", "found"),
    [
        # each loop has its own
        (
            "for (i = 0; i < n; i++) { t = x[i]; x[i] = t * t; }\n"
            "for (i = 0; i < n; i++) for (j = 0; j < n; j++) { t = s; x[j] += t; }",
            [("t", 1), ("t", 2)],
        ),
        # its value goes from one iteration to the next
        ("t = 0; for (i = 0; i < n; i++) { t += x[i]; x[i] = t; }", [("t", 0)]),
        ("for (i = 0; i < n; i++) { x[i] = t; t = s; }", [("t", 0)]),
        # its value leaves the loop
        ("for (i = 0; i < n; i++) { t = x[i]; }\ny[0] = t;", [("t", 0)]),
        # perhaps it is not set
        ("for (i = 0; i < n; i++) { if (i > 2) t = s; x[i] = t; }", [("t", 0)]),
        ("for (i = 0; i < n; i++) { if (x[i] > 2) t = s; x[i] = t; }", [("t", 0)]),
        ("for (i = 0; i < n; i++) { if (i > 2) t = s; else t = 1; x[i] = t; }", [("t", 1)]),
        ("for (i = 0; i < n; i++) { for (j = 0; j < m; j++) t = s; x[i] = t; }", [("t", 0)]),
        ("x[0] = s;", []),
    ],
)
def test_variables_are_where_they_are_used(
    tmp_path: Path, body: str, found: list[tuple[str, int]]
) -> None:
    program = translated(tmp_path, f"{HEAD}int i, j; double t;\n{body}\n}}\n")
    assert allocations(program.body) == found


def test_integers_have_largest_and_smallest(tmp_path: Path) -> None:
    body = "k[0] = k[0] > m + n ? k[0] : m + n; x[0] = x[0] > s ? x[0] : s;"
    first, second = translated(tmp_path, f"{HEAD}{body}\n}}\n").body
    assert isinstance(first, graph.Store)
    assert isinstance(first.value, graph.Apply)
    assert first.value.function == "max"
    assert isinstance(second, graph.Store)
    assert isinstance(second.value, graph.Select), "of a NaN and a number, C takes the number"


def test_defines_and_includes(tmp_path: Path) -> None:
    (tmp_path / "sizes").mkdir()
    (tmp_path / "sizes" / "size.h").write_text("#define EXTENT (N + 1)\n")
    file = tmp_path / "k.c"
    file.write_text("#include <size.h>\nvoid f(double x[EXTENT]) { x[N] = 1; }\n")
    program = c_kernel(file, defines=["N=4"], include=[tmp_path / "sizes"])
    (array,) = program.parameters
    assert isinstance(array, graph.Array)
    assert [each.const for each in array.shape] == [5]
    with pytest.raises(UserError, match=r"k\.c:1: preprocessor"):
        c_kernel(file, defines=["N=4"])


def test_literals_of_float_are_rounded_once() -> None:
    assert single("0.1") == float(np.float32(0.1))
    # halfway between two floats, and a little more: through a double it would be rounded down
    assert single("1.00000005960464477539062500000000000000001") == 1 + 2.0**-23
    assert single("0x1.000001000000001p0") == 1 + 2.0**-23
    assert single("1e-9999999") == 0.0
    assert single("1e39") == float("inf")


CALLER = """
#include <stdio.h>
void scale(int n, double by, const float *x, double y[n]);
void original(int n, double by, const float *x, double y[n]) { y[0] = -by; }
int call(int n, double *y) {
    float x[4] = {1, 2, 3, 4};
    scale(n, 0.5, x, y);
    return 0;
}
"""


@pytest.mark.normal
def test_keeps_prototype_and_name(tmp_path: Path) -> None:
    file = tmp_path / "scale.c"
    file.write_text(
        "#define BY by\nstatic void scale(int n, double BY, const float *x, double y[n])\n"
        "{ for (int i = 1; i < n - 1; i++) y[i] += x[i] * BY; }\n"
    )
    own = prototype(file)
    assert own.text == "void scale(int n, double by, const float *x, double y[n])"
    done = lower(replace(c_kernel(file), name="scale_kernel"))
    module = tmp_path / "scale.py"
    module.write_text(done.text)
    code = generate_c(pick(load_source(module), done.name))
    parts = {
        "kernel.c": f"{code.header}\n{code.source}",
        "wrapper.c": wrapper(done, own, "original"),
        "caller.c": CALLER,
    }
    for name, part in parts.items():
        (tmp_path / name).write_text(part)
    library = tmp_path / "all.so"
    flags = ["-Wall", "-Werror", "-Wno-unused", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run(["gcc", *flags, *(tmp_path / name for name in parts)], check=True)
    call = ctypes.CDLL(str(library)).call
    y = np.ones(4)
    call(4, y.ctypes.data_as(ctypes.c_void_p))
    assert y.tolist() == [1, 2, 2.5, 1]
    call(1, y.ctypes.data_as(ctypes.c_void_p))
    assert y[0] == -0.5, "the original where the kernel's asserts do not hold"
    with pytest.raises(UserError, match="has the name of the function"):
        wrapper(replace(done, name="scale"), own)


REPLACED = """
#include <stdint.h>
#define ROWS (N_MAX - 1)
enum { N_MAX = 010, LAST = N_MAX - 1 };
typedef float real;
typedef real row[N_MAX];
typedef enum { ONE = 1, TWO } kind;
static const int three = 3;
void unlike(int n, kind k[TWO]);
void add(int n, real by, float *x, row y[ROWS], const double z[three][LAST], int8_t w[ONE]) {
    for (int i = 0; i < n; i++) x[i] += by;
    for (int i = 0; i < 7; i++) y[6][i] = z[2][i] + w[0];
}
"""


def test_a_replacement_stands_alone(tmp_path: Path) -> None:
    """With the types, enumerators and constants of the file that its prototype needs."""
    file = tmp_path / "add.c"
    file.write_text(REPLACED)
    own = prototype(file)
    assert "unlike" not in own.types
    made = read(file)
    module = tmp_path / "module.py"
    module.write_text(made.text)
    code = generate_c(pick(load_source(module), made.name))
    (tmp_path / "kernel.c").write_text(f"{code.header}\n{code.source}")
    (tmp_path / "new.c").write_text(replacement(made, own, "kernel.c"))
    flags = ["-Wall", "-Werror", "-Wno-unused", "-shared", "-fPIC", "-o", "new.so", "new.c"]
    subprocess.run(["gcc", *flags], cwd=tmp_path, check=True)
    x, y, z, w = np.ones(5, "f4"), np.ones((7, 8), "f4"), f64(3, 7), ints("int8", 1)
    add = ctypes.CDLL(str(tmp_path / "new.so")).add
    add(4, ctypes.c_float(2.5), *(ctypes.c_void_p(each.ctypes.data) for each in (x, y, z, w)))
    assert x.tolist() == [3.5, 3.5, 3.5, 3.5, 1]
    np.testing.assert_array_equal(y[6, :7], (z[2] + w[0]).astype("f4"))


AS_WRITTEN = """
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#define SQUARE(x) ((x) * (x))
typedef double real;
enum { FIRST = 2 };
static const int three[2] = {3, FIRST + 1};
static real helper(real x);
double length(size_t n, const real *x, uint8_t *kind);
static int unrelated;
static real helper(real x) { if (x < 0) return -x; else if (x > 1) return SQUARE(x); return x; }
double length(size_t n, const real *x, uint8_t kind[FIRST])
{
    real s = three[1] - FIRST;
    kind[0] = n < 2;
    for (size_t i = n; i-- > 0;)
        s += helper(x[i]);
    return sqrt(s);
}
"""


def test_a_replacement_falls_back_to_what_was_written(tmp_path: Path) -> None:
    """Where a size is 0: the file may use the kernel's header files and no others."""
    file = tmp_path / "length.c"
    file.write_text(AS_WRITTEN)
    own = prototype(file)
    made = read(file)
    module = tmp_path / "module.py"
    module.write_text(made.text)
    code = generate_c(pick(load_source(module), made.name))
    (tmp_path / "kernel.c").write_text(f"{code.header}\n{code.source}")
    written = as_written(file, None, otherwise(own))
    assert "unrelated" not in written
    (tmp_path / "new.c").write_text(replacement(made, own, "kernel.c", written))
    flags = ["-Wall", "-Werror", "-Wno-unused", "-shared", "-fPIC", "-o", "new.so", "new.c", "-lm"]
    subprocess.run(["gcc", *flags], cwd=tmp_path, check=True)
    length = ctypes.CDLL(str(tmp_path / "new.so")).length
    length.restype = ctypes.c_double
    x, kind = np.array([-3.0, 2.0, 1.0]), np.zeros(2, "u1")
    pointers = [ctypes.c_void_p(each.ctypes.data) for each in (x, kind)]
    assert length(ctypes.c_size_t(0), *pointers) == 1
    assert kind[0] == 1
    assert length(ctypes.c_size_t(3), *pointers) == 3
    assert kind[0] == 0
    symbols = subprocess.run(["nm", "-gD", "new.so"], cwd=tmp_path, capture_output=True, text=True)
    assert "as_written" not in symbols.stdout


@pytest.mark.parametrize("fixed", [{}, {"n": 3}])
def test_what_was_written_is_called_as_the_kernel_is(tmp_path: Path, fixed: dict[str, int]) -> None:
    file = tmp_path / "length.c"
    file.write_text(AS_WRITTEN)
    own, made = prototype(file), read(file)
    text = exported(made, own, as_written(file, None, otherwise(own)), "kernel", fixed)
    (tmp_path / "own.c").write_text(text)
    flags = ["-Wall", "-Werror", "-Wno-unused", "-shared", "-fPIC", "-o", "own.so", "own.c", "-lm"]
    subprocess.run(["gcc", *flags], cwd=tmp_path, check=True)
    x, kind, length = np.array([-3.0, 2.0, 1.0]), np.ones(2, "u1"), np.zeros(())
    pointers = [ctypes.c_void_p(each.ctypes.data) for each in (x, kind, length)]
    sizes = [] if fixed else [ctypes.c_int64(3)]
    assert made.parameters[:3] == ("n", "x", "kind")
    ctypes.CDLL(str(tmp_path / "own.so")).kernel(None, *sizes, *pointers)
    assert length == 3
    assert kind[0] == 0


TAGGED = """
enum mode { ADD = 1, SUB };
void f(int n, enum mode ctx, double context[n])
{
    for (int i = 0; i < n; i++)
        context[i] += ctx;
}
"""


def test_what_was_written_may_have_tags_and_any_names(tmp_path: Path) -> None:
    file = tmp_path / "tagged.c"
    file.write_text(TAGGED)
    own, made = prototype(file), read(file)
    text = exported(made, own, as_written(file, None, otherwise(own)), "kernel", {})
    (tmp_path / "own.c").write_text(text)
    flags = ["-Wall", "-Werror", "-shared", "-fPIC", "-o", "own.so", "own.c"]
    subprocess.run(["gcc", *flags], cwd=tmp_path, check=True)


def test_constants_of_the_file_are_not_those_of_parameters(tmp_path: Path) -> None:
    file = tmp_path / "k.c"
    file.write_text(
        "enum { K = 3 };\nstatic const double W[2] = {K, K + 1};\n"
        "void f(int K, double x[K]) { for (int i = 0; i < K; i++) x[i] = W[i % 2]; }"
    )
    with pytest.raises(UserError, match=r"k.c:2: W: it is computed of K, which a parameter hides"):
        c_kernel(file)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "enum { K = 3 };\nvoid f(double x[2][K], int K) { x[1][0] = K; }",
            "k.c:2: extent K of x: a later parameter has the name",
        ),
        (
            "enum { K = 'ab', L = 1 };\ntypedef double T[K];\nvoid f(T x, int K) { x[0] = L; }",
            "k.c:2: an extent of T: it is not declared",
        ),
        (
            "enum { K = 'ab' };\nvoid f(double x[2]) { x[0] = K; }",
            "k.c:2: enumerator K: its value is no constant expression",
        ),
        ("void f(int x[2]) { x[0] = 'ab'; }", "k.c:1: 'ab': kernels have numbers only"),
    ],
)
def test_refuses_constants_that_are_others(tmp_path: Path, source: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        translated(tmp_path, source)

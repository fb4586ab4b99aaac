"""C as engineers have it in their programs: pointers that move, counters, early exits, shifts,
results. Each function is called `f`; `make(n)` are arguments of about that size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RNG = np.random.default_rng(11)

Make = Callable[[int], list[Any]]


def f64(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def f32(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def u8(*shape: int) -> Any:
    return RNG.integers(0, 256, shape).astype(np.uint8)


def i32(*shape: int) -> Any:
    return RNG.integers(-10000, 10000, shape).astype(np.int32)


EDGES = np.array([0, 1, -1, 2, -2, 3, -3, 2**31 - 1, -(2**31), -(2**31) + 1, 5, -7], np.int32)

WILD: dict[str, tuple[str, Make]] = {
    # -- BLAS-like -----------------------------------------------------------------------------
    "saxpy": (
        """void f(int n, float a, const float *restrict x, float *restrict y)
           { while (n--) { *y += a * *x; x++; y++; } }""",
        lambda n: [n, np.float32(1.5), f32(n), f32(n)],
    ),
    "copy": (
        """#include <stddef.h>
           void f(size_t n, double *dst, const double *src) { while (n-- > 0) *dst++ = *src++; }""",
        lambda n: [n, f64(n), f64(n)],
    ),
    "dot": (
        """double f(int n, const double *x, const double *y) {
             double acc = 0.0;
             for (int i = 0; i < n; ++i) acc += x[i] * y[i];
             return acc; }""",
        lambda n: [n, f64(n), f64(n)],
    ),
    "dot, written out": (
        """float f(const float *x, const float *y, int n) {
             float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
             int i = 0;
             for (; i + 3 < n; i += 4) {
               s0 += x[i] * y[i]; s1 += x[i + 1] * y[i + 1];
               s2 += x[i + 2] * y[i + 2]; s3 += x[i + 3] * y[i + 3]; }
             for (; i < n; i++) s0 += x[i] * y[i];
             return (s0 + s1) + (s2 + s3); }""",
        lambda n: [f32(n), f32(n), n],
    ),
    "largest, its index": (
        """#include <math.h>
           int f(int n, const double *x) {
             int best = 0; double top = fabs(x[0]);
             for (int i = 1; i < n; i++) if (fabs(x[i]) > top) { top = fabs(x[i]); best = i; }
             return best; }""",
        lambda n: [n + 1, f64(n + 1)],
    ),
    "gemv by rows": (
        """void f(int m, int n, const double *a, const double *x, double *y) {
             const double *row = a;
             for (int i = 0; i < m; i++, row += n) {
               double sum = 0;
               for (int j = 0; j < n; j++) sum += row[j] * x[j];
               y[i] = sum; } }""",
        lambda n: [n, n + 2, f64(n, n + 2), f64(n + 2), f64(n)],
    ),
    "gemm, all pointers": (
        """void f(int m, int n, int k, const float *A, const float *B, float *C) {
             for (int i = 0; i < m; i++) {
               for (int j = 0; j < n; j++) {
                 const float *a = A + i * k, *b = B + j;
                 float s = 0.f;
                 for (int p = 0; p < k; p++) { s += *a++ * *b; b += n; }
                 *C++ = s; } } }""",
        lambda n: [n, n + 1, n + 2, f32(n, n + 2), f32(n + 2, n + 1), f32(n, n + 1)],
    ),
    "gemm with leading dimensions": (
        """void f(int m, int n, int k, int lda, int ldb, int ldc,
                  const double *a, const double *b, double *c) {
             if (m == 0 || n == 0) return;
             for (int i = 0; i < m; i++)
               for (int p = 0; p < k; p++) {
                 double t = a[i * lda + p];
                 for (int j = 0; j < n; j++) c[i * ldc + j] += t * b[p * ldb + j]; } }""",
        lambda n: [n, n, n, n + 3, n + 1, n + 2, f64(n, n + 3), f64(n, n + 1), f64(n, n + 2)],
    ),
    "scale all": (
        "void f(int h, int w, float s, float *x) { for (int i = 0; i < h * w; i++) x[i] *= s; }",
        lambda n: [n, n + 3, np.float32(0.3), f32(n, n + 3)],
    ),
    "triangular solve": (
        """void f(int n, const double *l, double *b) {
             for (int i = 0; i < n; i++) {
               double s = b[i];
               for (int j = 0; j < i; j++) s -= l[i * n + j] * b[j];
               b[i] = s / l[i * n + i]; } }""",
        lambda n: [n, f64(n, n), f64(n)],
    ),
    # -- images --------------------------------------------------------------------------------
    "grey": (
        """#include <stdint.h>
           void f(int width, int height, const uint8_t *rgb, uint8_t *grey) {
             int count = width * height;
             for (int i = 0; i < count; i++, rgb += 3)
               grey[i] = (77 * rgb[0] + 150 * rgb[1] + 29 * rgb[2]) >> 8; }""",
        lambda n: [n, n + 1, u8(3 * n * (n + 1)), u8(n * (n + 1))],
    ),
    "box blur of bytes": (
        """void f(unsigned w, unsigned h, const unsigned char *src, unsigned char *dst) {
             for (unsigned y = 1; y + 1 < h; ++y)
               for (unsigned x = 1; x + 1 < w; ++x) {
                 int sum = 0;
                 for (int dy = -1; dy <= 1; ++dy)
                   for (int dx = -1; dx <= 1; ++dx) sum += src[(y + dy) * w + (x + dx)];
                 dst[y * w + x] = (unsigned char)(sum / 9); } }""",
        lambda n: [n + 2, n + 3, u8(n + 3, n + 2), u8(n + 3, n + 2)],
    ),
    "sobel": (
        """#include <stdlib.h>
           #define CLAMP(v) ((v) > 255 ? 255 : (v))
           void f(int w, int h, const unsigned char *in, unsigned char *out) {
             for (int y = 1; y < h - 1; y++) {
               const unsigned char *up = in + (y - 1) * w, *at = up + w, *dn = at + w;
               for (int x = 1; x < w - 1; x++) {
                 int gx = up[x + 1] - up[x - 1] + ((at[x + 1] - at[x - 1]) << 1)
                        + dn[x + 1] - dn[x - 1];
                 int gy = dn[x - 1] + 2 * dn[x] + dn[x + 1] - up[x - 1] - 2 * up[x] - up[x + 1];
                 int mag = abs(gx) + abs(gy);
                 out[y * w + x] = CLAMP(mag); } } }""",
        lambda n: [n + 2, n + 4, u8(n + 4, n + 2), u8(n + 4, n + 2)],
    ),
    "threshold": (
        """void f(long n, unsigned char *p, int limit) {
             unsigned char *end = p + n;
             for (; p != end; ++p) *p = *p > limit ? 255 : 0; }""",
        lambda n: [n, u8(n), 100],
    ),
    "half size": (
        """void f(int w, int h, const float *in, float *out) {
             const int w2 = w >> 1, h2 = h / 2;
             for (int y = 0; y < h2; y++)
               for (int x = 0; x < w2; x++) {
                 const float *p = &in[2 * y * w + 2 * x];
                 out[y * w2 + x] = 0.25f * (p[0] + p[1] + p[w] + p[w + 1]); } }""",
        lambda n: [2 * n + 1, 2 * n, f32(2 * n, 2 * n + 1), f32(n, n)],
    ),
    "transpose": (
        """void f(int rows, int cols, const double *restrict in, double *restrict out) {
             for (int i = 0; i < rows * cols; i++) out[(i % cols) * rows + i / cols] = in[i]; }""",
        lambda n: [n, n + 1, f64(n, n + 1), f64(n + 1, n)],
    ),
    "flip rows": (
        """void f(int w, int h, float *img) {
             for (int y = 0; y < h; y++)
               for (int i = 0, j = w - 1; i < j; i++, j--) {
                 float t = img[y * w + i];
                 img[y * w + i] = img[y * w + j];
                 img[y * w + j] = t; } }""",
        lambda n: [n, n + 1, f32(n + 1, n)],
    ),
    "alpha blend": (
        """#include <stdint.h>
           #include <stddef.h>
           static inline uint8_t mix(int a, int b, int alpha)
           { return (uint8_t)((a * alpha + b * (255 - alpha) + 127) / 255); }
           void f(size_t n, const uint8_t *fg, const uint8_t *bg, const uint8_t *alpha,
                  uint8_t *out) {
             for (size_t i = 0; i < n; i++)
               for (int c = 0; c < 3; c++)
                 out[3 * i + c] = mix(fg[3 * i + c], bg[3 * i + c], alpha[i]); }""",
        lambda n: [n, u8(3 * n), u8(3 * n), u8(n), u8(3 * n)],
    ),
    # -- signals -------------------------------------------------------------------------------
    "fir": (
        """#define TAPS 5
           static const float h[TAPS] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
           void f(int n, const float *x, float *y) {
             for (int i = 0; i + TAPS <= n; i++) {
               float acc = 0;
               for (int k = 0; k < TAPS; k++) acc += h[k] * x[i + TAPS - 1 - k];
               y[i] = acc; } }""",
        lambda n: [n + 4, f32(n + 4), f32(n + 4)],
    ),
    "biquad": (
        """void f(int n, float *buf, float b0, float b1, float b2, float a1, float a2) {
             float z1 = 0.0f, z2 = 0.0f;
             do {
               float in = *buf, out = b0 * in + z1;
               z1 = b1 * in - a1 * out + z2;
               z2 = b2 * in - a2 * out;
               *buf++ = out;
             } while (--n); }""",
        lambda n: [n, f32(n), *(np.float32(c) for c in (0.2, 0.4, 0.2, -0.3, 0.1))],
    ),
    "samples": (
        """#include <stdint.h>
           void f(int frames, const float *left, const float *right, int *out) {
             int *p = out;
             for (int i = 0; i < frames; i++) {
               *p++ = (int)(left[i] * 32767.0f);
               *p++ = (int)(right[i] * 32767.0f); } }""",
        lambda n: [n, f32(n), f32(n), i32(2 * n)],
    ),
    "power": (
        """double f(const double *re, const double *im, unsigned n) {
             double total = 0;
             for (unsigned i = n; i-- > 0;) total += re[i] * re[i] + im[i] * im[i];
             return total / n; }""",
        lambda n: [f64(n), f64(n), n],
    ),
    "window": (
        """#include <math.h>
           void f(int n, double *x) {
             const double step = 2.0 * M_PI / n;
             double *p = x;
             const double *end = x + n;
             int i = 0;
             while (p < end) { *p++ *= 0.5 - 0.5 * cos(step * i); i++; } }""",
        lambda n: [n, f64(n)],
    ),
    "running mean": (
        """void f(int n, const double *x, double *y) {
             for (int i = 0; i < n; i++) {
               if (i < 2 || i >= n - 2) { y[i] = x[i]; continue; }
               y[i] = (x[i - 2] + x[i - 1] + x[i] + x[i + 1] + x[i + 2]) / 5; } }""",
        lambda n: [n, f64(n), f64(n)],
    ),
    # -- stencils, particles -------------------------------------------------------------------
    "heat": (
        """#include <string.h>
           void f(int n, double *u, double *next, int steps) {
             for (int t = 0; t < steps; t++) {
               for (int i = 1; i <= n - 2; i++)
                 next[i] = u[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
               memcpy(u + 1, next + 1, (n - 2) * sizeof(double)); } }""",
        lambda n: [n + 2, f64(n + 2), f64(n + 2), 3],
    ),
    "laplace in place": (
        """void f(int nx, int ny, double (*u)[nx]) {
             for (int j = 1; j < ny - 1; ++j)
               for (int i = 1; i < nx - 1; ++i)
                 u[j][i] = 0.25 * (u[j][i-1] + u[j][i+1] + u[j-1][i] + u[j+1][i]); }""",
        lambda n: [n + 2, n + 3, f64(n + 3, n + 2)],
    ),
    "3d stencil": (
        """#define IDX(i, j, k) (((i) * n + (j)) * n + (k))
           void f(int n, const float *a, float *b, float c0, float c1) {
             for (int i = 1; i < n - 1; i++)
               for (int j = 1; j < n - 1; j++)
                 for (int k = 1; k < n - 1; k++)
                   b[IDX(i, j, k)] = c0 * a[IDX(i, j, k)] + c1 * (a[IDX(i - 1, j, k)]
                     + a[IDX(i + 1, j, k)] + a[IDX(i, j - 1, k)] + a[IDX(i, j + 1, k)]
                     + a[IDX(i, j, k - 1)] + a[IDX(i, j, k + 1)]); }""",
        lambda n: [n + 2, f32(*3 * [n + 2]), f32(*3 * [n + 2]), np.float32(0.4), np.float32(0.1)],
    ),
    "red and black": (
        """void f(int n, double x[n][n], int colour) {
             for (int i = 1; i < n - 1; i++)
               for (int j = 1; j < n - 1; j++) {
                 if (((i + j) & 1) != 0) continue;
                 x[i][j] = 0.25 * (x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][j + 1]); }
             x[0][0] = colour; }""",
        lambda n: [n + 2, f64(n + 2, n + 2), 3],
    ),
    "n-body": (
        """#include <math.h>
           typedef float real;
           void f(int n, const real *x, const real *y, const real *z, const real *m,
                  real *ax, real *ay, real *az) {
             for (int i = 0; i < n; i++) {
               real fx = 0, fy = 0, fz = 0;
               for (int j = 0; j < n; j++) {
                 if (j == i) continue;
                 real dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
                 real r2 = dx * dx + dy * dy + dz * dz + 1e-6f;
                 real inv = 1.0f / sqrtf(r2);
                 real s = m[j] * inv * inv * inv;
                 fx += dx * s; fy += dy * s; fz += dz * s; }
               ax[i] = fx; ay[i] = fy; az[i] = fz; } }""",
        lambda n: [n, *(f32(n) for _ in range(7))],
    ),
    "leapfrog": (
        """void f(int n, double dt, double *pos, double *vel, const double *acc) {
             for (int i = 0; i < 3 * n; i++) { vel[i] += dt * acc[i]; pos[i] += dt * vel[i]; } }""",
        lambda n: [n, 0.01, f64(3 * n), f64(3 * n), f64(3 * n)],
    ),
    # -- dynamic programming -------------------------------------------------------------------
    "edit distance": (
        """#define MIN(a, b) ((a) < (b) ? (a) : (b))
           void f(int n, int m, const signed char *s, const signed char *t, int d[n + 1][m + 1]) {
             for (int i = 0; i <= n; i++) d[i][0] = i;
             for (int j = 0; j <= m; j++) d[0][j] = j;
             for (int i = 1; i <= n; i++)
               for (int j = 1; j <= m; j++) {
                 int cost = s[i - 1] == t[j - 1] ? 0 : 1;
                 int best = MIN(d[i - 1][j] + 1, d[i][j - 1] + 1);
                 d[i][j] = MIN(best, d[i - 1][j - 1] + cost); } }""",
        lambda n: [
            n,
            n + 1,
            RNG.integers(0, 3, n).astype("i1"),
            RNG.integers(0, 3, n + 1).astype("i1"),
            i32(n + 1, n + 2),
        ],
    ),
    "shortest paths": (
        """void f(int n, int *dist) {
             for (int k = 0; k < n; k++)
               for (int i = 0; i < n; i++)
                 for (int j = 0; j < n; j++) {
                   int through = dist[i * n + k] + dist[k * n + j];
                   if (through < dist[i * n + j]) dist[i * n + j] = through; } }""",
        lambda n: [n, i32(n, n)],
    ),
    "largest sum of neighbours": (
        """double f(int n, const double *x) {
             double best = x[0], run = x[0];
             for (int i = 1; i < n; i++) {
               run = run > 0 ? run + x[i] : x[i];
               if (run > best) best = run; }
             return best; }""",
        lambda n: [n + 1, f64(n + 1)],
    ),
    # -- statistics ----------------------------------------------------------------------------
    "mean and variance": (
        """void f(const double *x, int n, double *mean, double *var) {
             double s = 0, q = 0;
             for (int i = 0; i < n; i++) s += x[i];
             s /= n;
             for (int i = 0; i < n; i++) { double d = x[i] - s; q += d * d; }
             *mean = s; *var = n > 1 ? q / (n - 1) : 0.0; }""",
        lambda n: [f64(n), n, f64(1), f64(1)],
    ),
    "welford": (
        """void f(int n, const double *x, double out[2]) {
             double mean = 0, m2 = 0;
             for (int k = 0; k < n; k++) {
               double delta = x[k] - mean;
               mean += delta / (k + 1);
               m2 += delta * (x[k] - mean); }
             out[0] = mean; out[1] = m2 / n; }""",
        lambda n: [n, f64(n), f64(2)],
    ),
    "norms": (
        """#include <math.h>
           static double sum_squares(const double *v, int n)
           { double s = 0; for (int i = 0; i < n; i++) s += v[i] * v[i]; return s; }
           void f(int rows, int cols, const double *x, double *norm) {
             for (int r = 0; r < rows; r++) norm[r] = sqrt(sum_squares(x + r * cols, cols)); }""",
        lambda n: [n, n + 1, f64(n, n + 1), f64(n)],
    ),
    "counts above": (
        """int f(int n, const float *x, float level) {
             int count = 0;
             for (int i = 0; i < n; i++) { if (x[i] <= level) continue; count++; }
             return count; }""",
        lambda n: [n, f32(n), np.float32(0.2)],
    ),
    # -- layers --------------------------------------------------------------------------------
    "softmax of rows": (
        """#include <math.h>
           #include <stddef.h>
           void f(int rows, int cols, float *x) {
             for (int r = 0; r < rows; r++) {
               float *row = x + (size_t)r * cols;
               float top = row[0], sum = 0.0f;
               for (int c = 1; c < cols; c++) top = fmaxf(top, row[c]);
               for (int c = 0; c < cols; c++) { row[c] = expf(row[c] - top); sum += row[c]; }
               const float inv = 1.0f / sum;
               for (int c = 0; c < cols; c++) row[c] *= inv; } }""",
        lambda n: [n, n + 2, f32(n, n + 2)],
    ),
    "layer norm": (
        """#include <math.h>
           void f(float *out, const float *inp, const float *weight, const float *bias,
                  int B, int T, int C) {
             float eps = 1e-5f;
             for (int b = 0; b < B; b++) {
               for (int t = 0; t < T; t++) {
                 const float *x = inp + b * T * C + t * C;
                 float m = 0.0f;
                 for (int i = 0; i < C; i++) { m += x[i]; }
                 m = m / C;
                 float v = 0.0f;
                 for (int i = 0; i < C; i++) { float d = x[i] - m; v += d * d; }
                 v = v / C;
                 float s = 1.0f / sqrtf(v + eps);
                 float *o = out + b * T * C + t * C;
                 for (int i = 0; i < C; i++) o[i] = (s * (x[i] - m)) * weight[i] + bias[i];
               } } }""",
        lambda n: [f32(2, n, n + 3), f32(2, n, n + 3), f32(n + 3), f32(n + 3), 2, n, n + 3],
    ),
    "relu": (
        """void f(int batch, int features, float *x) {
             const int total = batch * features;
             for (int i = 0; i < total; ++i) { if (x[i] >= 0.f) continue; x[i] = 0.f; } }""",
        lambda n: [n, n + 1, f32(n, n + 1)],
    ),
    "dense layer": (
        """#include <string.h>
           static void add_bias(float *y, const float *b, int n) { while (n--) *y++ += *b++; }
           void f(int n_in, int n_out, const float *w, const float *b, const float *x, float *y) {
             memset(y, 0, n_out * sizeof(*y));
             for (int i = 0; i < n_in; i++)
               for (int o = 0; o < n_out; o++) y[o] += w[i * n_out + o] * x[i];
             add_bias(y, b, n_out);
             for (int o = 0; o < n_out; o++) y[o] = y[o] > 0 ? y[o] : 0.01f * y[o]; }""",
        lambda n: [n, n + 1, f32(n, n + 1), f32(n + 1), f32(n), f32(n + 1)],
    ),
    "max pooling": (
        """void f(int c, int h, int w, const float *in, float *out) {
             int oh = h / 2, ow = w / 2;
             for (int k = 0; k < c; k++)
               for (int i = 0; i < oh; i++)
                 for (int j = 0; j < ow; j++) {
                   float best = -1e30f;
                   for (int di = 0; di < 2; di++)
                     for (int dj = 0; dj < 2; dj++) {
                       float v = in[(k * h + 2 * i + di) * w + 2 * j + dj];
                       if (v > best) best = v; }
                   out[(k * oh + i) * ow + j] = best; } }""",
        lambda n: [2, 2 * n, 2 * n + 1, f32(2, 2 * n, 2 * n + 1), f32(2, n, n)],
    ),
    "quantise": (
        """#include <math.h>
           #include <stdint.h>
           void f(int n, const float *x, int8_t *q, float scale) {
             for (int i = 0; i < n; i++) {
               float v = x[i] / scale;
               v = v < -128.0f ? -128.0f : v > 127.0f ? 127.0f : v;
               q[i] = (int8_t)rintf(v); } }""",
        lambda n: [n, f32(n), np.zeros(n, "i1"), np.float32(0.02)],
    ),
    "polynomial": (
        """void f(int n, const double *x, double *y, const double coef[], int degree) {
             for (int i = 0; i < n; i++) {
               double r = coef[degree];
               for (int k = degree - 1; k >= 0; k--) r = r * x[i] + coef[k];
               y[i] = r; } }""",
        lambda n: [n, f64(n), f64(n), f64(4), 3],
    ),
    "interpolation": (
        """void f(int n, const float *a, const float *b, float t, float *restrict o) {
             #pragma omp parallel for simd
             for (int i = 0; i < n; i++) o[i] = (1 - t) * a[i] + t * b[i]; }""",
        lambda n: [n, f32(n), f32(n), np.float32(0.25), f32(n)],
    ),
    # -- what C's integers do ------------------------------------------------------------------
    "signs": (
        """void f(int n, const int x[n], int y[n], int z[n]) {
             for (int i = 0; i < n; i++) {
               y[i] = x[i] / 3 + 10 * (x[i] % 3) + 7 * (x[i] >> 2) + (x[i] & 7) + (x[i] & -8);
               y[i] += x[i] / -5 + 3 * (x[i] % -5) + (x[i] << 3) + ~x[i] - (-x[i]) / 4;
               z[i] = x[i] / 7 * 1000003 + (15 & x[i]) - (x[i] >> 31) + x[i] / 2147483647;
               z[i] /= 3; z[i] %= 1000; z[i] <<= 2; z[i] >>= 1; z[i] &= 0xff; } }""",
        lambda n: [n, np.resize(EDGES, n), i32(n), i32(n)],
    ),
    "narrow signs": (
        """#include <stdint.h>
           void f(int n, int8_t *a, uint8_t *b, uint16_t *c, int *d) {
             while (n--) {
               *d++ = (*a >> 1) + (*a + 1) / 2 + (uint8_t)(*a - *b) + (*b >> 3) + (*c >> 5) % 9
                    + (int8_t)(*b + 100) / 3 + (*a & 3) + ~*b + (uint8_t)~*b + *c / 1000;
               *a = *a / 3 << 1; *b = (*b + 1) >> 1; *c &= 0x7f;
               a++; b++; c++; } }""",
        lambda n: [
            n,
            RNG.integers(-128, 128, n).astype("i1"),
            u8(n),
            RNG.integers(0, 65536, n).astype("u2"),
            i32(n),
        ],
    ),
    "counters after loops": (
        """void f(int n, int m, int k[12], double *x) {
             int i = 0, j = n, t;
             while (i < n) { x[i++] += 1; }
             k[0] = i;
             while (j--) x[j] *= 2;
             k[1] = j;
             for (t = n; t-- > 0;) x[t] += t;
             k[2] = t;
             for (i = 0, j = m; i < j; i += 2, --j) x[0] += i * j;
             i = n; do { x[--i] -= 1; } while (i > 0);
             k[3] = i;
             i = m; while (--i) x[0] *= 1.5;
             k[4] = i;
             for (i = n - 1; i >= 0; i -= 3) x[i] += 0.25;
             for (i = 0; i < n; i++) { x[i] -= 3; i++; }
             t = m; for (i = 0; i < t; i++) { t--; x[0] += 1; }
             for (i = 0; ; i++) { if (i >= n || i > 5) break; x[i] *= 1.25; }
             i = 0; while (1) { if (i == n) break; x[i] += 0.5; i++; }
             k[5] = i; k[6] = m; m -= 1; k[7] = m; } """,
        lambda n: [n, n + 3, i32(12), f64(n)],
    ),
    "pointers either way": (
        """void f(int n, int m, double *a, double *b, double (*c)[m], double s) {
             double *p = a + n * m, *q = b;
             while (p != a) *--p *= 2;
             for (p = a; p < a + n * m; p += m) { q = b; for (int j = 0; j < m; j++) *q++ += p[j]; }
             for (int i = 0; i < n; ++i, ++c) (*c)[m - 1] = c[0][0] + s;
             q = b + m; q--; *q-- += 1; if (m > 1) *q = 3;
             p = &a[(n - 1) * m];
             for (int i = n; i > 0; i--, p -= m) { double *r = p; int j = m;
               do { *r = *r + b[0]; r++; } while (--j); }
             s *= 2; *a = s; } """,
        lambda n: [n, n + 1, f64(n, n + 1), f64(n + 1), f64(n, n + 1), 0.5],
    ),
    "unsigned counters": (
        """#include <stddef.h>
           void f(size_t n, unsigned m, double *x, float *y, int k[4], const double *z) {
             for (size_t i = n; i--;) x[i] += 1;
             for (unsigned i = 0; i < m; ++i) y[m - 1 - i] *= i;
             size_t at = 0;
             for (unsigned r = 0; r < m; r++, at += n) y[r] += z[at + n - 1];
             for (size_t i = 0; i + 1 < n; i += 2) x[i] -= x[i + 1];
             while (m-- > 1) k[0] += 1;
             unsigned long half = n >> 1, rest = n & 1, even = n & ~1ul;
             for (size_t i = 0; i < half; i++) x[i] += x[even - 1 - i];
             for (size_t i = even; i < n; i++) x[i] = rest; k[1] = (int)half; }""",
        lambda n: [n, n + 2, f64(n), f32(n + 2), i32(4), f64(n + 2, n)],
    ),
    "products of sizes": (
        """void f(int n, int m, double *x, int k[6], double y[m][n]) {
             int area = n * m, rows = n - 1;
             const double scale = 1.0 / area, other = (double)(n * m * 3) / (m * m);
             for (int i = 0; i < area; i++) { x[i] = x[i] * scale + i; }
             for (int i = 0; i < n * m; i++) x[i] += y[i % m][i / m] * other;
             for (int i = 0; i < (n + 1) * m; i += 1) x[0] += 1;
             for (int i = 0; i < rows * m; ++i) x[i] -= x[i + m];
             k[0] = area; k[1] = area * 2 - n; k[2] = (n + m) * n; k[3] = -(n * m);
             int left = 4 * n; while (left > 0) { left -= 4; x[left / 4] *= 0.5; } }""",
        lambda n: [n + 1, n + 2, f64((n + 1) * (n + 2)), i32(6), f64(n + 2, n + 1)],
    ),
    "ends of branches": (
        """static int kind(int i, double v) {
             if (i < 2) return 0;
             if (v > 0) { if (v > 1) return 3; else return 2; }
             return 1; }
           static double total(const double *v, int n) {
             double s = 0;
             if (n < 3) return -1;
             for (int i = 0; i < n; i++) { if (v[i] < 0) continue; s += v[i]; }
             if (s > 2) return 2;
             return s; }
           double f(int n, const double *x, double *y) {
             for (int i = 0; i < n; i++) {
               if (i == 1) { y[i] = 5; continue; } else if (i == 2) continue;
               if (x[i] > 1) { y[i] += 1; continue; }
               if (x[i] < -1) continue; else { y[i] -= 1; }
               y[i] *= kind(i, x[i]) + total(x, i + 1); }
             if (x[0] > 1) return -1;
             if (n < 4) { return 3; }
             double t = total(y, n);
             if (t > 10) { t -= 1; return t; }
             return t * 2; }""",
        lambda n: [n, f64(n), f64(n)],
    ),
    "helpers under conditions": (
        """static double sum(const double *v, int n) {
             double s = 0; while (n--) s += *v++; return s; }
           static void twice(int n, double *v) { do *v++ *= 2; while (--n); }
           void f(int n, double *x, double *y, int k) {
             for (int i = 0; i < n; i++) {
               if (x[i] > 0) { y[i] = sum(x, i + 1); if (y[i] > 1) twice(i + 1, y); }
               else if (i > 0) y[i - 1] -= i > 1 ? sum(&x[i - 2], 2) : x[i] < -1 ? sum(y, n) : 1; }
             if (k > 2 && sum(x, n) > 0) x[0] = -sum(y, n); }""",
        lambda n: [n, f64(n), f64(n), int(RNG.integers(0, 6))],
    ),
    "memory": (
        """#include <string.h>
           void f(int n, int m, double a[n][m], float *b, const float *c, unsigned char *d) {
             double t[3][2];
             memset(t, 0, sizeof t);
             memcpy(b, c, sizeof(float) * n * m);
             memset(&b[m], 0, m * sizeof *b);
             memset(a[n - 1], 0, m * sizeof(a[0][0]));
             memset(d, 0, n);
             if (n > 2) memcpy(b, c + m, (n - 2) * m * sizeof(*c));
             t[1][1] += 1; a[0][0] = t[1][1] + t[2][0] + sizeof(double) + sizeof t[0]; }""",
        lambda n: [
            n + 1,
            n + 2,
            f64(n + 1, n + 2),
            f32(n + 1, n + 2),
            f32(n + 1, n + 2),
            u8(n + 1),
        ],
    ),
    "pointers through all rows": (
        """void f(int n, int m, double a[n][m], float b[][n][m], double c[n][m]) {
             double *p = &a[0][0], *last = &a[n - 1][m - 1], *row = *c;
             float *q = &b[0][0][0];
             for (int i = 0; i < n * m; i++) *p++ += i;
             for (int i = 0; i < n * m; i++) *last-- *= 2;
             for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) row[j] = i - j; row += m; }
             for (int i = 0; i < n; i++)
               for (int j = 0; j < n; j++) for (int k = 0; k < m; k++) *q++ += j - k; }""",
        lambda n: [n, n + 1, f64(n, n + 1), f32(n, n, n + 1), f64(n, n + 1)],
    ),
    "memory of whole arrays": (
        """#include <string.h>
           void f(int n, int m, int k, double a[n][m], const double b[n][m], float c[n][m][k]) {
             memset(a, 0, sizeof(double) * n * m);
             memset(c, 0, n * m * k * sizeof(float));
             memset(c[n - 1], 0, sizeof(float) * m * k);
             if (n > 1) memcpy(a + 1, b, sizeof(double) * (n - 1) * m);
             a[0][0] += 1; c[0][0][k - 1] = 2; }""",
        lambda n: [n, n + 1, 2, f64(n, n + 1), f64(n, n + 1), f32(n, n + 1, 2)],
    ),
    "constants that are counted": (
        """enum { E_N = 8 / 2, E_M = -E_N % 3 + 2, E_K = 1 << 3 >> 1, E_L = E_N > 3 ? 5 : 6 };
           enum { E_Q = ~0 & 7, E_Z = !0 || 0, E_W = (E_N ^ 1) | 8, E_V = -7 / 2 };
           void f(double x[E_N], double y[E_K][E_L]) {
             for (int i = 0; i < E_N; i++) x[i] = E_M + 10 * E_Q + 100 * E_Z + 1000 * E_W + E_V;
             for (int j = 0; j < E_L; j++) y[E_K - 1][j] = j; }""",
        lambda n: [f64(4), f64(4, 5)],
    ),
    "one name, an index and data": (
        """void f(int n, const int *a, double *x) {
             int t = a[0], i = a[n - 1];
             for (int i = 0; i < n; i++) { int t = n - 1 - i; x[t] = i; }
             for (int i = 0; i < n; i++) { int t = a[i]; if (t > 0) x[i] += t; }
             x[0] += t * i; }""",
        lambda n: [n, i32(n), f64(n)],
    ),
    "parameters without names": (
        """static double helper_of(double v, int) { return v * v; }
           void f(int n, double *x, int, const float *) {
             for (int i = 0; i < n; i++) x[i] = helper_of(x[i], i); }""",
        lambda n: [n, f64(n), 3, f32(2)],
    ),
    "memory of its own": (
        """#include <stdlib.h>
           void f(int n, int m, double *x, float a[n][m]) {
             double *t = malloc(n * sizeof *t);
             float *z = (float *)calloc(n + 1, sizeof(float)), (*rows)[m] = malloc(sizeof a[0] * n);
             if (t == NULL || !z) return;
             double *p = t;
             for (int i = 0; i < n; i++) *p++ = x[n - 1 - i];
             for (int i = 0; i < n; i++) { x[i] = t[i] + z[i]; z[i + 1] += i; }
             for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) rows[i][j] = z[n] - a[i][j];
             for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] += rows[n - 1 - i][j];
             free(t); free(z);
             free(rows); }""",
        lambda n: [n, n + 1, f64(n), f32(n, n + 1)],
    ),
    "memory that is walked": (
        """#include <stdlib.h>
           void f(int n, double *x) {
             double *t = malloc(sizeof(double) * n);
             for (int i = 0; i < n; i++) *t++ = 2 * x[i];
             t -= n;
             for (int i = 0; i < n; i++) x[i] = t[n - 1 - i];
             free(t); }""",
        lambda n: [n, f64(n)],
    ),
    "rounding": (
        """#include <math.h>
           void f(int n, const double *x, double *y, float *z, int *k) {
             for (int i = 0; i < n; i++) {
               y[i] = round(x[i]) + 10 * trunc(x[i]); z[i] = roundf(z[i] * 2) / truncf(z[i] * 9);
               k[i] = isnan(x[i]) + 2 * (isnan(z[i]) ? 1 : 0) + (int)round(x[i] * 2.5); }
             y[0] = round(-0.0 * (n + 1)); y[n] = round(2.5) + trunc(-0.5) + round(-1.5); }""",
        lambda n: [n, f64(n) * 3, f64(n + 1), f32(n), i32(n)],
    ),
    "copies of data": (
        """void f(int n, int m, const int *a, double x[n][m]) {
             for (int i = 0; i < n; i++) {
               int k = a[i]; const int twice = k + k, more = twice + 1;
               for (int j = 0; j < m; j++) { int k = m - 1 - j; x[i][k] += j; }
               if (k > 0) { int i = k; x[0][0] += i + more; } }
             { int k = n - 1; x[k][0] = 1; } }""",
        lambda n: [n, n + 1, i32(n), f64(n, n + 1)],
    ),
    "truth values": (
        """#include <stdbool.h>
           int f(int n, const double *x, bool *y) {
             bool any = false;
             int count = 0;
             for (int i = 0; i < n; i++) {
               bool up = x[i] > 0.5, odd = x[i] * 0.25;
               y[i] = !up; count += up + 2 * odd;
               if (up) any = true; }
             return any ? count : -count; }""",
        lambda n: [n, f64(n), u8(n) % 2],
    ),
    "types of arrays": (
        """typedef double *t_vector; typedef const float *t_input; typedef double t_matrix[3][3];
           void f(int n, t_vector x, t_input y, const t_matrix m) {
             t_matrix t;
             for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) t[i][j] = m[j][i];
             t_vector p = x;
             for (int i = 0; i < n; i++) *p++ = y[i] + t[i % 3][1]; }""",
        lambda n: [n, f64(n), f32(n), f64(3, 3)],
    ),
    "types of arrays of hidden names": (
        """enum { N = 4, M = 3 }; typedef double t_mat[N][M]; typedef t_mat t_mats[M];
           static double last(t_mat m, int N, int M) { return m[N - 1][M - 1]; }
           void f(t_mat x, t_mats y, int M) {
             const int N = 2;
             for (int i = 0; i < N + 1; i++) for (int j = 0; j < 2; j++) x[i][j] = M + y[2][i][j];
             t_mat t = {{1}};
             x[3][2] = last(y[1], 4, 3) + sizeof(t) + t[0][0]; }""",
        lambda n: [f64(4, 3), f64(3, 4, 3), n],
    ),
    "a type said twice": (
        """typedef double T; typedef T T; typedef T V[3]; typedef V V;
           typedef float *P; typedef P P;
           void f(V x, P y, T s) { for (int i = 0; i < 3; i++) x[i] = y[i] + s; }""",
        lambda n: [f64(3), f32(3), float(n)],
    ),
    "memory that is freed elsewhere": (
        """#include <stdlib.h>
           static void done(float *t) { free((void *)t); }
           void f(int n, double y[n]) {
             float *t = malloc(n * sizeof *t);
             double *u = malloc(sizeof(double) * n), *p = u;
             double (*rows)[2] = calloc(n, sizeof *rows);
             for (int i = 0; i < n; i++) { t[i] = y[i]; *p++ = 2; rows[i][1] += i; }
             for (int i = 0; i < n; i++) y[i] = t[i] + u[i] + rows[i][0] + rows[i][1];
             done(t); if (u) free(u);
             free(rows); }""",
        lambda n: [n, f64(n)],
    ),
}

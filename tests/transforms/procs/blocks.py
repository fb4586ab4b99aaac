"""Reductions whose result fits vector registers, and some whose result does not."""

from __future__ import annotations

from exo import proc


@proc
def product(M: size, N: size, K: size, C: f32[M, N], A: f32[M, K], B: f32[K, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += A[i, k] * B[k, j]


@proc
def transposed(C: f64[10, 12], A: f64[7, 10], B: f64[7, 12]):
    for k in seq(0, 7):
        for i in seq(0, 10):
            for j in seq(0, 12):
                C[i, j] += B[k, j] * A[k, i]


@proc
def convolution(out: f32[5, 6, 9], inp: f32[7, 8, 3], w: f32[3, 3, 3, 9]):
    for y in seq(0, 5):
        for x in seq(0, 6):
            for co in seq(0, 9):
                for ky in seq(0, 3):
                    for kx in seq(0, 3):
                        for ci in seq(0, 3):
                            out[y, x, co] += inp[y + ky, x + kx, ci] * w[ky, kx, ci, co]


@proc
def depthwise(out: i32[6, 8], inp: i32[8, 8], w: i32[3, 8]):
    for x in seq(0, 6):
        for k in seq(0, 3):
            for c in seq(0, 8):
                out[x, c] += inp[x + k, c] * w[k, c]


@proc
def column_sums(n: size, y: f32[n], A: f32[5, n]):
    for i in seq(0, 5):
        for j in seq(0, n):
            y[j] += A[i, j]


@proc
def batched(C: f32[3, 4, 8], A: f32[3, 4, 5], B: f32[3, 5, 8]):
    for b in seq(0, 3):
        for i in seq(0, 4):
            for j in seq(0, 8):
                for k in seq(0, 5):
                    C[b, i, j] += A[b, i, k] * B[b, k, j]


@proc
def second_transposed(C: f32[6, 21], A: f32[6, 5], B: f32[21, 5]):
    for i in seq(0, 6):
        for j in seq(0, 21):
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[j, k]


@proc
def batched_transposed(M: size, C: f32[2, M, 8], A: f32[2, M, 3, 2], B: f32[2, 8, 3, 2]):
    for b in seq(0, 2):
        for i in seq(0, M):
            for j in seq(0, 8):
                for k in seq(0, 3):
                    for l in seq(0, 2):
                        C[b, i, j] += A[b, i, k, l] * B[b, j, k, l]


@proc
def initialised(C: f32[6, 16], s: f32[6], A: f32[6, 5], B: f32[5, 16]):
    for i in seq(0, 6):
        s[i] = 0.0
        for j in seq(0, 16):
            C[i, j] = 1.0
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[k, j]
        for k in seq(0, 5):
            s[i] += A[i, k]


@proc
def biased(M: size, N: size, K: size, C: f32[M, N], b: f32[N], A: f32[M, K], B: f32[K, N]):
    for i in seq(0, M):
        for j in seq(0, N):
            C[i, j] = b[j]
            for k in seq(0, K):
                C[i, j] += A[i, k] * B[k, j]


@proc
def from_zero(out: f32[5, 7, 37], inp: f32[6, 8, 3], w: f32[2, 2, 3, 37], seen: f32[5, 7]):
    for y in seq(0, 5):
        for x in seq(0, 7):
            seen[y, x] = 1.0
            for co in seq(0, 37):
                out[y, x, co] = 0.0
                for ky in seq(0, 2):
                    for kx in seq(0, 2):
                        for ci in seq(0, 3):
                            out[y, x, co] += inp[y + ky, x + kx, ci] * w[ky, kx, ci, co]
                out[y, x, co] = -out[y, x, co]


@proc
def chain(E: f32[9, 22], b: f32[22], A: f32[9, 5], B: f32[5, 19], D: f32[19, 22]):
    T: f32[9, 19]
    for i in seq(0, 9):
        for j in seq(0, 19):
            T[i, j] = 0.0
            for k in seq(0, 5):
                T[i, j] += A[i, k] * B[k, j]
    for i in seq(0, 9):
        for j in seq(0, 22):
            E[i, j] = b[j]
            for k in seq(0, 19):
                E[i, j] += T[i, k] * D[k, j]


@proc
def two_in_one_loop(y: f32[9], z: f32[9], w: f32[7], A: f32[7, 9]):
    for i in seq(0, 7):
        for j in seq(0, 9):
            y[j] += A[i, j]
        for j in seq(0, 9):
            z[j] += A[i, j] * w[i]


@proc
def triangle(C: f32[37, 37], A: f32[37, 4], B: f32[4, 37]):
    for i in seq(0, 37):
        for j in seq(0, i + 1):
            for k in seq(0, 4):
                C[i, j] += A[i, k] * B[k, j]


@proc
def bytes_product(C: i32[6, 24], A: i8[6, 5], B: i8[5, 24]):
    for i in seq(0, 6):
        for j in seq(0, 24):
            for k in seq(0, 5):
                a: i32
                b: i32
                a = A[i, k]
                b = B[k, j]
                C[i, j] += a * b


@proc
def bytes_of_rows(n: size, y: i32[n], A: ui8[5, n]):
    for i in seq(0, n):
        y[i] = 0.0
        for k in seq(0, 5):
            a: i32
            a = A[k, i]
            y[i] += a


@proc
def deep(C: f32[64, 128], A: f32[64, 1024], B: f32[1024, 128]):
    for i in seq(0, 64):
        for j in seq(0, 128):
            for k in seq(0, 1024):
                C[i, j] += A[i, k] * B[k, j]


@proc
def shallow(C: f32[64, 128], A: f32[64, 24], B: f32[24, 128]):
    for i in seq(0, 64):
        for j in seq(0, 128):
            for k in seq(0, 24):
                C[i, j] += A[i, k] * B[k, j]


@proc
def strided_result(C: f32[8, 8], A: f32[8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            for k in seq(0, 8):
                C[j, i] += A[j, k]


@proc
def window_argument(C: [f32][8, 8], A: f32[8, 8], B: f32[8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            for k in seq(0, 8):
                C[i, j] += A[i, k] * B[k, j]


@proc
def bytes_summed(C: i8[8, 16], A: i8[8, 8], B: i8[8, 16]):
    for i in seq(0, 8):
        for j in seq(0, 16):
            for k in seq(0, 8):
                C[i, j] += A[i, k] * B[k, j]


@proc
def squares(y: f32[9], A: f32[7, 9]):
    for i in seq(0, 7):
        for j in seq(0, 9):
            y[j] += A[i, j] * A[i, j]


@proc
def symmetric(C: f32[9, 9], A: f32[9, 4]):
    for i in seq(0, 9):
        for j in seq(0, 9):
            for k in seq(0, 4):
                C[i, j] += A[i, k] * A[j, k]


@proc
def no_reduction(C: f32[8, 8], A: f32[8, 8]):
    for i in seq(0, 8):
        for j in seq(0, 8):
            C[i, j] += A[i, j]


@proc
def two_results(A: f32[9, 5], B: f32[5, 21], C: f32[9, 21], D: f32[9, 21]):
    for i in seq(0, 9):
        for j in seq(0, 21):
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[k, j]
                D[i, j] += A[i, k] * B[k, j]


@proc
def whole_registers(M: size, N: size, C: f32[M, N], A: f32[M, 3], B: f32[3, N]):
    assert N % 8 == 0
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, 3):
                C[i, j] += A[i, k] * B[k, j]


@proc
def twice_as_long(n: size, C: f32[9, 2 * n], A: f32[9, 3], B: f32[3, 2 * n]):
    for i in seq(0, 9):
        for j in seq(0, 2 * n):
            for k in seq(0, 3):
                C[i, j] += A[i, k] * B[k, j]


@proc
def odd(C: f64[11, 13], A: f64[11, 5], B: f64[5, 13]):
    for i in seq(0, 11):
        for j in seq(0, 13):
            for k in seq(0, 5):
                C[i, j] += A[i, k] * B[k, j]


@proc
def in_batches(n: size, C: f32[3, n, 21], A: f32[3, n, 6], B: f32[3, 6, 21], b: f32[3, 21]):
    for h in seq(0, 3):
        scale: f32[21]
        for j in seq(0, 21):
            scale[j] = b[h, j] * 2.0
        for i in seq(0, n):
            for j in seq(0, 21):
                for k in seq(0, 6):
                    C[h, i, j] += A[h, i, k] * B[h, k, j]
        for i in seq(0, n):
            for j in seq(0, 21):
                C[h, i, j] = C[h, i, j] * scale[j]


@proc
def three_products(
    M: size,
    N: size,
    K: size,
    A: f32[M, K],
    B: f32[K, N],
    C: f32[M, N],
    D: f32[M, N],
    E: f32[M, K],
    F: f32[K, N],
):
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += A[i, k] * B[k, j]
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                D[i, j] += E[i, k] * B[k, j]
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):
                C[i, j] += E[i, k] * F[k, j]

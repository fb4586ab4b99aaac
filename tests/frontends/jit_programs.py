"""Functions in the style of NumPy's users, as examples of `schedsearch.jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Arguments = Callable[[np.random.Generator], tuple[Any, ...]]
EXAMPLES: list[tuple[Callable[..., Any], Arguments]] = []


def example(arguments: Arguments) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        EXAMPLES.append((function, arguments))
        return function

    return keep


def square(rng: np.random.Generator, n: int) -> Any:
    """Diagonally dominant, symmetric."""
    a = rng.random((n, n))
    return a @ a.T + n * np.eye(n)


@example(lambda r: (1.5, 1.2, r.random((5, 7)), r.random((5, 6)), r.random((6, 7))))
def gemm(alpha, beta, C, A, B):
    C *= beta
    C += alpha * A @ B


@example(lambda r: (4, r.random(12), r.random(12)))
def jacobi_1d(steps, A, B):
    for _ in range(1, steps):
        B[1:-1] = (A[:-2] + A[1:-1] + A[2:]) / 3
        A[1:-1] = (B[:-2] + B[1:-1] + B[2:]) / 3


@example(lambda r: (3, r.random((7, 8)), r.random((7, 8))))
def jacobi_2d(steps, A, B):
    t = 0
    while t < steps:
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = B[1:-1, 1:-1]
        t += 1


@example(lambda r: (r.random(9), r.random((4, 4))))
def results_that_are_read_while_they_are_written(x, A):
    c, d, e, m = np.cumsum(x), x * 2, x + 1, A * 3
    c[2:] = c[2:] - c[:-2]
    d[1:] -= d[:-1]
    e[:] = e[::-1] + e[0]
    m[:] = m @ m + m.T
    return c, d, e, m


@example(lambda r: (r.random((4, 9)).astype(np.float32),))
def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def relu(x):
    return np.maximum(x, 0)


@example(
    lambda r: tuple((r.random(s) - 0.5).astype(np.float32) for s in [(4, 5), (5, 6), 6, (6, 3), 3])
)
def mlp(x, w1, b1, w2, b2):
    x = relu(x @ w1 + b1)
    return relu(x @ w2 + b2)


@example(lambda r: (r.random((2, 7, 8, 3)), r.random((3, 3, 3, 4))))
def conv2d(image, weights):
    k = weights.shape[0]
    n, h, w, _ = image.shape
    out = np.empty((n, h - k + 1, w - k + 1, weights.shape[3]))
    for i in range(h - k + 1):
        for j in range(w - k + 1):
            window = image[:, i : i + k, j : j + k, :, np.newaxis]
            out[:, i, j, :] = np.sum(window * weights[np.newaxis], axis=(1, 2, 3))
    return out


@example(lambda r: (r.integers(1, 50, (6, 6)).astype(np.int32),))
def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))


@example(lambda r: (3, r.random((5, 6, 7)), r.random((5, 6, 7))))
def heat_3d(steps, A, B):
    for _ in range(1, steps):
        inner = A[1:-1, 1:-1, 1:-1]
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * inner + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * inner + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * inner + A[1:-1, 1:-1, :-2])
            + inner
        )
        A[1:-1, 1:-1, 1:-1] = B[1:-1, 1:-1, 1:-1]


@example(lambda r: (r.random((5, 6)), r.random(6), r.random(5)))
def atax_bicg(A, x, y):
    return (A @ x) @ A, y @ A, A @ x


@example(lambda r: (r.random(6), r.random(6), r.random(6), r.random((6, 6))))
def mvt(x, y, z, A):
    x += A @ z
    y += z @ A


@example(lambda r: (1.5, 1.2, r.random((6, 6)), r.random((6, 6)), r.random(6)))
def gesummv(alpha, beta, A, B, x):
    return alpha * A @ x + beta * B @ x


@example(lambda r: (square(r, 7),))
def cholesky(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[j, :j]
            A[i, j] /= A[j, j]
        A[i, i] = np.sqrt(A[i, i] - A[i, :i] @ A[i, :i])


@example(lambda r: (square(r, 7), r.random(7)))
def ludcmp(A, b):
    n = len(A)
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]
    y = np.zeros_like(b)
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    x = np.zeros_like(b)
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x, y


@example(lambda r: (1.5, 1.2, r.random((6, 6)), r.random((6, 4))))
def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


@example(lambda r: (10.0, r.random((10, 6))))
def covariance(count, data):
    data -= np.mean(data, axis=0)
    m = data.shape[1]
    cov = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        cov[i:m, i] = cov[i, i:m] = data[:, i] @ data[:, i:m] / (count - 1.0)
    return cov


@example(lambda r: (10.0, r.random((10, 6))))
def correlation(count, data):
    mean = np.mean(data, axis=0)
    deviation = np.std(data, axis=0)
    deviation[deviation <= 0.3] = 1.0
    data -= mean
    data /= np.sqrt(count) * deviation
    m = data.shape[1]
    corr = np.eye(m, dtype=data.dtype)
    for i in range(m - 1):
        corr[i + 1 : m, i] = corr[i, i + 1 : m] = data[:, i] @ data[:, i + 1 : m]
    return corr


@example(lambda r: (0.25, r.random((6, 8))))
def recurrences(alpha, image):
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + alpha * np.exp(-alpha))
    b1, b2 = 2.0 ** (-alpha), -np.exp(-2.0 * alpha)
    y = np.empty_like(image)
    y[:, 0] = k * image[:, 0]
    y[:, 1] = k * image[:, 1] + b1 * y[:, 0]
    for j in range(2, image.shape[1]):
        y[:, j] = k * image[:, j] + b1 * y[:, j - 1] + b2 * y[:, j - 2]
    z = np.empty_like(image)
    z[:, -1] = 0.0
    z[:, -2] = k * image[:, -1]
    for j in range(image.shape[1] - 3, -1, -1):
        z[:, j] = k * image[:, j + 1] + b1 * z[:, j + 1] + b2 * z[:, j + 2]
    return y + z


@example(lambda r: (3, 8, r.random((8, 8))))
def seidel_2d(steps, n, A):
    for _ in range(steps - 1):
        for i in range(1, n - 1):
            A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 1:-1] + A[i, 2:] + A[i + 1, 2:]
            for j in range(1, n - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


@example(lambda r: (r.random((9, 10, 3)), np.zeros((5, 6, 3)), r.random((5, 6, 3))))
def hdiff(field, out, coefficient):
    rows, columns = out.shape[0], out.shape[1]
    lap = 4.0 * field[1 : rows + 3, 1 : columns + 3] - (
        field[2 : rows + 4, 1 : columns + 3]
        + field[0 : rows + 2, 1 : columns + 3]
        + field[1 : rows + 3, 2 : columns + 4]
        + field[1 : rows + 3, 0 : columns + 2]
    )
    res = lap[1:, 1 : columns + 1] - lap[:-1, 1 : columns + 1]
    up = field[2 : rows + 3, 2 : columns + 2] - field[1 : rows + 2, 2 : columns + 2]
    flux = np.where(res * up > 0, 0, res)
    out[:] = field[2 : rows + 2, 2 : columns + 2] - coefficient * (flux[1:] - flux[:-1])


@example(lambda r: (r.random(9),))
def durbin(r):
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def pairs(a, b):
    if a + b == 3:
        return 1
    return 0


@example(lambda r: (7, r.integers(0, 4, 7).astype(np.int32)))
def nussinov(n, seq):
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + pairs(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@example(lambda r: (r.random((6, 6)) - 0.5, r.random(6) - 0.5))
def branches(A, x):
    """Branches on data: both sides count."""
    total, most = 0.0, x[0]
    for i in range(len(x)):
        if x[i] > 0:
            total += x[i]
            A[i, i] = total
        elif x[i] > -0.25:
            A[i, 0] -= 1.0
        most = x[i] if x[i] > most else most
    return total, most


@example(lambda r: (r.random(8), r.random(8)))
def eager(A, B):
    """NumPy computes at once: old values are used after arrays have changed."""
    b = A + B
    c = A[2:]
    A[:] = 0
    B += b
    c[0] = 5.0
    return b * 2, c * 1


@example(lambda r: (r.random((5, 6)), r.random(6)))
def structure(A, x):
    """Helpers, closures, comprehensions, constants."""
    weights = [0.25, 0.5, 0.25]

    def smooth(v):
        return sum(w * v[k : len(v) - 2 + k] for k, w in enumerate(weights))

    rows = [A[i] * (i + 1) for i in range(3)]
    return smooth(x), np.stack(rows), np.concatenate([x, A[0]]), np.pad(x, 2)


@example(lambda r: (r.random((4, 6)), r.random((6, 5)), r.random((3, 4, 6))))
def shapes(A, B, T):
    return (
        np.einsum("ij,jk->ki", A, B),
        np.outer(A[0], B[:, 1]),
        T.transpose(2, 0, 1)[::2, ::-1],
        np.cumsum(A, axis=1),
        np.tril(A @ B @ B.T, -1) + A.clip(0.2, 0.7),
        T.reshape(3, 24)[:, 1:],
        np.flip(A, 0).sum(axis=0, keepdims=True) + A[:, None, 1],
        T.var(axis=(0, 2)),
        np.diag(B[:5]).copy(),
    )


@example(lambda r: (r.random(6), r.random(1)))
def shifted_in_a_branch(x, y):
    for i in range(len(x)):
        if i < len(x) - 2:
            y[:-1] = y[1:]
            x[:-1] = x[1:]


@example(lambda r: (r.random(7), r.random((5, 5)), r.random((4, 3))))
def read_while_written(x, A, B):
    twice, sums, square, product = x * 2, np.cumsum(x), x * x, A @ A
    columns, both = B.sum(0), np.exp(x)
    twice[::-1] = twice
    sums[::-1] = sums
    square[::-1] = x * x
    product.T[:] = product
    columns[::-1] += columns
    both[1:] -= both[:-1]
    return twice, sums, square, product, columns, both

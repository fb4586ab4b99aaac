"""PolyBench's kernels compute what NumPy and SciPy do, by other ways where there are any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from scipy.linalg import lu_factor, solve_triangular, toeplitz
from scipy.signal import lfilter

from benchmarks.suite.case import Case
from benchmarks.suite.catalogue import CASES, POLYBENCH
from benchmarks.suite.contenders import native
from benchmarks.suite.measure import results, terms_of
from schedsearch.peers.agreement import differences
from schedsearch.peers.arrays import Array, make_arrays
from schedsearch.peers.contender import Contender
from schedsearch.peers.trial import Peer

pytestmark = pytest.mark.normal

# Takes seconds to be analysed.
SLOW = {"pb_nussinov"}


def gemm(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    return {"C": beta * C + alpha * A @ B}


def gemver(
    alpha: Array,
    beta: Array,
    A: Array,
    u1: Array,
    v1: Array,
    u2: Array,
    v2: Array,
    w: Array,
    x: Array,
    y: Array,
    z: Array,
) -> Any:
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = x + beta * A.T @ y + z
    return {"A": A, "x": x, "w": w + alpha * A @ x}


def gesummv(alpha: Array, beta: Array, A: Array, B: Array, tmp: Array, x: Array, y: Array) -> Any:
    return {"tmp": A @ x, "y": alpha * A @ x + beta * B @ x}


def symm(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    whole = np.tril(A) + np.tril(A, -1).T
    # The products with what is above the diagonal are not there yet when C is multiplied by beta.
    return {"C": beta * C + alpha * whole @ B}


def syr2k(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Any:
    return {"C": np.tril(beta * C + alpha * (A @ B.T + B @ A.T)) + np.triu(C, 1)}


def syrk(alpha: Array, beta: Array, C: Array, A: Array) -> Any:
    return {"C": np.tril(beta * C + alpha * A @ A.T) + np.triu(C, 1)}


def trmm(alpha: Array, A: Array, B: Array) -> Any:
    unit = np.tril(A, -1) + np.eye(len(A))
    return {"B": alpha * unit.T @ B}


def mm2(alpha: Array, beta: Array, tmp: Array, A: Array, B: Array, C: Array, D: Array) -> Any:
    return {"tmp": alpha * A @ B, "D": alpha * A @ B @ C + beta * D}


def mm3(E: Array, A: Array, B: Array, F: Array, C: Array, D: Array, G: Array) -> Any:
    return {"E": A @ B, "F": C @ D, "G": (A @ B) @ (C @ D)}


def atax(A: Array, x: Array, y: Array, tmp: Array) -> Any:
    return {"tmp": A @ x, "y": A.T @ (A @ x)}


def bicg(A: Array, s: Array, q: Array, p: Array, r: Array) -> Any:
    return {"s": A.T @ r, "q": A @ p}


def doitgen(A: Array, C4: Array, total: Array) -> Any:
    product = A @ C4
    return {"A": product, "total": product[-1, -1]}


def mvt(x1: Array, x2: Array, y1: Array, y2: Array, A: Array) -> Any:
    return {"x1": x1 + A @ y1, "x2": x2 + A.T @ y2}


def cholesky(A: Array) -> Any:
    return {"A": np.linalg.cholesky(A + np.tril(A, -1).T)}


def durbin(r: Array, y: Array) -> Any:
    """The Yule-Walker equations."""
    return {"y": np.linalg.solve(toeplitz(np.r_[1.0, r[:-1]]), -r)}


def gramschmidt(A: Array, R: Array, Q: Array) -> Any:
    orthogonal, upper = np.linalg.qr(A)
    signs = np.sign(np.diag(upper))
    orthogonal, upper = orthogonal * signs, upper * signs[:, None]
    return {
        "Q": orthogonal,
        "R": np.triu(upper) + np.tril(R, -1),
        "A": orthogonal * np.diag(upper),
    }


def lu(A: Array) -> Any:
    factors, pivots = lu_factor(A)
    assert (pivots == np.arange(len(A))).all()
    return {"A": factors}


def ludcmp(A: Array, b: Array, x: Array, y: Array) -> Any:
    factors = lu(A)["A"]
    forward = solve_triangular(factors, b, lower=True, unit_diagonal=True)
    return {"A": factors, "y": forward, "x": np.linalg.solve(A, b)}


def trisolv(L: Array, x: Array, b: Array) -> Any:
    return {"x": np.linalg.solve(L, b)}


def correlation(data: Array, corr: Array, mean: Array, stddev: Array) -> Any:
    std = data.std(axis=0)
    return {
        "mean": data.mean(axis=0),
        "stddev": std,
        "data": (data - data.mean(axis=0)) / (np.sqrt(len(data)) * std),
        "corr": np.corrcoef(data, rowvar=False),
    }


def covariance(data: Array, cov: Array, mean: Array) -> Any:
    center = data.mean(axis=0)
    return {"mean": center, "data": data - center, "cov": np.cov(data, rowvar=False)}


def deriche(alpha: Array, image: Array, out: Array, y1: Array, y2: Array) -> Any:
    a = float(alpha)
    k = (1 - np.exp(-a)) ** 2 / (1 + 2 * a * np.exp(-a) - np.exp(2 * a))
    causal = k * np.array([1.0, np.exp(-a) * (a - 1)])
    anti = k * np.array([0.0, np.exp(-a) * (a + 1), -np.exp(-2 * a)])
    poles = np.array([1.0, -(2.0**-a), np.exp(-2 * a)])
    now = image.astype(np.float64)
    for axis in (1, 0):
        forward = lfilter(causal, poles, now, axis=axis)
        backward = np.flip(lfilter(anti, poles, np.flip(now, axis), axis=axis), axis)
        now = forward + backward
    return {"y1": forward, "y2": backward, "out": now}


def floyd_warshall(path: Array) -> Any:
    for k in range(len(path)):
        path = np.minimum(path, path[:, k, None] + path[k])
    return {"path": path}


def nussinov(bases: Array, table: Array) -> Any:
    """By diagonals: all spans of one length at a time."""
    size = len(bases)
    best = table.copy()
    for span in range(1, size):
        i = np.arange(size - span)
        j = i + span
        found = np.maximum(best[i, j - 1], best[i + 1, j])
        paired = (bases[i] + bases[j] == 3) if span > 1 else 0
        found = np.maximum(found, best[i + 1, j - 1] + paired)
        for k in range(1, span):
            found = np.maximum(found, best[i, i + k] + best[i + k + 1, j])
        best[i, j] = found
    return {"table": best}


def adi(u: Array, v: Array, p: Array, q: Array) -> Any:
    """Each half step is one product with the inverse of its tridiagonal matrix."""
    inner = slice(1, -1)

    def matrix(a: float) -> Array:
        return (1 - 2 * a) * np.eye(198) + a * (np.eye(198, k=1) + np.eye(198, k=-1))

    def right_sides(d: float, old: Array) -> Array:
        return (-d * old[:-2] + (1 + 2 * d) * old[inner] - d * old[2:])[:, inner]

    def solved(a: float, inverse: Array, right: Array) -> Array:
        """With ones at both ends."""
        right = right.copy()
        right[:, [0, -1]] -= a
        return right @ inverse.T

    def eliminated(a: float, right: Array) -> tuple[Array, Array]:
        factors, known = np.zeros(199), np.ones((198, 199))
        for j in range(1, 199):
            under = a * factors[j - 1] + 1 - 2 * a
            factors[j] = -a / under
            known[:, j] = (right[:, j - 1] - a * known[:, j - 1]) / under
        return factors, known

    by_columns, by_rows = np.linalg.inv(matrix(-400.0)), np.linalg.inv(matrix(-200.0))
    u, v, p, q = u.copy(), v.copy(), p.copy(), q.copy()
    v[0, inner] = v[-1, inner] = 1.0
    for _ in range(100):
        v[inner, inner] = solved(-400.0, by_columns, right_sides(-200.0, u.T)).T
        right = right_sides(-400.0, v)
        u[inner, inner] = solved(-200.0, by_rows, right)
        u[inner, 0] = u[inner, -1] = 1.0
    p[inner, :-1], q[inner, :-1] = eliminated(-200.0, right)
    return {"u": u, "v": v, "p": p, "q": q}


def fdtd_2d(ex: Array, ey: Array, hz: Array, source: Array) -> Any:
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for pulse in source:
        ey[0] = pulse
        ey[1:] -= 0.5 * np.diff(hz, axis=0)
        ex[:, 1:] -= 0.5 * np.diff(hz, axis=1)
        hz[:-1, :-1] -= 0.7 * (np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1])
    return {"ex": ex, "ey": ey, "hz": hz}


def heat_3d(A: Array, B: Array) -> Any:
    inner = (slice(1, -1),) * 3

    def step(of: Array, to: Array) -> None:
        around = sum(np.roll(of, by, axis) for by in (1, -1) for axis in range(3))
        to[inner] = (0.25 * of + 0.125 * around)[inner]

    return _back_and_forth(step, A, B)


def jacobi_1d(A: Array, B: Array) -> Any:
    def step(of: Array, to: Array) -> None:
        to[1:-1] = 0.33333 * np.convolve(of, np.ones(3), "valid")

    return _back_and_forth(step, A, B)


def jacobi_2d(A: Array, B: Array) -> Any:
    def step(of: Array, to: Array) -> None:
        around = sum(np.roll(of, by, axis) for by in (1, -1) for axis in range(2))
        to[1:-1, 1:-1] = (0.2 * (of + around))[1:-1, 1:-1]

    return _back_and_forth(step, A, B)


def _back_and_forth(step: Callable[[Array, Array], None], A: Array, B: Array) -> Any:
    A, B = A.copy(), B.copy()
    for _ in range(100):
        step(A, B)
        step(B, A)
    return {"A": A, "B": B}


def seidel_2d(A: Array) -> Any:
    """Along a row, what was written before is a recurrence: a filter."""
    A = A.copy()
    for _ in range(100):
        for i in range(1, len(A) - 1):
            old = A[i]
            others = np.convolve(A[i - 1] + A[i + 1], np.ones(3), "valid") + old[1:-1] + old[2:]
            old[1:-1] = lfilter([1 / 9], [1.0, -1 / 9], others, zi=[old[0] / 9])[0]
    return {"A": A}


REFERENCES: Mapping[str, Callable[..., Any]] = {
    f"pb_{function.__name__}": function
    for function in (
        *(gemm, gemver, gesummv, symm, syr2k, syrk, trmm),
        *(atax, bicg, doitgen, mvt),
        *(cholesky, durbin, gramschmidt, lu, ludcmp, trisolv),
        *(correlation, covariance, deriche, floyd_warshall, nussinov),
        *(adi, fdtd_2d, heat_3d, jacobi_1d, jacobi_2d, seidel_2d),
    )
} | {"pb_2mm": mm2, "pb_3mm": mm3}


def test_all_thirty_are_in_the_suite() -> None:
    assert len(POLYBENCH) == 30
    assert {case.name for case in POLYBENCH} == set(REFERENCES)
    assert set(POLYBENCH) <= set(CASES)


def test_diagonals_and_bounds_of_integers() -> None:
    starts = {}
    for case in POLYBENCH:
        if case.name in ("pb_trisolv", "pb_floyd_warshall"):
            starts[case.name] = make_arrays(case.arguments(case.load())).arrays[0]
    diagonal, lower = np.diag(starts["pb_trisolv"]), starts["pb_trisolv"]
    assert (2 * diagonal > lower.sum(axis=1)).all()
    path = starts["pb_floyd_warshall"]
    assert (path.min(), path.max()) == (0, 999)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.slow] * (case.name in SLOW))
        for case in POLYBENCH
    ],
)
def test_kernels_compute_what_numpy_does(case: Case) -> None:
    subject = case.load()
    written = native("as written", subject.builder, subject.code)
    assert isinstance(written, Peer)
    terms = terms_of(case, subject, 1)
    inputs = make_arrays(terms.arguments, terms.seed)
    named = zip(terms.arguments, inputs.values, strict=True)
    expected = REFERENCES[case.name](**{argument.name: value for argument, value in named})
    with Contender(written.what, terms) as contender:
        found = results(case, contender)
    assert found.keys() == expected.keys()
    typed = {name: np.asarray(expected[name]).astype(found[name].dtype) for name in found}
    assert differences(typed, found) is None

"""The triangular kernels and BLAS's own routines as one call of BLAS each.

Rows of C are columns of Fortran: `x.T` is what BLAS calls x, without a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas, get_blas_funcs

Call = Callable[[], Any]
Prepare = Callable[..., Call]


def syrk(c: Any, a: Any) -> Call:
    def call() -> None:
        blas.ssyrk(1.0, a.T, trans=1, beta=1.0, c=c.T, lower=0, overwrite_c=1)

    return call


def trmm(c: Any, lower: Any, b: Any) -> Call:
    """BLAS multiplies in place."""

    def call() -> None:
        np.copyto(c, b)
        blas.strmm(1.0, lower.T, c.T, side=1, lower=0, overwrite_b=1)

    return call


def trsm(b: Any, lower: Any) -> Call:
    def call() -> None:
        blas.strsm(1.0, lower.T, b.T, side=1, lower=0, diag=1, overwrite_b=1)

    return call


def _call(routine: str, *args: Any, **options: Any) -> Call:
    """BLAS's routine of their type. It leaves its results in the arrays."""
    function = get_blas_funcs(routine, [each for each in args if each.ndim])
    passed = [each if each.ndim else each.item() for each in args]

    def call() -> None:
        function(*passed, **options)

    return call


def _value(routine: str) -> Prepare:
    """A function of vectors."""

    def prepare(*args: Any) -> Call:
        *vectors, _ = args
        function = get_blas_funcs(routine, vectors)
        return lambda: function(*vectors)

    return prepare


def _gemv(trans: int) -> Prepare:
    def prepare(alpha: Any, a: Any, x: Any, beta: Any, y: Any) -> Call:
        return _call("gemv", alpha, a.T, x, beta, y, trans=trans, overwrite_y=1)

    return prepare


def _trmv(lower: int, trans: int) -> Prepare:
    return lambda a, x: _call("trmv", a.T, x, lower=lower, trans=trans, overwrite_x=1)


def _gemm(trans_a: int, trans_b: int) -> Prepare:
    """C^T = B^T A^T"""
    turned = {"trans_a": trans_b, "trans_b": trans_a}

    def prepare(alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> Call:
        return _call("gemm", alpha, b.T, a.T, beta, c.T, **turned, overwrite_c=1)

    return prepare


def _syrk(trans: int) -> Prepare:
    def prepare(alpha: Any, a: Any, beta: Any, c: Any) -> Call:
        return _call("syrk", alpha, a.T, beta, c.T, trans=trans, overwrite_c=1)

    return prepare


def _trmm(trans: int) -> Prepare:
    def prepare(alpha: Any, a: Any, b: Any) -> Call:
        return _call("trmm", alpha, a.T, b.T, side=1, trans_a=trans, overwrite_b=1)

    return prepare


def blas_axpy(alpha: Any, x: Any, y: Any) -> Call:
    return _call("axpy", x, y, a=alpha.item())


def blas_copy(x: Any, y: Any) -> Call:
    return _call("copy", x, y)


def blas_swap(x: Any, y: Any) -> Call:
    return _call("swap", x, y)


def blas_scal(alpha: Any, x: Any) -> Call:
    return _call("scal", alpha, x)


blas_dot = _value("dot")
blas_asum = _value("asum")
blas_nrm2 = _value("nrm2")


def blas_rot(x: Any, y: Any, c: Any, s: Any) -> Call:
    return _call("rot", x, y, c, s, overwrite_x=1, overwrite_y=1)


blas_gemv_n = _gemv(1)
blas_gemv_t = _gemv(0)


def blas_ger(alpha: Any, x: Any, y: Any, a: Any) -> Call:
    return _call("ger", alpha, y, x, a=a.T, overwrite_a=1)


def blas_symv(alpha: Any, a: Any, x: Any, beta: Any, y: Any) -> Call:
    return _call("symv", alpha, a.T, x, beta, y, overwrite_y=1)


def blas_syr(alpha: Any, x: Any, a: Any) -> Call:
    return _call("syr", alpha, x, a=a.T, overwrite_a=1)


def blas_syr2(alpha: Any, x: Any, y: Any, a: Any) -> Call:
    return _call("syr2", alpha, x, y, a=a.T, overwrite_a=1)


blas_trmv_ln = _trmv(0, 1)
blas_trmv_lt = _trmv(0, 0)
blas_trmv_un = _trmv(1, 1)
blas_trmv_ut = _trmv(1, 0)


def blas_trsv(a: Any, x: Any) -> Call:
    return _call("trsv", a.T, x, trans=1, diag=1, overwrite_x=1)


blas_gemm_nn = _gemm(0, 0)
blas_gemm_nt = _gemm(0, 1)
blas_gemm_tn = _gemm(1, 0)
blas_gemm_tt = _gemm(1, 1)


def blas_symm(alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> Call:
    return _call("symm", alpha, a.T, b.T, beta, c.T, side=1, overwrite_c=1)


blas_syrk_n = _syrk(1)
blas_syrk_t = _syrk(0)


def blas_syr2k(alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> Call:
    return _call("syr2k", alpha, a.T, b.T, beta, c.T, trans=1, overwrite_c=1)


blas_trmm_n = _trmm(0)
blas_trmm_t = _trmm(1)


def blas_trsm(alpha: Any, a: Any, b: Any) -> Call:
    return _call("trsm", alpha, a.T, b.T, side=1, diag=1, overwrite_b=1)

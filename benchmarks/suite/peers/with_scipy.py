"""The triangular kernels as one call of BLAS each, which NumPy does not have.

Rows of C are columns of Fortran: `x.T` is what BLAS calls x, without a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas

Call = Callable[[], Any]


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

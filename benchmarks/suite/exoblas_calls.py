"""How ExoBLAS computes each of BLAS's routines of the suite: `?` is the letter of the type.

Control values are those of cblas.h: 111 no transpose, 112 transpose, 121 upper, 122 lower, 131
diagonal as it is, 132 unit diagonal, 141 left. Of level 3 it has but C += ...: as its own callers
do, C is multiplied by beta before. What it has without a schedule is left out (syr2k, trmm).
"""

from __future__ import annotations


def _trmv(triangle: int, trans: int) -> tuple[str, str]:
    arguments = f"{triangle}, {trans}, 131, N, OUT1(x), IN2(A, N)"
    return "level2/trmv.py", f"exo_?trmv_rm_stride_1(ctxt, {arguments})"


def _gemv(trans: int, sizes: str) -> tuple[str, str]:
    arguments = f"{trans}, {sizes}, alpha, beta, IN2(A, N), IN2(A, N), IN1(x), OUT1(y)"
    return "level2/gemv.py", f"exo_?gemv_rm_stride_1(ctxt, {arguments})"


def _gemm(trans_a: int, trans_b: int, a: str, b: str) -> tuple[str, str]:
    """`a` and `b` are the columns of the operands."""
    operands = f"IN2(A, {a}), IN2(B, {b}), IN2(A, {a}), IN2(B, {b})"
    arguments = f"{trans_a}, {trans_b}, M, N, K, alpha, {operands}, OUT2(C, N)"
    return "level3/gemm.py level3/mscal.py", f"{_SCALE} exo_?gemm_stride_1(ctxt, {arguments})"


def _syrk(trans: int, columns: str) -> tuple[str, str]:
    operands = ", ".join([f"IN2(A, {columns})"] * 4)
    scale = "exo_?trmscal_rm_stride_1(ctxt, 122, N, beta, OUT2(C, N));"
    product = f"exo_?syrk_rm_stride_1(ctxt, 122, {trans}, N, K, alpha, {operands}, OUT2(C, N))"
    return "level3/syrk.py level3/mscal.py", f"{scale} {product}"


_SCALE = "exo_?mscal_rm_stride_1(ctxt, M, N, beta, OUT2(C, N));"
_SYMM = "141, 122, M, N, alpha, IN2(A, M), IN2(A, M), IN2(B, N), OUT2(C, N)"
_SYR2 = "122, N, alpha, IN1(x), IN1(x), IN1(y), IN1(y), OUT2(A, N)"
_SYMV = "122, N, alpha, IN2(A, N), IN1(x), beta, OUT1(y)"

CALLS = {
    "axpy": ("level1/axpy.py", "exo_?axpy_stride_1(ctxt, n, alpha, IN1(x), OUT1(y))"),
    "copy": ("level1/exo_copy.py", "exo_?copy_stride_1(ctxt, n, IN1(x), OUT1(y))"),
    "swap": ("level1/swap.py", "exo_?swap_stride_1(ctxt, n, OUT1(x), OUT1(y))"),
    "scal": ("level1/scal.py", "exo_?scal_stride_1(ctxt, n, alpha, OUT1(x))"),
    "dot": ("level1/dot.py", "exo_?dot_stride_1(ctxt, n, IN1(x), IN1(y), result)"),
    "asum": ("level1/asum.py", "exo_?asum_stride_1(ctxt, n, IN1(x), result)"),
    "rot": ("level1/rot.py", "exo_?rot_stride_1(ctxt, n, OUT1(x), OUT1(y), c, s)"),
    "gemv_n": _gemv(111, "M, N"),
    "gemv_t": _gemv(112, "N, M"),
    "ger": (
        "level2/ger.py",
        "exo_?ger_rm_stride_1(ctxt, M, N, alpha, IN1(x), IN1(y), OUT2(A, N))",
    ),
    "symv": ("level2/symv.py", f"exo_?symv_rm_stride_1(ctxt, {_SYMV})"),
    "syr": (
        "level2/syr.py",
        "exo_?syr_rm_stride_1(ctxt, 122, N, alpha, IN1(x), IN1(x), OUT2(A, N))",
    ),
    "syr2": ("level2/syr2.py", f"exo_?syr2_rm_stride_1(ctxt, {_SYR2})"),
    "trmv_ln": _trmv(122, 111),
    "trmv_lt": _trmv(122, 112),
    "trmv_un": _trmv(121, 111),
    "trmv_ut": _trmv(121, 112),
    "trsv": (
        "level2/trsv.py",
        "exo_?trsv_rm_stride_1(ctxt, 122, 111, 132, N, OUT1(x), IN2(A, N))",
    ),
    "gemm_nn": _gemm(111, 111, "K", "N"),
    "gemm_nt": _gemm(111, 112, "K", "K"),
    "gemm_tn": _gemm(112, 111, "M", "N"),
    "gemm_tt": _gemm(112, 112, "M", "K"),
    "symm": (
        "level3/symm.py level3/mscal.py",
        f"{_SCALE} exo_?symm_rm_stride_1(ctxt, {_SYMM})",
    ),
    "syrk_n": _syrk(111, "K"),
    "syrk_t": _syrk(112, "N"),
}
"""Files of it, in `src`, and the call, by the routine's name."""

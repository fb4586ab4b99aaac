"""BLAS's routines as kernels of the suite: `blas_sgemm_nn` is that of f32, `blas_dgemm_nn` of f64.

Their sizes are constants of what is tuned, but of those with `_sizes` at the end, whose schedules
stay valid for every size. Vectors of level 1 are of the second-level cache or a little more.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.suite.case import KERNELS, PYTHON_PEERS, Case
from schedsearch.peers.arrays import Fill

TYPES = {"s": "f32", "d": "f64"}

_LOWER = Fill(lower=True)
# What is multiplied or solved in place, thousands of times, stays as large: diagonals are near 1.
_NEAR_ONE = Fill(-0.005, 0.005, diagonal=1.0)
_LOWER_NEAR_ONE = replace(_NEAR_ONE, lower=True)
_BELOW_ONE = Fill(0.999, 1.0)
_BETA = Fill(0.5, 0.9)


def _both(
    routine: str,
    sizes: dict[str, int],
    fills: dict[str, Fill] | None = None,
    any_size: bool = False,
    numpy: bool = False,
) -> tuple[Case, ...]:
    """The routine for each type; `numpy` has a natural form of it."""
    found = []
    for letter in TYPES:
        name = f"blas_{letter}{routine}"
        case = Case(
            name=name,
            file=KERNELS / "blas.py",
            proc=name,
            form=f"blas_{routine}",
            sizes=tuple(sizes.items()),
            fills=tuple((fills or {}).items()),
            without=tuple(peer for peer in PYTHON_PEERS if not (numpy and peer == "numpy")),
            also=("scipy",),
            specialize=True,
            group="blas",
        )
        found.append(case)
        if any_size:
            found.append(replace(case, name=f"{name}_sizes", specialize=False))
    return tuple(found)


_VECTOR = {"n": 250_000}
_SQUARE, _WIDE = {"N": 1200}, {"M": 1000, "N": 1500}
_GEMM, _SYMM, _SYRK = {"beta": _BETA}, {"A": _LOWER, "beta": _BETA}, {"beta": _BETA, "C": _LOWER}
_SOLVE = {"alpha": _BELOW_ONE, "A": _LOWER_NEAR_ONE}

BLAS: tuple[Case, ...] = (
    *_both("axpy", _VECTOR),
    *_both("copy", _VECTOR, numpy=True),
    *_both("swap", _VECTOR),
    *_both("scal", _VECTOR, {"alpha": _BELOW_ONE}, numpy=True),
    *_both("dot", _VECTOR, numpy=True),
    *_both("asum", _VECTOR),
    *_both("nrm2", _VECTOR),
    # A rotation: lengths stay.
    *_both("rot", _VECTOR, {"c": Fill(0.6, 0.6), "s": Fill(0.8, 0.8)}),
    *_both("gemv_n", _WIDE, {"beta": _BETA}, any_size=True),
    *_both("gemv_t", _WIDE, {"beta": _BETA}, any_size=True),
    *_both("ger", _WIDE),
    *_both("symv", _SQUARE, {"A": _LOWER, "beta": _BETA}),
    *_both("syr", _SQUARE, {"A": _LOWER}),
    *_both("syr2", _SQUARE, {"A": _LOWER}),
    *_both("trmv_ln", _SQUARE, {"A": _LOWER_NEAR_ONE}),
    *_both("trmv_lt", _SQUARE, {"A": _LOWER_NEAR_ONE}),
    *_both("trmv_un", _SQUARE, {"A": _NEAR_ONE}),
    *_both("trmv_ut", _SQUARE, {"A": _NEAR_ONE}),
    *_both("trsv", _SQUARE, {"A": _LOWER_NEAR_ONE}),
    *_both("gemm_nn", {"M": 512, "N": 512, "K": 512}, _GEMM, any_size=True),
    *_both("gemm_nt", {"M": 500, "N": 500, "K": 500}, _GEMM),
    *_both("gemm_tn", {"M": 500, "N": 512, "K": 381}, _GEMM),
    *_both("gemm_tt", {"M": 381, "N": 381, "K": 381}, _GEMM),
    *_both("symm", {"M": 500, "N": 512}, _SYMM),
    *_both("syrk_n", {"N": 512, "K": 512}, _SYRK, any_size=True),
    *_both("syrk_t", {"N": 500, "K": 381}, _SYRK),
    *_both("syr2k", {"N": 500, "K": 381}, _SYRK),
    *_both("trmm_n", {"M": 512, "N": 512}, _SOLVE, any_size=True),
    *_both("trmm_t", {"M": 500, "N": 381}, _SOLVE),
    *_both("trsm", {"M": 500, "N": 512}, _SOLVE),
)

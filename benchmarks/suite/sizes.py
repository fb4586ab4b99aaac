"""The suite's contractions at sizes that nothing divides, and at one that little does."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.suite.blas import BLAS
from benchmarks.suite.case import KERNELS, Case
from schedsearch.peers.arrays import Fill

EXTENTS = (37, 100, 131, 500, 1000)

_ROUTINES = (
    "blas_sgemm_nn",
    "blas_sgemm_nn_sizes",
    "blas_sgemm_nt",
    "blas_sgemm_tn",
    "blas_dgemm_nn",
    "blas_ssyrk_n",
    "blas_strmm_n",
    "blas_strsm",
)
_SUM = {"C": Fill(zeroed=True)}


def _contraction(name: str, extent: int, sizes: dict[str, int]) -> Case:
    """Of `kernels/contractions.py`. Its form is that of the suite's kernel of the same name."""
    return Case(
        name=f"{name}_{extent}",
        file=KERNELS / "contractions.py",
        proc=name,
        form=name,
        sizes=tuple(sizes.items()),
        fills=tuple(_SUM.items()),
        specialize=True,
        group="sizes",
    )


def _of_extent(extent: int) -> tuple[Case, ...]:
    square = {"M": extent, "N": extent, "K": extent}
    routines = tuple(
        replace(
            case,
            name=f"{case.name.removeprefix('blas_')}_{extent}",
            sizes=tuple((name, extent) for name, _ in case.sizes),
            group="sizes",
        )
        for case in BLAS
        if case.name in _ROUTINES
    )
    return (
        *routines,
        _contraction("gemm_i8", extent, square),
        _contraction("batched_gemm", extent, {"B": 4, **square}),
        _contraction("conv2d", extent, {"H": 14, "W": 14, "CI": extent, "CO": extent}),
    )


SIZES: tuple[Case, ...] = tuple(case for extent in EXTENTS for case in _of_extent(extent))

"""The kernels of the suite; in groups of their own minima and maxima, BLAS's routines, PolyBench's
30, products of many sizes, layers of real networks, and four for MetaSchedule.

Sizes are such that the procedure as written takes between 20 us and a few seconds, and a
good schedule at least some 100 us, which hides what a call from Python costs. Kernels
bound by memory exceed the second-level cache, axpy and scal also the last level of most
machines. PolyBench's are its medium ones instead, and only C compilers compete there.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.suite.blas import BLAS
from benchmarks.suite.case import EXAMPLES, KERNELS, PYTHON_PEERS, Case
from benchmarks.suite.extremes import EXTREMES
from benchmarks.suite.layers import LAYERS
from benchmarks.suite.sizes import SIZES
from schedsearch.peers.arrays import Fill

SUM = Fill(zeroed=True)
LOWER = Fill(lower=True)
SCIPY = ("scipy",)


def _case(
    file: str,
    name: str,
    form: str = "",
    fills: dict[str, Fill] | None = None,
    also: tuple[str, ...] = (),
) -> Case:
    return Case(
        name=name,
        file=KERNELS / f"{file}.py",
        proc=name,
        form=form or name,
        fills=tuple((fills or {}).items()),
        also=also,
    )


def _polybench(group: str, *names: str, **fills: Fill) -> tuple[Case, ...]:
    """Kernels of one file; `fills` are of those that have such an argument."""
    return tuple(
        Case(
            name=f"pb_{name}",
            file=KERNELS / "polybench" / f"{group}.py",
            proc=f"pb_{name}",
            fills=tuple(fills.items()),
            without=PYTHON_PEERS,
            group="polybench",
        )
        for name in names
    )


_C = {"C": SUM}

_ANY_SIZE = Case(
    name="gemm_sizes",
    file=EXAMPLES / "gemm_sizes.py",
    proc="gemm",
    form="gemm",
    sizes=(("M", 500), ("N", 500), ("K", 500)),
    fills=tuple(_C.items()),
)

# Diagonals outweigh the rest of their rows, where PolyBench makes matrices positive definite, and
# what a kernel multiplies its own results by is small: it is called again and again.
_HEAVY = Fill(diagonal=800.0)

POLYBENCH: tuple[Case, ...] = (
    *_polybench("blas", "gemm", "gemver", "gesummv"),
    *_polybench("blas", "symm", "syr2k", "syrk"),
    *_polybench("blas", "trmm", A=Fill(0.0, 0.01, lower=True)),
    *_polybench("products", "2mm", "3mm", "atax", "bicg"),
    *_polybench("products", "doitgen", C4=Fill(0.0, 1 / 30)),
    *_polybench("products", "mvt"),
    *_polybench("solvers", "cholesky", A=Fill(lower=True, diagonal=800.0)),
    *_polybench("solvers", "durbin", r=Fill(0.0, 0.002)),
    *_polybench("solvers", "gramschmidt"),
    *_polybench("solvers", "lu", "ludcmp", A=_HEAVY),
    *_polybench("solvers", "trisolv", L=Fill(lower=True, diagonal=800.0)),
    *_polybench("data_mining", "correlation", "covariance"),
    *_polybench("medley", "deriche", alpha=Fill(0.25, 0.25)),
    *_polybench("medley", "floyd_warshall", path=Fill(below=1000)),
    *_polybench("medley", "nussinov", bases=Fill(below=4), table=SUM),
    *_polybench("stencils", "adi", "fdtd_2d", "heat_3d", "jacobi_1d", "jacobi_2d", "seidel_2d"),
)

_SUITE: tuple[Case, ...] = (
    _case("blas1", "axpy"),
    _case("blas1", "dot"),
    _case("blas1", "asum"),
    _case("blas1", "scal", fills={"alpha": Fill(0.999, 1.0)}),
    _case("blas2", "gemv_n", fills={"y": SUM}),
    _case("blas2", "gemv_t", fills={"y": SUM}),
    _case("blas2", "ger"),
    _case("gemm", "gemm_nn", "gemm", _C),
    _case("gemm", "gemm_nn_1024", "gemm", _C),
    _case("gemm", "gemm_nt", fills=_C),
    _case("gemm", "gemm_tn", fills=_C),
    _ANY_SIZE,
    replace(_ANY_SIZE, name="gemm_specialized", specialize=True),
    _case("gemm_types", "gemm_f64", "gemm", _C),
    _case("gemm_types", "gemm_i32", "gemm_i32", _C),
    _case("gemm_types", "gemm_i8", "gemm_i8", _C),
    _case("batched_gemm", "batched_gemm", "batched_gemm", _C),
    _case("triangular", "syrk", fills={"C": Fill(zeroed=True, lower=True)}, also=SCIPY),
    _case("triangular", "trmm", fills={"C": SUM, "L": LOWER}, also=SCIPY),
    # Small below the diagonal: solutions of a larger L grow exponentially.
    _case("triangular", "trsm", fills={"L": Fill(0.0, 0.01, lower=True)}, also=SCIPY),
    _case("conv1d", "conv1d"),
    Case("conv2d", EXAMPLES / "conv2d.py", "conv2d", "conv2d"),
    _case("depthwise", "depthwise"),
    _case("stencils", "jacobi_2d"),
    _case("stencils", "heat_3d"),
    Case("blur", EXAMPLES / "blur.py", "blur", "blur"),
    _case("softmax", "softmax"),
    Case("layernorm", EXAMPLES / "layernorm.py", "layernorm", "layernorm"),
    _case("transpose", "transpose"),
    _case("histogram", "fold", fills={"profile": SUM}),
    _case("histogram", "cumulative", fills={"count": SUM}),
)

_TVM = ("gemm_nn", "conv2d", "depthwise", "softmax")
"""MetaSchedule competes on these, as it has tuned them (`metaschedule.py`)."""

CASES: tuple[Case, ...] = (
    *_SUITE,
    *EXTREMES,
    *BLAS,
    *POLYBENCH,
    *SIZES,
    *LAYERS,
    *(
        replace(case, name=f"tvm_{case.name}", group="tvm", also=("tvm",))
        for case in _SUITE
        if case.name in _TVM
    ),
)

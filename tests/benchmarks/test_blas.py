"""BLAS's routines, and SciPy's and NumPy's forms of them, compute what their definitions say.

On small arrays of three different sizes, in this process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from benchmarks.suite.blas import BLAS, TYPES
from benchmarks.suite.case import Case
from benchmarks.suite.contenders import native
from benchmarks.suite.peers import with_numpy, with_scipy
from schedsearch.peers.agreement import differences
from schedsearch.peers.arrays import Array, Arrays, make_arrays
from schedsearch.peers.trial import Peer
from schedsearch.search.setup import subject

pytestmark = pytest.mark.normal

FORMS = {"scipy": with_scipy, "numpy": with_numpy}
ANY_SIZE = ("gemv_n", "gemv_t", "gemm_nn", "syrk_n", "trmm_n")
IN_PLACE = {"scal", "rot", "trmv", "trsv", "trmm", "trsm"}
SMALL = {"n": 77, "M": 37, "N": 41, "K": 29}


@pytest.fixture(autouse=True, scope="module")
def loaded_once() -> Iterator[None]:
    """All routines are of one file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subject, "load_source", cache(subject.load_source))
        yield


def whole(lower: Array) -> Array:
    return np.tril(lower) + np.tril(lower, -1).T


def gemv(turned: bool) -> Callable[..., Any]:
    return lambda alpha, A, x, beta, y: {"y": alpha * (A.T if turned else A) @ x + beta * y}


def trmv(part: Callable[[Array], Array], turned: bool) -> Callable[..., Any]:
    return lambda A, x: {"x": (part(A).T if turned else part(A)) @ x}


def gemm(a: bool, b: bool) -> Callable[..., Any]:
    return lambda alpha, A, B, beta, C: {
        "C": alpha * (A.T if a else A) @ (B.T if b else B) + beta * C
    }


def syrk(alpha: Array, A: Array, beta: Array, C: Array) -> Any:
    return {"C": np.tril(alpha * A @ A.T + beta * C)}


def syr2k(alpha: Array, A: Array, B: Array, beta: Array, C: Array) -> Any:
    return {"C": np.tril(alpha * (A @ B.T + B @ A.T) + beta * C)}


def solved(A: Array, b: Array) -> Array:
    found: Array = solve_triangular(A, b, lower=True, unit_diagonal=True)
    return found


REFERENCES: Mapping[str, Callable[..., Any]] = {
    "axpy": lambda alpha, x, y: {"y": alpha * x + y},
    "copy": lambda x, y: {"y": x},
    "swap": lambda x, y: {"x": y, "y": x},
    "scal": lambda alpha, x: {"x": alpha * x},
    "dot": lambda x, y, result: {"result": (x * y).sum()},
    "asum": lambda x, result: {"result": np.abs(x).sum()},
    "nrm2": lambda x, result: {"result": np.linalg.norm(x)},
    "rot": lambda x, y, c, s: {"x": c * x + s * y, "y": c * y - s * x},
    "gemv_n": gemv(False),
    "gemv_t": gemv(True),
    "ger": lambda alpha, x, y, A: {"A": A + alpha * np.outer(x, y)},
    "symv": lambda alpha, A, x, beta, y: {"y": alpha * whole(A) @ x + beta * y},
    "syr": lambda alpha, x, A: {"A": np.tril(A + alpha * np.outer(x, x))},
    "syr2": lambda alpha, x, y, A: {"A": np.tril(A + alpha * (np.outer(x, y) + np.outer(y, x)))},
    "trmv_ln": trmv(np.tril, False),
    "trmv_lt": trmv(np.tril, True),
    "trmv_un": trmv(np.triu, False),
    "trmv_ut": trmv(np.triu, True),
    "trsv": lambda A, x: {"x": solved(A, x)},
    "gemm_nn": gemm(False, False),
    "gemm_nt": gemm(False, True),
    "gemm_tn": gemm(True, False),
    "gemm_tt": gemm(True, True),
    "symm": lambda alpha, A, B, beta, C: {"C": alpha * whole(A) @ B + beta * C},
    "syrk_n": syrk,
    "syrk_t": lambda alpha, A, beta, C: syrk(alpha, A.T, beta, C),
    "syr2k": syr2k,
    "trmm_n": lambda alpha, A, B: {"B": alpha * np.tril(A) @ B},
    "trmm_t": lambda alpha, A, B: {"B": alpha * np.tril(A).T @ B},
    "trsm": lambda alpha, A, B: {"B": solved(A, alpha * B)},
}


def small(case: Case) -> Case:
    """The same of other sizes, with signs and with triangles whose elements matter."""
    changed = {"x": replace(case.fill("x"), lo=-0.5), "A": replace(case.fill("A"), lo=-0.4, hi=0.3)}
    sizes = tuple((name, SMALL[name]) for name, _ in case.sizes)
    return replace(case, sizes=sizes, fills=tuple((dict(case.fills) | changed).items()))


def counting(case: Case, outputs: Mapping[str, Any]) -> dict[str, Array]:
    return {
        name: np.tril(array) if case.fill(name).lower else np.asarray(array)
        for name, array in outputs.items()
    }


def expected(case: Case, routine: str, arrays: Arrays) -> dict[str, Array]:
    """In double precision, rounded in the end."""
    pairs = zip(arrays.described, arrays.values, strict=True)
    given = {a.name: v.astype(float) for a, v in pairs if not isinstance(v, int)}
    types = {name: array.dtype for name, array in arrays.outputs}
    wanted = REFERENCES[routine](**given)
    return {name: np.asarray(array).astype(types[name]) for name, array in wanted.items()}


def called(form: Callable[..., Callable[[], Any]], arrays: Arrays) -> dict[str, Any]:
    arrays.restore()
    returned = form(*arrays.arrays)()
    outputs = dict(arrays.outputs)
    return outputs if returned is None else dict.fromkeys(outputs, returned)


def test_each_routine_is_there_for_each_type() -> None:
    names = {f"blas_{letter}{routine}" for letter in TYPES for routine in REFERENCES}
    assert {case.name.removesuffix("_sizes") for case in BLAS} == names
    of_any_size = {case.form for case in BLAS if not case.specialize}
    assert of_any_size == {f"blas_{each}" for each in ANY_SIZE}


@pytest.mark.parametrize("case", BLAS, ids=lambda case: case.name)
def test_kernels_and_peers_compute_what_the_definition_says(case: Case) -> None:
    chosen, routine = small(case), case.form.removeprefix("blas_")
    loaded = chosen.load()
    assert {arg.type for arg in loaded.ast.args} >= {TYPES[case.name[5]]}
    arrays = make_arrays(chosen.arguments(loaded))
    wanted = counting(chosen, expected(chosen, routine, arrays))
    written = native("as written", loaded.builder, loaded.code)
    assert isinstance(written, Peer)
    ctypes.CDLL(written.what.path)[written.what.name](None, *arrays.passed())
    assert differences(wanted, counting(chosen, dict(arrays.outputs))) is None
    for library in case.python_peers:
        form = getattr(FORMS[library], case.form)
        assert differences(wanted, counting(chosen, called(form, arrays))) is None, library


def test_what_is_computed_in_place_stays_as_large() -> None:
    """Called again and again it neither overflows nor shrinks to denormals, which are slow."""
    for case in BLAS:
        if case.form.split("_")[1] not in IN_PLACE:
            continue
        sizes = dict(case.sizes)
        if "M" in sizes:
            sizes["N"] = 8  # columns are independent
        narrow = replace(case, sizes=tuple(sizes.items()))
        arrays = make_arrays(narrow.arguments(narrow.load()))
        call = getattr(with_scipy, case.form)(*arrays.arrays)
        for _ in range(1000):
            call()
        for name, array in arrays.outputs:
            assert 1e-6 < np.abs(array).max() < 1e30, (case.name, name)

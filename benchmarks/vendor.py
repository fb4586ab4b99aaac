"""The best schedule in a store against NumPy, one thread each, interleaved in one run.

    python benchmarks/vendor.py --store schedsearch.sqlite matmul

Every round times both in random order; printed is the median of per-round ratios
of minima with its bootstrap interval. NumPy's BLAS is what it was built with
(`numpy.show_config()`).
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402

from schedsearch.core.records import Artifact  # noqa: E402
from schedsearch.core.stats import median_with_interval  # noqa: E402
from schedsearch.evaluate.builder import Builder  # noqa: E402
from schedsearch.search.subject import cache_dir  # noqa: E402
from schedsearch.store import Store  # noqa: E402

Arrays = list[Any]
DTYPES = {"f32": np.float32, "f64": np.float64}


def product(c: Any, a: Any, b: Any) -> None:
    np.add(c, a @ b, out=c)


def matrix_vector(y: Any, a: Any, x: Any) -> None:
    np.add(y, a @ x, out=y)


PEERS: dict[str, tuple[Callable[..., None], str, list[tuple[int, ...]], float]] = {
    "matmul": (product, "f32", [(512, 512)] * 3, 2 * 512**3),
    "matmul_1024": (product, "f32", [(1024, 1024)] * 3, 2 * 1024**3),
    "matmul_f64": (product, "f64", [(256, 256)] * 3, 2 * 256**3),
    "gemv": (matrix_vector, "f32", [(2048,), (2048, 2048), (2048,)], 2 * 2048**2),
}
"""Procedure name -> NumPy's way, element type, shapes, operations."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("proc", choices=sorted(PEERS))
    parser.add_argument("--store", type=Path, default=Path("schedsearch.sqlite"))
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()

    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    peer, dtype, shapes, operations = PEERS[options.proc]
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape).astype(DTYPES[dtype]) for shape in shapes]
    kernel = best_kernel(options.store, options.proc, arrays)
    sides: list[Callable[[], None]] = [kernel, lambda: peer(*arrays)]

    ratios, fastest = [], [float("inf")] * 2
    for _ in range(options.rounds):
        lowest = [float("inf")] * 2
        for side in random.Random(len(ratios)).sample([0, 1] * 3, 6):
            lowest[side] = min(lowest[side], sample(sides[side]))
        ratios.append(lowest[1] / lowest[0])
        fastest = [min(a, b) for a, b in zip(fastest, lowest, strict=True)]
    for name, seconds in zip(("schedsearch", "numpy"), fastest, strict=True):
        print(f"{name:<12}{seconds * 1e3:9.3f} ms {operations / seconds / 1e9:8.1f} GFLOP/s")
    print(f"ratio numpy / schedsearch: {median_with_interval(ratios)}")


def best_kernel(path: Path, proc: str, arrays: Arrays) -> Callable[[], None]:
    """The store's best schedule of `proc`, built and bound to `arrays`."""
    with Store.open(path, create=False) as store:
        (scope,) = [s for s in store.scopes() if store.workload(s).proc == proc]
        target = store.target(scope)
        code = store.code(store.best(scope, 1)[0].record.keys.code or "")
    assert code is not None
    artifact = Builder(target.compiler, target.flags, cache_dir() / "artifacts").build(code, 60.0)
    assert isinstance(artifact, Artifact), artifact
    function = ctypes.CDLL(artifact.path)[proc]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    return lambda: function(None, *pointers)


def sample(call: Callable[[], None], at_least_s: float = 0.01) -> float:
    """Seconds per call over enough calls to last `at_least_s`."""
    calls, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < at_least_s:
        call()
        calls += 1
    return elapsed / calls


if __name__ == "__main__":
    main()

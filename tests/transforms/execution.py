"""Scheduled states against what the original procedure means."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.replay import State
from transforms.helpers import arguments
from transforms.interpret import interpret
from transforms.native import Library


def assert_same_meaning(
    original: Any,
    states: Sequence[tuple[Trace, State]],
    sizes: Sequence[Mapping[str, int]],
    folder: Path,
) -> None:
    """Interpreted and compiled, every state computes what `original` does."""
    meaning = mirror(original)
    library = Library([generate_c(state.procedure) for _, state in states], folder)
    for controls in sizes:
        wanted = arguments(meaning, controls, 3)
        interpret(meaning, wanted)
        for number, (trace, state) in enumerate(states):
            interpreted, native = arguments(meaning, controls, 3), arguments(meaning, controls, 3)
            interpret(state.ast, interpreted)
            library.call(number, meaning, native)
            for results in (interpreted, native):
                pairs = zip(results, wanted, strict=True)
                same = all(np.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in pairs)
                assert same, (controls, *map(str, trace.steps))


def assert_exact(
    original: Any, results: Sequence[Any], sizes: Sequence[Mapping[str, int]], folder: Path
) -> None:
    """Compiled, every procedure gives exactly what `original` means on whole numbers."""
    meaning = mirror(original)
    library = Library([generate_c(result) for result in results], folder)
    for controls in sizes:
        wanted = arguments(meaning, controls, 3)
        interpret(meaning, wanted)
        for number, result in enumerate(results):
            found = arguments(meaning, controls, 3)
            library.call(number, meaning, found)
            same = [np.array_equal(a, b) for a, b in zip(found, wanted, strict=True)]
            assert all(same), (controls, str(result))


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Kernels run on as many threads, which may be more than there are cores."""
    openmp = ctypes.CDLL("libgomp.so.1")
    before = openmp.omp_get_max_threads()
    openmp.omp_set_num_threads(count)
    yield
    openmp.omp_set_num_threads(before)

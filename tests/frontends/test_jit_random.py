"""Random functions on arrays do as programs what they do as Python, and as kernels too."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedsearch
from frontends.jit_random import Writer
from frontends.kernels import Kernels
from frontends.test_jit import assert_same, by_meaning, copies, through, typed
from schedsearch.core.errors import UserError

MANY = 25
REFUSED = ("is assigned in a loop", "by a condition", "a branch in which")


def functions(seeds: Sequence[int], folder: Path) -> list[Callable[..., Any]]:
    """From a file, as users have them: tracing wants their text."""
    file = folder / "functions.py"
    texts = [Writer(seed).text(f"f{seed}") for seed in seeds]
    file.write_text("import numpy as np\n\n\n" + "\n\n".join(texts))
    spec = importlib.util.spec_from_file_location(f"functions_{seeds[0]}", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"f{seed}") for seed in seeds]


def arguments(seed: int, n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return (0.3, rng.random((n, n)), rng.random((n, n)), rng.random(n), rng.random(n))


def compared(function: Callable[..., Any], seed: int, n: int, jitted: Any, run: Any) -> bool:
    """Whether it was taken; it is right then. Names of one array, by a loop or a condition, and
    sizes that are equal in a branch only, are refused."""
    plain, ours = copies(arguments(seed, n)), copies(arguments(seed, n))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = function(*plain)
    try:
        found = through(jitted, ours, run)
    except UserError as error:
        if not any(each in str(error) for each in REFUSED):
            raise
        return False
    assert_same(found, wanted)
    assert_same(ours, plain)
    return True


@pytest.mark.normal
@settings(max_examples=3, derandomize=True, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_programs_mean_what_functions_do(seed: int) -> None:
    with TemporaryDirectory() as folder:
        seeds = range(1000 * seed, 1000 * seed + MANY)
        taken = 0
        for each, function in zip(seeds, functions(seeds, Path(folder)), strict=True):
            jitted = schedsearch.jit(function)
            taken += compared(function, each, 5, jitted, by_meaning)
            compared(function, each, 6, jitted, by_meaning)
            assert len(jitted._known) <= 1
        assert taken > 0.9 * MANY


@pytest.mark.parametrize(
    "count", [pytest.param(12, marks=pytest.mark.normal), pytest.param(300, marks=pytest.mark.slow)]
)
def test_kernels_do_what_functions_do(tmp_path: Path, count: int) -> None:
    """In one library."""
    seeds = range(count)
    made = []
    for seed, function in zip(seeds, functions(seeds, tmp_path), strict=True):
        jitted = schedsearch.jit(function)
        if compared(function, seed, 5, jitted, by_meaning):
            made.append((seed, jitted, function))
    assert len(made) > 0.9 * count
    programs = [next(iter(jitted._known.values())).traced.program for _, jitted, _ in made]
    kernels = Kernels(programs, tmp_path)
    for number, (seed, jitted, function) in enumerate(made):

        def run(own: Any, known: Any, arrays: list[Any], number: int = number) -> None:
            names = {var.name: size for var, size in known.items()}
            kernels.run(number, names, typed(own, arrays))

        for n in (5, 7):
            assert compared(function, seed, n, jitted, run)

"""Functions on NumPy arrays do as kernels what they do as Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schedsearch
from frontends.jit_programs import EXAMPLES
from frontends.kernels import Kernels
from frontends.meaning import evaluate
from schedsearch.api.jit import Jitted
from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.frontends import graph as g
from schedsearch.frontends.types import DTYPES


def copies(values: tuple[Any, ...]) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in values]


Runner = Callable[[Any, Mapping[q.Var, int], list[Any]], None]


def through(jitted: Jitted, args: list[Any], run: Runner) -> Any:
    """A call whose kernel is run by other means."""
    values = jitted._bound(tuple(args), {})
    made = jitted._specialised(values)
    arrays, sizes, results = made._arguments(values)
    known = {
        each: sizes.get(each, -1) for each in made.traced.program.parameters
        if isinstance(each, q.Var)
    }
    run(made, known, arrays)
    return made._result(made.traced.result, values, sizes, results)


def by_meaning(made: Any, known: Mapping[q.Var, int], arrays: list[Any]) -> None:
    """As the graph means it."""
    parameters = [p for p in made.traced.program.parameters if isinstance(p, g.Array)]
    own = {}
    for parameter, array in zip(parameters, arrays, strict=True):
        value = np.asarray(array, DTYPES[parameter.type])
        own[parameter] = value if parameter.shape else value.reshape(())
    evaluate(made.traced.program, own, known)


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple | list):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            assert_same(a, b)
        return
    if wanted is None:
        assert found is None
        return
    a, b = np.asarray(found), np.asarray(wanted)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    limit = 2e-5 if a.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(a, b, rtol=limit, atol=limit)


@pytest.mark.normal
def test_examples_do_what_python_does(tmp_path: Path) -> None:
    """All in one library."""
    rng = np.random.default_rng(7)
    made = []
    for function, arguments in EXAMPLES:
        args = arguments(rng)
        jitted = schedsearch.jit(function)
        made.append((function, jitted, args, jitted._specialised(jitted._bound(args, {}))))
    kernels = Kernels([each.traced.program for *_, each in made], tmp_path)
    for number, (function, jitted, args, specialised) in enumerate(made):

        def run(
            made: Any, known: Any, arrays: list[Any], number: int = number, own: Any = specialised
        ) -> None:
            assert made is own
            names = {var.name: n for var, n in known.items()}
            kernels.run(number, names, arrays)

        plain, ours = copies(args), copies(args)
        wanted = function(*plain)
        found = through(jitted, ours, run)
        assert_same(found, wanted)
        assert_same(ours, plain)


@pytest.mark.normal
def test_a_call_goes_through_kernel() -> None:
    @schedsearch.jit
    def scaled(A, s):
        A[1:-1] *= s
        return A.sum(), A[::2] + 1, A

    for n in (6, 9):  # other lengths, the same kernel
        A = np.random.default_rng(0).random(n)
        B = A.copy()
        total, odd, same = scaled(A, 3.0)
        B[1:-1] *= 3.0
        assert_same((total, odd), (B.sum(), B[::2] + 1))
        assert same is A
        assert_same(A, B)
    assert len(scaled._known) == 1
    assert "as written" in str(scaled.explain(A, 3.0))
    assert scaled.lowered(A, 3.0).outputs == ("A", "out", "out_1")


def refusal(function: Callable[..., Any], *args: Any, **options: Any) -> str:
    with pytest.raises(UserError) as error:
        schedsearch.jit(function, **options).lowered(*args)
    return str(error.value)

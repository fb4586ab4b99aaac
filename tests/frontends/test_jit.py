"""Functions on NumPy arrays do as kernels what they do as Python."""

from __future__ import annotations

import functools
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
        each: sizes.get(each, -1)
        for each in made.traced.program.parameters
        if isinstance(each, q.Var)
    }
    run(made, known, arrays)
    return made._result(made.traced.result, values, sizes, results)


def typed(made: Any, arrays: list[Any]) -> list[Any]:
    """Numbers as arrays of rank 0."""
    parameters = [p for p in made.traced.program.parameters if isinstance(p, g.Array)]
    values = [np.asarray(a, DTYPES[p.type]) for a, p in zip(arrays, parameters, strict=True)]
    return [v if p.shape else v.reshape(()) for v, p in zip(values, parameters, strict=True)]


def by_meaning(made: Any, known: Mapping[q.Var, int], arrays: list[Any]) -> None:
    """As the graph means it."""
    parameters = [p for p in made.traced.program.parameters if isinstance(p, g.Array)]
    own = dict(zip(parameters, typed(made, arrays), strict=True))
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
            kernels.run(number, names, typed(made, arrays))

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
    assert scaled.lowered(A, 3.0).sizes == {"A_0": 9}


def checked(function: Callable[..., Any], *args: Any) -> None:
    plain, ours = copies(args), copies(args)
    wanted = function(*plain)
    assert_same(through(schedsearch.jit(function), ours, by_meaning), wanted)
    assert_same(ours, plain)


def row(n: int = 6) -> Any:
    return np.random.default_rng(n).random(n) - 0.5


def test_closures_see_what_loops_assign() -> None:
    def last(x):
        s = 1.0

        def times(v):
            return v * s

        for i in range(len(x)):
            x[i] = times(x[i])
            s = x[i] + 2.0
        return times(x)

    checked(last, row())


def test_a_wrapped_function_is_not_mistaken_for_what_it_wraps() -> None:
    def doubled(function):
        @functools.wraps(function)
        def around(x):
            return 2.0 * function(x)

        return around

    @doubled
    def helper(x):
        return x + 1.0

    def uses(x):
        return helper(x)

    checked(uses, row())
    assert "wrapped" in refusal(helper, row())


def test_old_values_and_views_live_on() -> None:
    def mixed(A, x):
        c = A + 1.0
        d = c[1:]
        d[0] = 5.0
        m = A > 0.1
        old = [A * 2.0]
        first = A[0]
        first += 3.0
        A[:, 0], A[:, 1] = A[:, 1], A[:, 0]
        y = x
        y -= 1.0
        return c, np.where(m, 1.0, A), old[0], first * 1.0, x * 2.0

    checked(mixed, row(36).reshape(6, 6), row())


# -- what tracing alone does not see -------------------------------------------------------------


def branch_on_data(x):
    if x[0] > 0:
        x[1] = 2.0
    else:
        x[1] = 3.0


def loop_over_a_size(n, x):
    for _ in range(n):
        x[:] = x * 0.5 + 1.0


def path_of_the_example(x):
    i = 0
    for k in range(len(x)):
        if x[k] > 0.25:
            x[k] = 0.0
        i += 1
    return i


def while_counts(n, x):
    i = 1
    while i < n:
        x[0] += i
        i += 2
    return i


def test_branches_and_loops_are_kept() -> None:
    """The failures of tracing alone: a branch is lost, a loop is flattened, the path of the
    example is frozen. One specialisation does for all of these."""
    for first in (0.5, -0.5):
        x = row()
        x[0] = first
        checked(branch_on_data, x)
    jitted = schedsearch.jit(loop_over_a_size)
    for n in (2, 5, 30):
        plain, ours = row(), row()
        loop_over_a_size(n, plain)
        through(jitted, [n, ours], by_meaning)
        assert_same(ours, plain)
    assert len(jitted._known) == 1
    for n in (4, 7):
        checked(path_of_the_example, row(n))
        checked(while_counts, n, row())


def test_tracing_alone_refuses_them() -> None:
    for function, args in [(branch_on_data, (row(),)), (while_counts, (4, row()))]:
        line = function.__code__.co_firstlineno
        text = refusal(function, *args, preprocess=False)
        assert text.startswith(f"{__file__}:{line + (1 if len(args) == 1 else 2)}: ")
        assert "preprocess=True" in text
    assert "as a Python number" in refusal(loop_over_a_size, 4, row(), preprocess=False)

    def straight(x):
        x[1:] += x[:-1]
        return np.maximum(x, 0).sum()

    plain, ours = row(), row()
    found = through(schedsearch.jit(straight, preprocess=False), [ours], by_meaning)
    assert_same(found, straight(plain))
    assert_same(ours, plain)


# -- what is refused -----------------------------------------------------------------------------


def gather(x, y):
    return x[y]


def mask(x):
    return x[x > 0]


def endless(x):
    while x[0] > 0.1:
        x *= 0.5


def stopped(x):
    for i in range(len(x)):
        if x[i] > 0:
            break


def solved(A, x):
    return np.linalg.solve(A, x)


def listed(n, x):
    out = []
    for i in range(n):
        out.append(x[i])
    return out


def wrapped(x):
    for i in range(len(x)):
        x[i] = x[i - 1]


def swapped(n, x, y):
    for _ in range(n):
        x[0] = y[0] + 1
        x, y = y, x


def narrowed(x):
    x += 1j


def guessed(x):
    return x * np.random.rand()


def counted(x):
    return np.sum(x)


def unknown(x):
    return np.sort(x)


def leaked(n, x):
    for i in range(n):
        x[i] = 0
    return x[i]


def mismatched(x):
    return x[1:] + x[:-2]


def attempted(x):
    try:
        return x + 1
    except ValueError:
        return x


def printed(x):
    print(x)


def valued(x):
    v = x[0] > 0 and x[1]
    return x * v


def changed(x, known):
    known[0] = 2.0
    return x * known[0]


def numbered(x):
    total = np.sum(x)
    total[total > 1] = 0


def forever(x):
    while True:
        x = x


def parted(x):
    x += 1.0


def test_reshapes_are_views_where_numpys_are() -> None:
    def written(A, M, N):
        A[:25].reshape(5, 5)[:, 1] = 0.0
        N[1].reshape(2, 2)[0] = 1.0
        N[:, None].reshape(6, 4)[2] = 2.0
        N[3:5].ravel()[5] = 3.0
        N.reshape(-1)[4:8].reshape(2, 2)[1] = 4.0
        stale = M[1:3].reshape(8)
        M[1:3] = 5.0
        copy = np.positive(M)
        copy[0] = 6.0
        A.astype(np.float64, copy=False)[0] = 7.0
        np.array(A, copy=None)[1] = 8.0
        wide = np.broadcast_to(A, (2, len(A)))
        A[2] = 9.0
        return stale.sum(), copy, wide + 1.0, N[:, 1:3].reshape(-1) * 2.0

    checked(written, row(30), row(24).reshape(6, 4), row(25)[:24].reshape(6, 4))


def test_elements_under_a_condition_are_a_copy() -> None:
    def taken(A, B):
        m = A > 0
        v = A[m]
        w = v
        w *= 2.0
        A[m] += 1.0
        B[m] = v
        A[:] = 5.0
        return v.sum(), w.mean()

    checked(taken, row(), row())


def test_equal_sizes_of_a_branch_are_its_own() -> None:
    def either(A, B):
        if len(A) == len(B):
            return A + B
        return A * 5.0

    for n in (6, 4):
        checked(either, row(), row(n))


def test_an_array_chosen_by_a_branch_is_written_if_it_is_new() -> None:
    def new(n, A):
        x = A * 2.0
        if A[0] > 0:
            x = A * 3.0
        x[0] = 1.0
        z = np.zeros(n) if n > 3 else np.ones(n)
        z[0] = 2.0
        return x, z

    checked(new, 5, row())


def test_what_numpy_refuses_and_what_it_would_alias_is_refused() -> None:
    """A place to write, the words of the message, and the arguments."""

    def chosen(A):
        x = A
        if A[0] > 0:
            x = A * 2.0
        x += 1.0

    def old(A):
        x = y = A * 2.0
        if A[0] > 0:
            x = A * 3.0
        x[0] = 1.0
        return y

    def out(A):
        x = A if A[0] > 0 else A * 2.0
        np.add(x, 1.0, out=x)

    def by_size(n, A, B):
        x = A
        if n > 3:
            x = B
        x[0] = 1.0

    def by_lengths(n, A, B):
        if n > 3:
            A += B

    def ordered(A):
        return A.reshape((2, 3), order="F")

    def broadcast(A):
        np.broadcast_to(A, (2, len(A)))[0, 0] = 1.0

    def perhaps(A):
        x = A[::2].ravel()
        x[0] = 1.0

    def copied(A, to):
        np.copyto(to, A)

    def added(A, to):
        np.add(A, 1.0, out=to)

    def wider(A, B):
        A += B

    def twice(A):
        return A.sum(axis=(0, 0))

    ints, x = np.arange(6, dtype=np.int32), row()
    for function, args, words in (
        (chosen, (x,), "by a condition"),
        (old, (x,), "another name"),
        (out, (x,), "by a condition"),
        (by_size, (5, x, x), "by a condition"),
        (by_lengths, (5, x, x), "a branch in which"),
        (ordered, (x,), "order='F'"),
        (np_diff, (x[:1],), "no elements"),
        (broadcast, (x,), "np.broadcast_to"),
        (perhaps, (x,), "copies it in some calls"),
        (copied, (x, ints), "int32"),
        (added, (x, ints), "int32"),
        (wider, (x, x[None]), "more axes"),
        (twice, (x[None],), "twice"),
    ):
        assert words in refusal(function, *args), function


def np_diff(x):
    return np.diff(x)


ints = np.arange(5)
REFUSED: list[tuple[Callable[..., Any], tuple[Any, ...], int, str]] = [
    (gather, (row(), ints.astype(np.int32)), 1, "gather"),
    (gather, (row(), ints), 0, "int64"),
    (mask, (row(),), 0, "depends on data"),
    (endless, (row(),), 1, "while"),
    (stopped, (row(),), 1, "break"),
    (solved, (row(36).reshape(6, 6), row()), 1, "np.linalg.solve"),
    (listed, (6, row()), 3, "append"),
    (wrapped, (row(),), 2, "negative in some rounds"),
    (swapped, (5, row(), row()), 1, "one array"),
    (narrowed, (row(),), 1, "complex"),
    (guessed, (row(),), 1, "trace"),
    (counted, (ints.astype(np.int32),), 1, "int64"),
    (unknown, (row(),), 1, "np.sort"),
    (leaked, (6, row()), 3, "no value here"),
    (mismatched, (row(),), 1, "cannot be broadcast"),
    (attempted, (row(),), 1, "try"),
    (printed, (row(),), 1, "print"),
    (numbered, (row(),), 2, "number"),
    (valued, (row(),), 1, "numbers"),
    (changed, (row(), [1.0]), 0, "a change of argument known"),
    (changed, (row(), [row()]), 0, "list"),
    (forever, (row(),), 1, "does not end"),
    (parted, (np.array(1.0),), 0, "rank 0"),
    (mask, (np.zeros(3, complex),), 0, "complex128"),
]


@pytest.mark.parametrize(("function", "args", "line", "word"), REFUSED)
def test_what_is_refused_is_said(
    function: Callable[..., Any], args: tuple[Any, ...], line: int, word: str
) -> None:
    """With file, line, construct, reason, and what to write instead."""
    text = refusal(function, *args)
    assert text.startswith(f"{__file__}:{function.__code__.co_firstlineno + line}: ")
    assert word in text
    assert text.count("; ") >= 1


# -- types ---------------------------------------------------------------------------------------


def test_types_come_from_annotations() -> None:
    def annotated(A: f32[N, M], x: f32[M], s: f64):  # noqa: F821
        A[:] = A * x + s

    lowered = schedsearch.jit(annotated).lowered()
    assert lowered.parameters == ("N", "M", "A", "x", "s")
    assert "A: f32[N, M]" in lowered.text
    with pytest.raises(TypeError, match="argument x"):
        schedsearch.jit(annotated)(np.zeros((2, 3), "f4"), np.zeros(3), 1.0)


@pytest.mark.parametrize("other", [np.float32, np.float64, np.int32, np.uint8])
def test_results_have_numpy_types(other: Any) -> None:
    def mixed(x, y, s):
        return x * y, x + 1, x / 2, y * s, np.maximum(y, 1), np.mean(y)

    checked(mixed, row().astype(np.float32), (row() * 9 + 9).astype(other), 2.0)


def test_numbers_are_those_of_python_or_of_numpy() -> None:
    """Python's take the type of what they meet; what NumPy makes of them is float64."""
    two = np.float64(2.0)

    def numbers(n, s, x):
        a = 2.0 * s + n
        b = np.sqrt(s)
        c = a if x[0] > 0 else 1.0
        return a * x, b * x, two * x, c * x, n / 3 * x, np.where(x > 0, 1.0, 2.0), a, np.exp(n) * x

    checked(numbers, 3, 0.7, row().astype(np.float32))
    assert "int64" in refusal(lambda_of_ints, row())


def lambda_of_ints(x):
    return np.where(x > 0, 1, 2)


def refusal(function: Callable[..., Any], *args: Any, **options: Any) -> str:
    with pytest.raises(UserError) as error:
        schedsearch.jit(function, **options).lowered(*args)
    return str(error.value)

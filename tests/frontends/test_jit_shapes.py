"""Types and shapes of NumPy's functions: as NumPy gives them, and refused where it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import schedsearch
from schedsearch.core.errors import UserError

from .test_jit import assert_same, by_meaning, checked, copies, refusal, through

RNG = np.random.default_rng(5)
A = RNG.random((4, 6)) - 0.5
T = RNG.random((2, 3, 4)).astype(np.float32)
X = RNG.random(7) - 0.5
SINGLE = X.astype(np.float32)
BYTES = np.array([0, 1, 128, 255], np.uint8)
WORDS = np.array([0, 1, 40000, 65535], np.uint16)
WHOLE = np.array([-3, 0, 5, 7], np.int32)


def between(x, n):
    """Of f32 and Python's numbers f32."""
    ends = np.linspace(x[0], x[-1], 5), np.linspace(x[0], 1.0, n), np.linspace(0, x[1], 4)
    wide = np.linspace(x[0], x[1], 3, dtype=np.float64), np.linspace(0, x[2], 3, endpoint=False)
    return *ends, *wide, np.linspace(x[0], np.float64(1), 3), np.linspace(0, n, 3)


def covariances(A, x):
    rows = np.cov(A), np.cov(A, rowvar=False), np.cov(A, bias=True), np.cov(A, ddof=0)
    return *rows, np.cov(A[:1]), np.cov(x), np.cov(x, x * x), np.cov(A[0], A[1:])


def spreads(A, x):
    return (
        x.var(ddof=1),
        np.std(x, ddof=2),
        A.var(axis=0, ddof=1),
        A.std(ddof=1),
        A.var(1, ddof=2.0),
    )


def joined(A, x):
    rows = np.concatenate([A, A[:1]]), np.concatenate([A, A[:, :1]], 1), np.stack([A[0], A[1]])
    more = np.hstack([x, 2.0, x[0]]), np.vstack([A, A[0]]), np.column_stack([A[:, 0], A])
    return (
        *rows,
        *more,
        np.concatenate((A, x[None]), axis=None),
        np.atleast_2d(x),
        np.atleast_1d(x[0]),
    )


def given_type(x, s):
    widened = np.add(s, s, dtype=np.float64), np.power(s, 2, dtype=np.float64)
    return *widened, np.ceil(s, dtype=np.float64), np.subtract(x, 1, dtype=np.float32)


def with_numbers(x, s):
    own = np.inner(x, 2.0), np.outer(x, 2.0), np.dot(x, 2.0), np.outer(2.5, x)
    return *own, np.inner(s, 2.0), np.outer(s, 2.0), np.outer(s, s[0]), np.inner(s, s[0])


def moved(T):
    pair = np.moveaxis(T, (0, 1), (2, 0)), np.moveaxis(T, [0, 2], [-1, 0])
    return *pair, np.moveaxis(T, 0, -1), np.moveaxis(T, -1, 0)


def signs(b, w, k, x):
    return np.sign(b), np.sign(w), np.sign(k), np.sign(x)


def quotients(b, w, k, x, s):
    whole = [(v // 2, v % 3, v // 7, v % 16) for v in (b, w, k)]
    k //= 3
    x %= 0.5
    return *whole[0], *whole[1], *whole[2], x // 0.25, x % 2, s // 0.5, s % 1.0, k % 5, s % 4


def slopes(A, x, s):
    of_rows = np.gradient(A, axis=1), np.gradient(A, 0.5, axis=0), *np.gradient(A)
    areas = np.trapezoid(A), np.trapezoid(A, x[:6]), np.trapezoid(A, axis=0, dx=0.5)
    return *of_rows, *areas, np.gradient(s), np.gradient(x, 0.1), np.trapezoid(s)


def longer(A, x, s):
    ends = (
        np.append(x, 1.0),
        np.append(A, x),
        np.append(A, A[:1], axis=0),
        np.append(x, [1.0, x[0]]),
    )
    angles = np.radians(s), np.degrees(x), np.deg2rad(x), np.rad2deg(s)
    other = np.where(x > 0, x, x / 0 * 0)  # NaN
    return *ends, *angles, np.fmax(other, -0.1), np.fmin(0.1, other), np.cumsum(A), A.cumprod()


def truths(x, y):
    some = x > 0
    other = some
    some &= y < 0.2
    some |= y > 0.4
    some ^= x < -0.3
    return other, some, (x > 0) ^ (y > 0), True ^ (x > 0)


AS_NUMPY: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (between, (SINGLE, 6)),
    (covariances, (A, X)),
    (spreads, (A, X)),
    (joined, (A, X[:6])),
    (given_type, (X, SINGLE)),
    (with_numbers, (X, SINGLE)),
    (moved, (T,)),
    (signs, (BYTES, WORDS, WHOLE, X)),
    (quotients, (BYTES, WORDS, WHOLE * 1001, X * 9, SINGLE * 9)),
    (truths, (X, X[::-1].copy())),
    (slopes, (A, X, SINGLE)),
    (longer, (A, X, SINGLE)),
]


@pytest.mark.parametrize(("function", "args"), AS_NUMPY)
def test_types_and_shapes_are_numpys(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    with np.errstate(all="ignore"):
        checked(function, *args)


def of_other_lengths(A):
    return np.concatenate([A, A[:1, :1]], 1)


def of_one_row(A):
    return np.concatenate([A, A[:, :1]], 0)


def stacked(A):
    return np.stack([A[0], A[0, :1]])


def stacked_ranks(A):
    return np.stack([A[0], A[:2]])


def into_whole_numbers(A):
    return np.add(A, A, dtype=np.int32)


def moved_twice(A):
    return np.moveaxis(A, (0, 0), (0, 1))


NUMPY_REFUSES: list[tuple[Callable[..., Any], str]] = [
    (of_other_lengths, r"A.shape\[0\] is 4, and has to be 1"),
    (of_one_row, r"A.shape\[1\] is 6, and has to be 1"),
    (stacked, r"A.shape\[1\] is 6, and has to be 1"),
    (stacked_ranks, "np.stack: the arrays have several ranks"),
    (into_whole_numbers, "np.add: .*[cC]annot cast"),
    (moved_twice, "np.moveaxis: the axes do not fit"),
]


@pytest.mark.parametrize(("function", "words"), NUMPY_REFUSES)
def test_what_numpy_refuses_is_refused(function: Callable[..., Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        function(A.copy())
    with pytest.raises((ValueError, UserError), match=words):
        through(schedsearch.jit(function), [A.copy()], by_meaning)


def all_of_them(x):
    return x.var(ddof=1)


def more_than_all(A):
    return A.std(axis=1, ddof=6)


def covariance_of_one(A):
    return np.cov(A[:, :1])


def like_a_size(n, x):
    return x + np.zeros_like(n)


def of_an_argument(m, x):
    m &= x > 0


def of_a_view(x):
    m = x > 0
    k = m[::-1]
    m &= x < 0.2
    return k


def in_a_loop(x):
    m = x > 0
    for i in range(len(x)):
        m |= x < -i
    return m


def quotients_of_floats(x):
    return x // 0.3


def quotients_by_data(k):
    return k % k


@pytest.mark.parametrize(
    ("function", "args", "words"),
    [
        (of_an_argument, (X > 0, X), "an operation in place on truth values"),
        (of_a_view, (X,), "an operation in place on truth values"),
        (in_a_loop, (X,), "truth values"),
        (quotients_of_floats, (X,), "divide by a power of 2"),
        (quotients_by_data, (WHOLE,), "by positive constants only"),
        (all_of_them, (X[:1],), "ddof: it may be as many as there are elements"),
        (more_than_all, (A,), "A.shape[1] is 6, and A.shape[1] - 7 >= 0 has to hold"),
        (covariance_of_one, (A,), "ddof: "),
        (like_a_size, (5, X), "an array like a size: it is int64"),
    ],
)
def test_refusals_say_what_and_what_next(
    function: Callable[..., Any], args: tuple[Any, ...], words: str
) -> None:
    with pytest.raises((ValueError, UserError)) as error:
        through(schedsearch.jit(function), copies(args), by_meaning)
    assert words in str(error.value)


def cut_off(x):
    return x[:100] + 1, x[-20:], x[2:90] * 2


def cut_off_both(x):
    return x[-20:2] + 1


def of_one_column(T, p):
    h = np.ones((p.shape[0], 4))
    h[:, :3] = p
    q = h @ T.T
    return q[:, :3] / q[:, 3:]


def test_lengths_are_numbers_where_symbols_would_not_do() -> None:
    checked(cut_off, X)
    checked(cut_off_both, X)
    checked(of_one_column, RNG.random((4, 4)), RNG.random((5, 3)))
    jitted = schedsearch.jit(cut_off)
    for n in (200, 7, 3, 150):  # also after a kernel that does not fit
        x = RNG.random(n)
        assert_same(through(jitted, [x.copy()], by_meaning), cut_off(x))


def skips(A, x):
    total = 0.0
    for i in range(A.shape[0]):
        if x[i] < 0:
            continue
        for j in range(A.shape[1]):
            if j == i:
                A[i, j] = 0
                continue
            if A[i, j] > 0.2:
                A[i, j] = 1
                if j > 2:
                    continue
            A[i, j] -= x[i]
        if i % 2 == 1:
            continue
        total += x[i]
    i = 0
    while i < x.shape[0]:
        i += 1
        if i == 2:
            continue
        total += i
    return total


def test_rounds_may_end_early() -> None:
    checked(skips, A, X)


def all_of_a_mask(x, y):
    m = x > 0
    m[:] &= y > 0
    return m * 1.0


def view_of_a_mask(x, y):
    m = x > 0
    k = m[:]
    k |= y > 0
    return m * 1.0


def copies_of_masks(x, y):
    m = x > 0
    k, other, third, fourth = m | False, m & True, np.logical_and(m, True), m.astype(bool)
    k &= y > 0
    other &= y > 0
    third &= y > 0
    fourth &= y > 0
    return m * 1.0, k * 1.0, other * 1.0, third * 1.0, fourth * 1.0


def chosen_before(x, y):
    m = x > 0
    v = x[m]
    m &= y > 0
    return v.sum()


def one_of_a_mask(x, y):
    m = x > 0
    m[3] &= y[3] > 0
    return m * 1.0


def test_masks_that_are_changed_in_place() -> None:
    x, y = np.array([1.0, -1.0, 1.0, 1.0, -1.0]), np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    checked(copies_of_masks, x, y)
    for function in (all_of_a_mask, view_of_a_mask, chosen_before, one_of_a_mask):
        assert "truth values" in refusal(function, x, y)


def turned_axes(A):
    return *np.gradient(A, axis=(1, 0)), *np.gradient(A, 2.0, 0.5, axis=(-1, 0))


def kinds_of_quotients(s, c):
    t = c
    t //= 2
    return s * (c // 2), s * (c % 1.0), s * t


def test_axes_and_kinds() -> None:
    checked(turned_axes, np.random.default_rng(3).random((4, 5)))
    checked(kinds_of_quotients, np.float32(1.5), 2.75)

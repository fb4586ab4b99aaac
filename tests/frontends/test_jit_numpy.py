"""Where NumPy's functions overflow, convert and choose types, kernels do as NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .test_jit import checked, refusal

F32 = np.array([3e38, 88.3, np.inf, -1e-30, -np.inf, np.nan, 1e20, -3e38, 0.0], np.float32)
S = np.array([0.5, -0.3, 0.7, 2.0], np.float32)


def small_parts(x):
    by = x % 0.25, x // 0.25, x % 2.0**-64, x % 0.5, x // 2.0**-64
    return *by, x % 1, np.remainder(x, 4.0), x // 4


@pytest.mark.parametrize("x", [F32, np.array([1e308, -1e308, 0.3, -0.3, np.inf])])
def test_remainders_by_less_than_one_do_not_overflow(x: Any) -> None:
    with np.errstate(all="ignore"):
        checked(small_parts, x)


def large_parts(x):
    return x % 2, x // 2, x % 2.0**64, x // 2.0**64, x % 1, np.remainder(x, 4.0)


TINY = np.array([-1e-45, -2e-45, -3e-40, 1e-45, -1e-30, -0.0, 0.0, 3.0, -3.0, np.nan], np.float32)


@pytest.mark.parametrize("x", [TINY, np.array([-5e-324, 5e-324, -0.0, np.inf, -np.inf, -2.5])])
def test_quotients_that_are_rounded_to_0_lie_below_it(x: Any) -> None:
    with np.errstate(all="ignore"):
        checked(large_parts, x)


def angles(x):
    return np.radians(x), np.degrees(x), np.deg2rad(x), np.rad2deg(x)


def angle_of_a_number(x, c):
    return np.radians(c) * x, np.degrees(x[0]) * c


@pytest.mark.parametrize("kind", ["bool", "u1", "i1", "u2", "i4", "f2", "f4", "f8"])
def test_angles_have_the_types_of_numpy(kind: str) -> None:
    checked(angles, np.array([0, 1, 100, 7, 90], kind))


def test_angles_of_numbers() -> None:
    checked(angle_of_a_number, S, 0.3)


def spaced(s):
    wide = np.linspace(s[0], 0.1, 5, dtype=np.float64), np.linspace(0.1, s[0], 5, dtype=np.float64)
    return *wide, np.linspace(s[0], 0.1, 4), np.linspace(s[0], np.float64(0.1), 3)


def positives(s, k, c):
    wide = np.positive(s, dtype=np.float64), np.positive(k, dtype=np.float64), np.positive(k)
    return *wide, np.positive(c) * s, +c * s, +s, np.positive(c) + 1


def arrays_of_numbers(s, c):
    new = np.array(c), np.asarray(c), np.copy(c), np.asarray(c, np.float64), np.array(c, np.float32)
    return *(each * s for each in new), np.array(c, copy=None) * s, np.array(s[0]) * s


def outer_products(s, c):
    two = np.multiply.outer(s, 2.0), np.multiply.outer(s, 2), np.add.outer(2.0, s)
    return *two, np.subtract.outer(s, c), np.maximum.outer(s, s), np.multiply.outer(s, s[0])


def deviations(s, h, d):
    of_all = s.var(ddof=np.float64(1)), s.std(ddof=np.float64(1)), np.var(s, ddof=d), np.var(s)
    return *of_all, s.reshape(2, 2).var(axis=0, ddof=np.float64(1)), np.std(h, ddof=np.float64(1))


def of_lists(x, c):
    areas = np.trapezoid(x[:3], [0.0, 1.0, 3.0]), np.trapezoid([x[0], 1.0, 2.0], [x[0], 2.0, 3.0])
    like = np.zeros_like([x[0], 1.0]), np.ones_like([x[0], x[1]]), np.full_like(0.5, x[0])
    sums = np.cumsum(c), np.cumsum([x[0], 1.0]), np.cumprod([x[0], c])
    return *areas, *like, *sums, np.diff([x[0], 2.0]), np.swapaxes([x, x], 0, 1), np.zeros_like(c)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (spaced, (S,)),
        (positives, (S, np.array([1, -2, 3, 4], np.int32), 0.1)),
        (arrays_of_numbers, (S, 0.1)),
        (outer_products, (S, 0.1)),
        (deviations, (S, S.astype(np.float64), 1.0)),
        (of_lists, (S, 0.1)),
    ],
)
def test_as_in_numpy(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    checked(function, *args)


def array_of_either(c, k):
    number = c if k[0] > 0 else 1
    return np.array(number) * k


def test_an_array_of_a_number_that_may_be_whole_is_refused() -> None:
    assert "Python's int" in refusal(array_of_either, 0.3, np.array([1, 2], np.int32))


@pytest.mark.parametrize(
    ("function", "args", "words"),
    [
        (lambda n, x: np.cumsum(n) * x, (3, S), "a whole number as an array"),
        (lambda n, x: np.mean(n) * x, (3, S), "a whole number as an array"),
        (lambda n, x: np.var(n) * x, (3, S), "a whole number as an array"),
        (lambda n, x: np.linalg.norm(n) * x, (3, S), "a whole number as an array"),
        (lambda n, x: np.copy(n) * x, (3, S), "a whole number as an array"),
        (lambda n, x: np.positive(n) * x, (3, S), "int64"),
        (lambda x: np.positive(x > 0), (S,), "np.positive"),
        (lambda x: np.positive(x, dtype=np.int32), (S,), "np.positive"),
        (lambda x: np.trapezoid(x[:3], [0, 1, 3]), (S,), "int64"),
        (lambda x: np.gradient(x), (S[:1],), "of length 1"),
        (lambda x: np.gradient(x[:1]), (S,), "of length 1"),
    ],
)
def test_what_is_refused_is_said(
    function: Callable[..., Any], args: tuple[Any, ...], words: str
) -> None:
    assert words in refusal(function, *args, preprocess=False)


def guarded(x):
    for i in range(len(x)):
        if x[i] > 0:
            x[i] += 1
            if i > 3:
                continue
        if x[i] > 1:
            x[i] += 2
            if i > 2:
                continue
        if i < 5:
            if i > 1:
                continue
            x[i] *= 2
        x[i] -= 0.5


def guarded_often(x):
    for i in range(len(x)):
        if x[i] > 0:
            x[i] += 1
            if i > 1:
                continue
        if x[i] > 1:
            x[i] += 1
            if i > 2:
                continue
        if x[i] > 2:
            x[i] += 1
            if i > 3:
                continue
        if x[i] > 3:
            x[i] += 1
            if i > 4:
                continue
        if x[i] > 4:
            x[i] += 1
            if i > 5:
                continue
        if x[i] > 5:
            x[i] += 1
            if i > 6:
                continue
        if x[i] > 6:
            x[i] += 1
            if i > 7:
                continue
        x[i] -= 0.5


def simply_guarded(x):
    """What follows is written once."""
    for i in range(len(x)):
        if i == 1:
            continue
        if i == 2:
            continue
        if i == 3:
            x[i] += 1
            continue
        if i == 4:
            if x[0] > 1:
                x[i] = 3
            continue
        if i == 5:
            continue
        if i == 6:
            continue
        if i == 7:
            continue
        x[i] += 2


def first_apart(x):
    for i in range(len(x)):
        if i == 0:
            x[i] += 1
        else:
            x[i] += x[i - 1]


def but_the_first(x):
    for i in range(len(x)):
        if i == 0:
            continue
        x[i] += x[i - 1]


def but_the_last(x):
    for i in range(len(x)):
        if i != len(x) - 1:
            x[i] += x[i + 1]


@pytest.mark.parametrize(
    "function", [guarded, simply_guarded, first_apart, but_the_first, but_the_last]
)
def test_rounds_that_end_early(function: Callable[..., Any]) -> None:
    checked(function, np.arange(-3.0, 6.0))


def test_many_branches_in_branches_that_end_a_round_are_refused() -> None:
    found = refusal(guarded_often, np.arange(-3.0, 6.0))
    assert "continue in a branch of a branch: there are more than 6" in found

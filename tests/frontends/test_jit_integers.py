"""Whole numbers in kernels are NumPy's: they wrap, or are refused, however they are compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import schedsearch
from frontends.test_jit import assert_same, checked, copies
from schedsearch.core.build import NO_WRAP, WRAP, compile_flags
from schedsearch.core.errors import UserError

LARGE = np.resize(np.array([2**31 - 1, 2**31 - 2, -(2**31), 5, 0, -7], np.int32), 40)
SHORT = np.resize(np.array([65535, 65534, 50000, 3], np.uint16), 40)
BYTES = np.resize(np.array([-128, 127, 100, 3, -1], np.int8), 40)


def overflowing(x, y, u, b):
    """What compilers take to be otherwise, where `int` may not overflow."""
    grows = np.where(x + 1 > x, x, 0)
    more = np.where(x + y > x, y, 0)
    twice = np.zeros_like(x)
    for i in range(len(x)):
        if x[i] * 2 > x[i]:
            twice[i] = x[i] * 2
    negative = np.where(np.abs(x) < 0, x, 0)
    squares = np.where(u * u > 5, u, 0)
    byte = np.where(np.abs(b) < 0, b, 0)
    return grows, more, twice, negative, squares, byte, x * y, u * u, -b, np.abs(b) + b


@pytest.mark.normal
def test_integers_wrap_at_the_level_that_kernels_are_built_with() -> None:
    args = LARGE, LARGE[::-1].copy(), SHORT, BYTES
    with np.errstate(all="ignore"):
        wanted = overflowing(*copies(args))
    assert_same(schedsearch.jit(overflowing)(*copies(args)), wanted)


def test_c_with_integers_as_data_is_compiled_to_wrap() -> None:
    assert WRAP in compile_flags((), "void f(void *ctxt, int_fast32_t n, const int32_t* x)", "gcc")
    assert WRAP in compile_flags((), "uint8_t t;", "gcc")
    assert WRAP not in compile_flags((NO_WRAP,), "uint8_t t;", "gcc")
    assert WRAP not in compile_flags(
        (), "void f(void *ctxt, int_fast32_t n, const float* x)", "gcc"
    )


# -- Python's numbers, which take the type of what they meet ---------------------------------------

X = np.array([0.3, -0.2, 0.7, 0.1], np.float32)
K = np.array([2**31 - 1, 5, -3], np.int32)


def chosen(x):
    s = 0.1
    if x[0] > 0:
        s = x[1]
    return s * 3


def ternary(x, y):
    y[:] = 0.1 if x[0] > 0 else x[1]


def largest(x):
    return max(0.1, x[0]) * np.ones(3)


def last(x):
    s = 0.1
    for i in range(len(x)):
        if i > 1:
            s = x[i]
    return s


def perhaps_no_round(x):
    s = 0.1
    for i in range(1, len(x)):
        s = x[i]
    return s


def of_two_lengths(x, k):
    s = 1 if x[0] > 0 else 2.5
    return s * k


def stacked(x):
    s = 0.1 if x[0] > 0 else x[1]
    return np.array([s, s])


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (chosen, (X,)),
        (ternary, (X, np.zeros(3))),
        (largest, (X,)),
        (last, (X,)),
        (perhaps_no_round, (X,)),
        (of_two_lengths, (X, K)),
        (stacked, (X,)),
    ],
)
def test_what_has_a_type_in_one_case_only_is_refused(function, args) -> None:
    with pytest.raises(UserError, match=r"test_jit_integers\.py:\d+: .*by a condition"):
        schedsearch.jit(function).lowered(*args)


def meeting_their_own(x, y):
    s = 0.1 if x[0] > 0 else x[1]
    y[:] = s * x + s
    m = 0.0
    for i in range(len(x)):
        if x[i] > m:
            m = x[i]
    y[0] = m
    for i in range(len(x)):
        total = 0
        for j in range(i):
            total += x[j]
        y[i] -= total
    t = np.float32(0)
    for i in range(len(x)):
        if x[i] < 0.5:
            t = x[i]
    return t * 3


def of_doubles(x, y):
    s = 0 if x[0] > 0 else x[1]
    m = 0.1
    for i in range(len(x)):
        if x[i] > m:
            m = x[i]
    return s / 3, m**2 + y


def test_what_is_the_same_in_both_cases_is_taken() -> None:
    for x in (X, -X):
        checked(meeting_their_own, x, np.zeros(4, np.float32))
        checked(of_doubles, x.astype(np.float64), np.ones(4))


def counting(x, k):
    count, total = 0, 0
    for i in range(len(x)):
        for _ in range(len(k)):
            if x[i] > 0.2:
                count += 1
        if i > 1:
            count += 2
    for j in range(len(k)):
        total = total + k[j]  # of int32, from the first round on
    return x / count, total


def of_indices(x, n):
    at, total, best = 0, 0, x[0]
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            at = i
        if x[i] > 0:
            total += n - i
    return x * at + total


def test_whole_numbers_count() -> None:
    checked(of_indices, X, 7)
    with np.errstate(all="ignore"):
        checked(counting, X, K)


def into_an_array(x, k):
    count = 0
    for i in range(len(x)):
        if x[i] > 0:
            count += 1_000_000
    k[0] = count


def multiplied(x):
    count = 1
    for i in range(len(x)):
        if x[i] > 0:
            count = count * 3
    return x / count


def as_a_byte(k):
    s = 300 if k[0] > 0 else 2
    return s * k.astype(np.int8)


@pytest.mark.parametrize(
    ("function", "args"), [(into_an_array, (X, K)), (multiplied, (X,)), (as_a_byte, (K,))]
)
def test_whole_numbers_that_may_not_fit_are_refused(function, args) -> None:
    with pytest.raises(UserError, match=r"test_jit_integers\.py:\d+: .*whole number of Python"):
        schedsearch.jit(function).lowered(*args)


def _downwards(A):
    for i in range(len(A) - 1, -1, -2):
        A[i] += i // 3


def _halves(A):
    n = len(A)
    for i in range(n):
        A[i] += (n - 2 * i) // 3
        for j in range(n):
            A[i] += (j - i) // 2


def _modulo(A):
    for i in range(1000):
        A[i % 4] += i


@pytest.mark.normal
@pytest.mark.parametrize("function", [_downwards, _halves, _modulo])
def test_quotients_of_indices_are_data(function: Any) -> None:
    for n in (4, 5, 9):
        found, wanted = np.zeros(n), np.zeros(n)
        schedsearch.jit(function)(found)
        function(wanted)
        assert np.array_equal(found, wanted)


@pytest.mark.normal
def test_a_quotient_under_a_condition_asks_nothing_of_other_calls() -> None:
    @schedsearch.jit
    def guarded(x, y):
        if len(x) > len(y):
            x[0] += (len(x) - len(y)) // 2

    for n, m in ((2, 3), (9, 4)):
        x = np.zeros(n)
        guarded(x, np.zeros(m))
        assert x[0] == max(n - m, 0) // 2


def bits(b, c, w, k):
    found = b & 15, b | c, b ^ c, ~b, ~w, ~k, k & 0x0F0F, k | 1, k ^ -7, w & w[0], 3 & b, k & b
    moved = b << 3, b >> 2, w << 7, w >> 1, k << 31, k >> 30, (k * 77 + 128) >> 8, np.invert(k)
    b ^= c
    k <<= 2
    k >>= 1
    w |= 3
    truths = (b > 3) & (c > 3), (b > 3) & c, np.bitwise_or(b, 1), np.right_shift(k, 3)
    inverted = np.invert(b, dtype=np.int32), np.invert(b, dtype=np.uint16)
    for i in range(len(k)):
        k[i] += (i & 3) + (i >> 1) + (i << 2) + ~i
        k[i] += b[i] & i
    return *found, *moved, *truths, *inverted, b[: len(k) >> 1] + 0, k + 0, w + 0


def test_bits_are_numpys() -> None:
    rng = np.random.default_rng(0)
    given = [
        rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, 40).astype(kind)
        for kind in (np.uint8, np.uint8, np.int8, np.int32)
    ]
    checked(bits, *given)


def by_data(k):
    return k >> k


def too_far(k):
    return k << 32


def backwards(k):
    return k << -1


def of_a_number(k):
    return 1 << k


def of_floats(x):
    return (x * 0.5) & 3


def shifted_floats(x):
    return (x * 0.5) >> 3


def of_an_index(k):
    for i in range(len(k)):
        k[i] = i | 1


def with_a_number(k):
    return (k > 1) & 1


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (by_data, "kernels shift by constants only"),
        (too_far, "by less than the bits"),
        (backwards, "by less than the bits"),
        (of_a_number, "kernels shift by constants only"),
        (of_floats, "bitwise_and"),
        (shifted_floats, "right_shift"),
        (with_a_number, "int64"),
        (of_an_index, "bits of an index or size"),
    ],
)
def test_other_bits_are_refused(function: Any, why: str) -> None:
    with pytest.raises(UserError, match=why):
        schedsearch.jit(function)(np.arange(8, dtype=np.int32))

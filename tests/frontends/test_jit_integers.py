"""Whole numbers in kernels are NumPy's: they wrap, or are refused, however they are compiled."""

from __future__ import annotations

import numpy as np
import pytest

import schedsearch
from frontends.test_jit import assert_same, checked, copies, typed
from schedsearch.core.build import WRAP, compile_flags

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
    assert WRAP in compile_flags((), "void f(void *ctxt, int_fast32_t n, const int32_t* x)")
    assert WRAP in compile_flags((), "uint8_t t;")
    assert WRAP not in compile_flags((), "void f(void *ctxt, int_fast32_t n, const float* x)")

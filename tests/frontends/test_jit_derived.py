"""NumPy's functions that are made of others, truth values, f16, reshaped results: as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import schedsearch

from .test_jit import assert_same, by_meaning, checked, copies, refusal, through

RNG = np.random.default_rng(3)
A = RNG.random((4, 6)).astype(np.float32) - 0.5
B = RNG.random((4, 6)).astype(np.float32) - 0.5
T = RNG.random((3, 4, 5))
X = np.array([0.0, -0.0, 1.5, -1.5, 2.5, np.inf, -np.inf, np.nan, -0.4, 7.0])
INFINITE = np.array([[1.0, np.inf, 2.0], [1.0, 2.0, 3.0]])
COUNTS = np.array([3, -4, 0, 5], np.int32)
CHOSEN = np.array([[True, False, True, True, False, True]] * 4)


def elements(x, a):
    rounded = np.round(x), np.round(x, 1), x.round(-1), np.rint(x), np.trunc(x)
    return *rounded, np.sign(x), np.sign(a), np.round(a), np.log1p(np.abs(x)), np.expm1(x)


def finite(x, a):
    own = a / (np.abs(a) - a[0, 0])
    some = np.nan_to_num(x), np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0)
    more = np.nan_to_num(own), np.nan_to_num(own, nan=1, posinf=2.5), np.nan_to_num(a > 0)
    halves = np.nan_to_num(a.astype(np.float16) / np.float16(0))
    return *some, *more, halves, np.where(np.isfinite(x), x, 0.0), np.where(np.isinf(x), 1.0, 0.0)


def sums_of_exponentials(x, y):
    return np.logaddexp(x, y), np.logaddexp(x, 0.5)


def norms(A, v):
    of_rows = np.linalg.norm(A, axis=1), np.linalg.norm(A, 1, axis=0, keepdims=True)
    return *of_rows, np.linalg.norm(A), np.linalg.norm(v), np.linalg.norm(v, np.inf)


def averages(A, w):
    return np.average(A), np.average(A, axis=0, weights=w), np.average(A, weights=A * A)


def spans(A):
    return np.ptp(A), np.ptp(A, axis=1)


def repeated(A):
    return np.repeat(A, 3, axis=1), A.repeat(2), np.repeat(np.repeat(A, 2, 0), 2, 1) * 2


def tiled(A, v):
    return np.tile(v, 3), np.tile(A, (2, 2)), np.tile(v, (2, 1)), np.tile(A[:1], (4, 1))


def parts(A):
    one, other = np.split(A, 2, axis=1)
    first, *_, last = np.split(A, [1, 3])
    return one * other, first + last


def windows(x, A):
    return (
        np.lib.stride_tricks.sliding_window_view(x, 3).mean(axis=-1),
        np.lib.stride_tricks.sliding_window_view(A, (2, 3)).sum(axis=(2, 3)),
        np.lib.stride_tricks.sliding_window_view(A, (2, 3), axis=(1, 0)),
        np.lib.stride_tricks.sliding_window_view(A, (2, 3), axis=(1, 1)) * 2,
    )


def weighted(A, w):
    """Weights have no infinity, even where the data have one."""
    return np.average(A, axis=1, weights=w), np.average(A > 1, axis=1, weights=w)


def truths(mask, A):
    of_both = [(np.repeat(m, 2, 0), np.tile(m, 2), np.pad(m, 1), np.tril(m)) for m in (mask, A > 0)]
    return *of_both[0], *of_both[1], np.pad(mask, ((1, 0), (0, 2)), constant_values=True)


def products(A, T, v):
    return (
        np.tensordot(T, A[:, :4], axes=([1], [0])),
        np.tensordot(T, v[:5], 1),
        np.inner(A, A + 1),
        np.inner(v, v),
        np.einsum("...i,ij->...j", T[..., :4], A),
        np.einsum("i...,i...", T, T),
        np.einsum("...,...->...", A, v),
    )


def convolved(x, h):
    return np.convolve(x, h), np.convolve(x, h, "valid"), np.correlate(x, h)


def chosen(x, mask):
    some = x * mask, np.where(mask & (x > 0), x, 0), x[mask].sum(), mask.astype(np.float32)
    total = 0.0
    for i in range(x.shape[0]):
        total = total + (x[i, 1] if mask[i, 0] else x[i, 2])
    return *some, total, ~mask, x > 0, mask.any(axis=1), mask.T


def same_array(mask):
    return mask, (mask.reshape(-1),)


def half(x, y, s):
    return (
        x + y,
        x * 0.1 - y / 3,
        np.exp(x) + np.maximum(x, y).max(axis=1, keepdims=True),
        np.where(x > y, x, 1),
        x**2 + x**3,
        np.sqrt(np.abs(x)).astype(np.float32),
        x.astype(np.float32) * s,
        np.cumsum(x, axis=1),
        np.maximum.accumulate(x, axis=0),
    )


def half_in_place(x, y):
    x += y
    x[1:] *= 0.5
    y -= 1


def seen(a):
    diagonal = np.diag(a[:4, :4])
    own = np.clip(a, None, None)
    a[0, 0] = 9.0
    own[1, 1] = 7.0
    return diagonal + 0.0, own, a + 0.0


def dotted(a, b):
    return np.vdot(a, b), np.vdot(a[0], b[0])


def chosen_by_numbers(a):
    return np.where([1.0, 0.0, 1.0, 0.0, 1.0, 0.0], a, 0.0)


def summed_into(a, sums, running):
    np.sum(a, axis=0, out=sums)
    np.add.accumulate(a[:, 0], out=running)
    return sums + 0.0, running + 0.0


def whole_averages(counts, w):
    return np.average(counts, weights=w)


LARGE = np.full((4, 6), 1.0, np.float32) + np.array([[2.0**24], [0], [0], [0]], np.float32)

CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (seen, (A,)),
    (dotted, (A, B)),
    (chosen_by_numbers, (A,)),
    (summed_into, (LARGE, np.zeros(6), np.zeros(4))),
    (whole_averages, (COUNTS.astype(np.uint8), A[0, :4] ** 2 + 1)),
    (elements, (X, COUNTS)),
    (finite, (X, A)),
    (sums_of_exponentials, (X, X[::-1].copy())),
    (norms, (A, A[0].copy())),
    (averages, (A, np.arange(1.0, 5.0).astype(np.float32))),
    (spans, (A,)),
    (repeated, (A,)),
    (tiled, (A, A[0].copy())),
    (parts, (A,)),
    (weighted, (INFINITE, np.array([0.2, 0.3, 0.5]))),
    (truths, (CHOSEN, A)),
    (windows, (T[0, 0].copy(), A)),
    (products, (A, T, A[0].copy())),
    (convolved, (X[2:5].repeat(3), X[1:5].copy())),
    (chosen, (A, CHOSEN)),
]


@pytest.mark.parametrize(("function", "args"), CASES)
def test_as_in_numpy(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    with np.errstate(all="ignore"):
        checked(function, *args)


def clipped_where(a):
    return np.clip(a, 0.0, 0.5, where=a > 0)


def wide_product(a):
    return np.matmul(a, a.T, dtype=np.float64)


def wide_sums(a):
    return np.add.outer(a, a, dtype=np.float64)


def whole_reciprocal(counts):
    return np.reciprocal(counts)


def running_counts(a):
    return np.cumsum(a > 0, axis=1)


@pytest.mark.parametrize(
    ("function", "given", "word"),
    [
        (clipped_where, A, "np.clip with where"),
        (wide_product, A, "np.matmul with dtype"),
        (wide_sums, A, "np.add.outer"),
        (whole_reciprocal, COUNTS, "np.reciprocal"),
        (running_counts, A, "truth values"),
    ],
)
def test_what_has_another_meaning_is_refused(
    function: Callable[..., Any], given: Any, word: str
) -> None:
    assert word in refusal(function, given)


@pytest.mark.parametrize("function", [half, half_in_place])
def test_f16_is_rounded_where_numpy_rounds(function: Callable[..., Any]) -> None:
    more = (np.float32(1.5),) if function is half else ()
    checked(function, A.astype(np.float16), B.astype(np.float16), *more)


def sums_of_halves(x, y):
    return x.sum(axis=0), x.mean(), x @ y.T, np.einsum("ij,kj->ik", x, y)


def test_terms_of_f16_are_summed_in_f32() -> None:
    """As in NumPy's products; its other sums are rounded in between, or not, as axes lie."""
    one, other = (each.astype(np.float16) for each in (A, B))
    found = through(schedsearch.jit(sums_of_halves), [one, other], by_meaning)
    wide = sums_of_halves(one.astype(np.float32), other.astype(np.float32))
    for each, exact in zip(found, wide, strict=True):
        assert each.dtype == np.float16
        np.testing.assert_allclose(each, exact, rtol=2**-11)


def test_an_array_of_truth_values_is_itself() -> None:
    found, (line,) = schedsearch.jit(same_array)(CHOSEN)
    assert found is CHOSEN
    assert np.shares_memory(line, CHOSEN)


def merged_heads(x):
    return (x * 2).transpose(1, 0, 2).reshape(x.shape[1], -1)


def shuffled(x):
    c, h, w = x.shape
    return x.reshape(c // 2, 2, h, w).transpose(0, 2, 1, 3).reshape(c // 2, 2 * h, w)


def flattened(x):
    y = x + 1
    return y, y.reshape(-1), x.reshape(x.shape[0], -1)


@pytest.mark.parametrize("function", [merged_heads, shuffled, flattened])
def test_reshaped_results_are_stored_once(function: Callable[..., Any]) -> None:
    """In the shape that their nest has; NumPy gives it another."""
    x = T[:2].copy()
    checked(function, x)
    text = schedsearch.jit(function).lowered(x).text
    assert "/" not in text.split("@proc")[1]
    assert "%" not in text
    assert "[" in text


@pytest.mark.normal
def test_reshaped_results_are_the_same_memory() -> None:
    x = T.copy()
    y, line, argument = (found := schedsearch.jit(flattened)(x))
    assert_same(list(found), list(flattened(x)))
    assert np.shares_memory(y, line)
    assert np.shares_memory(argument, x)


def several_results(A, x):
    y = np.exp(A) @ x
    shifted = y - y.max()
    grown = y + 1
    A[0] = 0.5
    return shifted, grown, y * 2, np.exp(A) @ x, y


def test_results_share_what_they_need() -> None:
    """A sum that several of them need is computed once; again where its array has changed."""
    x = np.arange(6.0).astype(np.float32)
    checked(several_results, A, x)
    text = schedsearch.jit(several_results).lowered(A, x).text
    assert text.count("* x[") == 2
    assert all(schedsearch.jit(several_results).lowered(A, x).text == text for _ in range(9))
    checked(of_one_product, A, x)
    assert schedsearch.jit(of_one_product).lowered(A, x).text.count("* x[") == 1


def standardised(A):
    z = (A - A.mean(axis=0)) / A.std(axis=0)
    A[1] = 2.0
    return z, A - A.mean(axis=0), np.where(A > 0, A.sum(), 1 / A.sum())


def test_what_is_written_twice_is_computed_once() -> None:
    """Until an array that it is made of is written."""
    checked(standardised, A)
    text = schedsearch.jit(standardised).lowered(A).text
    sums = [line for line in text.splitlines() if "+= A[" in line]
    assert len(sums) == 3


def of_one_product(A, x):
    y = A @ x
    return y + 1, y * y, y - y.min()


def zero_points(x, w):
    left = (x.astype(np.int32) - 128) @ w.astype(np.int32).T
    wide = w.astype(np.int32)
    both = (x.astype(np.int32) - 3) @ (5 + wide).T
    return left, both, np.einsum("ij,kj->ik", x.astype(np.int32), wide - 7)


def test_zero_points_are_taken_out_of_products() -> None:
    """What remains is one product of bytes; also where the sum of a row wraps."""
    x = RNG.integers(0, 256, (3, 9)).astype(np.uint8)
    w = RNG.integers(-128, 128, (4, 9)).astype(np.int8)
    checked(zero_points, x, w)
    lines = schedsearch.jit(zero_points).lowered(x, w).text.splitlines()
    products = [line for line in lines if "+=" in line and "*" in line]
    assert len(products) == 1
    assert not any("- 128" in line or "+ 5" in line or "- 7" in line for line in products)


def not_zero_points(x, w, z):
    """Of another sign, not constant, or summed by one operand alone."""
    wide = x.astype(np.int32)
    return (9 - wide) @ w, (wide - z) @ w, np.einsum("ij,k->k", wide - 2, w[0])


def test_other_sums_stay_as_they_are() -> None:
    x = RNG.integers(0, 256, (3, 9)).astype(np.uint8)
    w = RNG.integers(-99, 99, (9, 2)).astype(np.int32)
    checked(not_zero_points, x, w, w[:, 0].copy())


def annotated(x: "f32[N]", keep: "bool[N]"):  # noqa: F821, UP037
    return np.where(keep, x, 0)


def test_annotated_truth_values() -> None:
    jitted = schedsearch.jit(annotated)
    assert "keep: ui8[N]" in jitted.lowered().text
    with pytest.raises(TypeError, match="argument keep"):
        jitted(A[0].copy(), np.ones(6, np.uint8))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda A: np.repeat(A, A[0, 0], 0), "how often"),
        (lambda A: np.split(A, 4, 1), "not equal"),
        (lambda A: np.linalg.norm(A, 2), "ord=2"),
        (lambda A: np.convolve(A[0], A[1], "same"), "mode 'same'"),
        (lambda A: np.round(A, A[0, 0]), "decimals"),
        (lambda A: np.sign(A, dtype=np.float64), "dtype"),
        (lambda A: np.count_nonzero(A > 0, axis=1), "dtype=np.int32"),
        (lambda A: A.argmax(axis=1), "np.argmax: its results are int64"),
    ],
)
def test_what_is_not_known_is_said(function: Callable[..., Any], words: str) -> None:
    assert words in refusal(function, *copies((A,)), preprocess=False)

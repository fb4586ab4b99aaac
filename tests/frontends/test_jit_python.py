"""What Python asks of a kernel's arguments is answered as in Python, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import schedsearch
from frontends.test_jit import checked, refusal, row
from schedsearch.core.errors import UserError


def test_types_are_those_of_python() -> None:
    def asked(A, s, n):
        if isinstance(A, np.ndarray) and type(A) is np.ndarray and A.__class__ is np.ndarray:
            A = A * 2
        if isinstance(s, float) and not isinstance(s, int):
            A = A * 3
        if isinstance(n, int) and type(n) is int and not hasattr(n, "shape"):
            A = A * 5
        return A

    for n in (1, 2):
        checked(asked, row(), 0.5, n)
    checked(asked, row(), 1, 2)


def of_element(A):
    return A * 2 if isinstance(A[0], np.floating) else A


def as_key(A, n):
    return A * {5: 1.0, 50: 2.0}.get(n, 3.0)


def in_set(A, n):
    return A * 2 if n in {5, 50} else A


def as_text(A, n):
    return A * len(str(n))


def formatted(A, n):
    return A * len(f"{n}")


def in_list(A, n):
    return A * len(repr([n]))


def scaled(A, s: float):
    return A * s


REFUSED: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
    (of_element, (row(),), "not certain"),
    (as_key, (row(), 5), "a key"),
    (in_set, (row(), 5), "a key"),
    (as_text, (row(), 5), "a text"),
    (formatted, (row(), 5), "a text"),
    (in_list, (row(), 5), "a text"),
    (scaled, (np.ma.array([1.0]), 1.0), "argument A: MaskedArray"),
    (scaled, (np.matrix([1.0]), 1.0), "argument A: matrix"),
]


@pytest.mark.parametrize(("function", "args", "word"), REFUSED)
def test_what_is_refused(function: Callable[..., Any], args: tuple[Any, ...], word: str) -> None:
    assert word in refusal(function, *args)


def test_arguments_are_what_annotations_say() -> None:
    with pytest.raises(TypeError, match="argument s"):
        schedsearch.jit(scaled)(row(), np.complex128(1j))


def test_methods_are_refused() -> None:
    class Owner:
        @schedsearch.jit
        def method(self, A):
            return A

    with pytest.raises(UserError, match="as a method"):
        Owner().method(row())

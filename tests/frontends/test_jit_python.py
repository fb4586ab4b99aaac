"""What Python asks of a kernel's arguments is answered as in Python, or refused."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schedsearch
from frontends.test_jit import by_meaning, checked, refusal, row, through
from schedsearch.core.errors import UserError
from schedsearch.frontends.jit.rewrite import tree_of


def test_types_are_those_of_python() -> None:
    def asked(A, s, n):
        if isinstance(A, np.ndarray) and type(A) is np.ndarray and A.__class__ is np.ndarray:
            A = A * 2
        if isinstance(s, float) and not isinstance(s, int):
            A = A * 3
        if callable(A) or hasattr(n, "__name__"):
            A = A * 7
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
    (scaled, (row()[None].view(np.matrix), 1.0), "argument A: matrix"),
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


LIMIT = 2.0
STORE: dict[str, Any] = {}
SEEN: list[Any] = []
FEW = np.array([1.0, 2.0])
MANY = np.zeros(2000)
Pair = namedtuple("Pair", "a b")


class Factor:
    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, x: Any) -> Any:
        return x * self.by


def test_constants_from_around_are_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = 3.0
    factor = Factor(4.0)

    def helper(x):
        return x + LIMIT * cell

    def reading(A, f):
        return f(helper(A) * FEW)

    jitted = schedsearch.jit(reading)

    def same() -> None:
        A = row(2)
        np.testing.assert_allclose(through(jitted, [A, factor], by_meaning), reading(A, factor))

    same()
    monkeypatch.setitem(globals(), "LIMIT", 5.0)
    same()
    cell = 7.0
    same()
    factor.by = 9.0
    same()
    monkeypatch.setitem(globals(), "FEW", np.array([3.0, 4.0]))
    same()
    FEW[0] = 11.0
    same()
    known = [*jitted._known.values()]
    same()
    assert [*jitted._known.values()] == known


def kept(A):
    STORE["x"] = A * 2
    return A


def appended(A):
    SEEN.append(1)
    return A


def of_many(A):
    return A * MANY.sum()


def as_dict(A):
    return {"x": A * 2}


def as_pair(A):
    return Pair(A * 2, A * 3)


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (kept, "a change of STORE"),
        (appended, "a change of SEEN"),
        (of_many, "MANY, of 2000 elements"),
        (as_dict, "a result of type dict"),
        (as_pair, "a result of type Pair"),
    ],
)
def test_stand_ins_stay_inside(function: Callable[..., Any], word: str) -> None:
    assert word in refusal(function, row())
    assert not STORE
    assert not SEEN


def test_a_file_that_changed_after_its_import_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    text = 'if True:\n    def f(A):\n        """Two\n\n        lines."""\n'
    text += "        return [a * 2 for a in A[:2]]\n"
    path.write_text(text)
    space: dict[str, Any] = {"__name__": "edited"}
    exec(compile(text, str(path), "exec", dont_inherit=True), space)
    schedsearch.jit(space["f"]).lowered(row())
    path.write_text(text.replace("* 2", "* 3"))
    tree_of.cache_clear()
    assert "is not that of the function that is loaded" in refusal(space["f"], row())


def times(A, n):
    return A * n


def products(A, n, m):
    return A * (n * m)


def chosen(A, n):
    k = n if A[0] > 0 else 2
    return A * k


def after(A, n):
    return A[n:] + 1


@pytest.mark.parametrize(
    ("function", "args", "words"),
    [
        (times, (np.ones(4, np.int8), 300), ("n is 300", "-n + 127 >= 0")),
        (times, (np.ones(4, np.int32), 2**31), ("n is 2147483648",)),
        (products, (np.ones(4, np.int8), 50, 7), ("350", "int8")),
        (chosen, (np.ones(4, np.int8), 300), ("int8", "outside")),
        (after, (row(9), 12), ("n is 12", "A.shape[0] - n")),
    ],
)
def test_sizes_that_do_not_fit_are_named(
    function: Callable[..., Any], args: tuple[Any, ...], words: tuple[str, ...]
) -> None:
    with pytest.raises((ValueError, UserError)) as caught:
        through(schedsearch.jit(function), [*args], by_meaning)
    text = str(caught.value)
    assert text.startswith(__file__)
    assert all(word in text for word in words)


def test_sizes_that_fit_are_elements() -> None:
    checked(times, np.ones(4, np.int8), 100)
    checked(products, np.ones(4, np.int32), 5, 7)


def test_arrays_of_whole_floats() -> None:
    def made(A):
        few = np.array([1, 2], dtype="f4")
        return np.arange(30.0), np.arange(1, 9.0, 2) * 2, few * np.float32(2), A

    checked(made, row())


def test_helpers_that_are_not_rewritten_are_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def helper(x):
        return x * LIMIT

    def calling(A):
        return helper(A) + 1

    jitted = schedsearch.jit(calling, preprocess=False)
    for limit in (2.0, 3.0):
        monkeypatch.setitem(globals(), "LIMIT", limit)
        A = row(2)
        np.testing.assert_allclose(through(jitted, [A], by_meaning), calling(A))

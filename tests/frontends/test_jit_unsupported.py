"""Python that kernels do not have is refused with its line, or does what it does in Python."""

from __future__ import annotations

import collections
import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import schedsearch
from frontends.test_jit import checked
from schedsearch.core.errors import UserError

X = np.arange(1.0, 7.0)


class Shop:
    scale = 2.0

    def method(self, x):
        return x * self.scale

    @classmethod
    def of_class(cls, x):
        return x * cls.scale


SHOP = Shop()


def doubled(function):
    @functools.wraps(function)
    def called(*args):
        return function(*args) * 2

    return called


def generator_of_elements(x):
    return sum(v * 2 for v in x)


def yields(x):
    yield x[0]


def tries(x):
    try:
        return x * 2
    except ValueError:
        return x


async def coroutine(x):
    return x


def walrus(x):
    if (s := x.sum()) > 3:
        x[:] = s


def changes_a_global(x):
    global X
    X = x


def changes_a_variable_around(x):
    c = 0.0

    def more():
        nonlocal c
        c += 1.0

    more()
    return x + c


def any_arguments(*args):
    return args[0]


def recursive(x):
    return x if x[0] > 5 else recursive(x + 1)


def class_within(x):
    class Inner:
        scale = 2.0

    return x * Inner.scale


def as_text(x):
    return x * len(f"{x[0]}")


def set_of_elements(x):
    return x * len({x[0], x[1]})


def dict_in_a_loop(x):
    d = {"s": 0.0}
    for i in range(len(x)):
        d["s"] = d["s"] + x[i]
    return d["s"]


def deque_in_a_loop(x):
    d = collections.deque()
    for _ in range(len(x)):
        d.append(1)
    return x * len(d)


def iterator_in_a_variable(x):
    count = itertools.count()
    for i in range(len(x)):
        for k in count:
            x[i] += k
            break


def generator_in_a_variable(x):
    g = (k for k in (1.0, 2.0))
    for i in range(len(x)):
        for k in g:
            x[i] += k


def none_by_a_branch(x):
    y = None
    if x[0] > 2:
        y = 1.0
    if y is None:
        x[:] = 0


def not_none_by_a_branch(x):
    y = None
    if x[0] > 2:
        y = x * 2
    if y is not None:
        x[:] = 0


def undefined_in_a_comparison(x):
    for i in range(len(x)):
        if i > 2:
            z = 3
    if z == 3:
        x[:] = 0


def undefined_as_a_result(x):
    for i in range(len(x)):
        if i > 2:
            z = x[i]
    return z


def is_of_arrays(x):
    y = x
    for _ in range(len(x)):
        y = x
    return x * 2 if y is x[:] else x


def rounded(x):
    return round(x[0])


def infinite(x):
    return np.where(x > 3, np.inf, x)


UNSUPPORTED: list[tuple[Callable[..., Any], str]] = [
    (generator_of_elements, "iteration over an array"),
    (yields, "yield"),
    (tries, "try"),
    (coroutine, "coroutine"),
    (walrus, ":="),
    (changes_a_global, "global"),
    (changes_a_variable_around, "nonlocal"),
    (any_arguments, r"any_arguments\(\*args\)"),
    (doubled(generator_of_elements), "a decorator has wrapped it"),
    (SHOP.method, "Shop.method, a method"),
    (Shop.of_class, "Shop.of_class, a method"),
    (recursive, "it calls itself without end"),
    (class_within, "class"),
    (as_text, "as a text"),
    (set_of_elements, "a key of a dict or set"),
    (dict_in_a_loop, "elements of a dict in a loop"),
    (deque_in_a_loop, ".append of a deque in a loop"),
    (iterator_in_a_variable, "an iterator in a variable"),
    (generator_in_a_variable, "an iterator in a variable"),
    (none_by_a_branch, "y: it has no value here"),
    (not_none_by_a_branch, "y: it has no value here"),
    (undefined_in_a_comparison, "z: it has no value here"),
    (undefined_as_a_result, "z: it has no value here"),
    (is_of_arrays, "`is` of arrays or numbers"),
    (rounded, r"round\(\)"),
    (infinite, "the constant inf"),
]


@pytest.mark.parametrize(("function", "words"), UNSUPPORTED)
def test_what_is_unsupported_is_refused_at_its_line(
    function: Callable[..., Any], words: str
) -> None:
    with pytest.raises(UserError, match=rf"test_jit_unsupported\.py:\d+: .*{words}.*; ") as error:
        schedsearch.jit(function).lowered(X.copy())
    line = int(str(error.value).split(".py:")[1].split(":")[0])
    own = getattr(function, "__func__", function).__code__
    text, first = inspect.getsourcelines(own)
    assert first <= line < first + len(text)


def of_surroundings(x):
    pairs = [lambda v, k=k: v * k for k in (1.0, 2.0)]
    last = [lambda v: v * k for k in (1.0, 2.0)]  # noqa: B023
    first, *rest = x[0], x[1], x[2]
    y = None
    if y is None and x is not None:
        y = x * SHOP.scale + SHOP.method(x)
    for k in {1.0, 2.0}:
        y = y + k
    for _, v in {"a": 1.0, "b": 2.0}.items():
        y = y * v
    total = sum(k for k in range(4)) + sum(map(float, (1, 2)))
    return y + pairs[1](x) + last[0](x) * total + first + rest[1]


def test_what_python_decides_while_it_is_traced() -> None:
    checked(of_surroundings, X)

"""Variables of rewritten functions: what they hold before and after loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from schedsearch.frontends import types
from schedsearch.frontends.jit.proxies import Data, Index, Mask, Undefined
from schedsearch.frontends.lowered import Refusal

Thunk = Callable[[], Any]


def value_of(thunk: Thunk, name: str) -> Any:
    try:
        return thunk()
    except NameError:
        return Undefined(name)


def is_whole(value: Any) -> bool:
    return isinstance(value, Index) or (isinstance(value, int) and not isinstance(value, bool))


def unchanged(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is Index and type(b) is Index:
        return bool(a.value == b.value)
    if isinstance(a, Data) and isinstance(b, Data):
        same = type(a) is type(b) and (a.weak, a.may) == (b.weak, b.may)
        return same and a.buffer is b.buffer and a.same_place(b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(unchanged, a, b))
    simple = (int, float, str, bool, type(None))
    return isinstance(a, simple) and type(a) is type(b) and bool(a == b)


def joined_kind(name: str, values: Sequence[Any]) -> tuple[str, type | None]:
    """The type of a variable that has either of several values."""
    strong: set[str] = set()
    weak: type = int
    for each in values:
        if isinstance(each, Undefined):
            continue
        if isinstance(each, Mask) or not isinstance(each, Data | Index | int | float | np.generic):
            kind = "truth values" if isinstance(each, Mask | bool) else type(each).__name__
            raise Refusal(
                name,
                f"it changes in a loop or branch, and is {kind} there",
                "use arrays and numbers only",
            )
        if isinstance(each, bool):
            raise Refusal(name, "it changes in a loop or branch, and is a bool", "use 1.0 and 0.0")
        if isinstance(each, np.generic):
            strong.add(types.named(each.dtype, name))
        elif isinstance(each, Data) and not each.weak:
            strong.add(each.type)
        elif isinstance(each, float) or (isinstance(each, Data) and each.weak is float):
            weak = float
    if len(strong) > 1:
        raise Refusal(
            name,
            f"it changes its type in a loop or branch: {' and '.join(sorted(strong))}",
            "convert it with astype",
        )
    if strong and weak is float and not strong & {"f32", "f64"}:
        raise Refusal(
            name, "it changes from whole numbers to others in a loop or branch", "use floats"
        )
    return (strong.pop(), None) if strong else ("f64", weak)


def python_kinds(values: Sequence[Any]) -> frozenset[type]:
    """Those of Python's numbers, int and float, that values may be."""
    found: set[type] = set()
    for each in values:
        if isinstance(each, Data):
            found |= each.may | ({each.weak} if each.weak else set())
        elif isinstance(each, Index | int | float) and not isinstance(each, np.generic):
            found.add(float if isinstance(each, float) else int)
    return frozenset(found)


def leaves(value: Any) -> Iterator[Data]:
    """The arrays among values."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, Data):
        yield value

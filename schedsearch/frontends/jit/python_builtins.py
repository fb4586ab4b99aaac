"""Python's own functions, of stand-ins: `range`, `len`, `max`, `enumerate`, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.frontends.jit import operations
from schedsearch.frontends.jit.building import Builder
from schedsearch.frontends.jit.iteration import UNROLLED, Items, Range, items_of
from schedsearch.frontends.jit.proxies import Data, Index, as_place, wanted_place
from schedsearch.frontends.lowered import Refusal


def range_(builder: Builder, *bounds: Any) -> Any:
    places = [wanted_place(builder, each, "a bound of range") for each in bounds]
    places = [builder.sizes.resolved(each) for each in places]
    if len(places) == 1:
        places.insert(0, q.Affine())
    if len(places) == 2:
        places.append(q.Affine(1))
    lo, hi, step = places
    if not step.is_const or step.const == 0:
        raise Refusal("range", "its step is no constant, or 0", "give it as a constant")
    if lo.is_const and hi.is_const:
        found = range(lo.const, hi.const, step.const)
        if len(found) <= UNROLLED:
            return found
    return Range(lo, hi, step.const)


def len_(builder: Builder, value: Any) -> Any:
    if isinstance(value, Data):
        if not value.ndim:
            raise Refusal("len", "a scalar has no length", "index it less")
        return value.shape[0]
    return len(value)


def max_(builder: Builder, *values: Any, **kwargs: Any) -> Any:
    return _chosen(builder, max, ">", values, kwargs)


def min_(builder: Builder, *values: Any, **kwargs: Any) -> Any:
    return _chosen(builder, min, "<", values, kwargs)


def _chosen(builder: Builder, function: Any, op: str, values: Any, kwargs: Any) -> Any:
    """Python's: the first one, unless another is greater."""
    if len(values) == 1:
        values = tuple(values[0])
    if not any(isinstance(each, Data | Index) for each in values):
        return function(*values, **kwargs)
    if kwargs:
        raise Refusal(f"{function.__name__} with {[*kwargs]}", "it is unknown", "leave it out")
    result = values[0]
    for each in values[1:]:
        if any(isinstance(v, Data) and v.ndim for v in (result, each)):
            raise Refusal(
                f"{function.__name__} of arrays",
                "Python compares whole arrays",
                f"use np.{function.__name__}imum",
            )
        if isinstance(result, Data) or isinstance(each, Data):
            better = operations.compare(builder, op, each, result)
        else:
            better = each > result if op == ">" else each < result
        if isinstance(better, bool):
            result = each if better else result
        else:
            result = operations.select(builder, better, each, result, python=True)
    return result


def abs_(builder: Builder, value: Any) -> Any:
    if isinstance(value, Index):
        if builder.sizes.never_negative(value.value):
            return value
        return operations.elementwise(builder, np.absolute, (value,), python=True)
    return abs(value)


def float_(builder: Builder, value: Any = 0.0) -> Any:
    if isinstance(value, Index) or (isinstance(value, Data) and not value.ndim):
        node = operations.as_node(builder, value, "f64")
        found = Data.of(builder, node)
        found.weak = float
        return found
    return float(value)


def int_(builder: Builder, value: Any = 0, *more: Any) -> Any:
    if isinstance(value, Index):
        return value
    return int(value, *more)


def bool_(builder: Builder, value: Any = False) -> Any:
    return operations.truth(builder, value)


def sum_(builder: Builder, values: Any, start: Any = 0) -> Any:
    if isinstance(values, Data) and not isinstance(values.shape[0], int):
        return operations.reduce(builder, "sum", values, 0, values.dtype) + start
    return sum(values, start)


def enumerate_(builder: Builder, values: Any, start: Any = 0) -> Any:
    items = items_of(values)
    if items is None:
        return enumerate(values, start)
    first = as_place(builder, start)
    if first is None:
        raise Refusal("enumerate", "its start is no whole number", "give an int")
    return Items(items.range, lambda i: (i + start, items.item(i)))


def zip_(builder: Builder, *many: Any, **kwargs: Any) -> Any:
    found = [items_of(each) for each in many]
    if not any(found):
        return zip(*many, **kwargs)  # noqa: B905
    if not all(found):
        raise Refusal("zip", "only some of its arguments are arrays", "loop over indices")
    ranges = [each.range for each in found if each]
    for each in ranges[1:]:
        operations.shared(builder, ranges[0].trip, each.trip, "zip")
    return Items(ranges[0], lambda i: tuple(each.item(i) for each in found if each))


BUILTINS: dict[Any, Callable[..., Any]] = {
    range: range_,
    len: len_,
    max: max_,
    min: min_,
    abs: abs_,
    float: float_,
    int: int_,
    bool: bool_,
    sum: sum_,
    enumerate: enumerate_,
    zip: zip_,
}

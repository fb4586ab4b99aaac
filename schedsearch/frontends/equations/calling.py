"""What a call is given and gives: sizes from shapes, and arrays for results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.suggest import did_you_mean
from schedsearch.frontends.equations.build import Equations
from schedsearch.frontends.types import DTYPES
from schedsearch.frontends.views import show

Known = dict[q.Var, int]


def named(of: Equations, arrays: Sequence[Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs, by position and by name; those of files are read. Raises TypeError."""
    free = [name for name in of.inputs if name not in of.sources and name not in more]
    if len(arrays) > len(free):
        raise TypeError(
            f"{of.name}: wanted {len(free)} arrays by position ({', '.join(free)}); "
            f"got {len(arrays)}"
        )
    found = dict(more) | dict(zip(free, arrays, strict=False))
    for name, path in of.sources.items():
        if name not in found:
            found[name] = np.load(path, allow_pickle=False)
    for name in found:
        if name not in of.inputs:
            raise TypeError(
                f"{of.name}: wanted names among {', '.join(of.inputs)}; got {name!r}"
                f"{did_you_mean(name, of.inputs)}"
            )
    if missing := [name for name in of.inputs if name not in found]:
        raise TypeError(f"{of.name}, argument {missing[0]}: wanted an array; got nothing")
    return {name: _array(of, name, found[name]) for name in of.inputs}


def _array(of: Equations, name: str, given: Any) -> Any:
    """As NumPy sees it: of the right type and rank, in C order. What is written is not copied."""
    dtype, rank = DTYPES[of.kinds[name]], len(of.shapes[name])
    if isinstance(given, int | float) and not rank:
        given = np.asarray(given, dtype)
    array = np.asarray(given)
    if array.dtype != dtype or array.ndim != rank:
        raise TypeError(
            f"{of.name}, argument {name}: wanted a {dtype} array with {rank} axes; "
            f"got {array.dtype} with {array.ndim}"
        )
    if name not in of.outputs:
        if array.flags.c_contiguous:
            return array
        return np.require(array, requirements=("C", "A"))
    if array is not given or not array.flags.c_contiguous or not array.flags.writeable:
        raise ValueError(
            f"{of.name}, argument {name}: wanted a NumPy array in C order that can be written, "
            "as equations change it"
        )
    return array


def sizes(of: Equations, arrays: Mapping[str, Any]) -> Known:
    """The sizes that shapes tell. Raises ValueError if they contradict each other."""
    known: Known = {}
    todo = [(name, axis, n) for name in of.inputs for axis, n in enumerate(of.shapes[name])]
    while todo:
        left = [each for each in todo if not _solved(of, arrays, *each, known)]
        if len(left) == len(todo):
            raise ValueError(f"{of.name}: {show(left[0][2])} is not told by any shape; declare it")
        todo = left
    for var, room in of.fits:
        rest = evaluated(room + q.as_affine(var).scaled(-room.coefficient(var)), known)
        known[var] = rest // -room.coefficient(var)
    for var in of.sizes:
        if var not in known:
            raise ValueError(f"{of.name}: no shape tells {var.name}; declare it as a number")
        if known[var] < 1:
            raise ValueError(f"{of.name}: wanted {var.name} >= 1; got {known[var]}")
    return known


def _solved(
    of: Equations, arrays: Mapping[str, Any], name: str, axis: int, n: q.Affine, known: Known
) -> bool:
    """Whether the length of an axis is one of known sizes by now."""
    actual = arrays[name].shape[axis]
    unknown = [atom for atom, _ in n.terms if atom not in known]
    if len(unknown) > 1 or any(not isinstance(atom, q.Var) for atom, _ in n.terms):
        return False
    if unknown:
        [var] = unknown
        assert isinstance(var, q.Var)
        factor = n.coefficient(var)
        rest = actual - evaluated(n - q.as_affine(var).scaled(factor), known)
        known[var] = rest // factor
    if evaluated(n, known) != actual:
        bound = ", ".join(f"{var.name}={value}" for var, value in known.items())
        shape = ", ".join(map(show, of.shapes[name]))
        raise ValueError(
            f"{of.name}, argument {name}: wanted shape ({shape}) with {bound or 'no sizes'}; "
            f"got shape {arrays[name].shape}"
        )
    return True


def evaluated(value: q.Affine, known: Known) -> int:
    return q.evaluate_affine(value, lambda atom: known[atom])  # type: ignore[index]


def results(of: Equations, known: Known) -> dict[str, tuple[list[int], Any]]:
    """Shapes and types of results that are not given."""
    return {
        name: ([_length(of, name, n, known) for n in of.shapes[name]], DTYPES[of.kinds[name]])
        for name in of.outputs
        if name not in of.inputs
    }


def _length(of: Equations, name: str, n: q.Affine, known: Known) -> int:
    length = evaluated(n, known)
    if length < 1:
        raise ValueError(f"{of.name}: {name} would have the length {show(n)} = {length}")
    return length

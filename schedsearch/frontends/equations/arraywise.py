"""Equations computed by NumPy: each access is a view with strides of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from schedsearch.core import ast as q
from schedsearch.frontends.equations import syntax as s
from schedsearch.frontends.equations.build import Equations, affine
from schedsearch.frontends.equations.calling import Known, evaluated
from schedsearch.frontends.equations.extents import Index
from schedsearch.frontends.equations.meant import Meant, Term, length, on_places
from schedsearch.frontends.types import DTYPES

_UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
_OPERATORS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_COMPARED = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh")},
    **{"abs": np.abs, "floor": np.floor, "pow": np.power, "atan2": np.arctan2},
    **{"min": np.minimum, "max": np.maximum, "sigmoid": _sigmoid},
    "relu": lambda x: np.where(x > 0, x, x.dtype.type(0)),
}


def has_all(of: Equations) -> bool:
    """Whether NumPy has all functions: it has no erf."""
    calls = (
        each.function
        for meant in of.meant
        for each in s.walk(meant.equation.value)
        if isinstance(each, s.Call)
    )
    return all(name in _FUNCTIONS for name in calls)


def elements(of: Equations, known: Known) -> int:
    """The most elements that an array on the way has, at most."""
    found = 0
    for meant in of.meant:
        for term in meant.terms:
            if _factors(meant, term) is None:
                space = (*meant.kept, *term.gone)
                lengths = (evaluated(length(index), known) for index in space)
                found = max(found, reduce(lambda a, b: a * b, lengths, 1))
    return found


def run(of: Equations, arrays: Mapping[str, Any], known: Known) -> None:
    """All equations; results are written into their arrays."""
    held = dict(arrays)
    for name in of.temporaries:
        held[name] = np.empty(
            [evaluated(n, known) for n in of.shapes[name]], DTYPES[of.kinds[name]]
        )
    for meant in of.meant:
        _Run(of, meant, held, known).store()


class _Run:
    """One equation at some sizes."""

    def __init__(
        self, of: Equations, meant: Meant, arrays: Mapping[str, Any], known: Known
    ) -> None:
        self.of, self.meant, self.arrays, self.known = of, meant, arrays, known
        self.dtype = DTYPES[meant.kind]

    def store(self) -> None:
        meant = self.meant
        value = reduce(np.add, map(self.term, meant.terms))
        target = self.view(self.arrays[meant.target.name], meant.target.index, meant.kept)
        if meant.equation.add:
            value = target + value
        target[...] = value

    def view(self, array: Any, index: Sequence[q.Affine], space: Sequence[Index]) -> Any:
        """`array[index]` over all places of some indices."""
        first = [self._first(each) for each in index]
        for each, n, length_ in zip(index, first, array.shape, strict=True):
            steps = [
                each.coefficient(i.var) * (evaluated(length(i), self.known) - 1) for i in space
            ]
            low = n + sum(step for step in steps if step < 0)
            if low < 0 or n + sum(step for step in steps if step > 0) >= length_:
                raise ValueError(
                    f"{self.of.name}: an index of line {self.meant.equation.place.line} is outside "
                    f"of an array of shape {array.shape}"
                )
        strides = [
            sum(each.coefficient(i.var) * n for each, n in zip(index, array.strides, strict=True))
            for i in space
        ]
        shape = [evaluated(length(i), self.known) for i in space]
        corner = array[(*(slice(n, None) for n in first), ...)]
        return as_strided(corner, shape, strides)

    def _first(self, place: q.Affine) -> int:
        total = place.const
        for atom, factor in place.terms:
            own = [i for i in self.meant.indices.values() if i.var == atom]
            at = evaluated(own[0].lo, self.known) if own else self.known[atom]  # type: ignore[index]
            total += factor * at
        return total

    def term(self, term: Term) -> Any:
        factors = _factors(self.meant, term)
        if factors is not None:
            return self._product(term, factors)
        space = (*self.meant.kept, *term.gone)
        with np.errstate(all="ignore"):
            value = np.broadcast_to(
                self.value(term.value, space), [evaluated(length(i), self.known) for i in space]
            )
        if not term.gone:
            return value
        axes = tuple(range(len(self.meant.kept), len(space)))
        return _UFUNCS[self.meant.equation.project].reduce(value, axis=axes, dtype=self.dtype)

    def _product(self, term: Term, factors: Sequence[s.Expr]) -> Any:
        space = (*self.meant.kept, *term.gone)
        operands: list[Any] = []
        for each in factors:
            index = self._index(each) if isinstance(each, s.Access) else ()
            used = [i for i in space if any(place.coefficient(i.var) for place in index)]
            operands.append(self.value(each, used))
            operands.append([space.index(i) for i in used])
        used_all = {axis for axes in operands[1::2] for axis in axes}
        kept = [axis for axis in range(len(self.meant.kept)) if axis in used_all]
        value = np.einsum(*operands, kept, optimize=True)
        shape = [
            evaluated(length(i), self.known) if axis in used_all else 1
            for axis, i in enumerate(self.meant.kept)
        ]
        return value.reshape(shape)

    def _index(self, access: s.Access) -> tuple[q.Affine, ...]:
        return tuple(affine(each, self._named, self.of.text) for each in access.index)

    def _named(self, access: s.Access) -> q.Affine:
        if access.name in self.meant.indices:
            return q.as_affine(self.meant.indices[access.name].var)
        return q.as_affine(next(var for var in self.of.sizes if var.name == access.name))

    def value(self, expr: s.Expr, space: Sequence[Index]) -> Any:
        match expr:
            case s.Number():
                return np.asarray(expr.value, self.dtype)
            case s.Access() if expr.name in self.arrays:
                found = self.view(self.arrays[expr.name], self._index(expr), space)
                return found.astype(self.dtype, copy=False)
            case s.Access():
                return np.asarray(evaluated(self._named(expr), self.known), self.dtype)
            case s.Negative():
                return np.negative(self.value(expr.arg, space))
            case s.Binary():
                lhs, rhs = self.value(expr.lhs, space), self.value(expr.rhs, space)
                return _OPERATORS[expr.op](lhs, rhs)
            case s.Call():
                return _FUNCTIONS[expr.function](*(self.value(each, space) for each in expr.args))
            case s.Where():
                then, other = self.value(expr.then, space), self.value(expr.other, space)
                return np.where(self._condition(expr, space), then, other)

    def _condition(self, expr: s.Where, space: Sequence[Index]) -> Any:
        if on_places(expr, self.meant.indices):
            sides = [self._places(side, space) for side in (expr.lhs, expr.rhs)]
        else:
            sides = [self.value(side, space) for side in (expr.lhs, expr.rhs)]
        return _COMPARED[expr.op](*sides)

    def _places(self, expr: s.Expr, space: Sequence[Index]) -> Any:
        """An expression of indices, as numbers."""
        place = affine(expr, self._named, self.of.text)
        shape = [evaluated(length(i), self.known) for i in space]
        total = np.full(shape, self._first(place))
        for axis, (i, n) in enumerate(zip(space, shape, strict=True)):
            along = [-1 if other == axis else 1 for other in range(len(space))]
            total = total + (np.arange(n) * place.coefficient(i.var)).reshape(along)
        return total


def _factors(meant: Meant, term: Term) -> list[s.Expr] | None:
    """What a sum of products multiplies: arrays and numbers alone, for NumPy's einsum."""
    if not term.gone or meant.equation.project != "sum":
        return None
    found: list[s.Expr] = []
    todo = [term.value]
    while todo:
        match todo.pop():
            case s.Binary() as each if each.op == "*":
                todo += [each.rhs, each.lhs]
            case s.Number() | s.Access() as each:
                found.append(each)
            case _:
                return None
    return found

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
from schedsearch.frontends.equations.einsum import Subscripts
from schedsearch.frontends.equations.extents import Index
from schedsearch.frontends.equations.meant import Meant, Term, length, on_places
from schedsearch.frontends.equations.stepwise import ways
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
    "relu": lambda x: np.where(x <= 0, x.dtype.type(0), x),  # NaN stays
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


Held = Mapping[str, Any]
_Value = Callable[[Held], Any]


def planned(of: Equations, known: Known) -> Callable[[Held], None]:
    """All equations at some sizes, for arrays in C order. Raises ValueError if an index would be
    outside of an array."""
    stores = [_Plan(of, meant, known).store() for meant in of.meant]
    made = {
        name: ([evaluated(n, known) for n in of.shapes[name]], DTYPES[of.kinds[name]])
        for name in of.temporaries
    }

    def all_of(arrays: Held) -> None:
        held = {**arrays, **{name: np.empty(*each) for name, each in made.items()}}
        with np.errstate(all="ignore"):
            for store in stores:
                store(held)

    return all_of


class _Plan:
    """One equation at some sizes, as functions of arrays."""

    def __init__(self, of: Equations, meant: Meant, known: Known) -> None:
        self.of, self.meant, self.known = of, meant, known
        self.dtype = DTYPES[meant.kind]

    def store(self) -> Callable[[Held], None]:
        meant = self.meant
        first, *others = [self.term(term) for term in meant.terms]
        target = self.view(meant.target.name, meant.target.index, meant.kept)

        def go(held: Held) -> None:
            value = first(held)
            for other in others:
                value = np.add(value, other(held))
            into = target(held)
            into[...] = into + value if meant.equation.add else value

        return go

    def lengths(self, space: Sequence[Index]) -> list[int]:
        return [evaluated(length(index), self.known) for index in space]

    def view(self, name: str, index: Sequence[q.Affine], space: Sequence[Index]) -> _Value:
        """`name[index]` over all places of some indices."""
        whole = [evaluated(n, self.known) for n in self.of.shapes[name]]
        first = [self._first(each) for each in index]
        shape = self.lengths(space)
        for each, start, end in zip(index, first, whole, strict=True):
            steps = [each.coefficient(i.var) * (n - 1) for i, n in zip(space, shape, strict=True)]
            low = start + sum(step for step in steps if step < 0)
            if low < 0 or start + sum(step for step in steps if step > 0) >= end:
                raise ValueError(
                    f"{self.of.name}: an index of line {self.meant.equation.place.line} is outside "
                    f"of {name}, of shape {tuple(whole)}"
                )
        widths = [DTYPES[self.of.kinds[name]].itemsize]
        for n in whole[:0:-1]:
            widths.insert(0, widths[0] * n)
        strides = [
            sum(each.coefficient(i.var) * n for each, n in zip(index, widths, strict=False))
            for i in space
        ]
        if shape == whole and (not shape or strides == widths):
            return lambda held: held[name]
        corner = (*(slice(n, None) for n in first), ...)
        return lambda held: as_strided(held[name][corner], shape, strides)

    def _first(self, place: q.Affine) -> int:
        total = place.const
        for atom, factor in place.terms:
            own = [i for i in self.meant.indices.values() if i.var == atom]
            at = evaluated(own[0].lo, self.known) if own else self.known[atom]  # type: ignore[index]
            total += factor * at
        return total

    def term(self, term: Term) -> _Value:
        factors = _factors(self.meant, term)
        if factors is not None:
            return self._product(term, factors)
        space = (*self.meant.kept, *term.gone)
        value, shape = self.value(term.value, space), self.lengths(space)
        if not term.gone:
            return value
        axes = tuple(range(len(self.meant.kept), len(space)))
        fold, dtype = _UFUNCS[self.meant.equation.project].reduce, self.dtype
        return lambda held: fold(np.broadcast_to(value(held), shape), axis=axes, dtype=dtype)

    def _product(self, term: Term, factors: Sequence[s.Expr]) -> _Value:
        space = (*self.meant.kept, *term.gone)
        values: list[tuple[_Value, list[int]]] = []
        for each in factors:
            index = self._index(each) if isinstance(each, s.Access) else ()
            used = [i for i in space if any(place.coefficient(i.var) for place in index)]
            values.append((self.value(each, used), [space.index(i) for i in used]))
        all_used = {axis for _, axes in values for axis in axes}
        kept = [axis for axis in range(len(self.meant.kept)) if axis in all_used]
        shape = [
            n if axis in all_used else 1 for axis, n in enumerate(self.lengths(self.meant.kept))
        ]

        axes = [tuple(map(str, own)) for _, own in values]
        found = Subscripts(tuple(axes), tuple(map(str, kept)))
        way: list[Callable[[Sequence[Any]], Any]] = []

        def product(held: Held) -> Any:
            operands = [value(held) for value, _ in values]
            if not way:  # strides are the same in each call
                way.append(self._way(found, operands))
            return way[0](operands).reshape(shape)

        return product

    def _way(self, found: Subscripts, operands: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
        """The best way to multiply and sum by estimate."""
        shapes, strides = [each.shape for each in operands], [each.strides for each in operands]
        if known := ways(found, shapes, strides, self.dtype):
            return known[0]
        places = [[*map(int, axes)] for axes in (*found.operands, found.result)]
        *inputs, result = places
        return lambda given: np.einsum(
            *(part for pair in zip(given, inputs, strict=True) for part in pair), result
        )

    def _index(self, access: s.Access) -> tuple[q.Affine, ...]:
        return tuple(affine(each, self._named, self.of.text) for each in access.index)

    def _named(self, access: s.Access) -> q.Affine:
        if access.name in self.meant.indices:
            return q.as_affine(self.meant.indices[access.name].var)
        return q.as_affine(next(var for var in self.of.sizes if var.name == access.name))

    def value(self, expr: s.Expr, space: Sequence[Index]) -> _Value:
        match expr:
            case s.Number():
                return self._constant(expr.value)
            case s.Access() if expr.name in self.of.kinds:
                found, dtype = self.view(expr.name, self._index(expr), space), self.dtype
                if DTYPES[self.of.kinds[expr.name]] == dtype:
                    return found
                return lambda held: found(held).astype(dtype)
            case s.Access():
                return self._constant(evaluated(self._named(expr), self.known))
            case s.Negative():
                return self._applied(np.negative, (expr.arg,), space)
            case s.Binary():
                return self._applied(_OPERATORS[expr.op], (expr.lhs, expr.rhs), space)
            case s.Call():
                return self._applied(_FUNCTIONS[expr.function], expr.args, space)
            case s.Where():
                condition = self._condition(expr, space)
                then, other = self.value(expr.then, space), self.value(expr.other, space)
                return lambda held: np.where(condition(held), then(held), other(held))

    def _constant(self, value: float) -> _Value:
        constant = np.asarray(value, self.dtype)
        return lambda held: constant

    def _applied(
        self, function: Callable[..., Any], args: Sequence[s.Expr], space: Sequence[Index]
    ) -> _Value:
        values = [self.value(each, space) for each in args]
        return lambda held: function(*[value(held) for value in values])

    def _condition(self, expr: s.Where, space: Sequence[Index]) -> _Value:
        compare = _COMPARED[expr.op]
        if on_places(expr, self.meant.indices):
            holds = compare(*(self._places(side, space) for side in (expr.lhs, expr.rhs)))
            return lambda held: holds
        return self._applied(compare, (expr.lhs, expr.rhs), space)

    def _places(self, expr: s.Expr, space: Sequence[Index]) -> Any:
        """An expression of indices, as numbers."""
        place, shape = affine(expr, self._named, self.of.text), self.lengths(space)
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

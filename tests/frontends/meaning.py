"""What a program on arrays means, evaluated by NumPy: the other half of tests of `lower`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends.types import DTYPES

Places = Mapping[q.Var, Any]

_REDUCING = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
_BINARY = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "neg": np.negative}
_OTHER = {"max": np.maximum, "min": np.minimum, "abs": np.abs, "exp": np.exp, "sqrt": np.sqrt}
_OTHER |= {"log1p": np.log1p, "expm1": np.expm1, "rint": np.rint, "floor": np.floor}
_OTHER |= {"pow": np.power, "log": np.log, "sin": np.sin, "cos": np.cos, "tanh": np.tanh}
_OTHER |= {"bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor}
_OTHER |= {"atan2": np.arctan2, "ashr": np.right_shift}
_OTHER |= {"sdiv": lambda a, b, dtype: np.trunc(a / b).astype(dtype)}
_COMPARED = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
}


def evaluate(program: g.Program, arrays: Mapping[g.Array, Any], sizes: Places) -> None:
    """Arrays are changed in place."""
    with np.errstate(all="ignore"):
        _body(program.body, dict(arrays), sizes)


def _body(body: tuple[g.Statement, ...], arrays: dict[g.Array, Any], known: Places) -> None:
    for stmt in body:
        match stmt:
            case g.Allocate():
                shape = [_int(n, known) for n in stmt.array.shape]
                arrays[stmt.array] = np.full(shape, 55, DTYPES[stmt.array.type])
            case g.For():
                for i in range(_int(stmt.lo, known), _int(stmt.hi, known)):
                    _body(stmt.body, arrays, {**known, stmt.var: i})
            case g.If():
                holds = _truth(stmt.condition, known)
                _body(stmt.body if holds else stmt.orelse, arrays, known)
            case g.Store():
                value = Values(arrays, known, {}).value(stmt.value)
                names = dict(zip(stmt.vars, np.indices(value.shape), strict=True))
                at = tuple(place(each, {**known, **names}) for each in stmt.index)
                target = arrays[stmt.array]
                if stmt.add:
                    target[at] = np.asarray(target[at] + value).astype(target.dtype)
                else:
                    target[at] = value.astype(target.dtype)


def place(value: q.Affine, known: Places) -> Any:
    total: Any = value.const
    for atom, factor in value.terms:
        match atom:
            case q.FloorDiv():
                part = place(atom.num, known) // atom.den
            case q.Mod():
                part = place(atom.num, known) % atom.den
            case q.Var():
                part = known[atom]
            case _:
                raise AssertionError(atom)
        total = total + factor * part
    return total


def _int(value: q.Affine, known: Places) -> int:
    return max(int(place(value, known)), 0)


def _truth(condition: q.Expr, known: Places) -> Any:
    if isinstance(condition, q.Affine):
        return place(condition, known)
    assert isinstance(condition, q.BinOp)
    return _COMPARED[condition.op](_truth(condition.lhs, known), _truth(condition.rhs, known))


class Values:
    def __init__(self, arrays: Mapping[g.Array, Any], known: Places, seen: dict[Any, Any]) -> None:
        self.arrays, self.known, self.seen = arrays, known, seen

    def value(self, value: g.Value) -> Any:
        if value not in self.seen:
            found = self._value(value)
            assert found.dtype == DTYPES[value.type], value
            shape = tuple(max(int(place(n, self.known)), 0) for n in value.shape)
            assert found.shape == shape, (value, found.shape, shape)
            self.seen[value] = found
        return self.seen[value]

    def _value(self, value: g.Value) -> Any:
        kind = DTYPES[value.type]
        match value:
            case g.Constant():
                return np.asarray(value.value, kind)
            case g.Count():
                return np.asarray(place(value.value, self.known)).astype(kind)
            case g.Load():
                return self.arrays[value.array].copy()
            case g.View():
                source = self.value(value.source)
                shape = [max(int(place(n, self.known)), 0) for n in value.shape]
                names = dict(zip(value.vars, np.indices(shape), strict=True))
                at = [place(each, {**self.known, **names}) for each in value.index]
                for each, n in zip(at, source.shape, strict=True):
                    assert ((np.asarray(each) >= 0) & (np.asarray(each) < n)).all()
                found = source[tuple(np.broadcast_to(each, shape) for each in at)]
                return np.broadcast_to(found, shape)
            case g.Apply():
                args = [self.value(each) for each in value.args]
                function = {**_BINARY, **_OTHER}[value.function]
                return np.asarray(function(*args, dtype=kind))
            case g.Select():
                condition = self.truth(value.condition, value.shape)
                return np.where(condition, self.value(value.then), self.value(value.other))
            case g.Cast():
                return self.value(value.source).astype(kind)
            case g.Reduce():
                function = _REDUCING[value.function]
                source = self.value(value.source)
                return np.asarray(function.reduce(source, axis=tuple(value.axes), dtype=kind))
            case g.Scan():
                function = _REDUCING[value.function]
                return function.accumulate(self.value(value.source), value.axis, dtype=kind)

    def truth(self, condition: g.Condition, shape: g.Shape) -> Any:
        match condition:
            case g.Compare():
                both = self.value(condition.lhs), self.value(condition.rhs)
                return _COMPARED[condition.op](*both)
            case g.Inside():
                sizes = [max(int(place(n, self.known)), 0) for n in shape]
                names = dict(zip(condition.vars, np.indices(sizes), strict=True))
                return _truth(condition.condition, {**self.known, **names})
            case g.Logical():
                parts = [self.truth(each, shape) for each in condition.args]
                if condition.op == "not":
                    return ~parts[0]
                return getattr(np, f"logical_{condition.op}").reduce(np.broadcast_arrays(*parts))

"""What names stand for while a procedure is evaluated, and where its accesses go."""

from __future__ import annotations

import operator
from collections.abc import Callable, MutableMapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.core import ast as q
from schedsearch.evaluate.lanes import Lane, Linear, Place, Storage, ends, line

Config = MutableMapping[tuple[str, str], Any]
"""Values of configuration fields, by configuration and field."""


class OutOfBounds(Exception):
    """The procedure accesses an element that a buffer does not have."""


class Scope:
    """`values` by uid, of an inlined procedure; `counts` of the lanes, the outermost first."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.values: dict[int, int | bool | Lane | Storage] = {}
        self.counts: list[int] = []

    def buffer(self, buf: q.Var) -> Storage:
        held = self.values[buf.uid]
        assert isinstance(held, Storage)
        return held

    def place(self, storage: Storage, idx: tuple[q.Affine, ...], buf: q.Var) -> Place:
        offset: int = 0
        steps = [*storage.lanes, *[0] * (len(self.counts) - len(storage.lanes))]
        general: NDArray[np.int64] | None = None  # not linear
        for index, extent, stride in zip(idx, storage.shape, storage.strides, strict=True):
            linear = self.linear(index)
            if linear is None:
                points = self.points(index)
                low, high = int(points.min()), int(points.max())
                general = points * stride + (0 if general is None else general)
            else:
                low, high = ends(linear, self.counts)
                offset += linear.base * stride
                for axis, step in enumerate(linear.steps):
                    steps[axis] += step * stride
            if not 0 <= low <= high < extent:
                raise OutOfBounds(f"{buf.name} has {extent} elements, {low} to {high} are accessed")
        if general is not None:
            general = general + line(Linear(offset, tuple(steps)), self.counts)
        return Place(storage, offset, tuple(steps), general)

    def linear(self, value: q.Affine) -> Linear | None:
        """Value at the first lane and steps along the axes; None if it is not linear."""
        base, steps = value.const, [0] * len(self.counts)
        for atom, factor in value.terms:
            match atom:
                case q.Var():
                    held = self.values[atom.uid]
                    if isinstance(held, Lane):
                        base += factor * held.first
                        steps[held.axis] += factor
                    else:
                        base += factor * self.atom(atom)
                case q.FloorDiv() | q.Mod():
                    inner = self.linear(atom.num)
                    if inner is None or any(inner.steps):
                        return None
                    base += factor * _divided(inner.base, atom)
                case _:
                    base += factor * self.atom(atom)
        return Linear(base, tuple(steps))

    def points(self, value: q.Affine) -> NDArray[np.int64]:
        """Values of all lanes of an index with quotients or remainders."""
        linear = self.linear(value)
        if linear is not None:
            return line(linear, self.counts)
        total = np.full((1,) * len(self.counts), value.const, np.int64)
        for atom, factor in value.terms:
            if isinstance(atom, q.FloorDiv | q.Mod):
                part = _divided(self.points(atom.num), atom)
            else:
                part = self.points(q.as_affine(atom))
            total = total + factor * part
        return total

    def scalar(self, value: q.Affine) -> int:
        return q.evaluate_affine(value, self.atom)

    def atom(self, atom: q.Atom) -> int:
        match atom:
            case q.Var():
                held = self.values[atom.uid]
                assert isinstance(held, int)
                return held
            case q.StrideOf():
                return self.buffer(atom.buf).outer[atom.dim]
            case q.ConfigField():
                return int(self.config[atom.config, atom.field])
            case q.FloorDiv() | q.Mod():
                raise AssertionError("q.evaluate_affine evaluates these itself")

    def holds(self, cond: q.Expr) -> bool:
        match cond:
            case q.Const():
                return bool(cond.value)
            case q.Read():
                return bool(self.values[cond.buf.uid])
            case q.ReadConfig():
                return bool(self.config[cond.config, cond.field])
            case q.BinOp(op="and"):
                return self.holds(cond.lhs) and self.holds(cond.rhs)
            case q.BinOp(op="or"):
                return self.holds(cond.lhs) or self.holds(cond.rhs)
            case q.BinOp(lhs=q.Affine() as lhs, rhs=q.Affine() as rhs):
                return _COMPARISONS[cond.op](self.scalar(lhs), self.scalar(rhs))
            case q.BinOp(op="=="):
                return self.holds(cond.lhs) == self.holds(cond.rhs)
            case _:
                raise NotImplementedError(f"the condition {cond}")


def _divided(value: Any, atom: q.FloorDiv | q.Mod) -> Any:
    return value // atom.den if isinstance(atom, q.FloorDiv) else value % atom.den


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}

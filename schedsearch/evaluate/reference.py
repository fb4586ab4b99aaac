"""The independent reference: what a procedure computes, from its query AST, with NumPy.

Neither Exo's code generator nor a C compiler takes part. Loops whose iterations do not
depend on each other (`lockstep.py`) are executed together: their variables become
*lanes*, axes of NumPy arrays. Other loops are plain Python loops. Elements are rounded
to their type after every operation; sums over lanes are added up in double precision.

Fresh memory is NaN (integers: the largest), indices out of bounds raise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.core import ast as q
from schedsearch.evaluate.arithmetic import (
    STORED,
    Value,
    binary,
    computed,
    constant,
    converted,
    expression_kind,
    extern,
    poison,
    summed,
)
from schedsearch.evaluate.effects import dense_strides
from schedsearch.evaluate.inline import inline_calls
from schedsearch.evaluate.lanes import Lane, Place, Storage
from schedsearch.evaluate.lockstep import lockstep_loops
from schedsearch.evaluate.reference_cost import expected_s
from schedsearch.evaluate.scope import Config, OutOfBounds, Scope

__all__ = ["Config", "OutOfBounds", "Unaffordable", "run"]


class Unaffordable(Exception):
    """The evaluation would take longer than it may."""


def run(
    proc: q.Proc,
    arguments: Sequence[Any],
    config: Config | None = None,
    limit_s: float = math.inf,
) -> float:
    """Call `proc`; arrays (0-d for scalars) and `config` are changed in place.

    `arguments` in the order of the parameters: integers, booleans, and arrays whose
    dtypes are those of `arithmetic.STORED` and whose strides are what `stride(...)` gives.
    Returns how many seconds that was estimated to take. `limit_s` is compared with the
    estimate, before anything is computed, so that results do not depend on the machine.

    Raises Unaffordable, OutOfBounds, and NotImplementedError for external functions
    that are not Exo's own.
    """
    inlined = inline_calls(proc)
    with np.errstate(all="ignore"):
        evaluation = _Run(inlined, arguments, {} if config is None else config)
        if evaluation.expected_s > limit_s:
            raise Unaffordable
        evaluation.whole()
    return evaluation.expected_s


class _Run:
    def __init__(self, proc: q.Proc, arguments: Sequence[Any], config: Config) -> None:
        self.proc, self.arguments = proc, arguments
        self.scope = Scope(config)
        self.kinds: dict[int, str] = {}  # of right-hand sides, by id of the statement
        known: dict[q.Atom, int] = {}
        for arg, value in zip(proc.args, arguments, strict=True):
            if isinstance(value, np.ndarray):
                held = _taken(arg, value)
                known |= {q.StrideOf(arg.var, dim): s for dim, s in enumerate(held.outer)}
                self.scope.values[arg.var.uid] = held
            else:
                self.scope.values[arg.var.uid] = known[arg.var] = value
        for (name, field), value in config.items():
            if isinstance(value, int):
                known[q.ConfigField(name, field)] = value
        self.lockstep = lockstep_loops(proc, known)
        self.expected_s = expected_s(proc.body, self.lockstep, known)

    def whole(self) -> None:
        self.block(self.proc.body)
        for arg, value in zip(self.proc.args, self.arguments, strict=True):
            held = self.scope.values[arg.var.uid]
            if isinstance(held, Storage):
                value[...] = held.data.reshape(value.shape)

    # -- statements ---------------------------------------------------------------

    def block(self, body: tuple[q.Stmt, ...]) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, stmt: q.Stmt) -> None:
        match stmt:
            case q.Assign() | q.Reduce():
                self.write(stmt)
            case q.For():
                self.loop(stmt)
            case q.If():
                self.block(stmt.body if self.scope.holds(stmt.cond) else stmt.orelse)
            case q.Alloc():
                self.scope.values[stmt.buf.uid] = self.fresh(stmt)
            case q.WriteConfig():
                self.scope.config[stmt.config, stmt.field] = self.setting(stmt)
            case q.Pass():
                pass
            case q.Call() | q.WindowStmt():
                raise AssertionError("calls and windows are resolved by inline_calls")

    def fresh(self, stmt: q.Alloc) -> Storage:
        shape, lanes = tuple(map(self.scope.scalar, stmt.shape)), len(self.scope.counts)
        whole = (*self.scope.counts, *shape)
        strides, data = dense_strides(whole), poison(stmt.type, math.prod(whole))
        own = strides[lanes:]
        return Storage(data, strides[:lanes], shape, own, own, stmt.type)

    def setting(self, stmt: q.WriteConfig) -> Any:
        if isinstance(stmt.rhs, q.Affine):
            return self.scope.scalar(stmt.rhs)
        if stmt.type == "bool":
            return self.scope.holds(stmt.rhs)
        return converted(self.value(stmt.rhs, expression_kind(stmt.rhs, stmt.type)), stmt.type)[()]

    def loop(self, loop: q.For) -> None:
        low, high, uid = self.scope.scalar(loop.lo), self.scope.scalar(loop.hi), loop.iter.uid
        counts = self.scope.counts
        own = self.lockstep.get(uid)
        together = own.together(math.prod(counts)) if own else 1
        if together < 2:
            for i in range(low, high):
                self.scope.values[uid] = i
                self.block(loop.body)
            return
        for first in range(low, high, together):
            self.scope.values[uid] = Lane(len(counts), first)
            counts.append(min(together, high - first))
            self.block(loop.body)
            counts.pop()

    def write(self, stmt: q.Assign | q.Reduce) -> None:
        kind = self.kinds.get(id(stmt))
        if kind is None:
            kind = self.kinds[id(stmt)] = expression_kind(stmt.rhs, stmt.type)
        storage = self.scope.buffer(stmt.buf)
        value = converted(self.value(stmt.rhs, kind), storage.kind)
        place = self.scope.place(storage, stmt.idx, stmt.buf)
        if isinstance(stmt, q.Reduce):
            self.add(place, value)
        elif place.offsets is None:
            place.view(self.scope.counts)[...] = value
        else:
            storage.data[place.listed(self.scope.counts)] = value

    def add(self, place: Place, value: Value) -> None:
        """`+=`, where several lanes may add to one element."""
        storage, counts = place.storage, self.scope.counts
        if not place.distinct(counts):
            np.add.at(storage.data, place.listed(counts), value)
            return
        same = tuple(axis for axis, step in enumerate(place.steps) if not step)
        if same:
            value = value.reshape(value.shape or (1,) * len(counts))
            times = math.prod(counts[axis] for axis in same if value.shape[axis] == 1)
            total = np.sum(value, axis=same, keepdims=True, dtype=summed(storage.kind))
            value = total * times
        view = place.view(counts)
        view += converted(value, storage.kind)

    # -- values -------------------------------------------------------------------

    def value(self, expr: q.Expr, kind: str) -> Value:
        """A data expression of type `kind`, in the type of its arithmetic."""
        match expr:
            case q.Const():
                return constant(expr.value, kind)
            case q.Read():
                storage = self.scope.buffer(expr.buf)
                place = self.scope.place(storage, expr.idx, expr.buf)
                if place.offsets is None:
                    return place.view(self.scope.counts).astype(computed(kind), copy=False)
                return storage.data[place.offsets].astype(computed(kind), copy=False)
            case q.ReadConfig():
                held = self.scope.config[expr.config, expr.field]
                return converted(held, kind).astype(computed(kind))
            case q.USub():
                return -self.value(expr.arg, kind)
            case q.BinOp():
                lhs, rhs = self.value(expr.lhs, kind), self.value(expr.rhs, kind)
                return binary(expr.op, lhs, rhs, kind)
            case q.Extern():
                return extern(expr.name, [self.value(arg, kind) for arg in expr.args], kind)
            case q.Affine() | q.Window():
                raise AssertionError(f"{expr} is not a value")


def _taken(arg: q.Arg, array: NDArray[Any]) -> Storage:
    """A dense copy of an argument."""
    if array.dtype != STORED[arg.type]:
        raise TypeError(f"{arg.var.name} is {arg.type}, the array given is {array.dtype}")
    data = np.array(array, order="C").reshape(-1)
    outer = tuple(stride // array.itemsize for stride in array.strides)
    return Storage(data, (), array.shape, dense_strides(array.shape), outer, arg.type)

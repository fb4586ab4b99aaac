"""A plain interpreter of the query AST: what a procedure means, written down once more.

It knows nothing of Exo and nothing of C. Temporaries start as NaN (integers as
-1), so that reading them too early shows; indices out of bounds raise.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from schedsearch.core import ast as q

DTYPES = {
    "R": np.float32,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "i32": np.int32,
}

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}

EXTERNS: dict[str, Callable[..., float]] = {
    "sin": math.sin,
    "sqrt": math.sqrt,
    "relu": lambda x: max(x, 0.0),
    "fmaxf": max,
    "expf": math.exp,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "select": lambda a, b, yes, no: yes if a < b else no,
}

Configs = dict[tuple[str, str], Any]


def interpret(proc: q.Proc, args: list[Any], configs: Configs | None = None) -> None:
    """Run `proc`; arrays (0-d for scalars) are changed in place, control values are ints."""
    _Frame({} if configs is None else configs).run(proc, args)


class _Frame:
    def __init__(self, configs: Configs) -> None:
        self.values: dict[int, Any] = {}
        self.configs = configs

    def run(self, proc: q.Proc, args: list[Any]) -> None:
        for arg, value in zip(proc.args, args, strict=True):
            self.values[arg.var.uid] = value
            if arg.shape is not None:
                assert value.shape == tuple(map(self.index, arg.shape)), arg.var
        assert all(self.value(cond) for cond in proc.asserts), "an assert does not hold"
        self.block(proc.body)

    def block(self, body: tuple[q.Stmt, ...]) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, stmt: q.Stmt) -> None:
        match stmt:
            case q.Assign() | q.Reduce():
                place = self.place(stmt.buf, stmt.idx)
                value = self.value(stmt.rhs)
                kind = place.dtype.type
                new = kind(value) if place.dtype.kind == "f" else np.int64(value).astype(kind)
                place[...] = new if isinstance(stmt, q.Assign) else place + new
            case q.WriteConfig():
                self.configs[stmt.config, stmt.field] = self.value(stmt.rhs)
            case q.If():
                self.block(stmt.body if self.value(stmt.cond) else stmt.orelse)
            case q.For():
                turns = range(self.index(stmt.lo), self.index(stmt.hi))
                # Iterations of a parallel loop may run in any order.
                for i in reversed(turns) if stmt.parallel else turns:
                    self.values[stmt.iter.uid] = i
                    self.block(stmt.body)
            case q.Alloc():
                dtype = np.dtype(DTYPES[stmt.type])
                fill = math.nan if dtype.kind == "f" else np.iinfo(dtype).max
                shape = tuple(map(self.index, stmt.shape))
                self.values[stmt.buf.uid] = np.full(shape, fill, dtype)
            case q.Call():
                interpret(
                    stmt.proc, [self.value(arg, whole=True) for arg in stmt.args], self.configs
                )
            case q.WindowStmt():
                self.values[stmt.name.uid] = self.window(stmt.window)
            case q.Pass():
                pass

    def place(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> Any:
        array, at = self.values[buf.uid], tuple(map(self.index, idx))
        inside = all(0 <= i < n for i, n in zip(at, array.shape, strict=True))
        assert inside, f"{buf.name}{list(at)} is outside {array.shape}"
        return array[(*at, ...)]

    def window(self, window: q.Window) -> Any:
        array = self.values[window.buf.uid]
        selection: list[int | slice] = []
        for access, n in zip(window.idx, array.shape, strict=True):
            if isinstance(access, q.Interval):
                lo, hi = self.index(access.lo), self.index(access.hi)
                assert 0 <= lo <= hi <= n, f"{window.buf.name}[{lo}:{hi}] is outside {n}"
                selection.append(slice(lo, hi))
            else:
                point = self.index(access)
                assert 0 <= point < n, f"{window.buf.name}[{point}] is outside {n}"
                selection.append(point)
        return array[(*selection, ...)]

    def index(self, value: q.Affine) -> int:
        return q.evaluate_affine(value, self.atom)

    def atom(self, atom: q.Atom) -> int:
        match atom:
            case q.StrideOf():
                array = self.values[atom.buf.uid]
                return int(array.strides[atom.dim] // array.itemsize)
            case q.ConfigField():
                return int(self.configs[atom.config, atom.field])
            case q.Var():
                return int(self.values[atom.uid])
            case _:
                raise AssertionError(atom)

    def value(self, expr: q.Expr, whole: bool = False) -> Any:
        """Value of an expression; arguments of calls (`whole`) stay arrays where they are."""
        match expr:
            case q.Affine():
                return self.index(expr)
            case q.Const():
                return expr.value
            case q.Read():
                held = self.values[expr.buf.uid]
                if not isinstance(held, np.ndarray):
                    return held
                if whole and len(expr.idx) in (0, held.ndim):
                    return self.place(expr.buf, expr.idx) if expr.idx else held
                return self.place(expr.buf, expr.idx).item()
            case q.USub():
                return -self.value(expr.arg)
            case q.BinOp():
                return OPERATORS[expr.op](self.value(expr.lhs), self.value(expr.rhs))
            case q.Extern():
                return EXTERNS[expr.name](*map(self.value, expr.args))
            case q.Window():
                return self.window(expr)
            case q.ReadConfig():
                return self.configs[expr.config, expr.field]

"""A plain interpreter of the query AST: what a procedure means, written down once more.

It knows nothing of Exo and nothing of C. Temporaries start as NaN (integers as
their largest), so that reading them too early shows; indices out of bounds raise. What
arithmetic does is asked of an `Arithmetic`: numbers here, enclosures of them in `fuzz`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Protocol

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

COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}

SINGLE = frozenset({"expf", "fmaxf"})
"""Functions of C that compute in single precision, whatever they are given."""

Configs = dict[tuple[str, str], Any]


class Arithmetic(Protocol):
    """What data expressions of type `kind` compute. Elements are kept in arrays."""

    def array(self, shape: tuple[int, ...], kind: str) -> Any: ...
    def constant(self, value: float, kind: str) -> Any: ...
    def binary(self, op: str, left: Any, right: Any, kind: str) -> Any: ...
    def extern(self, name: str, args: list[Any], kind: str) -> Any: ...
    def converted(self, value: Any, before: str, kind: str) -> Any: ...


def is_float(kind: str) -> bool:
    return kind.startswith("f")


def quotient(left: int, right: int) -> int:
    """Of integers, truncated."""
    size = abs(left) // abs(right)
    return size if (left < 0) == (right < 0) else -size


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
EXTERNS: dict[str, Callable[..., Any]] = {
    "sin": math.sin,
    "sqrt": math.sqrt,
    "relu": lambda x: x if x > 0 else 0,
    "fmaxf": max,
    "expf": math.exp,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "select": lambda a, b, yes, no: yes if a < b else no,
    "relu_": lambda x: x if x > 0 else 0,
    "select_lt": lambda a, b, yes, no: yes if a < b else no,
    "exp": math.exp,
    "log": math.log,
    "sqrt_": math.sqrt,
    "sin_": math.sin,
    "cos": math.cos,
    "log1p": math.log1p,
    "expm1": math.expm1,
    "rint": round,
    "tanh": math.tanh,
    "erf": math.erf,
    "sigmoid_": lambda x: 1 / (1 + math.exp(-x)),
    "pow_": math.pow,
    "abs_": abs,
    "min_": min,
    "max_": max,
    "floor": math.floor,
    "atan2": math.atan2,
    "select_le": lambda a, b, yes, no: yes if a <= b else no,
    "select_eq": lambda a, b, yes, no: yes if a == b else no,
}


class Numbers:
    """Python's numbers, rounded as C does; f16, which C may compute in float, where stored."""

    def array(self, shape: tuple[int, ...], kind: str) -> Any:
        return np.full(
            shape, math.nan if is_float(kind) else np.iinfo(DTYPES[kind]).max, DTYPES[kind]
        )

    def constant(self, value: float, kind: str) -> Any:
        return self.converted(value, "f64", kind)

    def binary(self, op: str, left: Any, right: Any, kind: str) -> Any:
        if not is_float(kind) and op == "/":
            return quotient(left, right)
        value = OPERATORS[op](left, right)
        return np.float32(value).item() if kind == "f32" else value

    def extern(self, name: str, args: list[Any], kind: str) -> Any:
        if name in SINGLE and kind == "f64":
            args = [float(np.float32(arg)) for arg in args]
            return float(np.float32(EXTERNS[name](*args)))
        return EXTERNS[name](*args)

    def converted(self, value: Any, before: str, kind: str) -> Any:
        if is_float(before):
            value = DTYPES[before](value).item()
        if is_float(kind):
            return DTYPES[kind](value).item()
        return np.int64(value).astype(DTYPES[kind]).item()


def interpret(
    proc: q.Proc,
    args: list[Any],
    configs: Configs | None = None,
    arithmetic: Arithmetic | None = None,
) -> None:
    """Run `proc`; arrays (0-d for scalars) are changed in place, control values are ints."""
    _Frame({} if configs is None else configs, arithmetic or Numbers()).run(proc, args)


class _Frame:
    def __init__(self, configs: Configs, arithmetic: Arithmetic) -> None:
        self.values: dict[int, Any] = {}
        self.kinds: dict[int, str] = {}
        self.configs = configs
        self.arithmetic = arithmetic

    def run(self, proc: q.Proc, args: list[Any]) -> None:
        for arg, value in zip(proc.args, args, strict=True):
            self.values[arg.var.uid], self.kinds[arg.var.uid] = value, _known(arg.type)
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
                place, kind = self.place(stmt.buf, stmt.idx), self.kinds[stmt.buf.uid]
                new = self.stored(stmt.rhs, kind)
                if isinstance(stmt, q.Reduce):
                    total = self.arithmetic.binary("+", place.item(), new, kind)
                    new = self.arithmetic.converted(total, kind, kind)
                place[...] = new
            case q.WriteConfig():
                data = not isinstance(stmt.rhs, q.Affine) and stmt.type != "bool"
                value = self.stored(stmt.rhs, stmt.type) if data else self.value(stmt.rhs)
                self.configs[stmt.config, stmt.field] = value
            case q.If():
                self.block(stmt.body if self.value(stmt.cond) else stmt.orelse)
            case q.For():
                turns = range(self.index(stmt.lo), self.index(stmt.hi))
                # Iterations of a parallel loop may run in any order.
                for i in reversed(turns) if stmt.parallel else turns:
                    self.values[stmt.iter.uid] = i
                    self.block(stmt.body)
            case q.Alloc():
                shape, kind = tuple(map(self.index, stmt.shape)), _known(stmt.type)
                self.kinds[stmt.buf.uid] = kind
                self.values[stmt.buf.uid] = self.arithmetic.array(shape, kind)
            case q.Call():
                passed = [self.value(arg, whole=True) for arg in stmt.args]
                interpret(stmt.proc, passed, self.configs, self.arithmetic)
            case q.WindowStmt():
                self.values[stmt.name.uid] = self.window(stmt.window)
                self.kinds[stmt.name.uid] = self.kinds[stmt.window.buf.uid]
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

    def stored(self, expr: q.Expr, kind: str) -> Any:
        """The value of a data expression as an element of type `kind`: computed in the type of
        what is read, and then converted."""
        own = kind
        for node in q.walk_expr(expr):
            if isinstance(node, q.Read):
                own = self.kinds[node.buf.uid]
            elif isinstance(node, q.ReadConfig) and node.type != "bool":
                own = _known(node.type)
        return self.arithmetic.converted(self.value(expr, own), own, kind)

    def value(self, expr: q.Expr, kind: str = "", whole: bool = False) -> Any:
        """Value of an expression, of data of type `kind` or of control; arguments of calls
        (`whole`) stay arrays where they are."""
        match expr:
            case q.Affine():
                return self.index(expr)
            case q.Const():
                return self.arithmetic.constant(expr.value, kind) if kind else expr.value
            case q.Read():
                held = self.values[expr.buf.uid]
                if not isinstance(held, np.ndarray):
                    return held
                if whole and len(expr.idx) in (0, held.ndim):
                    return self.place(expr.buf, expr.idx) if expr.idx else held
                return self.place(expr.buf, expr.idx).item()
            case q.USub():
                value = self.value(expr.arg, kind)
                return -value
            case q.BinOp():
                left, right = self.value(expr.lhs, kind), self.value(expr.rhs, kind)
                if kind:
                    return self.arithmetic.binary(expr.op, left, right, kind)
                return COMPARED[expr.op](left, right)
            case q.Extern():
                args = [self.value(arg, kind) for arg in expr.args]
                return self.arithmetic.extern(expr.name, args, kind)
            case q.Window():
                return self.window(expr)
            case q.ReadConfig():
                return self.configs[expr.config, expr.field]


def _known(kind: str) -> str:
    return "f32" if kind == "R" else kind

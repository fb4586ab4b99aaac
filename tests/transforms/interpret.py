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
    "bit_and": operator.and_,
    "bit_or": operator.or_,
    "bit_xor": operator.xor,
    "ashr": lambda a, b: a >> b,
    "sdiv": quotient,
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
            return value if kind == before else DTYPES[kind](value).item()
        return np.int64(value).astype(DTYPES[kind]).item()


def interpret(
    proc: q.Proc,
    args: list[Any],
    configs: Configs | None = None,
    arithmetic: Arithmetic | None = None,
) -> None:
    """Run `proc`; arrays (0-d for scalars) are changed in place, control values are ints."""
    _Meaning(proc, {} if configs is None else configs, arithmetic or Numbers(), {}).run(args)


Values = dict[int, Any]
"""What variables are, by `uid`."""
Code = Callable[[Values], Any]


class _Meaning:
    """A procedure as functions of its variables. Each part of its text is looked at once, however
    often it is executed. `callees` are the procedures that are called, by identity."""

    def __init__(
        self,
        proc: q.Proc,
        configs: Configs,
        arithmetic: Arithmetic,
        callees: dict[int, _Meaning],
    ) -> None:
        self.proc, self.configs, self.arithmetic = proc, configs, arithmetic
        self.callees = callees
        self.kinds = {arg.var.uid: _known(arg.type) for arg in proc.args}
        self.shapes = [[*map(self.index, arg.shape or ())] for arg in proc.args]
        self.asserts = [self.value(cond) for cond in proc.asserts]
        self.body = self.block(proc.body)

    def run(self, args: list[Any]) -> None:
        values: Values = {}
        for arg, value, shape in zip(self.proc.args, args, self.shapes, strict=True):
            whole = arg.type in q.CONTROL_TYPES and arg.type != "bool"
            values[arg.var.uid] = int(value) if whole else value
            if arg.shape is not None:
                assert value.shape == tuple([extent(values) for extent in shape]), arg.var
        assert all(cond(values) for cond in self.asserts), "an assert does not hold"
        self.body(values)

    def block(self, body: tuple[q.Stmt, ...]) -> Code:
        codes = [self.stmt(stmt) for stmt in body]
        if len(codes) == 1:
            return codes[0]

        def run(values: Values) -> None:
            for code in codes:
                code(values)

        return run

    def stmt(self, stmt: q.Stmt) -> Code:
        match stmt:
            case q.Assign() | q.Reduce():
                return self.write(stmt)
            case q.WriteConfig():
                data = not isinstance(stmt.rhs, q.Affine) and stmt.type != "bool"
                value = self.stored(stmt.rhs, stmt.type) if data else self.value(stmt.rhs)
                field = stmt.config, stmt.field
                return lambda values: operator.setitem(self.configs, field, value(values))
            case q.If():
                cond, yes, no = self.value(stmt.cond), *map(self.block, (stmt.body, stmt.orelse))
                return lambda values: yes(values) if cond(values) else no(values)
            case q.For():
                return self.loop(stmt)
            case q.Alloc():
                uid, kind = stmt.buf.uid, _known(stmt.type)
                shape, self.kinds[uid] = [*map(self.index, stmt.shape)], kind

                def allocate(values: Values) -> None:
                    extents = tuple([extent(values) for extent in shape])
                    values[uid] = self.arithmetic.array(extents, kind)

                return allocate
            case q.Call():
                passed = [self.value(arg, whole=True) for arg in stmt.args]
                callee = self.callees.get(id(stmt.proc))
                if callee is None:
                    callee = _Meaning(stmt.proc, self.configs, self.arithmetic, self.callees)
                    self.callees[id(stmt.proc)] = callee
                run = callee.run
                return lambda values: run([arg(values) for arg in passed])
            case q.WindowStmt():
                uid, window = stmt.name.uid, self.window(stmt.window)
                self.kinds[uid] = self.kinds[stmt.window.buf.uid]
                return lambda values: operator.setitem(values, uid, window(values))
            case q.Pass():
                return lambda values: None

    def write(self, stmt: q.Assign | q.Reduce) -> Code:
        kind, arithmetic = self.kinds[stmt.buf.uid], self.arithmetic
        place, new = self.place(stmt.buf, stmt.idx), self.stored(stmt.rhs, kind)

        def assign(values: Values) -> None:
            array, at = place(values)
            array[at] = new(values)

        def add(values: Values) -> None:
            array, at = place(values)
            added = new(values)
            total = arithmetic.binary("+", array.item(*at), added, kind)
            array[at] = arithmetic.converted(total, kind, kind)

        return add if isinstance(stmt, q.Reduce) else assign

    def loop(self, stmt: q.For) -> Code:
        uid, parallel = stmt.iter.uid, stmt.parallel
        lo, hi, body = self.index(stmt.lo), self.index(stmt.hi), self.block(stmt.body)

        def run(values: Values) -> None:
            turns = range(lo(values), hi(values))
            # Iterations of a parallel loop may run in any order.
            for values[uid] in reversed(turns) if parallel else turns:
                body(values)

        return run

    def place(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> Code:
        """Gives an array and the indices of an element, which is inside of it."""
        uid, indices = buf.uid, [*map(self.index, idx)]

        def place(values: Values) -> tuple[Any, tuple[int, ...]]:
            array = values[uid]
            at = tuple([index(values) for index in indices])
            for i, n in zip(at, array.shape, strict=True):
                assert 0 <= i < n, f"{buf.name}{list(at)} is outside {array.shape}"
            return array, at

        return place

    def window(self, window: q.Window) -> Code:
        uid, name = window.buf.uid, window.buf.name
        accesses = [
            (self.index(each.lo), self.index(each.hi))
            if isinstance(each, q.Interval)
            else (self.index(each), None)
            for each in window.idx
        ]

        def made(values: Values) -> Any:
            array = values[uid]
            selection: list[int | slice] = []
            for (first, last), n in zip(accesses, array.shape, strict=True):
                lo = first(values)
                if last is None:
                    assert 0 <= lo < n, f"{name}[{lo}] is outside {n}"
                    selection.append(lo)
                else:
                    hi = last(values)
                    assert 0 <= lo <= hi <= n, f"{name}[{lo}:{hi}] is outside {n}"
                    selection.append(slice(lo, hi))
            return array[(*selection, ...)]

        return made

    def index(self, value: q.Affine) -> Code:
        const, parts = value.const, [(self.atom(atom), times) for atom, times in value.terms]
        if not parts:
            return lambda values: const
        if len(parts) > 1:
            return lambda values: const + sum([times * part(values) for part, times in parts])
        ((part, times),) = parts
        return part if (const, times) == (0, 1) else lambda values: const + times * part(values)

    def atom(self, atom: q.Atom) -> Code:
        match atom:
            case q.FloorDiv():
                num, den = self.index(atom.num), atom.den
                return lambda values: num(values) // den
            case q.Mod():
                num, den = self.index(atom.num), atom.den
                return lambda values: num(values) % den
            case q.StrideOf():
                uid, dim = atom.buf.uid, atom.dim
                return lambda values: values[uid].strides[dim] // values[uid].itemsize
            case q.ConfigField():
                field = atom.config, atom.field
                return lambda values: int(self.configs[field])
            case q.Var():
                return operator.itemgetter(atom.uid)

    def stored(self, expr: q.Expr, kind: str) -> Code:
        """The value of a data expression as an element of type `kind`: computed in the type of
        what is read, and then converted."""
        own = kind
        for node in q.walk_expr(expr):
            if isinstance(node, q.Read):
                own = self.kinds[node.buf.uid]
            elif isinstance(node, q.ReadConfig) and node.type != "bool":
                own = _known(node.type)
        value, converted = self.value(expr, own), self.arithmetic.converted
        return lambda values: converted(value(values), own, kind)

    def value(self, expr: q.Expr, kind: str = "", whole: bool = False) -> Code:
        """Value of an expression, of data of type `kind` or of control; arguments of calls
        (`whole`) stay arrays where they are."""
        match expr:
            case q.Affine():
                return self.index(expr)
            case q.Const():
                const = self.arithmetic.constant(expr.value, kind) if kind else expr.value
                return lambda values: const
            case q.Read():
                return self.read(expr, whole)
            case q.USub():
                value = self.value(expr.arg, kind)
                return lambda values: -value(values)
            case q.BinOp():
                op, left, right = expr.op, self.value(expr.lhs, kind), self.value(expr.rhs, kind)
                if not kind:
                    compared = COMPARED[op]
                    return lambda values: compared(left(values), right(values))
                binary = self.arithmetic.binary
                return lambda values: binary(op, left(values), right(values), kind)
            case q.Extern():
                name, args = expr.name, [self.value(arg, kind) for arg in expr.args]
                extern = self.arithmetic.extern
                return lambda values: extern(name, [arg(values) for arg in args], kind)
            case q.Window():
                return self.window(expr)
            case q.ReadConfig():
                field = expr.config, expr.field
                return lambda values: self.configs[field]

    def read(self, read: q.Read, whole: bool) -> Code:
        uid, place = read.buf.uid, self.place(read.buf, read.idx)
        if not read.idx and whole:
            return operator.itemgetter(uid)

        def scalar(values: Values) -> Any:
            held = values[uid]
            return held.item() if isinstance(held, np.ndarray) else held

        def element(values: Values) -> Any:
            array, at = place(values)
            return array[(*at, ...)] if whole else array.item(*at)

        return element if read.idx else scalar


def _known(kind: str) -> str:
    return "f32" if kind == "R" else kind

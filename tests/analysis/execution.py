"""What a procedure accesses, found by executing its control code.

Arrays hold the numbers of their elements, so that NumPy says what a window shows; each
allocation, whenever it is executed, has elements of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from transforms.interpret import COMPARED

from schedsearch.core import ast as q

MOST = 20_000
"""Accesses after which an execution is too long."""


class TooLong(Exception):
    pass


@dataclass(frozen=True)
class Event:
    """An access to an element. `values` are those of control variables, `arrays` what names
    stand for, `running` the loops around with their iterations; of the procedure that is
    executed, not of those that it calls."""

    element: int
    writes: bool
    stmt: q.Stmt
    values: Mapping[q.Var, int]
    arrays: Mapping[q.Var, Any]
    running: tuple[tuple[q.For, int], ...]
    called: bool


@dataclass
class Execution:
    events: list[Event] = field(default_factory=list)
    elements: int = 0
    fields: dict[tuple[str, str], int] = field(default_factory=dict)
    running: list[tuple[q.For, int]] = field(default_factory=list)

    def array(self, shape: list[int]) -> Any:
        self.elements += (count := int(np.prod(shape)))
        return np.arange(self.elements - count, self.elements).reshape(shape)


def execute(proc: q.Proc, sizes: Mapping[str, int]) -> list[Event]:
    run = Execution()
    frame = _Frame(run)
    for arg in proc.args:
        if arg.type in q.CONTROL_TYPES:
            frame.values[arg.var] = sizes[arg.var.name]
        else:
            frame.arrays[arg.var] = run.array([frame.value(n) for n in arg.shape or ()])
    frame.block(proc.body)
    return run.events


@dataclass
class _Frame:
    run: Execution
    called: bool = False
    values: dict[q.Var, int] = field(default_factory=dict)
    arrays: dict[q.Var, Any] = field(default_factory=dict)

    def block(self, body: tuple[q.Stmt, ...]) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, stmt: q.Stmt) -> None:
        match stmt:
            case q.For():
                for value in range(self.value(stmt.lo), self.value(stmt.hi)):
                    self.values[stmt.iter] = value
                    if not self.called:
                        self.run.running.append((stmt, value))
                    self.block(stmt.body)
                    if not self.called:
                        self.run.running.pop()
            case q.If():
                self.block(stmt.body if self.truth(stmt.cond) else stmt.orelse)
            case q.Alloc():
                self.arrays[stmt.buf] = self.run.array([self.value(n) for n in stmt.shape])
            case q.WindowStmt():
                self.arrays[stmt.name] = self.window(stmt.window)
            case q.WriteConfig() if isinstance(stmt.rhs, q.Affine):
                self.run.fields[stmt.config, stmt.field] = self.value(stmt.rhs)
            case q.Assign() | q.Reduce():
                for node in q.walk_expr(stmt.rhs):
                    if isinstance(node, q.Read):
                        self.access(stmt, node.buf, node.idx, False)
                self.access(stmt, stmt.buf, stmt.idx, True)
            case q.Call():
                self.call(stmt)

    def call(self, call: q.Call) -> None:
        callee = _Frame(self.run, called=True)
        for arg, actual in zip(call.proc.args, call.args, strict=True):
            match actual:
                case q.Affine():
                    callee.values[arg.var] = self.value(actual)
                case q.Window():
                    callee.arrays[arg.var] = self.window(actual)
                case q.Read() if actual.buf in self.arrays:
                    index = tuple(map(self.value, actual.idx))
                    callee.arrays[arg.var] = np.asarray(self.arrays[actual.buf][index])
                case _:
                    callee.values[arg.var] = self.truth(actual)
        callee.block(call.proc.body)

    def access(self, stmt: q.Stmt, buf: q.Var, idx: tuple[q.Affine, ...], writes: bool) -> None:
        at = tuple(map(self.value, idx))
        assert all(0 <= i < n for i, n in zip(at, self.arrays[buf].shape, strict=True))
        event = Event(
            int(self.arrays[buf][at]),
            writes,
            stmt,
            dict(self.values),
            dict(self.arrays),
            tuple(self.run.running),
            self.called,
        )
        self.run.events.append(event)
        if len(self.run.events) > MOST:
            raise TooLong

    def window(self, window: q.Window) -> Any:
        at = [
            slice(self.value(i.lo), self.value(i.hi))
            if isinstance(i, q.Interval)
            else self.value(i)
            for i in window.idx
        ]
        return self.arrays[window.buf][tuple(at)]

    def value(self, value: q.Affine) -> int:
        return q.evaluate_affine(value, self.atom)

    def atom(self, atom: q.Atom) -> int:
        match atom:
            case q.StrideOf():
                array = self.arrays[atom.buf]
                return int(array.strides[atom.dim] // array.itemsize)
            case q.ConfigField():
                return self.run.fields[atom.config, atom.field]
            case _:
                assert isinstance(atom, q.Var)
                return self.values[atom]

    def truth(self, cond: q.Expr) -> int:
        match cond:
            case q.Affine():
                return self.value(cond)
            case q.Const():
                return int(cond.value)
            case q.Read():
                return self.values[cond.buf]
            case q.BinOp():
                return int(COMPARED[cond.op](self.truth(cond.lhs), self.truth(cond.rhs)))
            case _:
                raise AssertionError("not a condition")


def few(found: list[Event], most: int) -> list[Event]:
    """Evenly spaced ones."""
    return list(islice(found, 0, None, max(len(found) // most, 1)))

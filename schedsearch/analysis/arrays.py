"""The arrays and scalars of a procedure, as they are declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schedsearch.core import ast as q


@dataclass(frozen=True)
class Array:
    """A declaration: element type, memory, shape (of a scalar: none); whether the last dimension is
    contiguous, and whether it is a window."""

    type: str
    mem: str
    shape: tuple[q.Affine, ...]
    dense: bool = True
    window: bool = False


@q.per_node
def declared(proc: q.Proc) -> Mapping[q.Var, Array]:
    """Every data argument and allocation of a procedure."""
    unit = {
        cond.lhs.terms[0][0]
        for cond in proc.asserts
        if isinstance(cond, q.BinOp) and cond.op == "==" and cond.rhs == q.Affine(1)
        if isinstance(cond.lhs, q.Affine) and len(cond.lhs.terms) == 1 and cond.lhs.const == 0
    }
    found = {}
    for arg in proc.args:
        if arg.mem is not None:
            shape = arg.shape or ()
            dense = not arg.window or q.StrideOf(arg.var, len(shape) - 1) in unit
            found[arg.var] = Array(arg.type, arg.mem, shape, dense, arg.window)
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Alloc):
            found[stmt.buf] = Array(stmt.type, stmt.mem, stmt.shape)
    return found

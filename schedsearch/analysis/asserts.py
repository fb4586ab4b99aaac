"""Do the asserts of a procedure hold where it is called?

Exo's `replace` does not ask (exo issue 758): an instruction for at most 8 elements, or for
elements that lie next to each other, is accepted for 16, or for a column.
"""

from __future__ import annotations

from dataclasses import dataclass

from schedsearch.analysis.certain import Certain, certain_at
from schedsearch.analysis.windows import View, of_window, views
from schedsearch.core import ast as q
from schedsearch.core.text import show_expr


def broken_assert(proc: q.Proc, path: q.Path) -> str | None:
    """A sentence on the first assert of the procedure called at `path` that cannot be shown
    to hold there; None if all hold, or if there is no call."""
    call = proc.by_path.get(path)
    if not isinstance(call, q.Call):
        return None
    site = _Site(proc, call, certain_at(proc, path))
    for condition in call.proc.asserts:
        if not site.holds(condition):
            return f"{call.proc.name} needs {show_expr(condition)}, which may not hold here"
    return None


class _Unknown(Exception):
    """What a condition is about has no value that the caller knows."""


@dataclass(frozen=True)
class _Site:
    """A call in a procedure, and what is certain there."""

    proc: q.Proc
    call: q.Call
    certain: Certain

    def holds(self, condition: q.Expr) -> bool:
        match condition:
            case q.Const():
                return bool(condition.value)
            case q.BinOp(op="and"):
                return self.holds(condition.lhs) and self.holds(condition.rhs)
            case q.BinOp(op="or"):
                return self.holds(condition.lhs) or self.holds(condition.rhs)
            case q.BinOp(lhs=q.Affine() as lhs, rhs=q.Affine() as rhs):
                try:
                    difference = q.substituted(lhs - rhs, self.leaf)
                except _Unknown:
                    return False
                return self.certain.compare(difference, condition.op, q.Affine())
            case _:
                return False

    def leaf(self, atom: q.Leaf) -> q.Affine:
        """A variable or stride of the callee in terms of the caller."""
        match atom:
            case q.Var():
                found = self.actual(atom)
            case q.StrideOf():
                actual = self.actual(atom.buf)
                found = self.stride(actual, atom.dim) if actual is not None else None
            case q.ConfigField():
                found = q.as_affine(atom)
        if not isinstance(found, q.Affine):
            raise _Unknown
        return found

    def actual(self, formal: q.Var) -> q.Expr | None:
        pairs = zip(self.call.proc.args, self.call.args, strict=True)
        return next((value for arg, value in pairs if arg.var == formal), None)

    def stride(self, array: q.Expr, dim: int) -> q.Affine | None:
        """Elements from one index to the next along `dim` of what a call is given."""
        known = views(self.proc.body)
        match array:
            case q.Read(idx=()):
                view = known.get(array.buf, View(array.buf))
            case q.Window():
                view = of_window(array, known)
            case _:
                return None
        return self.buffer_stride(view.buf, view.dim(dim))

    def buffer_stride(self, buf: q.Var, dim: int) -> q.Affine | None:
        for stmt in q.walk(self.proc.body):
            if isinstance(stmt, q.Alloc) and stmt.buf == buf:
                return _dense_stride(stmt.shape, dim)
        arg = next((arg for arg in self.proc.args if arg.var == buf), None)
        if arg is None or arg.shape is None:
            return None
        return (
            self.asserted_stride(q.StrideOf(buf, dim))
            if arg.window
            else _dense_stride(arg.shape, dim)
        )

    def asserted_stride(self, stride: q.StrideOf) -> q.Affine:
        """The stride of a window as the caller's own asserts give it, else as it is."""
        own = q.as_affine(stride)
        for condition in self.proc.asserts:
            match condition:
                case q.BinOp(op="==", lhs=q.Affine() as lhs, rhs=q.Affine() as rhs) if lhs == own:
                    return rhs
        return own


def _dense_stride(shape: tuple[q.Affine, ...], dim: int) -> q.Affine | None:
    """Stride in an array without gaps; None if it is a product of several sizes."""
    total = q.Affine(1)
    for extent in shape[dim + 1 :]:
        if extent.is_const:
            total = total.scaled(extent.const)
        elif total.is_const:
            total = extent.scaled(total.const)
        else:
            return None
    return total

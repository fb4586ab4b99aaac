"""C of control expressions: of indices and conditions, and how arrays are addressed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from schedsearch.core import ast as q


@dataclass(frozen=True)
class Layout:
    """How a buffer is addressed: C expressions of its extents and strides."""

    extents: tuple[str, ...]
    strides: tuple[str, ...]


def dense(extents: Sequence[str]) -> Layout:
    """Strides of a buffer without gaps."""
    strides = (" * ".join(extents[dim + 1 :]) or "1" for dim in range(len(extents)))
    return Layout(tuple(extents), tuple(strides))


@dataclass(kw_only=True)
class Indices:
    """Writes them. The C has functions `floor_div` and `floor_mod`, and a `context`."""

    buffers: dict[q.Var, Layout] = field(default_factory=dict)

    def index(self, value: q.Affine) -> str:
        """C of a control expression, an int64_t."""
        terms = [f"{coefficient} * {self.atom(atom)}" for atom, coefficient in value.terms]
        return f"({' + '.join([*terms, f'INT64_C({value.const})'])})"

    def atom(self, atom: q.Atom) -> str:
        match atom:
            case q.Var():
                return name_of(atom)
            case q.FloorDiv():
                return f"floor_div({self.index(atom.num)}, {atom.den})"
            case q.Mod():
                return f"floor_mod({self.index(atom.num)}, {atom.den})"
            case q.StrideOf():
                return f"({self.buffers[atom.buf].strides[atom.dim]})"
            case q.ConfigField():
                return field_of(atom.config, atom.field)

    def truth(self, expr: q.Expr) -> str:
        match expr:
            case q.Const():
                return str(int(bool(expr.value)))
            case q.Read():
                return name_of(expr.buf)
            case q.ReadConfig():
                return field_of(expr.config, expr.field)
            case q.Affine():
                return self.index(expr)
            case q.BinOp():
                op = {"and": "&&", "or": "||"}.get(expr.op, expr.op)
                return f"({self.truth(expr.lhs)} {op} {self.truth(expr.rhs)})"
            case _:
                raise AssertionError("not a condition")


def name_of(var: q.Var) -> str:
    """Unique in C, and readable."""
    return f"{var.name}_{var.uid}"


def field_of(config: str, name: str) -> str:
    return f"((kernel_Context *)context)->{config}.{name}"

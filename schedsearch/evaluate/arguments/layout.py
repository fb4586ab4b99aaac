"""Shapes and strides of the arrays that a procedure is called with."""

from __future__ import annotations

from dataclasses import dataclass

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.evaluate.arguments.binding import Binding, control_values, dense_strides, extents


@dataclass(frozen=True)
class Buffer:
    """Shape and strides (elements) of a data argument with a binding applied."""

    name: str
    type: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Elements spanned, padding included."""
        pairs = zip(self.shape, self.strides, strict=True)
        return 1 + sum((extent - 1) * stride for extent, stride in pairs)

    @property
    def bytes(self) -> int:
        return self.elements * ELEMENT_TYPES[self.type].bits // 8

    def index(self, flat: int) -> tuple[int, ...] | None:
        """Multi-index of an element offset; None if it falls between rows."""
        out, rest = [0] * len(self.shape), flat
        for dim in sorted(range(len(self.shape)), key=lambda d: -self.strides[d]):
            out[dim] = min(rest // self.strides[dim], self.shape[dim] - 1)
            rest -= out[dim] * self.strides[dim]
        return None if rest else tuple(out)


def layout(proc: q.Proc, binding: Binding) -> tuple[Buffer | int, ...]:
    """The kind of each argument: a control value, or a buffer."""
    values, strides = control_values(proc, binding), dict(binding.strides)
    out: list[Buffer | int] = []
    for arg in proc.args:
        if arg.type in q.CONTROL_TYPES:
            out.append(binding.value(arg.var.name))
        else:
            shape = extents(arg, values)
            own = strides.get(arg.var.name) or dense_strides(shape)
            out.append(Buffer(arg.var.name, arg.type, shape, own))
    return tuple(out)

"""Which buffers a procedure reads and writes, and the values of its control expressions.

All functions take an inlined procedure (`inline.inline_calls`).
"""

from __future__ import annotations

from collections.abc import Mapping

from schedsearch.core import ast as q
from schedsearch.evaluate.binding import Binding

Range = tuple[int, int]
"""Inclusive bounds of a control value."""


def written_buffers(proc: q.Proc) -> frozenset[q.Var]:
    return frozenset(s.buf for s in q.walk(proc.body) if isinstance(s, q.Assign | q.Reduce))


def read_buffers(proc: q.Proc) -> frozenset[q.Var]:
    """Buffers whose contents matter: read in an expression, or reduced into."""
    found: set[q.Var] = set()
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Reduce):
            found.add(stmt.buf)
        for expr in q.stmt_exprs(stmt):
            found |= {node.buf for node in q.walk_expr(expr) if isinstance(node, q.Read)}
    return frozenset(found)


def control_values(proc: q.Proc, binding: Binding) -> dict[q.Atom, int]:
    """Values of the atoms a binding determines: arguments, window strides, configuration."""
    values: dict[q.Atom, int] = {}
    bound, strides = dict(binding.values), dict(binding.strides)
    for arg in proc.args:
        if arg.var.name in bound:
            values[arg.var] = bound[arg.var.name]
    for arg in proc.args:
        if arg.shape is not None:
            own = strides.get(arg.var.name) or dense_strides(extents(arg, values))
            for dim, stride in enumerate(own):
                values[q.StrideOf(arg.var, dim)] = stride
    for name, value in binding.config:
        config, field = name.split(".")
        values[q.ConfigField(config, field)] = value
    return values


def extents(arg: q.Arg, values: Mapping[q.Atom, int]) -> tuple[int, ...]:
    return tuple(q.evaluate_affine(extent, values.__getitem__) for extent in arg.shape or ())


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides = [1]
    for extent in shape[:0:-1]:
        strides.insert(0, strides[0] * extent)
    return tuple(strides) if shape else ()


def affine_range(value: q.Affine, ranges: Mapping[q.Atom, Range]) -> Range:
    low = high = value.const
    for atom, coefficient in value.terms:
        ends = [coefficient * end for end in _atom_range(atom, ranges)]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _atom_range(atom: q.Atom, ranges: Mapping[q.Atom, Range]) -> Range:
    match atom:
        case q.FloorDiv():
            low, high = affine_range(atom.num, ranges)
            return low // atom.den, high // atom.den
        case q.Mod():
            return 0, atom.den - 1
        case _:
            return ranges[atom]

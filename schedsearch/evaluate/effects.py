"""Which buffers a procedure reads and writes, and how often an element is hit.

All functions take an inlined procedure (`inline.inline_calls`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schedsearch.core import ast as q
from schedsearch.evaluate.binding import Binding

Range = tuple[int, int]
"""Inclusive bounds of a control value."""


@dataclass(frozen=True)
class Loop:
    var: q.Var
    trips: int


@dataclass(frozen=True)
class Write:
    """An `Assign` or `Reduce` with the loops between it and its buffer's allocation."""

    stmt: q.Assign | q.Reduce
    loops: tuple[Loop, ...]

    @property
    def hits(self) -> int:
        """At most how often one element is written.

        A dimension of the index determines one loop variable once the others are
        given; those loops reach different elements. The determined variables are
        picked triangularly, so that they are independent.
        """
        trips = {loop.var.uid: loop.trips for loop in self.loops}
        seen: set[int] = set()
        for dim in sorted(self.stmt.idx, key=lambda i: len(i.terms)):
            plain = {atom.uid for atom, _ in dim.terms if isinstance(atom, q.Var)}
            inside = {var.uid for atom, _ in dim.terms for var in _hidden_vars(atom)}
            free = (plain - inside - seen) & trips.keys()
            if free:
                trips.pop(max(free, key=lambda uid: trips[uid]))
            seen |= plain | inside
        total = 1
        for count in trips.values():
            total *= count
        return total


def _hidden_vars(atom: q.Atom) -> frozenset[q.Var]:
    return frozenset() if isinstance(atom, q.Var) else q.expr_vars(atom)


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


def writes(proc: q.Proc, values: Mapping[q.Atom, int]) -> Iterator[Write]:
    """Every write of `proc`, whichever branches are taken, with upper bounds of trip counts."""
    ranges: dict[q.Atom, Range] = {atom: (value, value) for atom, value in values.items()}
    written_config = {
        q.ConfigField(s.config, s.field) for s in q.walk(proc.body) if isinstance(s, q.WriteConfig)
    }
    for field in written_config & ranges.keys():
        ranges[field] = (-(2**31), 2**31)
    yield from _writes(proc.body, ranges, (), {})


def _writes(
    body: tuple[q.Stmt, ...],
    ranges: dict[q.Atom, Range],
    loops: tuple[Loop, ...],
    allocated_at: dict[q.Var, int],
) -> Iterator[Write]:
    for stmt in body:
        match stmt:
            case q.Assign() | q.Reduce():
                yield Write(stmt, loops[allocated_at.get(stmt.buf, 0) :])
            case q.Alloc():
                allocated_at[stmt.buf] = len(loops)
            case q.For():
                lo, hi = affine_range(stmt.lo, ranges), affine_range(stmt.hi, ranges)
                ranges[stmt.iter] = (lo[0], max(hi[1] - 1, lo[0]))
                span = affine_range(stmt.hi - stmt.lo, ranges)
                trips = max(min(hi[1] - lo[0], span[1]), 0)
                inside = (*loops, Loop(stmt.iter, trips))
                yield from _writes(stmt.body, ranges, inside, allocated_at)
            case _:
                for block in q.blocks(stmt):
                    yield from _writes(block, ranges, loops, allocated_at)


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

"""Reduction nests: perfect loop nests around one `x[...] += a * b`, as register blocks
need them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from schedsearch.core import ast as q
from schedsearch.transforms.vectors import C_TYPES
from schedsearch.transforms.walkers import nests


@dataclass(frozen=True)
class ReductionNest:
    """A reduction nest: its loops, the contiguous one, the instruction for its statement,
    and the last operand that is read along it."""

    loops: tuple[q.For, ...]
    stmt: q.Reduce
    along: q.For
    instruction: str
    operand: q.Read

    @property
    def reductions(self) -> tuple[q.For, ...]:
        return tuple(loop for loop in self.loops if first_dim(self.stmt.idx, loop) is None)

    def row_loops(self) -> Iterator[q.For]:
        """Loops that move the result by one along one dimension, others than `along`."""
        for loop in self.loops:
            dim = first_dim(self.stmt.idx, loop)
            if loop is not self.along and dim is not None and moves(self.stmt.idx, loop, dim):
                yield loop

    def packable(self, inner: int) -> bool:
        """Whether loops outside the `inner` innermost reductions use the operand again,
        and what those read of it is a box."""
        reductions = self.reductions[len(self.reductions) - inner :]
        others = [x for x in self.loops if x not in self.reductions and x is not self.along]
        idx = self.operand.idx
        return all(first_dim(idx, loop) is None for loop in others) and all(
            dim is None or (moves(idx, loop, dim) and dim < len(idx) - 1)
            for loop in reductions
            for dim in [first_dim(idx, loop)]
        )


def reduction_nests(proc: q.Proc) -> Iterator[ReductionNest]:
    """Every nest of the procedure whose result can stay in vector registers."""
    for loops in nests(proc):
        nest = _as_reduction(proc, loops)
        if nest is not None:
            yield nest


def _as_reduction(proc: q.Proc, loops: tuple[q.For, ...]) -> ReductionNest | None:
    stmt = loops[-1].body[0]
    if not isinstance(stmt, q.Reduce) or stmt.type not in C_TYPES or not stmt.idx:
        return None
    distinct = {loop.iter.name for loop in loops} | {arg.var.name for arg in proc.args}
    if len(distinct) < len(loops) + len(proc.args):
        return None  # windows are written with names
    if any(loop.parallel or loop.lo != q.Affine(0) or loop.extent == 0 for loop in loops):
        return None
    if not _dense(proc, stmt):
        return None
    for loop in loops:
        if moves(stmt.idx, loop, len(stmt.idx) - 1):
            instruction = _instruction(stmt, loop)
            reduced = any(first_dim(stmt.idx, other) is None for other in loops)
            if instruction is not None and reduced:
                vectors = [read for read in _reads(stmt) if _operand(read, loop) == "vector"]
                return ReductionNest(loops, stmt, loop, instruction, vectors[-1])
    return None


def _dense(proc: q.Proc, stmt: q.Reduce) -> bool:
    """Whether every array of the statement is a contiguous array of its type in plain memory."""
    plain = {
        arg.var
        for arg in proc.args
        if not arg.window and (arg.type, arg.mem) == (stmt.type, "DRAM")
    }
    plain |= {
        s.buf
        for s in q.walk(proc.body)
        if isinstance(s, q.Alloc) and s.type == stmt.type and s.mem.startswith("DRAM")
    }
    return q.used_vars((stmt,)) - {v for i in _indices(stmt) for v in q.expr_vars(i)} <= plain


def _indices(stmt: q.Reduce) -> Iterator[q.Affine]:
    yield from stmt.idx
    for read in _reads(stmt):
        yield from read.idx


def _reads(stmt: q.Reduce) -> Iterator[q.Read]:
    return (node for node in q.walk_expr(stmt.rhs) if isinstance(node, q.Read))


def first_dim(idx: tuple[q.Affine, ...], loop: q.For) -> int | None:
    """The first dimension whose index depends on the loop."""
    return next((d for d, index in enumerate(idx) if loop.iter in q.expr_vars(index)), None)


def moves(idx: tuple[q.Affine, ...], loop: q.For, dim: int) -> bool:
    """Whether the loop moves the access by one along `dim`, and along nothing else."""
    used = [d for d, index in enumerate(idx) if loop.iter in q.expr_vars(index)]
    return used == [dim] and idx[dim].coefficient(loop.iter) == 1 and _plainly(idx[dim], loop)


def _plainly(index: q.Affine, loop: q.For) -> bool:
    """Whether the loop's variable is a term of its own, not inside a division."""
    return all(a == loop.iter or loop.iter not in q.expr_vars(a) for a, _ in index.terms)


def _instruction(stmt: q.Reduce, along: q.For) -> str | None:
    """Name of the vector instruction for the statement along a loop."""
    match stmt.rhs:
        case q.BinOp(op="*", lhs=q.Read() as lhs, rhs=q.Read() as rhs):
            shapes = (_operand(lhs, along), _operand(rhs, along))
            if "vector" in shapes and None not in shapes:
                return f"fma_{shapes[0]}_{shapes[1]}"
        case q.Read() as read if _operand(read, along) == "vector":
            return "add_vector"
    return None


def _operand(read: q.Read, along: q.For) -> str | None:
    if read.idx and moves(read.idx, along, len(read.idx) - 1):
        return "vector"
    # A scalar becomes a window of one element: it needs a dimension to cut it from.
    return "scalar" if read.idx and first_dim(read.idx, along) is None else None


def row_length(proc: q.Proc, read: q.Read) -> float:
    """Elements from one row of the array to the next; infinite if not known."""
    shapes = {arg.var: arg.shape for arg in proc.args} | {
        stmt.buf: stmt.shape for stmt in q.walk(proc.body) if isinstance(stmt, q.Alloc)
    }
    shape = shapes[read.buf]
    return shape[-1].const if shape and shape[-1].is_const else inf

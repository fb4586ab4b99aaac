"""What the statements of a procedure see of what is around them, for estimates: values at
the timed sizes, arrays, loops. Estimates of a loop are kept, with all of this that
they depend on: a rewrite leaves most loops of a procedure alone (see `mirror.py`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from schedsearch.analysis.by_identity import ByIdentity
from schedsearch.analysis.conditions import possible, sizes_of
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.records import Target
from schedsearch.transforms.estimate.compiler_model import is_cautious, may_overlap, unrolls

Answer = TypeVar("Answer")

Arrays = tuple[tuple[int, tuple[int, ...], int], ...]
"""Uids of arrays, their shapes, and bytes of an element."""

UNKNOWN_EXTENT = 256
"""The value assumed for a size that is not given."""
LOOPS = 6_000
"""Loops whose estimates are kept, some 5 KB each: those of the last few expansions."""
KEPT = 24
"""Answers kept in one loop. Scenes differ little in what a loop sees of them."""


_ANSWERS: ByIdentity[dict[Hashable, tuple[Any, Arrays]]] = ByIdentity(LOOPS)


class Scene:
    """A procedure, as walks over it have come to know it. Loops have to be entered and
    allocations declared, outer ones first; variables are known by their uids."""

    def __init__(self, proc: q.Proc, target: Target, sizes: Mapping[str, int]) -> None:
        """`sizes` binds arguments by name; `target.build` is how the procedure is built."""
        self.proc, self.target, self._given = proc, target, sizes
        self.sizes = sizes_of(proc)
        self.pointers = may_overlap(proc, target)
        self.values = {a.var.uid: sizes.get(a.var.name, UNKNOWN_EXTENT) for a in proc.args}
        self.shapes: dict[int, tuple[int, ...]] = {}
        self.bytes: dict[int, int] = {}
        self.scalars: set[q.Var] = set()
        self.rolled: set[q.Var] = set()
        self._seen: dict[int, Hashable] = {}
        self._bounds: dict[int, tuple[int, int]] = {}
        self._contexts: dict[int, Hashable] = {}
        build = target.build
        self._machine = _machine(
            target.vector_bits,
            target.line_bytes,
            target.cache_bytes,
            target.threads,
            build.options,
            is_cautious(target),
            bool(self.pointers),
        )
        for arg in proc.args:
            if arg.shape:
                self._array(arg.var, arg.type, arg.shape, arg.var in self.pointers)
            else:
                self._seen[arg.var.uid] = arg.type == "size"

    def value(self, expr: q.Affine) -> int:
        """Value of an expression; loops are half-way, unknown values are typical."""
        total = expr.const
        for atom, coefficient in expr.terms:
            if type(atom) is q.Var:
                total += coefficient * self.values.get(atom.uid, UNKNOWN_EXTENT)
            elif isinstance(atom, q.FloorDiv):
                total += coefficient * (self.value(atom.num) // atom.den)
            elif isinstance(atom, q.Mod):
                total += coefficient * (self.value(atom.num) % atom.den)
            else:
                total += coefficient * UNKNOWN_EXTENT
        return total

    def possible(self, stmt: q.If) -> tuple[tuple[q.Stmt, ...], ...]:
        """The branches that may be taken."""
        return possible(stmt, self.sizes, self.value)

    def enter(self, loop: q.For) -> tuple[int, int]:
        """Bounds of a loop, whose body is looked at next."""
        uid = loop.iter.uid
        if uid not in self._bounds:
            low, high = self._bounds[uid] = self.value(loop.lo), self.value(loop.hi)
            self.values[uid] = (low + high) // 2
            rolled = not unrolls(loop, self.target)
            if rolled:
                self.rolled.add(loop.iter)
            self._seen[uid] = rolled
        return self._bounds[uid]

    def declare(self, stmt: q.Alloc) -> None:
        """A local variable: a scalar, an array in memory, or registers."""
        if stmt.buf.uid in self._seen:
            return
        if not stmt.shape:
            self.scalars.add(stmt.buf)
            self._seen[stmt.buf.uid] = "scalar"
        elif stmt.mem.startswith("DRAM"):
            self._array(stmt.buf, stmt.type, stmt.shape, False)

    def _array(self, buf: q.Var, kind: str, shape: tuple[q.Affine, ...], pointer: bool) -> None:
        extents = tuple([max(self.value(extent), 1) for extent in shape])
        size = ELEMENT_BITS[kind] // 8
        self.shapes[buf.uid], self.bytes[buf.uid] = extents, size
        self._seen[buf.uid] = (extents, size, pointer)

    def on(self, target: Target) -> Scene:
        """The same for another target."""
        return Scene(self.proc, target, self._given)

    def called(self, call: q.Call) -> Scene:
        """The scene of a procedure that is called, not an instruction."""
        formals = zip(call.proc.args, call.args, strict=True)
        known = {f.var.name: self.value(a) for f, a in formals if isinstance(a, q.Affine)}
        return Scene(call.proc, self.target, known)

    def kept(self, question: Callable[[q.For], Answer], loop: q.For) -> Answer:
        """The answer to a question (a method) about a loop, which depends on nothing else than
        the loop and what it sees of this scene."""
        key = (question.__module__, question.__qualname__, self._context(loop))
        answers = _ANSWERS.get(loop)
        if answers is None:
            answers = _ANSWERS.put(loop, {})
        if key not in answers:
            answer = question(loop)
            if len(answers) >= KEPT:
                answers.clear()
            arrays = tuple(
                [(u, self.shapes[u], self.bytes[u]) for u in _allocated(loop) if u in self.shapes]
            )
            answers[key] = answer, arrays
        else:
            answer, arrays = answers[key]
            for uid, shape, size in arrays:  # what is around compares accesses to them
                self.shapes[uid], self.bytes[uid] = shape, size
        return answer

    def _context(self, loop: q.For) -> Hashable:
        """The facts of this scene that a loop depends on."""
        uid = loop.iter.uid
        if uid not in self._contexts:
            values, seen = self.values, self._seen
            self._contexts[uid] = (
                self._machine,
                tuple([values.get(var) for var in _decisive(loop)]),
                tuple([seen.get(var) for var in _free(loop)]),
            )
        return self._contexts[uid]


@lru_cache(maxsize=64)
def _machine(*_facts: Hashable) -> object:
    """Stands for what estimates depend on of a target: compared by identity, which is fast."""
    return object()


@q.per_node
def _allocated(loop: q.For) -> tuple[int, ...]:
    return tuple(stmt.buf.uid for stmt in q.walk(loop.body) if isinstance(stmt, q.Alloc))


@q.per_node
def _free(loop: q.For) -> tuple[int, ...]:
    return tuple(sorted([var.uid for var in q.free_vars(loop)]))


@q.per_node
def _decisive(loop: q.For) -> tuple[int, ...]:
    """Variables from outside that bounds, conditions, shapes or calls in a loop depend on."""
    return tuple(sorted([var.uid for var in _deciding(loop) & q.free_vars(loop)]))


@q.per_node
def _deciding(stmt: q.Stmt) -> frozenset[q.Var]:
    found: set[q.Var] = set()
    if isinstance(stmt, q.For | q.If | q.Alloc | q.Call) and not _is_instruction(stmt):
        found.update(*map(q.expr_vars, q.stmt_exprs(stmt)))
    for block in q.blocks(stmt):
        found.update(*map(_deciding, block))
    return frozenset(found)


def _is_instruction(stmt: q.Stmt) -> bool:
    return isinstance(stmt, q.Call) and stmt.proc.instr is not None

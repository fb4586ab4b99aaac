"""Statements of a trace: blocks, what is pending, and what has to be stored before it changes.

NumPy is eager: after `b = A + 1; A[:] = 0` the old `A` is in `b`. A *buffer* is what stands behind
arrays of the trace: a value that is pending, or storage. Before an array is written, a mark is set
where pending values that read it would have to be stored; the first later use stores them there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends import graph as g
from schedsearch.frontends import views
from schedsearch.frontends.jit.sizes import Sizes
from schedsearch.frontends.lowered import Refusal

OURS = str(Path(__file__).parents[1])
NUMPY = str(Path(np.__file__).parent)

SIZE_WORDS = "index by constants, loop variables and sizes"


@dataclass(eq=False)
class Mark:
    """A place in a block."""


@dataclass(eq=False)
class Block:
    kind: str
    statements: list[g.Statement | Mark] = field(default_factory=list)
    written: set[g.Array] = field(default_factory=set)
    arrays: set[g.Array] = field(default_factory=set)


class Buffer:
    """What is behind an array of the trace. `value` is pending until `array` is there. `stands` is
    the array in whose terms views of it are written until then."""

    def __init__(
        self, builder: Builder, value: g.Value | None, array: g.Array | None = None
    ) -> None:
        source: Any = array if array is not None else value
        self.type: str = source.type
        self.shape: g.Shape = source.shape
        self.value = value
        self.array = array
        self.reads = frozenset() if value is None else builder.reads(value)
        self.block = builder.block
        self.depth = len(builder.predicates)
        self.mark: Mark | None = None
        self.name = array.name if array else ""
        # why it may not be written; why it may not be used; what it may be another name of, by a
        # condition: once it is written, those are gone
        self.moved = ""
        self.gone = ""
        self.sources: tuple[Buffer, ...] = ()
        builder.buffers += 1
        self.number = builder.buffers
        self.stands = array or g.Array("", self.type, self.shape)
        if array is None:
            builder.pending.add(self)


@dataclass(eq=False)
class Predicate:
    """A condition on data, under which statements are traced: as one on elements of a shape."""

    condition: Callable[[g.Shape], g.Condition]
    depth: int


class Builder:
    """The state of one trace."""

    def __init__(self, sizes: Sizes, file: str, preprocess: bool) -> None:
        self.sizes = sizes
        self.file = file
        self.function = ""
        self.last = 0
        self.preprocess = preprocess
        self.tracing = True
        self.stack = [Block("top")]
        self.predicates: list[Predicate] = []
        self.pending: WeakSet[Buffer] = WeakSet()
        self.scalars: set[g.Array] = set()
        self.moved: dict[g.Array, str] = {}
        self.holds: dict[g.Array, tuple[g.Value, ...]] = {}
        self.buffers = 0
        self._reads: dict[int, tuple[Any, frozenset[g.Array]]] = {}
        self.numbers: dict[q.Var, q.Var] = {}

    @property
    def block(self) -> Block:
        return self.stack[-1]

    @property
    def symbolic(self) -> bool:
        """Whether what is traced now stands for several rounds, or for one of two branches."""
        return len(self.stack) > 1 or bool(self.predicates)

    # -- lines --

    def line(self) -> int:
        """Of the user's file; what is made when the function has ended has its last one."""
        file, line = where()
        if file == self.file:
            self.last = line
        return self.last

    # -- values --

    def reads(self, node: Any) -> frozenset[g.Array]:
        """Arrays that a value or condition reads, without scalars, which are never written."""
        known = self._reads.get(id(node))
        if known is None:
            found: set[g.Array] = set()
            if isinstance(node, g.Load):
                found.add(node.array)
            for part in parts(node):
                found |= self.reads(part)
            known = self._reads[id(node)] = node, frozenset(found - self.scalars)
        return known[1]

    def inside_loops(self, block: Block) -> bool:
        """Whether a loop has been entered since a block was current."""
        place = self.stack.index(block)
        return any(each.kind == "for" for each in self.stack[place + 1 :])

    def use(self, buffer: Buffer) -> g.Value:
        """The value of a buffer, here."""
        if buffer.gone:
            raise Refusal(buffer.name or "an array", buffer.gone, "copy it before it is written")
        if buffer.block not in self.stack:
            raise Refusal(
                buffer.name or "an array",
                "it was made inside of a loop or branch, and is used outside of it",
                "make it before, and assign its elements inside",
            )
        if buffer.array is None:
            assert buffer.value is not None
            # an array may be written later in the loop, which then has other elements in all
            # rounds but the first; and NumPy computes it once
            late = buffer.shape or buffer.reads or not is_plain(buffer.value)
            if buffer.mark or (late and self.inside_loops(buffer.block)):
                self.store_pending(buffer)
        if buffer.array is not None:
            load = g.Load(buffer.array)
            if buffer.array.shape == buffer.shape:
                return load
            return views.view(load, buffer.shape, lambda at: at)
        assert buffer.value is not None
        return buffer.value

    def store_pending(self, buffer: Buffer) -> g.Array:
        """Storage for a pending value, filled where its value is still that which it was."""
        assert buffer.value is not None
        array = g.Array(buffer.name or "t", buffer.type, self.room(buffer.shape))
        place = len(buffer.block.statements)
        if buffer.mark:
            place = buffer.block.statements.index(buffer.mark)
        line = self.line()
        made: list[g.Statement | Mark] = [g.Allocate(array, line)]
        made.append(g.Store(array, *identity(buffer.shape), buffer.value, line=line))
        buffer.block.statements[place:place] = made
        buffer.block.written.add(array)
        buffer.block.arrays.add(array)
        if not buffer.shape:
            self.holds[array] = (buffer.value,)
        buffer.array, buffer.value, buffer.mark = array, None, None
        self.pending.discard(buffer)
        return array

    def allocate(self, name: str, kind: str, shape: g.Shape) -> Buffer:
        shape = tuple(map(self.sizes.resolved, shape))
        array = g.Array(name, kind, self.room(shape))
        self.block.statements.append(g.Allocate(array, self.line()))
        self.block.arrays.add(array)
        buffer = Buffer(self, None, array)
        buffer.shape = shape
        buffer.stands = g.Array("", kind, shape)
        return buffer

    def room(self, shape: g.Shape) -> g.Shape:
        """Lengths of storage, which Exo wants to be 1 at least: those that may be 0 in some rounds
        get one more."""
        found = []
        for n in shape:
            least = self.sizes.lowest(n - 1)
            if least.is_const and least.const == -1 and not self.sizes.never_negative(n - 1):
                n = n + 1
            elif not self.sizes.never_negative(n - 1):
                short = Refusal(f"an array of length {shown(n)}", "it is empty", "make it longer")
                self.sizes.need(n - 1, short)
            found.append(n)
        return tuple(found)

    # -- statements --

    def writable(self, buffer: Buffer) -> g.Array:
        """The storage of a buffer that is written in place."""
        self.use(buffer)  # for its scope
        if buffer.array is None:
            self.store_pending(buffer)
        assert buffer.array is not None
        reason = buffer.moved or self.moved.get(buffer.array, "")
        for each in buffer.sources:
            made = each.array is None or each.array in each.block.arrays
            if not made or each.block not in self.stack or self.inside_loops(each.block):
                reason = reason or "by a condition it is another array"
        if reason:
            raise Refusal(
                f"assignment to elements of {buffer.name or 'an array'}",
                reason,
                "assign to elements of one array throughout (`x[:] = ...`), or copy it",
            )
        for each in buffer.sources:
            each.gone = "by a condition it is also another name's, which was written"
        return buffer.array

    def fix(self, buffer: Buffer, reason: str) -> None:
        """Let it not be written from here on."""
        if buffer.array is None:
            buffer.moved = reason
        else:
            self.moved[buffer.array] = reason

    def store(
        self,
        buffer: Buffer,
        vars: tuple[q.Var, ...],
        index: tuple[q.Affine, ...],
        value: g.Value,
        add: bool = False,
        *,
        carried: bool = False,
    ) -> None:
        """`buffer[index] = value`, under the conditions on data that hold here. `carried`: what a
        loop hands on to its next round, of which the function knows nothing."""
        array = buffer.array if carried and buffer.array else self.writable(buffer)
        conditions = [each.condition for each in self.predicates if each.depth >= buffer.depth]
        if conditions:
            now = views.view(g.Load(array), value.shape, lambda at: _moved(index, vars, at))
            if add:
                value, add = g.Apply("+", (now, value), value.type, value.shape), False
            for condition in conditions:
                value = g.Select(condition(value.shape), value, now)
        self.changes(array)
        self.block.statements.append(g.Store(array, vars, index, value, add, self.line()))

    def changes(self, array: g.Array) -> None:
        """Set marks for pending values that read an array which is written next."""
        for buffer in sorted(self.pending, key=lambda each: each.number):
            if array in buffer.reads and buffer.mark is None and buffer.block in self.stack:
                buffer.mark = Mark()
                buffer.block.statements.append(buffer.mark)
        for block in self.stack:
            block.written.add(array)

    @contextmanager
    def inside(self, block: Block) -> Iterator[Block]:
        self.stack.append(block)
        try:
            yield block
        finally:
            self.stack.pop()

    @contextmanager
    def loop(self, var: q.Var, lo: q.Affine, hi: q.Affine) -> Iterator[Block]:
        """Statements of a loop: appended by `close`."""
        lo, hi = self.sizes.resolved(lo), self.sizes.resolved(hi)
        self.sizes.loops.append((var, lo, hi))
        self.sizes.guards.append(hi - lo - 1)
        try:
            with self.inside(Block("for")) as block:
                yield block
        finally:
            self.sizes.loops.pop()
            self.sizes.guards.pop()

    def close(self, block: Block, var: q.Var, lo: q.Affine, hi: q.Affine) -> None:
        body = finished(block)
        if not body:
            return
        lo, hi = self.sizes.resolved(lo), self.sizes.resolved(hi)
        loop: g.Statement = g.For(var, lo, hi, body, self.line())
        least = self.sizes.lowest(hi - lo)
        if not self.sizes.never_negative(hi - lo):
            if least.is_const:
                loop = g.If(q.BinOp("<", lo, hi, "bool"), (loop,), (), loop.line)
            else:
                wrong = Refusal("range", "its bounds are the wrong way round", "order them")
                self.sizes.need(hi - lo, wrong)
        self.block.statements.append(loop)


def finished(block: Block) -> tuple[g.Statement, ...]:
    return tuple(each for each in block.statements if not isinstance(each, Mark))


def where() -> tuple[str, int]:
    """File and line of the user's text that is being traced."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        name = frame.f_code.co_filename
        library = ("/contextlib.py", "/_weakrefset.py")
        if not name.startswith((OURS, NUMPY, "<__array")) and not name.endswith(library):
            return name, frame.f_lineno
        frame = frame.f_back
    return "", 0


def parts(node: Any) -> tuple[Any, ...]:
    match node:
        case g.View() | g.Cast() | g.Reduce() | g.Scan():
            return (node.source,)
        case g.Apply() | g.Logical():
            return node.args
        case g.Select():
            return (node.condition, node.then, node.other)
        case g.Compare():
            return (node.lhs, node.rhs)
        case _:
            return ()


def is_plain(node: g.Value) -> bool:
    """Whether nothing is computed: constants, counts, loads, and views of them."""
    while isinstance(node, g.View):
        node = node.source
    return isinstance(node, g.Constant | g.Count | g.Load)


def identity(shape: g.Shape) -> tuple[tuple[q.Var, ...], tuple[q.Affine, ...]]:
    names = tuple(g.fresh("") for _ in shape)
    return names, tuple(map(q.as_affine, names))


def _moved(
    index: tuple[q.Affine, ...], vars: tuple[q.Var, ...], at: tuple[q.Affine, ...]
) -> list[q.Affine]:
    names = dict(zip(vars, at, strict=True))
    return [views.replaced(each, names) for each in index]


def broadcast_condition(condition: g.Condition, shape: g.Shape) -> g.Condition:
    """As `views.broadcast_to`."""
    own = condition_shape(condition)

    def places(at: tuple[q.Affine, ...]) -> list[q.Affine]:
        return list(at) if own is None else views.repeated(own, at)

    return view_condition(condition, shape, places)


def condition_shape(condition: g.Condition) -> g.Shape | None:
    """None: it says nothing of elements."""
    match condition:
        case g.Compare():
            return condition.lhs.shape
        case g.Logical():
            return next(
                (s for each in condition.args if (s := condition_shape(each)) is not None), None
            )
        case _:
            return None


def view_condition(condition: g.Condition, shape: g.Shape, places: Any) -> g.Condition:
    """As `views.view`, of conditions."""
    match condition:
        case g.Compare():
            lhs, rhs = (views.view(each, shape, places) for each in (condition.lhs, condition.rhs))
            return g.Compare(condition.op, lhs, rhs)
        case g.Logical():
            args = tuple(view_condition(each, shape, places) for each in condition.args)
            return g.Logical(condition.op, args)
        case _:
            names, at = identity(shape)
            if not condition.vars:
                return g.Inside(names, condition.condition)
            inner = dict(zip(condition.vars, map(q.as_affine, places(at)), strict=True))
            return g.Inside(names, replaced_condition(condition.condition, inner))


def replaced_condition(condition: q.Expr, names: dict[q.Var, q.Affine]) -> q.Expr:
    match condition:
        case q.BinOp():
            lhs = replaced_condition(condition.lhs, names)
            return q.BinOp(condition.op, lhs, replaced_condition(condition.rhs, names), "bool")
        case q.Affine():
            return views.replaced(condition, names)
        case _:
            return condition


def shown(value: q.Affine) -> str:
    return show_affine(value)

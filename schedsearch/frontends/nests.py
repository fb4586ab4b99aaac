"""Nests of loops that compute all elements of a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends.block import Block, allocate, branch, loop, number, room, scalar, within
from schedsearch.frontends.bounds import Loop
from schedsearch.frontends.elements import (
    element,
    extern,
    inside,
    settled,
    typed,
)
from schedsearch.frontends.functions import EXO_NAMES
from schedsearch.frontends.plan import (
    At,
    axes_joined,
    innermost,
    loops_over,
    needed_first,
    places,
    shared,
)
from schedsearch.frontends.views import ONE, replaced


@dataclass(frozen=True)
class Target:
    """Where the elements of a value go: `array[index]`, for the value's place `vars`."""

    buf: q.Var
    array: g.Array
    vars: tuple[q.Var, ...]
    index: At

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(var.name for var in self.vars)

    def place(self, at: At) -> At:
        names = dict(zip(self.vars, at, strict=True))
        return tuple(replaced(each, names) for each in self.index)

    def at(self, at: At, block: Block) -> At:
        found = self.place(at)
        within(found, self.array.shape, block)
        return found


def prepare(value: g.Value, block: Block) -> None:
    for each in needed_first(value, block.stored):
        keep(each, block)


def keep(value: g.Value, block: Block) -> None:
    """Store a value into an array of its own."""
    if value in block.stored:
        return
    if q.Affine() in value.shape:
        block.stored[value] = g.fresh("")  # nothing to store, which nothing reads
        return
    prepare(value, block)
    array = g.Array(_NAMES.get(type(value), "t"), value.type, room(value.shape, block))
    buf = allocate(array, block)
    own = tuple(g.fresh("") for _ in value.shape)
    compute(value, Target(buf, array, own, tuple(map(q.as_affine, own))), block)
    block.stored[value] = buf


_NAMES = {g.Reduce: "total", g.Scan: "running"}


def compute(value: g.Value, into: Target, block: Block, *, add: bool = False) -> None:
    """The nests that give all elements of a value."""
    if isinstance(value, g.Reduce) and value not in block.stored and _across(value, into, block):
        keep(value, block)
    block = replace(block, shared=shared(value, block.stored))
    match value:
        case g.Reduce() if value not in block.stored:
            reduction(value, into, block, add=add)
        case g.Scan() if value not in block.stored:
            scan(value, into, block)
        case _:
            nest(
                value.shape,
                into.names,
                block,
                lambda at, b: assign(value, at, into, at, b, add=add),
            )


def _across(value: g.Reduce, into: Target, block: Block) -> bool:
    """Whether a reduction could go along rows of its operands, and goes down columns only because
    its result does: then it has an array of its own first."""
    own = places(loops_over(value.shape))
    target = into.place(own)
    return (
        target != own
        and innermost(value, own, target, block.stored) is None
        and innermost(value, own, (), block.stored) is not None
    )


def nest(
    shape: g.Shape,
    names: Sequence[str],
    block: Block,
    body: Callable[[At, Block], None],
) -> None:
    """Loops over a shape, the last axis innermost. An axis of length 1 needs none."""
    if not shape:
        body((), block)
        return
    n, rest = shape[0], shape[1:]
    block.need(n)
    if n == ONE:
        nest(rest, names[1:], block, lambda at, b: body((q.Affine(), *at), b))
    elif not (n.is_const and n.const <= 0):
        var = g.fresh(names[0] if names else "")
        inner = block.inside([Loop(var, q.Affine(), n)])
        nest(rest, names[1:], inner, lambda at, b: body((q.as_affine(var), *at), b))
        loop(var, q.Affine(), n, inner.out, block)


def assign(
    value: g.Value, at: At, into: Target, kept: At, block: Block, *, add: bool = False
) -> None:
    """One element of a value, stored into the place of `kept`."""
    if isinstance(value, g.Select) and isinstance(value.condition, g.Inside):
        then, other = block.inside(guarded=True), block.inside(guarded=True)
        assign(value.then, at, into, kept, then, add=add)
        assign(value.other, at, into, kept, other, add=add)
        branch(inside(value.condition, at), then, other, block)
    elif isinstance(value, g.Cast) and value not in block.stored:
        write(into, kept, typed(value.source, at, block), block, add=add)
    else:
        write(into, kept, element(value, at, block), block, add=add)


def write(into: Target, at: At, rhs: q.Expr, block: Block, *, add: bool = False) -> None:
    """An assignment converts to the type of what it stores into, as C does."""
    kind = q.Reduce if add else q.Assign
    block.out.append(kind(block.path, into.buf, into.at(at, block), rhs, into.array.type))


def reduction(value: g.Reduce, into: Target, block: Block, *, add: bool) -> None:
    """Into the target: what the function is of nothing, or the first element, then all others, in
    their order. The loop innermost is one along rows."""
    gone = tuple(value.source.shape[axis] for axis in sorted(value.axes))
    first = tuple(q.Affine() for _ in gone)
    function, rank = value.function, len(value.shape)
    order = [*range(rank + len(gone))]
    own = places(loops_over(value.shape))
    if (axis := innermost(value, own, into.place(own), block.stored)) is not None:
        order.append(order.pop(axis))

    def begin(at: At, b: Block) -> None:
        if function in ("sum", "prod"):
            write(into, at, number(int(function == "prod"), value.type), b)
        else:
            for n in gone:
                b.need(n - 1)
            assign(value.source, axes_joined(value, at, first), into, at, b)

    def step(at: At, b: Block) -> None:
        along = dict(zip(order, at, strict=True))
        every = tuple(along[axis] for axis in range(len(order)))
        kept = every[:rank]
        place = axes_joined(value, kept, every[rank:])
        if function == "sum":
            assign(value.source, place, into, kept, b, add=True)
        else:
            running = q.Read(into.buf, into.at(kept, b), value.type)
            other = settled(value.source, place, b)
            write(into, kept, combined(function, running, other, value.type, b), b)

    if not add:
        nest(value.shape, into.names, block, begin)
    shape, names = (*value.shape, *gone), (*into.names, *("" for _ in gone))
    nest(tuple(shape[n] for n in order), [names[n] for n in order], block, step)


def combined(function: str, a: q.Expr, b: q.Expr, kind: str, block: Block) -> q.Expr:
    if function in ("max", "min"):
        return extern(EXO_NAMES[function], (a, b), kind, block)
    return q.BinOp({"sum": "+", "prod": "*"}[function], a, b, kind)


def scan(value: g.Scan, into: Target, block: Block) -> None:
    """A running value for each line along the axis."""
    axis, function = value.axis, value.function
    others = (*value.shape[:axis], *value.shape[axis + 1 :])
    n = value.shape[axis]

    def line(at: At, b: Block) -> None:
        running = Target(scalar("running", value.type, b), g.Array("", value.type), (), ())
        read = q.Read(running.buf, (), value.type)
        if function in ("max", "min"):
            b.need(n - 1)
            first = (*at[:axis], q.Affine(), *at[axis:])
            write(running, (), element(value.source, first, b), b)
        else:
            write(running, (), number(int(function == "prod"), value.type), b)

        def step(along: At, inner: Block) -> None:
            place = (*at[:axis], *along, *at[axis:])
            if function == "sum":
                assign(value.source, place, running, (), inner, add=True)
            else:
                other = settled(value.source, place, inner)
                write(running, (), combined(function, read, other, value.type, inner), inner)
            write(into, place, read, inner)

        nest((n,), into.names[axis : axis + 1], b, step)

    nest(others, (*into.names[:axis], *into.names[axis + 1 :]), block, line)

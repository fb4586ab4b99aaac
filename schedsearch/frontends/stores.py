"""Stores of values into arrays, which may be read in the same statement."""

from __future__ import annotations

from dataclasses import replace

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import types
from schedsearch.frontends.block import Block
from schedsearch.frontends.bounds import Loop, surely_positive
from schedsearch.frontends.nests import Target, compute, keep, prepare
from schedsearch.frontends.plan import places, reads
from schedsearch.frontends.views import ONE, replaced


def store(stmt: g.Store, block: Block) -> None:
    """The nests of what the value needs, and those that store it."""
    whole = _permuted(_typed(stmt))
    parts = _parts(whole)
    for part in parts:
        prepare(part.value, block)
    if any(_read_late(part, block) for part in parts[1:]):
        parts = [whole]
        prepare(whole.value, block)
    for part in parts:
        put(part, block)


def put(stmt: g.Store, block: Block) -> None:
    """Through a temporary where the array would be read after it is written, because NumPy computes
    the whole value first."""
    if block.stored.get(stmt.value) is block.work.arrays[stmt.array]:
        stmt = replace(stmt, value=g.Load(stmt.array))  # what it is written into
    value = stmt.value
    into = Target(block.work.arrays[stmt.array], stmt.array, stmt.vars, stmt.index)
    if not _accumulates(stmt) and isinstance(value, g.Reduce | g.Scan):
        keep(value, block)
    if value not in block.stored and _read_late(stmt, block):
        keep(value, block)
    compute(value, into, block, add=stmt.add)


def _parts(stmt: g.Store) -> list[g.Store]:
    """A sum in which there are reductions, one after another: `C = beta * C`, then the product is
    added to that, and needs no array of its own."""
    rest, sums = _split(stmt.value, minus=False)
    values = [*sums] if rest is None else [rest, *sums]
    return [
        replace(stmt, value=value, add=stmt.add or number > 0)
        for number, value in enumerate(values)
    ]


def _split(value: g.Value, *, minus: bool) -> tuple[g.Value | None, list[g.Reduce]]:
    """What is no reduction, and reductions, which together are the value, or its negative."""
    match value:
        case g.Reduce("sum", source, axes):
            return None, [g.Reduce("sum", _negative(source), axes) if minus else value]
        case g.Apply("+" | "-" as op, (a, b)):
            one, sums = _split(a, minus=minus)
            other, more = _split(b, minus=minus != (op == "-"))
            if sums or more:
                both = [each for each in (one, other) if each is not None]
                if len(both) == 2:
                    return replace(value, function="+", args=tuple(both)), sums + more
                return (both[0] if both else None), sums + more
        case _:
            pass
    return (_negative(value) if minus else value), []


def _negative(value: g.Value) -> g.Apply:
    return g.Apply("neg", (value,), value.type, value.shape)


def _typed(stmt: g.Store) -> g.Store:
    """The value in the array's type; a sum with an array of a narrower type is one of values."""
    value, kind = stmt.value, stmt.array.type
    if value.type == kind:
        return stmt
    wide = types.result_type(value.type, kind)
    if stmt.add and wide != kind:
        own = g.View(g.Load(stmt.array), stmt.vars, value.shape, stmt.index)
        terms = types.cast(own, wide), types.cast(value, wide)
        total = g.Apply("+", terms, wide, value.shape)
        return replace(stmt, value=types.cast(total, kind), add=False)
    return replace(stmt, value=types.cast(value, kind))


def _permuted(stmt: g.Store) -> g.Store:
    """Where the value is a transposed reduction, its own order, and indices in terms of that."""
    view = stmt.value
    if not (isinstance(view, g.View) and isinstance(view.source, g.Reduce | g.Scan)):
        return stmt
    names = tuple(g.fresh("") for _ in view.source.shape)
    lengths = dict(zip(view.vars, view.shape, strict=True))
    places = {}
    for name, place, n in zip(names, view.index, view.source.shape, strict=True):
        var = place.as_var
        if var in lengths and var not in places and lengths[var] == n:
            places[var] = q.as_affine(name)
        elif n != ONE:
            return stmt
    for var, n in lengths.items():
        if var not in places:
            if n != ONE:
                return stmt
            places[var] = q.Affine()
    back = {own: places[var] for own, var in zip(stmt.vars, view.vars, strict=True)}
    index = tuple(replaced(each, back) for each in stmt.index)
    return replace(stmt, vars=names, index=index, value=view.source)


def _accumulates(stmt: g.Store) -> bool:
    """Whether a reduction can take the array itself for its partial results."""
    match stmt.value:
        case g.Reduce():
            return not stmt.add or stmt.value.function == "sum"
        case _:
            return not stmt.add


def _read_late(stmt: g.Store, block: Block) -> bool:
    """Whether the nest may read an element of the array after it has written it. An element may
    be read where it is written next, but not while a reduction has its partial result there."""
    own = [Loop(var, q.Affine(), n) for var, n in zip(stmt.vars, stmt.value.shape, strict=True)]
    at = places(own)
    found = reads(stmt.value, at, own, block.stored)
    copies = [Loop(g.fresh(""), loop.lo, loop.hi) for loop in found.loops]
    again = dict(zip([loop.var for loop in found.loops], places(copies), strict=True))
    loops = [*block.loops, *found.loops, *copies]
    own_place = block.work.arrays[stmt.array]
    for value, at in found.uses:
        loaded = isinstance(value, g.Load) and value.array is stmt.array
        if not loaded and block.stored.get(value) is not own_place:  # it may be there, too
            continue
        if at == stmt.index and not isinstance(stmt.value, g.Reduce):
            continue
        elsewhere = tuple(replaced(each, again) for each in at)
        pairs = list(zip(stmt.index, elsewhere, strict=True))
        if not any(
            surely_positive(a - b, loops) or surely_positive(b - a, loops) for a, b in pairs
        ):
            return True
    return False

"""Which loops are one instruction per register, and which instruction.

`fuse` recognises a loop whose iterations are independent (or only add to what the loop does
not move, take its minimum or maximum, or are a linear recurrence) and describes it without names.

Exo does not check that the C of an instruction does the same as the loop: it is proved here.
Statements are carried out one after the other on all lanes, so that a lane of an array that is
written may be accessed by that lane only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import declared
from schedsearch.analysis.certain import certain_at
from schedsearch.analysis.conversions import value_type
from schedsearch.analysis.ranges import loops_at
from schedsearch.core import ast as q
from schedsearch.core.element_types import VECTORS
from schedsearch.core.functions import FUNCTIONS
from schedsearch.transforms.vector.fused.backwards import mirrored
from schedsearch.transforms.vector.fused.iterations import mentions
from schedsearch.transforms.vector.fused.model import (
    COPY,
    Fused,
    arithmetic,
    reduced,
)
from schedsearch.transforms.vector.fused.operands import (
    ArrayAccesses,
    Given,
    Indices,
    as_operand,
    renamed,
    scalar,
)
from schedsearch.transforms.vector.fused.states import law

MAX_LANES = 64


def fuse(
    proc: q.Proc,
    loop: q.For,
    lanes: int,
    counted: bool,
    whole: bool = False,
    chains: int = 1,
    parts: int = 1,
    in_turn: bool = False,
    once: bool = False,
    together: bool = False,
) -> Fused | None:
    """The instruction for `loop`, whatever its bounds are; None if there is none.

    `loop` may also be a constant loop over registers, with the loop over lanes inside. `whole`:
    the counted instruction should load all lanes, which it does where arrays have as many
    elements. `chains` and `parts`: of minima and maxima. `in_turn`: iterations need the result of
    the one before, as a linear recurrence. `once`: there should be no loop over registers,
    where the iterations certainly fill one at most. `together`: `loop` is a constant loop over
    rows, with the one along each inside, and each row has sums of its own.
    """
    outer, copies = None, 1
    if len(loop.body) == 1 and isinstance(loop.body[0], q.For) and counted is together:
        outer, copies, loop = loop, loop.extent or 0, loop.body[0]
        if copies < 2 or outer.parallel or outer.lo != q.Affine(0):
            return None
    if together and outer is None:
        return None
    if loop.parallel or not 2 <= lanes <= MAX_LANES or lanes & (lanes - 1):
        return None
    mirror = mirrored(loop) if in_turn else None
    loop = mirror or loop
    found = statements(loop)
    if found is None:
        return None
    simple, allocs = found
    found_law = law(loop.body, loop.iter) if in_turn and counted else None
    if in_turn and found_law is None:
        return None
    handed_on = found_law.buffers if found_law else frozenset()
    arrays, places = declared(proc), places_of(simple, allocs)
    given: dict[q.Var, Given] = {}
    for uid, buf in enumerate(places):
        accesses = ArrayAccesses(
            tuple(places[buf]),
            [s for s in simple if s.buf == buf],
            loop,
            outer,
            buf in handed_on,
            copies if together else 0,
        )
        made = buf in arrays and as_operand(uid, arrays[buf], accesses, lanes)
        if not made:
            return None
        given[buf] = made
    for alloc in allocs:
        given[alloc.buf] = scalar(len(given))
    body = tuple(renamed(stmt, given) for stmt in loop.body)
    operands = tuple(given[buf].operand for buf in places)
    fused = Fused(
        lanes, counted, operands, body, copies, counted and whole, chains, parts, recurrence=in_turn
    )
    if mirror:
        fused = replace(fused, backwards=True)
        if any(op.places and op.moves for op in operands):
            return None
    if any(stmt.type == "f16" for stmt in reduced(fused)):
        return None  # each addition rounds to f16
    if together:
        length = loop.extent or 0
        return replace(fused, together=True, length=length) if _of_rows(fused) else None
    if fused.whole and not _has_lanes(proc, loop, fused, places):
        fused = replace(fused, whole=False)
        return _once(proc, loop, fused) if once else fused
    return replace(fused, empty=fused.whole and _starts_empty(proc, loop))


Simple = q.Assign | q.Reduce


def places_of(simple: list[Simple], allocs: list[q.Alloc]) -> dict[q.Var, list[Indices]]:
    """Where statements access arrays, other than their own scalars."""
    local = {alloc.buf for alloc in allocs}
    places: dict[q.Var, list[Indices]] = {}
    for stmt in simple:
        for each in (*reads(stmt.rhs), stmt):
            if each.buf not in local:
                places.setdefault(each.buf, []).append(each.idx)
    return places


def operands_of(loop: q.For, bufs: Collection[q.Var]) -> tuple[int, ...]:
    """Numbers of the operands that arrays are in the instruction for `loop`."""
    found = statements(loop)
    assert found is not None
    return tuple(uid for uid, buf in enumerate(places_of(*found)) if buf in bufs)


def statements(loop: q.For) -> tuple[list[Simple], list[q.Alloc]] | None:
    """Those of a loop's body, and its scalars, if all have a vector form."""
    if not all(isinstance(stmt, q.Assign | q.Reduce | q.Alloc) for stmt in loop.body):
        return None
    simple = [stmt for stmt in loop.body if isinstance(stmt, q.Assign | q.Reduce)]
    allocs = [stmt for stmt in loop.body if isinstance(stmt, q.Alloc)]
    if not simple or not all(computable(stmt) for stmt in simple):
        return None
    if any(alloc.shape or alloc.type not in VECTORS for alloc in allocs):
        return None
    return simple, allocs


def _of_rows(fused: Fused) -> bool:
    """Whether each row has sums of its own, and what else is written belongs to a lane: all of its
    accesses are to one column, so that no row writes what another lane accesses."""
    written = [s for s in fused.body if isinstance(s, q.Assign | q.Reduce)]
    own = [s for s in written if s.buf.uid < len(fused.operands)]
    sums = [s for s in own if not fused.operands[s.buf.uid].moves]
    kept = {s.buf: s.idx for s in own if fused.operands[s.buf.uid].moves}
    places = [(s.buf, s.idx) for s in own] + [(r.buf, r.idx) for s in written for r in reads(s.rhs)]
    return (
        bool(sums)
        and all(isinstance(s, q.Reduce) and mentions(s.idx, COPY) for s in sums)
        and all(kept.get(buf, idx) == idx for buf, idx in places)
        and not any(COPY in q.expr_vars(idx[-1]) for idx in kept.values())
    )


def _starts_empty(proc: q.Proc, loop: q.For) -> bool:
    """Whether the loop ends at the variable of one around it that starts at 0."""
    return any(
        each.lo == q.Affine(0) and loop.hi == q.as_affine(each.iter)
        for each in loops_at(proc, loop.path)
    )


def _once(proc: q.Proc, loop: q.For, fused: Fused) -> Fused:
    """Without a loop over registers, if the iterations certainly fill one at most. Masks are of one
    lane at least."""
    here, number = certain_at(proc, loop.path[:-1]), loop.hi - loop.lo
    one = any(op.registers for op in fused.operands) and not [*reduced(fused)]
    if not (one and here.at_most(number - fused.lanes, 0)):
        return fused
    return replace(fused, once=True, empty=not here.at_most(q.Affine(1) - number, 0))


def _has_lanes(
    proc: q.Proc, loop: q.For, fused: Fused, places: Mapping[q.Var, list[Indices]]
) -> bool:
    """Whether what is read whole has elements for all lanes, and there are no more iterations than
    lanes."""
    here, arrays = certain_at(proc, loop.path[:-1]), declared(proc)
    if not any(op.registers for op in fused.operands):
        return False
    for op, (buf, indices) in zip(fused.operands, places.items(), strict=True):
        if not (fused.reads_whole(op) and op.moves):
            continue
        ends = (idx[-1] - q.as_affine(loop.iter) + fused.lanes for idx in indices)
        if (
            op.places
            or op.inner
            or not all(here.at_most(end - arrays[buf].shape[-1], 0) for end in ends)
        ):
            return False
    return True


def computable(stmt: q.Assign | q.Reduce) -> bool:
    """Whether the expression has a vector form. Whole-number division has none that is fast,
    and lanes beyond `n` would divide by 0."""
    kind, value = arithmetic(stmt), value_type(stmt.rhs, stmt.type)
    if kind is None or stmt.type not in VECTORS:
        return False
    if stmt.type == "f16" and (kind != "f32" or (isinstance(stmt, q.Reduce) and value != "f16")):
        return False  # doubles and integers would be rounded twice, f32 before it is added
    for node in q.walk_expr(stmt.rhs):
        match node:
            case q.Const():
                if value == "f16" and float(np.float16(node.value)) != node.value:
                    return False
            case q.Extern() if value == "f16":
                return False
            case q.Read():
                if node.type not in VECTORS:
                    return False
            case q.BinOp():
                if node.op not in "+-*/" or (node.op == "/" and kind == "i32"):
                    return False
            case q.Extern():
                if node.name not in FUNCTIONS or (kind == "i32" and not _of_integers(node, stmt)):
                    return False
            case q.Window() | q.ReadConfig():
                return False
    return True


def _of_integers(call: q.Extern, stmt: q.Assign | q.Reduce) -> bool:
    """Whether a function of integers is one of `int`. Exo's convert their arguments to the type of
    the elements first."""
    function = FUNCTIONS[call.name]
    kinds = {read.type for read in reads(stmt.rhs)}
    return bool(function.whole) and (not function.own or kinds == {"i32"})

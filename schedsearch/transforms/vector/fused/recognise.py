"""Which loops are one instruction per register, and which instruction.

`fuse` recognises a loop whose iterations are independent (or only add to what the loop does
not move, take its minimum or maximum, or are a linear recurrence) and describes it without names.

Exo does not check that the C of an instruction does the same as the loop: it is proved here.
Statements are carried out one after the other on all lanes, so that a lane of an array that is
written may be accessed by that lane only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import Array, declared
from schedsearch.analysis.certain import certain_at
from schedsearch.analysis.conversions import value_type
from schedsearch.analysis.independence import box_of, separates
from schedsearch.analysis.ranges import Ranges, loops_at
from schedsearch.analysis.reduction import reduction
from schedsearch.core import ast as q
from schedsearch.core.element_types import VECTORS
from schedsearch.core.functions import FUNCTIONS
from schedsearch.transforms.vector.fused.backwards import mirrored
from schedsearch.transforms.vector.fused.model import (
    COPY,
    LANE,
    MAX_PLACES,
    Fused,
    Operand,
    arithmetic,
    operand,
    place_index,
    reduced,
)
from schedsearch.transforms.vector.fused.recurrences import recurrence
from schedsearch.transforms.vector.registers import register_kind

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
) -> Fused | None:
    """The instruction for `loop`, whatever its bounds are; None if there is none.

    `loop` may also be a constant loop over registers, with the loop over lanes inside. `whole`:
    the counted instruction should load all lanes, which it does where arrays have as many
    elements. `chains` and `parts`: of minima and maxima. `in_turn`: iterations need the result of
    the one before, as a linear recurrence.
    """
    outer, copies = None, 1
    if len(loop.body) == 1 and isinstance(loop.body[0], q.For) and not counted:
        outer, copies, loop = loop, loop.extent or 0, loop.body[0]
        if copies < 2 or outer.parallel or outer.lo != q.Affine(0):
            return None
    if loop.parallel or not 2 <= lanes <= MAX_LANES or lanes & (lanes - 1):
        return None
    mirror = mirrored(loop) if in_turn else None
    loop = mirror or loop
    found = statements(loop)
    if found is None:
        return None
    simple, allocs = found
    recurs = recurrence(loop.body, loop.iter) if in_turn and counted else None
    if in_turn and recurs is None:
        return None
    locals_ = {alloc.buf for alloc in allocs}
    places: dict[q.Var, list[tuple[q.Affine, ...]]] = {}
    for stmt in simple:
        for read in reads(stmt.rhs):
            places.setdefault(read.buf, []).append(read.idx)
        places.setdefault(stmt.buf, []).append(stmt.idx)
    arrays = declared(proc)
    buffers = [buf for buf in places if buf not in locals_]
    if len({*buffers, *locals_}) < len(buffers) + len(allocs):
        return None
    given: dict[q.Var, Given] = {}
    for uid, buf in enumerate(buffers):
        accesses = ArrayAccesses(
            tuple(places[buf]),
            [s for s in simple if s.buf == buf],
            loop,
            outer,
            recurs is not None and recurs.stmt.buf == buf,
        )
        made = buf in arrays and as_operand(uid, arrays[buf], accesses, lanes)
        if not made:
            return None
        given[buf] = made
    for alloc in allocs:
        given[alloc.buf] = scalar(len(given))
    body = tuple(renamed(stmt, given) for stmt in loop.body)
    operands = tuple(given[buf].operand for buf in buffers)
    fused = Fused(
        lanes, counted, operands, body, copies, counted and whole, chains, parts, recurrence=in_turn
    )
    if mirror:
        fused = replace(fused, backwards=True)
        if any(op.places and op.moves for op in operands):
            return None
    if any(stmt.type == "f16" for stmt in reduced(fused)):
        return None  # each addition rounds to f16
    if fused.whole and not _has_lanes(proc, loop, fused, {b: places[b] for b in buffers}):
        return replace(fused, whole=False)
    return replace(fused, empty=fused.whole and _starts_empty(proc, loop))


Simple = q.Assign | q.Reduce


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


def _starts_empty(proc: q.Proc, loop: q.For) -> bool:
    """Whether the loop ends at the variable of one around it that starts at 0."""
    return any(
        each.lo == q.Affine(0) and loop.hi == q.as_affine(each.iter)
        for each in loops_at(proc, loop.path)
    )


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
        if op.places or not all(here.at_most(end - arrays[buf].shape[-1], 0) for end in ends):
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


def renamed(stmt: q.Stmt, given: Mapping[q.Var, Given]) -> q.Stmt:
    match stmt:
        case q.Assign() | q.Reduce():
            place = given[stmt.buf].access(stmt.idx)
            return type(stmt)((), *place, renamed_expr(stmt.rhs, given), stmt.type)
        case q.Alloc():
            return q.Alloc((), given[stmt.buf].name, stmt.type, (), "DRAM")
        case _:
            raise AssertionError(stmt)


def renamed_expr(expr: q.Expr, given: Mapping[q.Var, Given]) -> q.Expr:
    match expr:
        case q.Read():
            return q.Read(*given[expr.buf].access(expr.idx), expr.type)
        case q.USub():
            return q.USub(renamed_expr(expr.arg, given), "")
        case q.BinOp():
            sides = (renamed_expr(expr.lhs, given), renamed_expr(expr.rhs, given))
            return q.BinOp(expr.op, *sides, "")
        case q.Extern():
            return q.Extern(expr.name, tuple(renamed_expr(a, given) for a in expr.args), "")
        case q.Const():
            return q.Const(expr.value, "")
        case _:
            raise AssertionError(expr)


MAX_SPAN = 64
"""ArrayAccesses to one array that are further apart do not make one window."""

Indices = tuple[q.Affine, ...]


@dataclass(frozen=True)
class ArrayAccesses:
    """How a loop accesses one array: where, in which order; the statements that write it;
    the loop over lanes, and that over registers if there is one. `in_turn`: lanes may read what the
    one before wrote."""

    places: tuple[Indices, ...]
    writes: list[q.Assign | q.Reduce]
    loop: q.For
    outer: q.For | None
    in_turn: bool = False

    @property
    def moves(self) -> list[bool | None]:
        return [_moves(place, self.loop.iter) for place in self.places]


@dataclass(frozen=True)
class Given:
    """An operand, its name in the instruction, and how accesses to it are indexed there."""

    name: q.Var
    operand: Operand
    index: Callable[[Indices], Indices]

    def access(self, idx: Indices) -> tuple[q.Var, Indices]:
        return self.name, self.index(idx)


def scalar(uid: int) -> Given:
    """A scalar declared inside the loop."""
    return Given(operand(uid), Operand("", (), False, False, True), lambda idx: idx)


def as_operand(uid: int, array: Array, accesses: ArrayAccesses, lanes: int) -> Given | None:
    """The operand number `uid`; None if the array cannot be one."""
    if array.type not in VECTORS or not array.dense or None in accesses.moves:
        return None
    if any(len(place) != len(array.shape) for place in accesses.places):
        return None
    if not (accesses.in_turn or _apart(accesses)):
        return None
    if register_kind(array.mem) is not None:
        return _register(uid, array, accesses, lanes)
    if not array.mem.startswith("DRAM"):
        return None
    if accesses.outer and any(
        accesses.outer.iter in q.expr_vars(index) for place in accesses.places for index in place
    ):
        return None
    window = _window(uid, array, accesses)
    if window or (accesses.in_turn and accesses.writes):
        return window
    return _whole(uid, array, accesses)


def _apart(accesses: ArrayAccesses) -> bool:
    """Whether no lane accesses an element that another one writes, reductions aside."""
    if not accesses.writes:
        return True
    if not any(accesses.moves):
        return only_reduces(accesses)
    # All other variables are bound outside of the loop.
    boxes = [(box_of(place), Ranges()) for place in accesses.places]
    return separates(accesses.loop.iter, boxes, lambda atom: True)


def only_reduces(accesses: ArrayAccesses) -> bool:
    """Whether all that the loop does with each element is to reduce into it, in one statement."""
    own = 0
    for stmt in accesses.writes:
        read = [read.idx for read in reads(stmt.rhs) if read.buf == stmt.buf]
        if reduction(stmt) is None or any(idx != stmt.idx for idx in read):
            return False
        if read and isinstance(stmt, q.Reduce):
            return False
        own += len(read)
    if len(accesses.places) != len(accesses.writes) + own:
        return False  # another statement reads one
    pairs = combinations([stmt.idx for stmt in accesses.writes], 2)
    return all(_other_element(one, other) for one, other in pairs)


def _other_element(one: Indices, other: Indices) -> bool:
    """Whether two places are never the same."""
    distances = [a - b for a, b in zip(one, other, strict=True)]
    return any(each.is_const and each.const for each in distances)


def _moves(idx: Indices, lane: q.Var) -> bool | None:
    """Whether an access moves by one element per iteration; None if otherwise."""
    used = [d for d, index in enumerate(idx) if lane in q.expr_vars(index)]
    if not used:
        return False
    rest = idx[-1] - q.as_affine(lane)
    return True if used == [len(idx) - 1] and lane not in q.expr_vars(rest) else None


def _register(uid: int, array: Array, accesses: ArrayAccesses, lanes: int) -> Given | None:
    """A whole register, or as many as there are copies."""
    (first, *others), lane = accesses.places, q.as_affine(accesses.loop.iter)
    if (
        register_kind(array.mem) != (array.type, lanes)
        or first[-1] != lane
        or set(others) - {first}
    ):
        return None
    outer, box, corner = accesses.outer, [1] * len(first), list(first)
    if outer and len(first) > 1 and first[-2].coefficient(outer.iter) == 1:
        corner[-2] = first[-2] - q.as_affine(outer.iter)
        box[-2] = outer.extent or 0
    corner[-1] = q.Affine(0)
    if outer and any(outer.iter in q.expr_vars(low) for low in corner):
        return None
    made = Operand(array.type, tuple(box), True, True, bool(accesses.writes))
    return Given(operand(uid), made, _from_corner(accesses, tuple(corner)))


def _window(uid: int, array: Array, accesses: ArrayAccesses) -> Given | None:
    """The box of all accesses, if they have constant distances."""
    first, moves = accesses.places[0], bool(accesses.moves[0])
    corner: list[q.Affine] = []
    box: list[int] = []
    for indices in zip(*accesses.places, strict=True):
        offsets = [index - first[len(corner)] for index in indices]
        if not all(offset.is_const for offset in offsets):
            return None
        low = min(offset.const for offset in offsets)
        box.append(max(offset.const for offset in offsets) - low + 1)
        corner.append(first[len(corner)] + low)
    if any(extent > MAX_SPAN for extent in box):
        return None
    if moves:
        corner[-1] = corner[-1] - q.as_affine(accesses.loop.iter)
    made = Operand(array.type, tuple(box), moves, False, bool(accesses.writes))
    return Given(operand(uid), made, _from_corner(accesses, tuple(corner)))


def _from_corner(accesses: ArrayAccesses, corner: Indices) -> Callable[[Indices], Indices]:
    variables = {accesses.loop.iter: LANE}
    if accesses.outer:
        variables[accesses.outer.iter] = COPY

    def within(idx: Indices) -> Indices:
        inside = []
        for index, low in zip(idx, corner, strict=True):
            offset = index - low
            moving = [(new, offset.coefficient(old)) for old, new in variables.items()]
            inside.append(q.affine(offset.const, tuple(moving)))
        return tuple(inside)

    return within


def _whole(uid: int, array: Array, accesses: ArrayAccesses) -> Given | None:
    """The array itself, with the indices of every place."""
    lane = accesses.loop.iter
    starts = list(dict.fromkeys(_start(place, lane) for place in accesses.places))
    if array.window or len(starts) > MAX_PLACES or len(array.shape) > 8:
        return None
    made = Operand(
        array.type,
        (1,) * len(array.shape),
        any(accesses.moves),
        False,
        bool(accesses.writes),
        len(starts),
    )

    def within(idx: Indices) -> Indices:
        place = starts.index(_start(idx, lane))
        new = [q.as_affine(place_index(uid, place, dim)) for dim in range(len(idx))]
        if _moves(idx, lane):
            new[-1] = new[-1] + q.as_affine(LANE)
        return tuple(new)

    return Given(operand(uid), made, within)


def _start(idx: Indices, lane: q.Var) -> tuple[bool, Indices]:
    """Whether an access moves, and where its first lane is."""
    if not _moves(idx, lane):
        return False, idx
    return True, (*idx[:-1], idx[-1] - q.as_affine(lane))

"""Operands of an instruction for a loop: what each array and scalar of the loop becomes there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import Array
from schedsearch.analysis.independence import box_of, separates
from schedsearch.analysis.ranges import Ranges
from schedsearch.analysis.reduction import reduction
from schedsearch.core import ast as q
from schedsearch.core.element_types import VECTORS
from schedsearch.transforms.vector.fused.iterations import mentions
from schedsearch.transforms.vector.fused.model import (
    COPY,
    LANE,
    MAX_PLACES,
    Operand,
    operand,
    place_index,
)
from schedsearch.transforms.vector.fused.structures import has_structures, members, structure
from schedsearch.transforms.vector.registers import register_kind


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
"""Accesses to one array that are further apart do not make one window."""

Indices = tuple[q.Affine, ...]


@dataclass(frozen=True)
class ArrayAccesses:
    """How a loop accesses one array: where, in which order; the statements that write it;
    the loop over lanes, and that over registers if there is one. `in_turn`: lanes may read what the
    one before wrote. `rows`: the loop around is one over so many rows."""

    places: tuple[Indices, ...]
    writes: list[q.Assign | q.Reduce]
    loop: q.For
    outer: q.For | None
    in_turn: bool = False
    rows: int = 0

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
    if array.type not in VECTORS or not array.dense:
        return None
    if None in accesses.moves:
        return _structures(uid, array, accesses, lanes)
    if any(len(place) != len(array.shape) for place in accesses.places):
        return None
    if not (accesses.in_turn or _apart(accesses)):
        return None
    if register_kind(array.mem) is not None:
        if accesses.rows:
            return None
        return _register(uid, array, accesses, lanes)
    if not array.mem.startswith("DRAM"):
        return None
    used = accesses.outer and any(
        accesses.outer.iter in q.expr_vars(index) for place in accesses.places for index in place
    )
    if used and not accesses.rows:
        return None
    window = _window(uid, array, accesses)
    if window or accesses.rows or (accesses.in_turn and accesses.writes):
        return window
    return _whole(uid, array, accesses)


def _apart(accesses: ArrayAccesses) -> bool:
    """Whether no lane accesses an element that another one writes, reductions aside."""
    if not accesses.writes:
        return True
    if not any(accesses.moves):
        return only_reduces(accesses)
    lane = accesses.loop.iter
    written = {stmt.idx for stmt in accesses.writes}
    return all(
        other_row(one, other, lane) or _of_lanes(one, other, lane)
        for one in written
        for other in set(accesses.places)
    )


def other_row(one: Indices, other: Indices, lane: q.Var) -> bool:
    """Whether two places are in different rows, whatever the lanes are."""
    fixed = [pair for pair in zip(one, other, strict=True) if not mentions(pair, lane)]
    return any((a - b).is_const and (a - b).const for a, b in fixed)


def _of_lanes(one: Indices, other: Indices, lane: q.Var) -> bool:
    """Whether each lane has elements of its own at two places. All other variables are bound
    outside of the loop."""
    boxes = [(box_of(place), Ranges()) for place in (one, other)]
    return separates(lane, boxes, lambda atom: True)


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
    rows = accesses.outer if accesses.rows else None
    for dim, index in enumerate(corner if rows else ()):
        assert rows is not None
        if index.coefficient(rows.iter) == 1:
            corner[dim] = index - q.as_affine(rows.iter)
            box[dim] += accesses.rows - 1
        if rows.iter in q.expr_vars(corner[dim]):
            return None
    made = Operand(array.type, tuple(box), moves, False, bool(accesses.writes))
    return Given(operand(uid), made, _from_corner(accesses, tuple(corner)))


def _structures(uid: int, array: Array, accesses: ArrayAccesses, lanes: int) -> Given | None:
    """Structures, of which each lane accesses one of its own."""
    lane = accesses.loop.iter
    starts = {structure(array, place, lane) for place in accesses.places}
    start = starts.pop()
    if starts or start is None or accesses.outer or accesses.in_turn:
        return None
    inside = array.shape[len(start) :]
    given = all(index.is_const for place in accesses.places for index in place[len(start) :])
    if not given or not array.mem.startswith("DRAM"):
        return None
    box = (*(1,) * len(start), *(extent.const for extent in inside))
    made = Operand(array.type, box, True, False, bool(accesses.writes), inner=len(inside))
    if not has_structures(array.type, lanes, members(made)):
        return None
    corner = (*start[:-1], start[-1] - q.as_affine(lane), *(q.Affine(0) for _ in inside))
    return Given(operand(uid), made, _from_corner(accesses, corner))


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

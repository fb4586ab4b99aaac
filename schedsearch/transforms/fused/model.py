"""What a fused vector instruction is: one loop over the lanes of a register, as a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedsearch.core import ast as q
from schedsearch.transforms.conversions import promoted, value_type
from schedsearch.transforms.walkers import ELEMENT_BITS

ELEMENTS = {
    "f32": ("float", 4),
    "f64": ("double", 8),
    "i32": ("int32_t", 4),
    "i8": ("int8_t", 1),
    "ui8": ("uint8_t", 1),
    "ui16": ("uint16_t", 2),
}
"""C type and bytes of the element types there are vectors of."""

EXTERNS = frozenset({"relu", "select", "sqrt", "fmaxf", "expf", "sin", "sigmoid"})
"""Exo's external functions that have a vector form."""

MAX_PLACES = 8
"""Most places at which an instruction accesses one array that is given whole."""

LANE = q.Var("l", -1)
COPY = q.Var("v", -2)
"""Loop variables of instructions: over lanes, and around that over registers."""


@dataclass(frozen=True)
class Operand:
    """An array given to an instruction: a window of all its dimensions, or all of it.

    `box` is the extent of the window per dimension, with one lane; empty for a
    scalar. If the operand `moves`, the last dimension runs with the lanes.
    `registers`: it is a register of a vector memory. An array accessed at several
    `places` with no constant distance is given whole (Exo does not pass an array
    twice), with the indices of each place as arguments; 0 for a window.
    """

    type: str
    box: tuple[int, ...]
    moves: bool
    registers: bool
    written: bool
    places: int = 0


@dataclass(frozen=True)
class Fused:
    """An instruction: `body` for every lane.

    Operand `k` is the variable with uid `k` and is indexed from the start of its
    window; local scalars follow. A `counted` instruction does the first `n`
    iterations, `n` being its argument (at most `lanes` where there are registers); others
    do as many as there are `lanes`. All of
    it is done for as many registers as there are `copies`.
    """

    lanes: int
    counted: bool
    operands: tuple[Operand, ...]
    body: tuple[q.Stmt, ...]
    copies: int = 1


def operand(uid: int) -> q.Var:
    return q.Var(f"x{uid}", uid)


def place_index(uid: int, place: int, dim: int) -> q.Var:
    """The argument that says where in dimension `dim` the `place` of an operand is."""
    return q.Var(f"x{uid}_{place}_{dim}", -16 - (uid * MAX_PLACES + place) * 8 - dim)


def place_of(idx: tuple[q.Affine, ...]) -> int:
    """The place of an access to an operand that is given whole."""
    (uid,) = (atom.uid for atom, _ in idx[0].terms if isinstance(atom, q.Var) and atom.uid <= -16)
    return int((-16 - uid) // 8 % MAX_PLACES)


def moving(fused: Fused, uid: int, place: int) -> bool:
    """Whether a place of an operand that is given whole runs with the lanes."""
    return any(
        buf.uid == uid and place_of(idx) == place and LANE in q.expr_vars(idx[-1])
        for stmt in fused.body
        if isinstance(stmt, q.Assign | q.Reduce)
        for buf, idx in [(stmt.buf, stmt.idx), *((r.buf, r.idx) for r in reads(stmt.rhs))]
    )


def arithmetic(stmt: q.Assign | q.Reduce) -> str | None:
    """Type in which C computes the right-hand side; None if it mixes types."""
    kind = value_type(stmt.rhs, stmt.type)
    return kind and promoted(kind)


def reads(expr: q.Expr) -> Iterator[q.Read]:
    return (node for node in q.walk_expr(expr) if isinstance(node, q.Read))


def widest(body: tuple[q.Stmt, ...]) -> int:
    """Bytes of the widest elements that registers have to hold in `body`."""
    kinds = {promoted(s.type) for s in q.walk(body) if isinstance(s, q.Assign | q.Reduce)}
    for stmt in q.walk(body):
        if isinstance(stmt, q.Assign | q.Reduce):
            kinds |= {promoted(read.type) for read in reads(stmt.rhs)}
    return max((ELEMENT_BITS[kind] // 8 for kind in kinds), default=4)


def by_value(op: Operand) -> bool:
    return not op.places and not op.moves and not op.written and set(op.box) <= {1}


def strides(op: Operand) -> list[int]:
    """Dimensions whose stride the instruction needs."""
    return [dim for dim, n in enumerate(op.box[:-1]) if n > 1 and not op.registers]

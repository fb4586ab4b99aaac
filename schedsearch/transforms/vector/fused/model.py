"""A fused vector instruction: one loop over the lanes of a register, as a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.conversions import promoted, value_type
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.keys import digest
from schedsearch.core.text import header
from schedsearch.transforms.vector.fused.backwards import with_places
from schedsearch.transforms.vector.registers import set_name

MAX_PLACES = 8
"""Most places at which an instruction accesses one array that is given whole."""

LANE = q.Var("l", -1)
COPY = q.Var("v", -2)
"""Loop variables of instructions: over lanes, and around that over registers."""
COUNT = q.Var("n", -3)
"""How many iterations a counted instruction does."""


@dataclass(frozen=True)
class Operand:
    """An array given to an instruction: a window of all its dimensions, or all of it.

    `box` is the extent of the window per dimension, with one lane; empty for a
    scalar. If the operand `moves`, the last dimension runs with the lanes.
    `registers`: it is a register of a vector memory. An array accessed at several
    `places` with no constant distance is given whole (Exo does not pass an array
    twice), with the indices of each place as arguments; 0 for a window. With `inner` dimensions
    the lanes run in the one before those, which are whole: each has a structure (`structures.py`).
    """

    type: str
    box: tuple[int, ...]
    moves: bool
    registers: bool
    written: bool
    places: int = 0
    inner: int = field(default=0, repr=False)

    @property
    def lane_dim(self) -> int:
        """The dimension that runs with the lanes."""
        return len(self.box) - 1 - self.inner


@dataclass(frozen=True)
class Fused:
    """An instruction: `body` for every lane.

    Operand `k` is the variable with uid `k` and is indexed from the start of its
    window; local scalars follow. A `counted` instruction does the first `n`
    iterations, `n` being its argument (at most `lanes` where there are registers); others
    do as many as there are `lanes`. All of
    it is done for as many registers as there are `copies`. A `whole` instruction is counted, and
    yet loads all lanes of what it only reads: windows have elements for them. The sum, minimum
    or maximum over the lanes is taken in as many `chains` at once, which hides the latency of each,
    and in as many `parts`, each on a thread. `empty`: a `whole` instruction may be given no
    iteration, as in the first row of a triangle that ends before the diagonal. `recurrence`: each
    lane needs the result of the one before it (`recurrences.py`). `spare`: what registers hold
    beyond the iterations is of no use, so that it may become anything. `once`: a counted
    instruction has no loop over registers, since its iterations fill one at most. `in_order`:
    compilers are to add to registers one after the other, as it is written. `row`: the instruction
    counts rows of so many elements, and goes along them (`joined.py`). `backwards`: it goes
    backwards through memory, and its body is that of the mirror image (`backwards.py`). `aligned`:
    after its first iterations no register of what it writes (else reads) lies in two cache lines.
    `shifted`: what neighbouring lanes read of a row is loaded once, and shifted (`shifted.py`).
    `ahead`: operands whose next row it asks for, while it goes along one.
    `together`: its `copies` are rows, each with sums of its own, which it goes along side by side;
    their lanes are added up at once (`rows.py`). Of rows whose `length` is known it has no code for
    others.
    """

    lanes: int
    counted: bool
    operands: tuple[Operand, ...]
    body: tuple[q.Stmt, ...]
    copies: int = 1
    whole: bool = False
    chains: int = 1
    parts: int = 1
    empty: bool = False
    recurrence: bool = False
    spare: bool = False
    in_order: bool = False
    row: int = 0
    backwards: bool = False
    once: bool = False
    aligned: bool = False
    shifted: bool = False
    ahead: tuple[int, ...] = ()
    together: bool = False
    length: int = 0

    @property
    def loops(self) -> bool:
        """Whether it may take several registers."""
        return self.counted and not (self.whole or self.once)

    def reads_whole(self, op: Operand) -> bool:
        """Whether an operand is read beyond the iterations that are done."""
        return self.whole and not op.registers and not op.written


def alignable(fused: Fused) -> bool:
    """Whether an instruction takes many registers of elements that follow each other in memory."""
    moving = [op for op in fused.operands if op.moves]
    alone = not (fused.recurrence or fused.row or fused.parts > 1)
    plain = not any(op.registers or op.inner for op in moving)
    return fused.loops and alone and plain and bool(neighbours(fused))


def neighbours(fused: Fused) -> list[tuple[str, q.Var, tuple[q.Affine, ...]]]:
    """The type, array and indices of what lanes access one beside the other, writes first."""
    simple = [s for s in fused.body if isinstance(s, q.Assign | q.Reduce)]
    places = [(s.type, s.buf, s.idx) for s in simple]
    places += [(r.type, r.buf, r.idx) for s in simple for r in reads(s.rhs)]
    return [
        (kind, buf, idx)
        for kind, buf, idx in places
        if buf.uid < len(fused.operands) and idx and LANE in q.expr_vars(idx[-1])
    ]


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
    """Type in which registers compute the right-hand side; None if it mixes types."""
    kind = value_type(stmt.rhs, stmt.type)
    return kind and computed(kind)


def computed(kind: str) -> str:
    """The type in which registers compute with values of type `kind`: that of C, but f32 for f16,
    as compilers do it where the CPU has no arithmetic of f16."""
    return "f32" if kind == "f16" else promoted(kind)


def widest(body: tuple[q.Stmt, ...]) -> int:
    """Bytes of the widest elements that registers have to hold in `body`."""
    kinds = {computed(s.type) for s in q.walk(body) if isinstance(s, q.Assign | q.Reduce)}
    for stmt in q.walk(body):
        if isinstance(stmt, q.Assign | q.Reduce):
            kinds |= {computed(read.type) for read in reads(stmt.rhs)}
    return max((ELEMENT_BITS[kind] // 8 for kind in kinds), default=4)


def reduced(fused: Fused) -> Iterator[q.Assign | q.Reduce]:
    """The statements that reduce all lanes to one element."""
    for stmt in fused.body:
        if not isinstance(stmt, q.Assign | q.Reduce) or stmt.buf.uid >= len(fused.operands):
            continue
        if not fused.operands[stmt.buf.uid].moves:
            yield stmt


def by_value(op: Operand) -> bool:
    return not op.places and not op.moves and not op.written and set(op.box) <= {1}


def strides(op: Operand) -> list[int]:
    """Dimensions whose stride the instruction needs."""
    if op.inner:
        return []
    return [dim for dim, n in enumerate(op.box[:-1]) if n > 1 and not op.registers]


def fused_name(fused: Fused) -> str:
    """`vec_f32x16_mul_add_0123456789`: the operators, and a digest of everything."""
    kind = next(stmt.type for stmt in fused.body if isinstance(stmt, q.Assign | q.Reduce))
    shape = repr((fused.lanes, fused.counted, fused.operands, fused.copies))
    shape += " whole" * fused.whole
    shape += f" {fused.chains} chains" if fused.chains > 1 else ""
    shape += f" {fused.parts} parts" if fused.parts > 1 else ""
    shape += " empty" * fused.empty
    shape += " recurrence" * fused.recurrence
    shape += " spare" * fused.spare
    shape += " in order" * fused.in_order
    shape += f" rows of {fused.row}" if fused.row else ""
    shape += " backwards" * fused.backwards
    shape += " once" * fused.once
    shape += " aligned" * fused.aligned
    shape += " shifted" * fused.shifted
    shape += f" ahead {fused.ahead}" if fused.ahead else ""
    shape += f" together, of {fused.length}" if fused.together else ""
    inner = [op.inner for op in fused.operands]
    shape += f" structures {inner}" if any(inner) else ""
    text = "\n".join([shape, *body_lines(fused)])
    words = [*_words(fused)][:3] or ["set"]
    return "_".join([set_name(kind, fused.lanes), *words, digest(text)[:10]])


def _words(fused: Fused) -> Iterator[str]:
    names = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
    for stmt in fused.body:
        if isinstance(stmt, q.Assign | q.Reduce):
            for node in q.walk_expr(stmt.rhs):
                if isinstance(node, q.BinOp):
                    yield names[node.op]
                elif isinstance(node, q.Extern):
                    yield node.name
            if isinstance(stmt, q.Reduce):
                yield "add"


def body_lines(fused: Fused) -> list[str]:
    """The statements of one iteration, in Exo's syntax."""
    if not fused.backwards:
        return [header(stmt) for stmt in fused.body]

    def place(buf: q.Var, idx: tuple[q.Affine, ...]) -> tuple[q.Affine, ...]:
        if buf.uid >= len(fused.operands) or not fused.operands[buf.uid].moves:
            return idx
        first = fused.operands[buf.uid].box[-1] - 2 - idx[-1].const
        return (*idx[:-1], q.affine(first, ((COUNT, 1), (LANE, -1))))

    return [header(with_places(stmt, place)) for stmt in fused.body]

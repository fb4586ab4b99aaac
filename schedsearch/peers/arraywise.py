"""A procedure as statements on whole arrays, where its loops are independent.

A loop is independent if each of its iterations touches elements of its own, or adds to elements
that nothing else touches. Its statements may then run one after the other, each on all iterations
at once. Loops in order remain, of few iterations: the time steps of a stencil, or the taps of a
filter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.core.element_types import known_type
from schedsearch.core.errors import UserError
from schedsearch.core.text import header
from schedsearch.evaluate.arguments.binding import Binding, control_values, extents

# Each iteration in order costs some microseconds in Python.
_MOST_IN_ORDER = 256
_MOST_ELEMENTS = 1 << 26


class NotArraywise(UserError):
    """The procedure has a statement that is none on whole arrays."""


@dataclass(frozen=True)
class Span:
    """Values of a loop's variable: `extent` of them from `low`."""

    low: int
    extent: int


@dataclass(frozen=True)
class Index:
    """One index of an access: `start`, of loops in order alone, plus `step` times how often a
    whole loop (`var`) has run; None: the same element in all."""

    start: q.Affine
    var: q.Var | None = None
    step: int = 1


@dataclass(frozen=True)
class Buffer:
    """An array by the name it has in the program; `shape` is empty for scalars."""

    name: str
    kind: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Access:
    buffer: Buffer
    idx: tuple[Index, ...]

    @property
    def vars(self) -> tuple[q.Var, ...]:
        return tuple(index.var for index in self.idx if index.var)


@dataclass(frozen=True)
class Update:
    """`target = value` or, `adds`, `target += value` on all `spans` at once; the target does
    not have the variables over which is summed. `accesses`: of each `Read` of the value."""

    target: Access
    adds: bool
    value: q.Expr
    spans: Mapping[q.Var, Span]
    accesses: Mapping[q.Read, Access]
    text: str

    @property
    def kind(self) -> str:
        """The type that computes the value: the type of the elements read."""
        kinds = [access.buffer.kind for access in self.accesses.values()]
        return kinds[-1] if kinds else self.target.buffer.kind

    @property
    def summed(self) -> tuple[q.Var, ...]:
        return tuple(var for var in self.spans if var not in self.target.vars)

    def extent(self, var: q.Var) -> int:
        return self.spans[var].extent


@dataclass(frozen=True)
class InOrder:
    """A loop that stays one."""

    var: q.Var
    low: int
    high: int
    body: tuple[Step, ...]


Step = Update | InOrder


@dataclass(frozen=True)
class Program:
    """`arguments` are the arrays in the order of the procedure's arguments."""

    name: str
    arguments: tuple[Buffer, ...]
    temporaries: tuple[Buffer, ...]
    steps: tuple[Step, ...]


def arraywise(proc: q.Proc, binding: Binding) -> Program:
    """Raises NotArraywise, with the statement that is the reason."""
    inlined = _forwarded(inline_calls(proc))
    values = control_values(inlined, binding)
    arguments = [
        Buffer(arg.var.name, known_type(arg.type), extents(arg, values))
        for arg in inlined.args
        if arg.type not in q.CONTROL_TYPES
    ]
    names = {buffer.name for buffer in arguments}
    data = [arg.var for arg in inlined.args if arg.type not in q.CONTROL_TYPES]
    maker = _Maker(values, dict(zip(data, arguments, strict=True)), names)
    maker.in_order = _never_whole(inlined, values)
    steps = tuple(maker.block(inlined.body, ()))
    return Program(inlined.name, tuple(arguments), tuple(maker.temporaries), _overwriting(steps))


def _forwarded(proc: q.Proc) -> q.Proc:
    """With inputs read where copies of single elements of them are."""
    kinds = {arg.var: arg.type for arg in proc.args} | {
        stmt.buf: stmt.type for stmt in q.walk(proc.body) if isinstance(stmt, q.Alloc)
    }
    writes = [stmt for stmt in q.walk(proc.body) if isinstance(stmt, q.Assign | q.Reduce)]
    times = Counter(stmt.buf for stmt in writes)
    copies = {
        stmt.buf: stmt.rhs
        for block in q.all_blocks(proc)
        for stmt in block
        if isinstance(stmt, q.Assign)
        and isinstance(stmt.rhs, q.Read)
        and not stmt.idx
        and times[stmt.buf] == 1
        and times[stmt.rhs.buf] == 0
        and any(isinstance(each, q.Alloc) and each.buf == stmt.buf for each in block)
        and computed(kinds[stmt.rhs.buf]) == known_type(kinds[stmt.buf])
    }
    return replace(proc, body=_without(proc.body, copies)) if copies else proc


def _without(body: tuple[q.Stmt, ...], copies: Mapping[q.Var, q.Read]) -> tuple[q.Stmt, ...]:
    def original(read: q.Read) -> q.Read:
        return copies.get(read.buf, read)

    kept: list[q.Stmt] = []
    for stmt in body:
        match stmt:
            case q.Alloc() if stmt.buf in copies:
                continue
            case q.Assign() if stmt.buf in copies:
                continue
            case q.Assign() | q.Reduce():
                kept.append(replace(stmt, rhs=q.with_reads(stmt.rhs, original)))
            case q.For():
                kept.append(replace(stmt, body=_without(stmt.body, copies)))
            case _:
                kept.append(stmt)
    return tuple(kept)


def computed(kind: str) -> str:
    """The type of arithmetic on elements of a type: small integers are `int` in C."""
    return known_type(kind) if known_type(kind)[0] == "f" else "i32"


def _accesses(body: Sequence[q.Stmt]) -> Iterator[tuple[q.Var, tuple[q.Affine, ...], q.Stmt, bool]]:
    """Every access: the buffer, the indices, by which statement, and whether it is its target."""
    for stmt in q.walk(tuple(body)):
        if isinstance(stmt, q.Assign | q.Reduce):
            yield stmt.buf, stmt.idx, stmt, True
        for part in q.stmt_parts(stmt):
            if isinstance(part, q.Read):
                yield part.buf, part.idx, stmt, False


def _never_whole(proc: q.Proc, values: Mapping[q.Atom, int]) -> set[q.Var]:
    """Of loops whose variables stand together in an index, all but the longest; also variables that
    no slice can express because they stand twice in an access, or count down."""
    found: set[q.Var] = set()
    loops = {
        stmt.iter: _extent(stmt, values) for stmt in q.walk(proc.body) if isinstance(stmt, q.For)
    }
    for _, idx, _, _ in _accesses(proc.body):
        seen: set[q.Var] = set()
        for index in idx:
            own = [atom for atom, _ in index.terms if isinstance(atom, q.Var) and atom in loops]
            found |= {var for var in own if var in seen or index.coefficient(var) < 0}
            seen |= set(own)
            found |= set(sorted(own, key=lambda var: -loops[var])[1:])
    return found


def _extent(loop: q.For, values: Mapping[q.Atom, int]) -> int:
    """0 if it depends on other loops."""
    try:
        return q.evaluate_affine(loop.hi - loop.lo, values.__getitem__)
    except KeyError:
        return 0


class _Maker:
    def __init__(
        self, values: Mapping[q.Atom, int], buffers: dict[q.Var, Buffer], names: set[str]
    ) -> None:
        self.values = values
        self.buffers = buffers
        self.names = names
        self.temporaries: list[Buffer] = []
        self.prefixes: dict[q.Var, tuple[q.Var, ...]] = {}
        self.spans: dict[q.Var, Span] = {}
        self.in_order: set[q.Var] = set()
        self.turns = 1

    def block(self, body: Sequence[q.Stmt], whole: tuple[q.Var, ...]) -> Iterator[Step]:
        for stmt in body:
            match stmt:
                case q.Assign() | q.Reduce():
                    yield self.update(stmt, whole)
                case q.For():
                    yield from self.loop(stmt, whole)
                case q.Alloc():
                    self.allocate(stmt, whole)
                case q.Pass():
                    pass
                case q.If():
                    raise _refused(stmt, "what is done depends on a condition")
                case _:
                    raise _refused(stmt, "it is no arithmetic on arrays")

    def loop(self, stmt: q.For, whole: tuple[q.Var, ...]) -> Iterator[Step]:
        low, high = (self.constant(bound, stmt) for bound in (stmt.lo, stmt.hi))
        if high <= low:
            return
        self.spans[stmt.iter] = Span(low, high - low)
        reason = self.why_in_order(stmt)
        if not reason:
            yield from self.block(stmt.body, (*whole, stmt.iter))
            return
        self.in_order.add(stmt.iter)
        self.turns *= high - low
        if self.turns > _MOST_IN_ORDER:
            raise _refused(stmt, f"{reason}, so that its iterations have to be done in order")
        yield InOrder(stmt.iter, low, high, tuple(self.block(stmt.body, whole)))
        self.turns //= high - low

    def why_in_order(self, loop: q.For) -> str:
        """Why the iterations cannot be done all at once; empty if they can."""
        var = loop.iter
        if var in self.in_order:
            return f"an index has {var.name} together with another loop's variable"
        inside = {stmt.buf for stmt in q.walk(loop.body) if isinstance(stmt, q.Alloc)}
        every = list(_accesses(loop.body))
        for buf in {buf for buf, _, _, target in every if target} - inside:
            own = [access for access in every if access[0] == buf]
            places = {self.place(idx, var) for _, idx, _, _ in own}
            apart = len(places) == 1 and all(
                place and self.apart(place[1], loop) for place in places
            )
            sums = all(target and isinstance(stmt, q.Reduce) for _, _, stmt, target in own)
            if not apart and not sums:
                return f"iterations of {var.name} may depend on each other by {buf.name}"
        return ""

    def place(self, idx: tuple[q.Affine, ...], var: q.Var) -> tuple[int, q.Affine] | None:
        """The dimension and index by which iterations touch elements of their own."""
        found = [(dim, index) for dim, index in enumerate(idx) if q.mentions(index, var)]
        return found[0] if len(found) == 1 else None

    def apart(self, index: q.Affine, loop: q.For) -> bool:
        """Whether loops inside stay within a step of this one."""
        inner = {each.iter: each for each in q.walk(loop.body) if isinstance(each, q.For)}
        reach = 0
        for atom, coefficient in index.terms:
            if atom in inner:
                bounds = inner[atom].lo, inner[atom].hi  # type: ignore[index]
                low, high = (self.constant(bound, inner[atom]) for bound in bounds)  # type: ignore[index]
                reach += abs(coefficient) * max(high - low - 1, 0)
        return reach < abs(index.coefficient(loop.iter))

    def allocate(self, stmt: q.Alloc, whole: tuple[q.Var, ...]) -> None:
        """One array for all iterations at once."""
        shape = tuple(self.constant(extent, stmt) for extent in stmt.shape)
        shape = (*(self.spans[var].extent for var in whole), *shape)
        if prod(shape) > _MOST_ELEMENTS:
            raise _refused(stmt, "one for every iteration takes too much memory")
        name = stmt.buf.name
        while name in self.names:
            name += "_"
        self.names.add(name)
        self.prefixes[stmt.buf] = whole
        self.buffers[stmt.buf] = Buffer(name, known_type(stmt.type), shape)
        self.temporaries.append(self.buffers[stmt.buf])

    def update(self, stmt: q.Assign | q.Reduce, whole: tuple[q.Var, ...]) -> Update:
        target = self.access(stmt.buf, stmt.idx, stmt, whole)
        reads = {}
        for node in q.walk_expr(stmt.rhs):
            if isinstance(node, q.Read):
                reads[node] = self.access(node.buf, node.idx, stmt, whole)
            elif isinstance(node, q.ReadConfig | q.Window):
                raise _refused(stmt, "it reads more than elements of arrays")
        spans = {var: self.spans[var] for var in whole}
        text = header(stmt)
        return Update(target, isinstance(stmt, q.Reduce), stmt.rhs, spans, reads, text)

    def access(
        self, buf: q.Var, idx: tuple[q.Affine, ...], stmt: q.Stmt, whole: tuple[q.Var, ...]
    ) -> Access:
        own = [Index(q.Affine(), var) for var in self.prefixes.get(buf, ())]
        access = Access(self.buffers[buf], (*own, *(self.index(each, stmt, whole) for each in idx)))
        if len(set(access.vars)) < len(access.vars):
            raise _refused(stmt, f"{buf.name} lives in a loop whose variable it is read at")
        return access

    def index(self, value: q.Affine, stmt: q.Stmt, whole: tuple[q.Var, ...]) -> Index:
        start, index = q.Affine(value.const), None
        for atom, coefficient in value.terms:
            if atom in self.values:
                start = start + self.values[atom] * coefficient
            elif not isinstance(atom, q.Var):
                raise _refused(stmt, "an index is a quotient or a remainder")
            elif atom in whole:
                assert index is None, "the others are in order"
                index = (atom, coefficient)
                start = start + self.spans[atom].low * coefficient
            else:
                start = start + q.as_affine(atom).scaled(coefficient)
        return Index(start, *index) if index else Index(start)

    def constant(self, value: q.Affine, stmt: q.Stmt) -> int:
        try:
            return q.evaluate_affine(value, self.values.__getitem__)
        except KeyError:
            raise _refused(stmt, "its bounds depend on other loops") from None


def _refused(stmt: q.Stmt, reason: str) -> NotArraywise:
    return NotArraywise(f"`{header(stmt)}` is no statement on whole arrays: {reason}")


def _overwriting(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Without sums that are started from zero: the first value overwrites."""
    found: list[Step] = []
    for step in steps:
        if isinstance(step, InOrder):
            step = replace(step, body=_overwriting(step.body))
        elif found and _starts(found[-1], step):
            found.pop()
            step = replace(step, adds=False)
        found.append(step)
    return tuple(found)


def _starts(before: Step, step: Update) -> bool:
    """Whether all that the step adds to was set to zero just before."""
    if not (isinstance(before, Update) and step.adds and not before.adds):
        return False
    zero = isinstance(before.value, q.Const) and before.value.value == 0
    reads = any(access.buffer == step.target.buffer for access in step.accesses.values())
    return zero and not reads and _elements(before) == _elements(step)


def _elements(step: Update) -> tuple[object, ...]:
    """The elements of its target that a step touches, whatever the names of its loops."""
    shown = [
        (index.start, index.step, index.var and step.extent(index.var)) for index in step.target.idx
    ]
    return (step.target.buffer, *shown)

"""Race check: may the iterations of a loop run in any order, and at once?

Exo 1.0.0 accepts parallel loops that race (see `exo/compat.py`), so this decides, by
one simple rule: for every buffer that an iteration writes and that outlives the
iteration, there must be a dimension in which all accesses of iteration `i` are in

    c * i + base + [low, high],   0 <= high - low < |c|

with the same constant `c` and the same loop-invariant `base` for reads, writes and
reductions alike. Then different iterations touch different elements. All that the
rule does not cover counts as a race.

As Exo does, it takes different arguments of a procedure for different memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.ranges import Ranges, bind_loop, bounds, ranges_at
from schedsearch.analysis.windows import Views, behind, views
from schedsearch.core import ast as q

Box = tuple[tuple[q.Affine, q.Affine], ...]
"""First and last index of an access in each dimension; empty if not known."""

# By name, not by an attribute of the memory's class: schedules exported by earlier versions define
# our classes themselves, and a query AST knows of a memory its name alone (`mirror` marks memories
# that merely have a name of Exo's).
_PRIVATE = re.compile(
    r"DRAM|DRAM_STACK|DRAM_STACK_ALIGNED|DRAM_ALIGNED|AVX2|AVX512|Neon|VEC_[A-Z]+\d+X\d+"
)


def thread_private(mem: str) -> bool:
    """Whether an allocation in this memory belongs to the iteration that executes it:
    registers, stack and heap do. Static memory is shared, unknown memory may be."""
    return _PRIVATE.fullmatch(mem) is not None


def races(proc: q.Proc) -> Iterator[str]:
    """A sentence for each parallel loop that may race, in `proc` and its callees."""
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.For) and stmt.parallel and (reason := conflict(proc, stmt)):
            yield f"the parallel loop over {stmt.iter.name} in {proc.name} may race: {reason}"
        elif isinstance(stmt, q.Call) and stmt.proc.instr is None:
            yield from races(stmt.proc)


def has_threads(proc: q.Proc) -> bool:
    """Whether `proc` or a procedure it calls has parallel loops, or an instruction with threads."""
    return proc.threads or any(map(on_threads, proc.body))


@q.per_node
def on_threads(stmt: q.Stmt) -> bool:
    """Whether a statement, or one inside of it, is carried out by several threads."""
    if isinstance(stmt, q.Call):
        return has_threads(stmt.proc)
    if isinstance(stmt, q.For) and stmt.parallel:
        return True
    return any(on_threads(inner) for block in q.blocks(stmt) for inner in block)


def conflict(proc: q.Proc, loop: q.For) -> str | None:
    """Why iterations of `loop`, a loop of `proc`, may conflict; None if they cannot."""
    if loop.extent is not None and loop.extent <= 1:
        return None
    found = _Accesses.of(proc, loop)
    if found.refusal:
        return found.refusal
    buf = next(found.shared(loop), None)
    if buf is None:
        return None
    if all(found.boxes[buf]):
        return f"iterations may access the same elements of {buf.name}, and it is written"
    return f"iterations share {buf.name}, and it is written"


def divisible(proc: q.Proc, loop: q.For, threads: int) -> bool:
    """Whether as many threads could have iterations of `loop`, a loop of `proc`."""
    return (loop.extent is None or loop.extent >= threads) and conflict(proc, loop) is None


def shared_buffers(proc: q.Proc, loop: q.For) -> list[q.Var] | None:
    """The buffers because of which iterations of `loop`, a loop of `proc`, may conflict; None if
    buffers are not all that they share."""
    found = _Accesses.of(proc, loop)
    return None if found.refusal else [*found.shared(loop)]


def touch_apart(proc: q.Proc, loop: q.For, buf: q.Var) -> bool:
    """Whether iterations of `loop`, a loop of `proc`, access different elements of `buf`."""
    found = _Accesses.of(proc, loop)
    return buf not in found.boxes or (found.refusal is None and found.apart(buf, loop))


def _invariant(atom: q.Atom, loop: q.For) -> bool:
    """Whether an atom has one value during the whole loop: its variables are bound before."""
    return all(var.uid < loop.iter.uid for var in q.expr_vars(atom))


@dataclass(frozen=True)
class Sweep:
    """Indices `step * i + base + [low, high]` in a loop of `i`, with one or several `bases`."""

    step: int
    bases: frozenset[tuple[tuple[q.Atom, int], ...]]
    low: float
    high: float


def sweep(
    loop: q.Var, ends: Iterable[tuple[q.Affine, Ranges]], steady: Callable[[q.Atom], bool]
) -> Sweep:
    """The sweep of indices, with the ranges of variables at each; `steady` atoms are its base."""
    step: int | None = None
    bases = set()
    low, high = inf, -inf
    for index, ranges in ends:
        step = index.coefficient(loop) if step is None else step
        rest = index - q.as_affine(loop).scaled(step)
        base = tuple(term for term in rest.terms if steady(term[0]))
        bases.add(base)
        least, most = bounds(rest - q.Affine(0, base), ranges)
        low, high = min(low, least), max(high, most)
    return Sweep(step or 0, frozenset(bases), low, high)


def box_of(idx: Iterable[q.Interval | q.Affine]) -> Box:
    """Of the element or window at `idx`."""
    return tuple(
        (part.lo, part.hi - 1) if isinstance(part, q.Interval) else (part, part) for part in idx
    )


def separates(
    loop: q.Var, boxes: Sequence[tuple[Box, Ranges]], steady: Callable[[q.Atom], bool]
) -> bool:
    """Whether boxes accessed in different iterations of `loop` certainly have no element in
    common, by the rule above; `steady` are atoms that are the same in both iterations."""
    for dim in range(min(len(box) for box, _ in boxes)):
        found = sweep(loop, ((end, at) for box, at in boxes for end in box[dim]), steady)
        if len(found.bases) == 1 and found.high - found.low < abs(found.step):
            return True
    return False


@dataclass
class _Accesses:
    """Accesses of a loop's body, in terms of the buffers behind windows."""

    ranges: Ranges = field(default_factory=dict)
    views: Views = field(default_factory=dict)
    boxes: dict[q.Var, list[Box]] = field(default_factory=dict)
    written: set[q.Var] = field(default_factory=set)
    private: set[q.Var] = field(default_factory=set)
    refusal: str | None = None

    @classmethod
    def of(cls, proc: q.Proc, loop: q.For) -> _Accesses:
        """Those of a loop of `proc`."""
        found = cls(ranges_at(proc, loop.path), views(proc.body))
        found.block(loop.body)
        return found

    def shared(self, loop: q.For) -> Iterator[q.Var]:
        """The buffers that are written, and that no dimension keeps apart."""
        for buf in sorted(self.written - self.private, key=lambda var: var.uid):
            if not self.apart(buf, loop):
                yield buf

    def touch(self, access: q.Window | q.Read, writes: bool) -> None:
        """Without indices all of a buffer is accessed, as far as is known."""
        buf, place = behind(access.buf, self.views), access.idx
        if place and access.buf in self.views:
            place = self.views[access.buf].at(place).idx or ()
        self.boxes.setdefault(buf, []).append(box_of(place))
        if writes:
            self.written.add(buf)

    def apart(self, buf: q.Var, loop: q.For) -> bool:
        """Whether one dimension keeps the iterations of `loop` apart."""
        boxes = [(box, self.ranges) for box in self.boxes[buf]]
        return separates(loop.iter, boxes, lambda atom: _invariant(atom, loop))

    def block(self, body: tuple[q.Stmt, ...]) -> None:
        for stmt in body:
            self.stmt(stmt)
            for inner in q.blocks(stmt):
                self.block(inner)

    def stmt(self, stmt: q.Stmt) -> None:
        match stmt:
            case q.For():
                bind_loop(self.ranges, stmt.iter.uid, stmt.lo, stmt.hi)
            case q.Alloc():
                self.private.add(stmt.buf)
                if not thread_private(stmt.mem):
                    self.refusal = f"iterations share {stmt.buf.name}, which is in {stmt.mem}"
            case q.Assign() | q.Reduce():
                self.touch(q.Read(stmt.buf, stmt.idx, stmt.type), writes=True)
                self.reads(stmt.rhs)
            case q.Call():
                self.call(stmt)
            case q.WriteConfig():
                self.refusal = f"iterations share {stmt.config}.{stmt.field}, and it is written"

    def reads(self, expr: q.Expr) -> None:
        for read in reads(expr):
            self.touch(read, writes=False)

    def call(self, call: q.Call) -> None:
        """A call accesses, at most, all of the windows and buffers it is given."""
        self.refusal = self.refusal or _shared_state(call.proc)
        changed = _written_args(call.proc)
        for arg, value in zip(call.proc.args, call.args, strict=True):
            if isinstance(value, q.Read | q.Window):
                self.touch(value, writes=arg.var in changed)
            else:
                self.reads(value)


def _written_args(proc: q.Proc) -> frozenset[q.Var]:
    """Arguments that a procedure may write, through windows and calls too."""
    known = views(proc.body)
    found: set[q.Var] = set()
    for stmt in q.walk(proc.body):
        match stmt:
            case q.Assign() | q.Reduce():
                found.add(behind(stmt.buf, known))
            case q.Call():
                changed = _written_args(stmt.proc)
                for arg, value in zip(stmt.proc.args, stmt.args, strict=True):
                    if arg.var in changed and isinstance(value, q.Read | q.Window):
                        found.add(behind(value.buf, known))
    return frozenset(found)


def _shared_state(proc: q.Proc) -> str | None:
    """A sentence on state that two calls of a procedure share; None if they share none."""
    for stmt in q.walk(proc.body):
        match stmt:
            case q.WriteConfig():
                return f"{proc.name} writes {stmt.config}.{stmt.field}"
            case q.Alloc() if proc.instr is None and not thread_private(stmt.mem):
                return f"{proc.name} keeps {stmt.buf.name} in {stmt.mem}"
            case q.Call() if reason := _shared_state(stmt.proc):
                return reason
    return None

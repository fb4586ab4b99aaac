"""What one call of a procedure executes, counted on its query AST at the timed sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.compiler_model import may_overlap, reads, stride, vectorisable
from schedsearch.transforms.conditions import possible, sizes_of
from schedsearch.transforms.cost import SIMPLE_EXTERNS, operations
from schedsearch.transforms.locality import UNKNOWN_EXTENT, estimated
from schedsearch.transforms.walkers import ELEMENT_BITS

INVARIANT, UNIT, STRIDED, IRREGULAR = range(4)
"""How far an access moves per iteration of the loop around it."""


@dataclass(frozen=True)
class Innermost:
    """An innermost loop. `times` its body runs in one call; the rest is per iteration.

    `accumulators`: distinct places it adds to. `chained`: one of them is memory that the
    loop does not move. `nest`: uid and trips of the loops around and of itself, outermost
    first. `bits` of its widest element.
    """

    times: float = 0.0
    statements: int = 0
    operations: float = 0.0
    loads: float = 0.0
    stores: float = 0.0
    by_compiler: bool = False
    constant: bool = False
    accumulators: int = 0
    chained: bool = False
    bits: int = 32
    nest: tuple[tuple[int, int], ...] = ()


@dataclass
class Activity:
    """Sums over one call, but for the counts of the text from `statements` on.

    `loads` and `stores` are of scalar statements, by `INVARIANT`, `UNIT`, ...; `buffers`
    holds memory and bytes of every allocated array.
    """

    arithmetic: float = 0.0
    compiler_vectorised: float = 0.0
    instruction_lanes: float = 0.0
    externs: float = 0.0
    instructions: float = 0.0
    vector_loads: float = 0.0
    vector_stores: float = 0.0
    scalar_operands: float = 0.0
    prefetches: float = 0.0
    loads: list[float] = field(default_factory=lambda: [0.0] * 4)
    stores: list[float] = field(default_factory=lambda: [0.0] * 4)
    copies: float = 0.0
    iterations: float = 0.0
    inner_loops: float = 0.0
    branches: float = 0.0
    forks: float = 0.0
    heap_allocations: float = 0.0
    statements: int = 0
    calls: int = 0
    loops: int = 0
    depth: int = 0
    conditions: int = 0
    divisions: int = 0
    scalars: int = 0
    buffers: list[tuple[str, int]] = field(default_factory=list)
    busiest: Innermost = field(default_factory=Innermost)

    @property
    def operations(self) -> float:
        """All arithmetic, by element."""
        return self.arithmetic + self.instruction_lanes


@dataclass(frozen=True)
class _Instruction:
    """One call of an instruction: operations by lane; whole vectors and single elements it
    reads from memory, vectors it writes there; formals it adds to; its widest element."""

    lanes: float
    loads: int
    stores: int
    scalars: int
    added: frozenset[int]
    bits: int
    prefetch: bool


def activity(proc: q.Proc, target: Target, sizes: Mapping[str, int]) -> Activity:
    """What one call executes; `sizes` binds arguments by name."""
    walk = _Walk(proc, target, sizes)
    walk.block(proc.body, 1.0, ())
    return walk.done


class _Walk:
    def __init__(self, proc: q.Proc, target: Target, sizes: Mapping[str, int]) -> None:
        self.target, self.sizes = target, sizes_of(proc)
        self.values = {arg.var.uid: sizes.get(arg.var.name, UNKNOWN_EXTENT) for arg in proc.args}
        self.done = Activity()
        self.busiest_operations = 0.0
        self.known: dict[tuple[str, str | None], _Instruction] = {}
        allocations = [s for s in q.walk(proc.body) if isinstance(s, q.Alloc)]
        self.scalars = frozenset(s.buf for s in allocations if not s.shape)
        self.pointers = may_overlap(proc, target)

    def block(self, body: tuple[q.Stmt, ...], times: float, loops: tuple[q.For, ...]) -> None:
        """Count one block that runs `times` in a call; `loops` are around it."""
        done = self.done
        done.statements += len(body)
        for stmt in body:
            match stmt:
                case q.For():
                    self.loop(stmt, times, loops)
                case q.If():
                    done.branches += times
                    done.conditions += 1
                    for branch in possible(stmt, self.sizes, self.value):
                        self.block(branch, times, loops)
                case q.Alloc():
                    self.allocation(stmt, times)
                case q.Assign() | q.Reduce():
                    self.simple(stmt, times, loops[-1] if loops else None)
                case q.Call() if stmt.proc.instr:
                    self.call(stmt, times)
                case q.Call():
                    self.block(stmt.proc.body, times, ())

    def loop(self, loop: q.For, times: float, loops: tuple[q.For, ...]) -> None:
        done = self.done
        low, high = self.value(loop.lo), self.value(loop.hi)
        trips = max(high - low, 0)
        self.values[loop.iter.uid] = (low + high) // 2
        around = (*loops, loop)
        done.loops += 1
        done.depth = max(done.depth, len(around))
        done.iterations += times * trips
        done.forks += times * loop.parallel
        self.block(loop.body, times * trips, around)
        if not any(isinstance(s, q.For) for s in q.walk(loop.body)):
            done.inner_loops += times
            self.innermost(loop, times * trips, around)

    def innermost(self, loop: q.For, times: float, around: tuple[q.For, ...]) -> None:
        """Keep it if it is the busiest so far."""
        simple = [s for s in loop.body if isinstance(s, q.Assign | q.Reduce)]
        calls = [s for s in loop.body if isinstance(s, q.Call) and s.proc.instr]
        facts = [self.instruction(call.proc) for call in calls]
        by_compiler = vectorisable(loop, self.scalars, self.pointers)
        work = sum(operations(s) for s in simple) + sum(fact.lanes for fact in facts)
        if by_compiler:
            self.done.compiler_vectorised += times * work
        if times * (work + len(loop.body)) <= self.busiest_operations:
            return
        self.busiest_operations = times * (work + len(loop.body))
        added = {(s.buf, s.idx) for s in simple if isinstance(s, q.Reduce)}
        registers = {
            call.args[position]
            for call, fact in zip(calls, facts, strict=True)
            for position in fact.added
        }
        loaded = {access for s in simple for access in reads(s.rhs)} - added
        bits = [ELEMENT_BITS[s.type] for s in simple if s.type in ELEMENT_BITS]
        self.done.busiest = Innermost(
            times,
            len(loop.body),
            work,
            len(loaded | added) + sum(fact.loads + fact.scalars for fact in facts),
            len({(s.buf, s.idx) for s in simple}) + sum(fact.stores for fact in facts),
            by_compiler,
            loop.extent is not None,
            len(added) + len(registers),
            any(
                stride(access, loop.iter) == 0 for access in added if access[0] not in self.scalars
            ),
            max([*bits, *(fact.bits for fact in facts)], default=32),
            tuple((each.iter.uid, self.trips(each)) for each in around),
        )

    def simple(self, stmt: q.Assign | q.Reduce, times: float, loop: q.For | None) -> None:
        done = self.done
        done.arithmetic += times * operations(stmt)
        done.copies += times * (isinstance(stmt, q.Assign) and isinstance(stmt.rhs, q.Read))
        for node in q.walk_expr(stmt.rhs):
            if isinstance(node, q.Extern) and node.name not in SIMPLE_EXTERNS:
                done.externs += times
            elif isinstance(node, q.Read) and node.buf not in self.scalars:
                done.loads[_movement((node.buf, node.idx), loop)] += times
                done.divisions += _divisions(node.idx)
        if stmt.buf not in self.scalars:
            done.stores[_movement((stmt.buf, stmt.idx), loop)] += times

    def allocation(self, stmt: q.Alloc, times: float) -> None:
        if not stmt.shape:
            self.done.scalars += 1
            return
        size = ELEMENT_BITS[stmt.type] // 8
        for extent in stmt.shape:
            size *= max(self.value(extent), 1)
        self.done.buffers.append((stmt.mem, size))
        if stmt.mem in ("DRAM", "DRAM_ALIGNED"):
            self.done.heap_allocations += times

    def call(self, call: q.Call, times: float) -> None:
        done, fact = self.done, self.instruction(call.proc)
        done.calls += 1
        done.prefetches += times * fact.prefetch
        done.instructions += times
        done.instruction_lanes += times * fact.lanes
        done.vector_loads += times * fact.loads
        done.vector_stores += times * fact.stores
        done.scalar_operands += times * fact.scalars

    def instruction(self, proc: q.Proc) -> _Instruction:
        """Facts of an instruction; equal ones are looked at once."""
        key = (proc.name, proc.instr)
        if key not in self.known:
            self.known[key] = _facts(proc)
        return self.known[key]

    def trips(self, loop: q.For) -> int:
        return max(self.value(loop.hi) - self.value(loop.lo), 0)

    def value(self, expr: q.Affine) -> int:
        return estimated(expr, self.values)


def _facts(proc: q.Proc) -> _Instruction:
    simple = [s for s in q.walk(proc.body) if isinstance(s, q.Assign | q.Reduce)]
    written = {s.buf for s in simple}
    added = {s.buf for s in simple if isinstance(s, q.Reduce)}
    lanes = max((s.extent or 1 for s in q.walk(proc.body) if isinstance(s, q.For)), default=1)
    in_memory = [arg for arg in proc.args if arg.shape and arg.mem == "DRAM"]
    single = [arg for arg in in_memory if arg.shape == (q.Affine(1),)]
    whole = [arg for arg in in_memory if arg not in single]
    return _Instruction(
        lanes * sum(operations(s) for s in simple),
        sum(arg.var not in written for arg in whole),
        sum(arg.var in written for arg in whole),
        len(single),
        frozenset(n for n, arg in enumerate(proc.args) if arg.var in added),
        max((ELEMENT_BITS[a.type] for a in proc.args if a.type in ELEMENT_BITS), default=32),
        not simple,
    )


def _movement(access: tuple[q.Var, tuple[q.Affine, ...]], loop: q.For | None) -> int:
    if loop is None:
        return INVARIANT
    step = stride(access, loop.iter)
    return IRREGULAR if step is None else step


def _divisions(idx: tuple[q.Affine, ...]) -> int:
    return sum(isinstance(atom, q.FloorDiv | q.Mod) for index in idx for atom, _ in index.terms)

"""What one call of a procedure executes, counted on its query AST at the timed sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.compiler_model import stride, vectorisable
from schedsearch.transforms.scene import Scene
from schedsearch.transforms.statements import (
    Access,
    costly_externs,
    has_loops,
    instruction,
    loads,
    operations,
)
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

    @property
    def weight(self) -> float:
        """What makes a loop the busiest."""
        return self.times * (self.operations + self.statements)


NONE = Innermost()


@dataclass
class Activity:
    """Sums over one execution of a procedure, a loop or a block, but for the counts of the
    text from `statements` on.

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
    busiest: Innermost = NONE

    @property
    def operations(self) -> float:
        """All arithmetic, by element."""
        return self.arithmetic + self.instruction_lanes

    def add(self, part: Activity, times: int = 1) -> None:
        """Take in a part that is executed so many times."""
        mine, other = self.__dict__, part.__dict__
        for name in _SUMS:
            if other[name]:
                mine[name] += times * other[name]
        for name in _COUNTS:
            mine[name] += other[name]
        self.depth = max(self.depth, part.depth)
        for total, more in ((self.loads, part.loads), (self.stores, part.stores)):
            for movement, count in enumerate(more):
                total[movement] += times * count
        self.buffers += part.buffers
        if times * part.busiest.weight > self.busiest.weight:
            self.busiest = replace(part.busiest, times=times * part.busiest.times)


_SUMS = (
    *("arithmetic", "compiler_vectorised", "instruction_lanes", "externs", "instructions"),
    *("vector_loads", "vector_stores", "scalar_operands", "prefetches", "copies"),
    *("iterations", "inner_loops", "branches", "forks", "heap_allocations"),
)
_COUNTS = ("statements", "calls", "loops", "conditions", "divisions", "scalars")


def activity(proc: q.Proc, target: Target, sizes: Mapping[str, int]) -> Activity:
    """What one call executes; `sizes` binds arguments by name."""
    return _Walk(Scene(proc, target, sizes)).block(proc.body, None)


class _Walk:
    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def block(self, body: tuple[q.Stmt, ...], loop: q.For | None) -> Activity:
        """Of one execution of a block, whose innermost surrounding loop is `loop`."""
        done = Activity(statements=len(body))
        for stmt in body:
            match stmt:
                case q.For():
                    done.add(self.scene.kept(self.loop, stmt))
                case q.If():
                    done.branches += 1
                    done.conditions += 1
                    for branch in self.scene.possible(stmt):
                        done.add(self.block(branch, loop))
                case q.Alloc():
                    self.allocation(stmt, done)
                case q.Assign() | q.Reduce():
                    self.simple(stmt, loop, done)
                case q.Call() if stmt.proc.instr:
                    _call(stmt, done)
                case q.Call():
                    called = _Walk(self.scene.called(stmt))
                    done.add(called.block(stmt.proc.body, None))
        return done

    def loop(self, loop: q.For) -> Activity:
        """Of one execution of a loop."""
        low, high = self.scene.enter(loop)
        trips = max(high - low, 0)
        body = self.block(loop.body, loop)
        done = Activity(loops=1, iterations=trips, forks=loop.parallel)
        if not has_loops(loop):
            done.inner_loops = 1
            body.busiest = self.innermost(loop)
            if body.busiest.by_compiler:
                body.compiler_vectorised += body.busiest.operations
        done.add(body, trips)
        done.depth += 1
        if done.busiest is not NONE:
            nest = ((loop.iter.uid, trips), *done.busiest.nest)
            done.busiest = replace(done.busiest, nest=nest)
        return done

    def innermost(self, loop: q.For) -> Innermost:
        """An innermost loop, by iteration."""
        simple = [s for s in loop.body if isinstance(s, q.Assign | q.Reduce)]
        calls = [s for s in loop.body if isinstance(s, q.Call) and s.proc.instr]
        facts = [instruction(call.proc) for call in calls]
        added = {(s.buf, s.idx) for s in simple if isinstance(s, q.Reduce)}
        registers = {
            call.args[position]
            for call, fact in zip(calls, facts, strict=True)
            for position in fact.added
        }
        loaded = {access for s in simple for access in loads(s)} | added
        bits = [ELEMENT_BITS[s.type] for s in simple if s.type in ELEMENT_BITS]
        scalars = self.scene.scalars
        return Innermost(
            1.0,
            len(loop.body),
            sum(operations(s) for s in simple) + sum(fact.lanes for fact in facts),
            len(loaded) + sum(fact.loads + fact.scalars for fact in facts),
            len({(s.buf, s.idx) for s in simple}) + sum(fact.stores for fact in facts),
            vectorisable(loop, scalars, self.scene.pointers),
            loop.extent is not None,
            len(added) + len(registers),
            any(stride(access, loop.iter) == 0 for access in added if access[0] not in scalars),
            max([*bits, *(fact.bits for fact in facts)], default=32),
        )

    def simple(self, stmt: q.Assign | q.Reduce, loop: q.For | None, done: Activity) -> None:
        done.arithmetic += operations(stmt)
        done.copies += isinstance(stmt, q.Assign) and isinstance(stmt.rhs, q.Read)
        done.externs += costly_externs(stmt)
        scalars = self.scene.scalars
        for access in loads(stmt):
            if access[0] not in scalars:
                done.loads[_movement(access, loop)] += 1
                done.divisions += _divisions(access[1])
        if stmt.buf not in scalars:
            done.stores[_movement((stmt.buf, stmt.idx), loop)] += 1

    def allocation(self, stmt: q.Alloc, done: Activity) -> None:
        self.scene.declare(stmt)
        if not stmt.shape:
            done.scalars += 1
            return
        size = ELEMENT_BITS[stmt.type] // 8
        for extent in stmt.shape:
            size *= max(self.scene.value(extent), 1)
        done.buffers.append((stmt.mem, size))
        done.heap_allocations += stmt.mem in ("DRAM", "DRAM_ALIGNED")


def _call(call: q.Call, done: Activity) -> None:
    fact = instruction(call.proc)
    done.calls += 1
    done.prefetches += fact.prefetch
    done.instructions += 1
    done.instruction_lanes += fact.lanes
    done.vector_loads += fact.loads
    done.vector_stores += fact.stores
    done.scalar_operands += fact.scalars


def _movement(access: Access, loop: q.For | None) -> int:
    if loop is None:
        return INVARIANT
    step = stride(access, loop.iter)
    return IRREGULAR if step is None else step


def _divisions(idx: tuple[q.Affine, ...]) -> int:
    return sum(isinstance(atom, q.FloorDiv | q.Mod) for index in idx for atom, _ in index.terms)

"""What one call of a procedure executes, counted on its query AST at the timed sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import add
from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
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


@dataclass(frozen=True)
class Activity:
    """Sums over one call, but for the counts of the text from `statements` on.

    `loads` and `stores` are of scalar statements, by `INVARIANT`, `UNIT`, ...; `buffers`
    holds memory and bytes of every allocated array.
    """

    arithmetic: float
    compiler_vectorised: float
    instruction_lanes: float
    externs: float
    instructions: float
    vector_loads: float
    vector_stores: float
    scalar_operands: float
    prefetches: float
    copies: float
    iterations: float
    inner_loops: float
    branches: float
    forks: float
    heap_allocations: float
    loads: tuple[float, ...]
    stores: tuple[float, ...]
    statements: int
    calls: int
    loops: int
    conditions: int
    divisions: int
    scalars: int
    depth: int
    buffers: tuple[tuple[str, int], ...]
    busiest: Innermost

    @property
    def operations(self) -> float:
        """All arithmetic, by element."""
        return self.arithmetic + self.instruction_lanes


_ARITHMETIC, _VECTORISED, _LANES, _EXTERNS, _INSTRUCTIONS, _VECTOR_LOADS, _VECTOR_STORES = range(7)
_OPERANDS, _PREFETCHES, _COPIES, _ITERATIONS, _INNER_LOOPS, _BRANCHES, _FORKS, _HEAP = range(7, 15)
_LOADS, _STORES, _SUMS = 15, 19, 23
"""Positions among the sums of `_Part`, in the order of `Activity`."""
(_STATEMENTS, _CALLS, _LOOPS, _CONDITIONS, _DIVISIONS, _SCALARS, _COUNTS) = range(7)


class _Part:
    """What one execution of a block or loop does: `sums`, and `counts` of its text."""

    def __init__(self) -> None:
        self.sums = [0.0] * _SUMS
        self.counts = [0] * _COUNTS
        self.depth = 0
        self.buffers: tuple[tuple[str, int], ...] = ()
        self.busiest = NONE

    def add(self, part: _Part, times: int = 1) -> None:
        """Take in a part that is executed so many times."""
        self.sums = [a + times * b for a, b in zip(self.sums, part.sums, strict=True)]
        self.counts = list(map(add, self.counts, part.counts))
        self.depth = max(self.depth, part.depth)
        self.buffers += part.buffers
        if times * part.busiest.weight > self.busiest.weight:
            self.busiest = replace(part.busiest, times=times * part.busiest.times)

    def activity(self) -> Activity:
        sums = self.sums
        fields: list[Any] = [*sums[:_LOADS], tuple(sums[_LOADS:_STORES]), tuple(sums[_STORES:])]
        fields += [*self.counts, self.depth, self.buffers, self.busiest]
        return Activity(*fields)


def activity(scene: Scene) -> Activity:
    """What one call executes."""
    return _Walk(scene).block(scene.proc.body, None).activity()


class _Walk:
    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def block(self, body: tuple[q.Stmt, ...], loop: q.For | None) -> _Part:
        """Of one execution of a block, whose innermost surrounding loop is `loop`."""
        done = _Part()
        done.counts[_STATEMENTS] = len(body)
        for stmt in body:
            match stmt:
                case q.For():
                    done.add(self.scene.kept(self.loop, stmt))
                case q.If():
                    done.sums[_BRANCHES] += 1
                    done.counts[_CONDITIONS] += 1
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

    def loop(self, loop: q.For) -> _Part:
        """Of one execution of a loop."""
        low, high = self.scene.enter(loop)
        trips = max(high - low, 0)
        body, done = self.block(loop.body, loop), _Part()
        done.counts[_LOOPS] = 1
        done.sums[_ITERATIONS] = trips
        done.sums[_FORKS] = loop.parallel
        if not has_loops(loop):
            done.sums[_INNER_LOOPS] = 1
            body.busiest = self.innermost(loop)
            if body.busiest.by_compiler:
                body.sums[_VECTORISED] += body.busiest.operations
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

    def simple(self, stmt: q.Assign | q.Reduce, loop: q.For | None, done: _Part) -> None:
        sums, scalars = done.sums, self.scene.scalars
        sums[_ARITHMETIC] += operations(stmt)
        sums[_COPIES] += isinstance(stmt, q.Assign) and isinstance(stmt.rhs, q.Read)
        sums[_EXTERNS] += costly_externs(stmt)
        for access in loads(stmt):
            if access[0] not in scalars:
                sums[_LOADS + _movement(access, loop)] += 1
                done.counts[_DIVISIONS] += _divisions(access[1])
        if stmt.buf not in scalars:
            sums[_STORES + _movement((stmt.buf, stmt.idx), loop)] += 1

    def allocation(self, stmt: q.Alloc, done: _Part) -> None:
        self.scene.declare(stmt)
        if not stmt.shape:
            done.counts[_SCALARS] += 1
            return
        size = ELEMENT_BITS[stmt.type] // 8
        for extent in stmt.shape:
            size *= max(self.scene.value(extent), 1)
        done.buffers += ((stmt.mem, size),)
        done.sums[_HEAP] += stmt.mem in ("DRAM", "DRAM_ALIGNED")


def _call(call: q.Call, done: _Part) -> None:
    fact, sums = instruction(call.proc), done.sums
    done.counts[_CALLS] += 1
    sums[_PREFETCHES] += fact.prefetch
    sums[_INSTRUCTIONS] += 1
    sums[_LANES] += fact.lanes
    sums[_VECTOR_LOADS] += fact.loads
    sums[_VECTOR_STORES] += fact.stores
    sums[_OPERANDS] += fact.scalars


def _movement(access: Access, loop: q.For | None) -> int:
    if loop is None:
        return INVARIANT
    step = stride(access, loop.iter)
    return IRREGULAR if step is None else step


def _divisions(idx: tuple[q.Affine, ...]) -> int:
    return sum(isinstance(atom, q.FloorDiv | q.Mod) for index in idx for atom, _ in index.terms)

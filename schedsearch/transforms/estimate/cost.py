"""A static cost estimate: which of two schedules of one procedure looks faster?

Counts, per iteration of each innermost loop, the arithmetic and the memory
accesses that the C compiler cannot drop, assuming what optimising compilers do:
loops are vectorised when every access moves by 0 or 1 element per iteration,
loop-invariant loads are hoisted, and equal accesses in one loop body are made
once (which is what rewards unroll-and-jam). A reduction into memory that does
not move is a chain of dependent additions. An instruction counts as the loop that it
stands for, over one register. Cache misses come on top (`locality.py`).

The unit is arbitrary, near a cycle; only ratios mean something. It orders what
is measured first; nothing is ever accepted or rejected because of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log, prod

from schedsearch.analysis.independence import has_threads
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.records import Target
from schedsearch.transforms.estimate.compiler_model import auto_lanes, stride, unrolls, vectorisable
from schedsearch.transforms.estimate.locality import traffic
from schedsearch.transforms.estimate.statements import (
    LOAD,
    Element,
    accumulators,
    divisions,
    instruction,
    loaded,
    operations,
    register_operands,
)
from schedsearch.transforms.estimate.surroundings import Scene

STRIDED = 4.0
"""Cost of an access that touches a new cache line every iteration."""
CHAIN = 4.0
"""Latency of a floating-point addition, in cycles."""
LATENCY = 8.0
"""Of a vector instruction that adds to a register: what a loop that adds to the same
register every time takes at least per iteration."""
LOOP = 1.0
"""Overhead of one iteration of a loop that is neither vectorised nor unrolled."""
FORK = 20_000.0
"""Starting and joining the threads of a parallel loop, if they sleep: some microseconds."""
DIVISION = 4.0
"""Dividing an index by a constant, in every iteration that changes it."""
SPILL = 2.0
"""A register operand whose place is not a constant, because a loop around is not unrolled:
its array is in memory."""


@dataclass(frozen=True)
class Estimate:
    """The cost of one call: `compute`, and `misses` of the caches."""

    compute: float
    misses: float

    @property
    def log_cost(self) -> float:
        """Natural logarithm of the estimated cost of one call."""
        return log(1.0 + self.compute + self.misses)


def estimate(scene: Scene) -> Estimate:
    """The estimate for one call."""
    body = scene.proc.body
    compute = _Walk(scene).block(body, None)
    misses = traffic(scene)
    if has_threads(scene.proc):
        alone = _Walk(scene.on(replace(scene.target, threads=1))).block(body, None)
        misses *= min(compute / alone, 1.0)  # threads share the misses as they share the work
    return Estimate(compute, misses)


def log_cost(proc: q.Proc, target: Target, sizes: Mapping[str, int]) -> float:
    """Natural logarithm of the estimated cost of one call; `sizes` binds arguments by name."""
    return estimate(Scene(proc, target, sizes)).log_cost


class _Walk:
    def __init__(self, scene: Scene) -> None:
        self.scene, self.target = scene, scene.target

    def block(self, body: tuple[q.Stmt, ...], loop: q.For | None) -> float:
        """Cost of one execution of `body`, whose innermost surrounding loop is `loop`."""
        for stmt in body:
            if isinstance(stmt, q.Alloc):
                self.scene.declare(stmt)
        cost = self.simple(body, loop)
        for stmt in body:
            match stmt:
                case q.For():
                    cost += self.scene.kept(self.loop, stmt)
                case q.If():
                    branches = self.scene.possible(stmt)
                    cost += 1.0 + sum(self.block(branch, loop) for branch in branches)
                case q.Call() if stmt.proc.instr:
                    cost += self.carried_out(stmt)
                    cost += SPILL * self.spilled(stmt)
                    cost += DIVISION * _divided(stmt, loop)
                case q.Call():
                    called = _Walk(self.scene.called(stmt))
                    cost += 1.0 + called.block(stmt.proc.body, None)
        return cost

    def loop(self, loop: q.For) -> float:
        """Cost of one execution of a loop."""
        low, high = self.scene.enter(loop)
        trips = max(high - low, 0)
        per_iteration = self.block(loop.body, loop)
        if any(loop.iter not in place for place in accumulators(loop)):
            per_iteration = max(per_iteration, LATENCY)
        cost = trips * (per_iteration + LOOP) + LOOP
        if vectorisable(loop, self.scene.scalars, self.scene.pointers) and (
            width := auto_lanes(loop, self.target)
        ):
            vectors, rest = divmod(trips, width)
            cost = (vectors + rest) * (per_iteration + LOOP) + LOOP
        elif unrolls(loop, self.target):
            cost = trips * per_iteration
        return FORK + cost / self.shares(max(trips, 1)) if loop.parallel else cost

    def carried_out(self, call: q.Call) -> float:
        """Cost of an instruction itself."""
        cost = instruction(call.proc).cost * self.registers(call)
        return FORK + cost / self.target.threads if call.proc.threads else cost

    def registers(self, call: q.Call) -> float:
        """How many registers an instruction for any number of elements takes, one at least."""
        given = (call.args[n] for n in instruction(call.proc).counts)
        counts = [self.scene.value(size) for size in given if isinstance(size, q.Affine)]
        kind = next(arg.type for arg in call.proc.args if arg.type in ELEMENT_BITS)
        lanes = max(self.target.vector_bits // ELEMENT_BITS[kind], 1)
        return max(prod(counts) / lanes, 1.0)

    def spilled(self, call: q.Call) -> int:
        """Register operands of an instruction that are moved by loops that stay loops."""
        rolled = self.scene.rolled
        return sum(not rolled.isdisjoint(place) for place in register_operands(call))

    def shares(self, trips: int) -> float:
        """How many times faster the target's threads run a parallel loop."""
        return trips / -(-trips // self.target.threads)

    def simple(self, body: tuple[q.Stmt, ...], loop: q.For | None) -> float:
        """Cost of the assignments and reductions directly in `body`."""
        loads: frozenset[Element] = frozenset()
        stores: set[Element] = set()
        cost = 0.0
        for stmt in body:
            if isinstance(stmt, q.Assign | q.Reduce):
                store = (stmt.buf, stmt.idx)
                cost += operations(stmt) + DIVISION * _divided(stmt, loop)
                loads |= loaded(stmt)
                stores.add(store)
                chained = isinstance(stmt, q.Reduce) and loop is not None
                if chained and loop is not None and stride(store, loop.iter) == 0:
                    cost += CHAIN
        cost += sum(self.access(access, loop, 1.0) for access in stores)
        for access in loads:
            cost += self.access(access, loop, 1.0 if access in stores else LOAD)
        return cost

    def access(self, access: Element, loop: q.For | None, near: float) -> float:
        """Cost of an access, `near` if it is in a line that is at hand; a load that does not
        move is made outside the loop."""
        if access[0] in self.scene.scalars:
            return 0.0
        step = stride(access, loop.iter) if loop is not None else 1
        if step is None or step > 1:
            return STRIDED
        return near if near == 1.0 or step == 1 else 0.0


def _divided(stmt: q.Stmt, loop: q.For | None) -> int:
    """Divisions in indices that change with `loop`; others are made outside."""
    return sum(loop.iter in vars for vars in divisions(stmt)) if loop is not None else 0

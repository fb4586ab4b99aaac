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

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.compiler_model import (
    Access,
    auto_lanes,
    may_overlap,
    reads,
    stride,
    unrolls,
    vectorisable,
)
from schedsearch.transforms.conditions import possible, sizes_of
from schedsearch.transforms.locality import UNKNOWN_EXTENT, Traffic, estimated, traffic
from schedsearch.transforms.races import has_parallel_loops

STRIDED = 4.0
"""Cost of an access that touches a new cache line every iteration."""
CHAIN = 4.0
"""Latency of a floating-point addition, in cycles."""
LOAD = 0.5
"""Two loads a cycle, as two operations."""
EXTERN = 12.0
"""Operations of a vectorised exponential or the like, about."""
SIMPLE_EXTERNS = frozenset({"fmaxf", "relu", "select", "sqrt"})
"""External functions that are an instruction."""
LATENCY = 8.0
"""Of a vector instruction that adds to a register: what a loop that adds to the same
register every time takes at least per iteration."""
LOOP = 1.0
"""Overhead of one iteration of a loop that is neither vectorised nor unrolled."""
FORK = 5000.0
"""Starting and joining the threads of a parallel loop: some microseconds."""
DIVISION = 4.0
"""Dividing an index by a constant, in every iteration that changes it."""
SPILL = 2.0
"""A register operand whose place is not a constant, because a loop around is not unrolled:
its array is in memory."""


@dataclass(frozen=True)
class Estimate:
    """What one call costs: `compute`, and `misses` of the memory `traffic` behind it."""

    compute: float
    misses: float
    traffic: Traffic

    @property
    def log_cost(self) -> float:
        """Natural logarithm of the estimated cost of one call."""
        return log(1.0 + self.compute + self.misses)


def estimate(proc: q.Proc, target: Target, sizes: Mapping[str, int]) -> Estimate:
    """The estimate for one call; `sizes` binds arguments by name."""
    values = {arg.var.uid: sizes.get(arg.var.name, UNKNOWN_EXTENT) for arg in proc.args}
    compute = _Walk(proc, target, dict(values)).block(proc.body, None)
    moved = traffic(proc, target, sizes)
    misses = moved.cost
    if has_parallel_loops(proc):
        alone = _Walk(proc, replace(target, threads=1), values).block(proc.body, None)
        misses *= min(compute / alone, 1.0)  # threads share the misses as they share the work
    return Estimate(compute, misses, moved)


def log_cost(proc: q.Proc, target: Target, sizes: Mapping[str, int]) -> float:
    """Natural logarithm of the estimated cost of one call; `sizes` binds arguments by name."""
    return estimate(proc, target, sizes).log_cost


@dataclass
class _Walk:
    proc: q.Proc
    target: Target
    values: dict[int, int]
    rolled: set[q.Var] = field(default_factory=set)

    @cached_property
    def scalars(self) -> frozenset[q.Var]:
        """Local variables that are no arrays: they live in registers."""
        allocations = (s for s in q.walk(self.proc.body) if isinstance(s, q.Alloc))
        return frozenset(s.buf for s in allocations if not s.shape)

    @cached_property
    def pointers(self) -> frozenset[q.Var]:
        return may_overlap(self.proc, self.target)

    def block(self, body: tuple[q.Stmt, ...], loop: q.For | None) -> float:
        """Cost of one execution of `body`, whose innermost surrounding loop is `loop`."""
        cost = self.simple(body, loop)
        for stmt in body:
            match stmt:
                case q.For() if stmt.parallel:
                    cost += FORK + self.loop(stmt) / self.shares(stmt)
                case q.For():
                    cost += self.loop(stmt)
                case q.If():
                    branches = possible(stmt, sizes_of(self.proc), self.value)
                    cost += 1.0 + sum(self.block(branch, loop) for branch in branches)
                case q.Call() if stmt.proc.instr:
                    cost += _instruction(stmt) + SPILL * self.spilled(stmt)
                    cost += DIVISION * self.divisions(q.stmt_exprs(stmt), loop)
                case q.Call():
                    cost += 1.0 + self.block(stmt.proc.body, None)
        return cost

    def loop(self, loop: q.For) -> float:
        low, high = self.value(loop.lo), self.value(loop.hi)
        trips = max(high - low, 0)
        self.values[loop.iter.uid] = (low + high) // 2
        if not unrolls(loop, self.target):
            self.rolled.add(loop.iter)
        per_iteration = self.block(loop.body, loop)
        if any(_accumulates(call, loop) for call in _instructions(loop.body)):
            per_iteration = max(per_iteration, LATENCY)
        width = auto_lanes(loop, self.proc, self.target)
        if width and vectorisable(loop, self.scalars, self.pointers):
            vectors, rest = divmod(trips, width)
            return (vectors + rest) * (per_iteration + LOOP) + LOOP
        if unrolls(loop, self.target):
            return trips * per_iteration
        return trips * (per_iteration + LOOP) + LOOP

    def spilled(self, call: q.Call) -> int:
        """Register operands of an instruction that are moved by loops that stay loops."""
        return sum(
            formal.mem is not None
            and not formal.mem.startswith("DRAM")
            and not self.rolled.isdisjoint(q.expr_vars(actual))
            for formal, actual in zip(call.proc.args, call.args, strict=True)
        )

    def divisions(self, exprs: Iterable[q.Expr | q.Interval], loop: q.For | None) -> int:
        """Divisions in indices that change with `loop`; others are made outside."""
        if loop is None:
            return 0
        return sum(
            isinstance(node, q.FloorDiv | q.Mod) and loop.iter in q.expr_vars(node)
            for expr in exprs
            for node in q.walk_expr(expr)
        )

    def shares(self, loop: q.For) -> float:
        """How many times faster the target's threads run a parallel loop."""
        trips = max(self.value(loop.hi) - self.value(loop.lo), 1)
        return trips / -(-trips // self.target.threads)

    def simple(self, body: tuple[q.Stmt, ...], loop: q.For | None) -> float:
        """Cost of the assignments and reductions directly in `body`."""
        loads: set[Access] = set()
        stores: set[Access] = set()
        cost = 0.0
        for stmt in body:
            if isinstance(stmt, q.Assign | q.Reduce):
                cost += operations(stmt)
                cost += DIVISION * self.divisions(q.stmt_exprs(stmt), loop)
                loads |= set(reads(stmt.rhs))
                stores.add((stmt.buf, stmt.idx))
                if isinstance(stmt, q.Reduce):
                    loads.add((stmt.buf, stmt.idx))
                    if loop is not None and stride((stmt.buf, stmt.idx), loop.iter) == 0:
                        cost += CHAIN
        for access in [*loads, *stores]:
            if access[0] in self.scalars:
                continue
            step = stride(access, loop.iter) if loop is not None else 1
            if step is None or step > 1:
                cost += STRIDED
            elif access in stores:
                cost += 1.0
            elif step == 1:
                cost += LOAD
        return cost

    def value(self, expr: q.Affine) -> int:
        return estimated(expr, self.values)


def operations(stmt: q.Assign | q.Reduce) -> float:
    """Arithmetic of a statement; a product that is added takes one operation."""
    cost = float(isinstance(stmt, q.Reduce))
    for node in q.walk_expr(stmt.rhs):
        match node:
            case q.Extern():
                cost += 1.0 if node.name in SIMPLE_EXTERNS else EXTERN
            case q.BinOp() | q.USub():
                cost += 1.0
    product = isinstance(stmt.rhs, q.BinOp) and stmt.rhs.op == "*"
    return cost - (product and isinstance(stmt, q.Reduce))


def _instruction(call: q.Call) -> float:
    """Cost of an instruction: the operations of its body, and the registers it loads and
    stores."""
    simple = [s for s in q.walk(call.proc.body) if isinstance(s, q.Assign | q.Reduce)]
    written = {s.buf for s in simple}
    cost = sum(operations(s) for s in simple)
    for arg in call.proc.args:
        if arg.shape and arg.mem == "DRAM" and arg.shape != (q.Affine(1),):
            cost += 1.0 if arg.var in written else LOAD
    return max(cost, LOAD)


def _instructions(body: tuple[q.Stmt, ...]) -> Iterator[q.Call]:
    return (s for s in q.walk(body) if isinstance(s, q.Call) and s.proc.instr)


def _accumulates(call: q.Call, loop: q.For) -> bool:
    """Whether an instruction adds to a register that the loop does not move."""
    added = {s.buf for s in q.walk(call.proc.body) if isinstance(s, q.Reduce)}
    return any(
        formal.var in added and formal.mem != "DRAM" and loop.iter not in q.expr_vars(actual)
        for formal, actual in zip(call.proc.args, call.args, strict=True)
    )

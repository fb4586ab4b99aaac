"""Arithmetic and compulsory traffic of a procedure: the two axes of the roofline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from schedsearch.analysis.conditions import holds
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS, known_type
from schedsearch.core.floats import FloatingPoint
from schedsearch.evaluate.arguments.binding import Binding, control_values
from schedsearch.evaluate.roof.kinds import Functions
from schedsearch.evaluate.roof.operations import Needs, operations
from schedsearch.evaluate.roof.traffic import Streams, count_streams

# Loop iterations looked at one by one in nests whose bounds depend on outer
# loops; beyond, evenly spaced iterations stand for their neighbours.
_BUDGET = 1 << 16


@dataclass(frozen=True)
class Work:
    """`ops`: arithmetic operations that a call needs, by element type; `streams`: compulsory
    traffic.

    Operations that a compiler or a rewrite may leave out do not count: a value is computed once
    for all iterations that it does not vary with, equal expressions of a block once, and sums and
    products in the best order (`-ffast-math` allows any; factors leave sums only if the contract
    lets schedules do that). So `C[i, j] += alpha * A[i, k] * B[k, j]`
    has two operations in its innermost loop, not the three of its text, and a product of three
    matrices those of two products of two.

    Every `+ - *`, `+=` and call is one operation, so a multiply-add is two. So is each
    minimum or maximum over a loop, however it is written. Those, and as many additions that
    belong to no multiplication, are of the type `f32 min`, ...: no instruction does two of them.
    Operations on integers are `i8` if some buffer is of bytes: instructions that multiply
    bytes and add up in 32 bits may do them.

    What takes longer has types of its own: calls of functions that processors have no instruction
    for (`f32 expf`, ...), divisions of floats by what is no constant (`f32 /`) and roots
    (`f32 sqrt`). There are as few of them as can be. Equal ones count once in all loops together,
    and a call that a choice may leave out is as cheap as any operation. With -ffast-math a
    product needs one division at most, and varies with its divisors alone; a root or an exponential
    divides as fast as it multiplies, and two in a product are one. `functions`: our own vector code
    of these.
    """

    ops: tuple[tuple[str, float], ...]
    streams: Streams
    functions: Functions = ()

    @property
    def flops(self) -> float:
        """Operations of all types together."""
        return sum(count for _, count in self.ops)

    @property
    def bytes(self) -> int:
        """Loaded and stored."""
        return self.streams.bytes


def count_work(proc: q.Proc, binding: Binding, fp: FloatingPoint = FloatingPoint.FAST) -> Work:
    """Work of one call. Never slow: see `_BUDGET` for when counts are approximate."""
    inlined = inline_calls(proc)
    counter = _Counter(operations(inlined, fp))
    needed = counter.block(inlined.body, dict(control_values(inlined, binding)), _BUDGET)
    ops: Counter[str] = Counter()
    bytewise = any(arg.type in _BYTES for arg in proc.args)
    for (kind, _), count in needed.items():
        kind, _, how = kind.partition(" ")
        narrow = bytewise and kind in INTEGERS
        ops[" ".join(["i8" if narrow else known_type(kind), how]).strip()] += count
    return Work(tuple(sorted(_paired(ops).items())), count_streams(inlined, binding))


_PAIRED = ("", "+", "min")


def _paired(ops: Counter[str]) -> Counter[str]:
    """Operations by type, with additions (`f32 +`) where they belong: beside a multiplication, a
    minimum, or alone."""
    found = Counter({kind: n for kind, n in ops.items() if kind.partition(" ")[2] not in _PAIRED})
    for kind in {kind.partition(" ")[0] for kind in ops}:
        others, sums, extremes = ops[kind], ops[f"{kind} +"], ops[f"{kind} min"]
        beside = min(extremes, max(sums - others, 0))
        found[kind] = others + sums - beside
        found[f"{kind} min"] = extremes + beside
    return +found


@lru_cache(maxsize=4096)
def count_steps(proc: q.Proc, binding: Binding) -> int:
    """Operations, or else assignments, of one call as it is written. All are executed: values that
    do not vary with a loop are computed in each of its iterations."""
    return sum(count_steps_in(inline_calls(proc), binding, frozenset()).values())


@lru_cache(maxsize=4096)
def count_steps_in(proc: q.Proc, binding: Binding, loops: frozenset[q.Var]) -> Mapping[int, int]:
    """The steps of an inlined `proc`, by how many of `loops` are around them."""
    around = Counter[int]()
    for loop in q.walk(proc.body):
        if isinstance(loop, q.For) and loop.iter in loops:
            around.update(id(stmt) for stmt in q.walk(loop.body))
    body = list(q.walk(proc.body))
    everywhere = frozenset(stmt.iter for stmt in body if isinstance(stmt, q.For))
    steps = {
        id(stmt): Needs({(str(around[id(stmt)]), everywhere): _steps(stmt)})
        for stmt in body
        if isinstance(stmt, q.Assign | q.Reduce)
    }
    found, values = Counter[int](), dict(control_values(proc, binding))
    for (depth, _), count in _Counter(steps).block(proc.body, values, _BUDGET).items():
        found[int(depth)] += count
    return found


@lru_cache(maxsize=4096)
def stores_run(proc: q.Proc, binding: Binding) -> frozenset[int]:
    """The assignments and sums that a call of an inlined `proc` executes, by their order in its
    text: statements of different callees have the same paths."""
    stores = [stmt for stmt in q.walk(proc.body) if isinstance(stmt, q.Assign | q.Reduce)]
    once = {id(stmt): Needs({(str(n), frozenset()): 1}) for n, stmt in enumerate(stores)}
    run = _Counter(once).block(proc.body, dict(control_values(proc, binding)), _BUDGET)
    return frozenset(int(number) for number, _ in run)


def _steps(stmt: q.Assign | q.Reduce) -> int:
    nodes = q.walk_expr(stmt.rhs)
    count = sum(isinstance(node, q.BinOp | q.Extern) for node in nodes)
    return max(count + isinstance(stmt, q.Reduce), 1)


_BYTES = ("i8", "ui8")

Values = dict[q.Atom, int]


@dataclass(frozen=True)
class _Counter:
    """Counts the needs of a procedure's statements, by the identity of each."""

    needs: Mapping[int, Needs]

    def block(self, body: tuple[q.Stmt, ...], values: Values, budget: int) -> Needs:
        total = Needs()
        for stmt in body:
            match stmt:
                case q.Assign() | q.Reduce():
                    total.update(self.needs[id(stmt)])
                case q.WriteConfig() if isinstance(stmt.rhs, q.Affine):
                    field = q.ConfigField(stmt.config, stmt.field)
                    values[field] = q.evaluate_affine(stmt.rhs, values.__getitem__)
                case q.If():
                    held = holds(stmt.cond, values)
                    taken = stmt.orelse if held is False else stmt.body
                    total.update(self.block(taken, values, budget))
                case q.For():
                    total.update(self.loop(stmt, values, budget))
                case _:
                    pass
        return total

    def loop(self, loop: q.For, values: Values, budget: int) -> Needs:
        """Operations that vary with the loop count in each iteration, the rest once for all."""
        lo = q.evaluate_affine(loop.lo, values.__getitem__)
        trips = max(q.evaluate_affine(loop.hi, values.__getitem__) - lo, 0)
        # Midpoints of equal strata: exact for counts linear in the loop variable.
        points = min(trips, max(int(budget**0.5), 2) if _steers(loop) else 1)
        summed, highest = Needs(), Needs()
        for point in range(points):
            values[loop.iter] = lo + (2 * point + 1) * trips // (2 * points)
            found = self.block(loop.body, values, budget // points)
            summed.update(found)
            highest |= found
        total = Needs()
        for (kind, loops), count in summed.items():
            varies = loop.iter in loops
            each = count * trips // points if varies else highest[kind, loops]
            total[kind, loops - {loop.iter}] += each
        return total


def _steers(loop: q.For) -> bool:
    """Whether a bound or condition inside depends on the loop variable, or on written state."""
    for stmt in q.walk(loop.body):
        if isinstance(stmt, q.WriteConfig):
            return True
        if isinstance(stmt, q.For | q.If) and any(
            loop.iter in q.expr_vars(expr) for expr in q.stmt_exprs(stmt)
        ):
            return True
    return False

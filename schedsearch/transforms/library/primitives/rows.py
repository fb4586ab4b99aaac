"""Rewrites of one Exo operator that take little to propose: each a function and a row of `ROWS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from schedsearch.analysis.accesses import written_buffers
from schedsearch.analysis.walkers import (
    depends_on,
    element_bits,
    lanes,
    loops,
    neighbours,
    next_path,
    statement_count,
)
from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.operators.ops import Args, At, Op, Pair, Proposal

MAX_UNROLLED = 64
"""Largest unrolled body: beyond it the instruction cache loses what loop overhead gave,
and Exo's later rewrites become slow."""


@dataclass(frozen=True)
class Row:
    """A transform named as `propose` is; `propose` and `op` are what a module's `propose` and
    `ops` would be (`transforms/registry.py`)."""

    version: int
    propose: Callable[[q.Proc, Target], Iterator[Proposal]]
    op: Callable[[q.Path, Args], Op]


def cut_loop(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Cut a loop in two at a constant iteration.

    ```
    for i in seq(0, 100):        for i in seq(0, 96):
        s(i)                ->       s(i)
                                 for i in seq(96, 100):
                                     s(i)
    ```

    Cuts are proposed where the rest is a whole number of vectors, and next to the
    first and the last iteration (borders).
    """
    for loop in loops(proc):
        extent = loop.extent
        if extent is None or extent < 2 or not loop.lo.is_const:
            continue
        vector = lanes(target, element_bits(loop.body))
        for offset in sorted({1, extent - 1, extent - extent % vector}):
            if 0 < offset < extent:
                yield loop, {"point": loop.lo.const + offset}


def join_loops(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Join two loops over consecutive ranges with the same body.

    ```
    for i in seq(0, m):
        s(i)              ->   for i in seq(0, n):
    for i in seq(m, n):            s(i)
        s(i)
    ```
    """
    for first, second in neighbours(proc):
        if (
            isinstance(first, q.For)
            and isinstance(second, q.For)
            and first.hi == second.lo
            and statement_count(first.body) == statement_count(second.body)
        ):
            yield first, {}


def shift_loop(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Make a loop start at 0.

    ```
    for i in seq(3, n):        for i in seq(0, n - 3):
        s(i)              ->       s(i + 3)
    ```
    """
    for loop in loops(proc):
        if loop.lo != q.Affine(0):
            yield loop, {}


def unroll(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Replace a loop by its iterations, written out.

    ```
    for i in seq(0, 3):        s(0)
        s(i)              ->   s(1)
                               s(2)
    ```
    """
    for loop in loops(proc):
        extent = loop.extent
        if extent and loop.lo.is_const and extent * statement_count(loop.body) <= MAX_UNROLLED:
            yield loop, {}


def remove_loop(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Remove a loop whose body does the same in every iteration.

    ```
    for i in seq(0, 8):
        x = 0.0           ->   x = 0.0
    ```
    """
    for loop in loops(proc):
        # From elsewhere Exo's check is unsound, and `run_op` refuses.
        same_each_time = not depends_on(loop.body, loop.iter) and not _reduces(loop)
        if loop.lo == q.Affine(0) and same_each_time:
            yield loop, {}


def _reduces(loop: q.For) -> bool:
    return any(isinstance(stmt, q.Reduce) for stmt in q.walk(loop.body))


def fuse(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Merge two adjacent loops with equal bounds, or `if`s with equal conditions.

    ```
    for i in seq(0, n):        for i in seq(0, n):
        s1(i)             ->       s1(i)
    for j in seq(0, n):            s2(i)
        s2(j)
    ```
    """
    for first, second in neighbours(proc):
        match first, second:
            case q.For(), q.For() if (first.lo, first.hi) == (second.lo, second.hi):
                yield first, {}
            case q.If(), q.If() if first.cond == second.cond:
                yield first, {}


def lift_scope(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Exchange an `if` (or a loop) with the scope around it.

    ```
    for i in seq(0, n):        if p:
        if p:             ->       for i in seq(0, n):
            s                          s
    ```

    Loops inside loops are `reorder`'s business.
    """
    for outer in q.walk(proc.body):
        match outer:
            case q.For(body=(q.If() as inner,)) if outer.iter not in q.expr_vars(inner.cond):
                yield inner, {}
            case q.If(body=(q.If() as inner,)) if inner.orelse or not outer.orelse:
                yield inner, {}
            case q.If(body=(q.For() as inner,), orelse=()):
                yield inner, {}


def eliminate_dead_code(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Remove a branch that is never taken, or a loop that never runs.

    ```
    if 0 < n:        s        (n is a size, so at least 1)
        s       ->
    ```
    """
    for stmt in q.walk(proc.body):
        never_runs = isinstance(stmt, q.For) and stmt.extent == 0
        if isinstance(stmt, q.If) or never_runs:
            yield stmt, {}


def reorder_stmts(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Swap two adjacent statements that do not depend on each other.

    ```
    s1        s2
    s2   ->   s1
    ```

    At least one of them is a loop or an `if`: the order of simple statements is the
    C compiler's business.
    """
    for first, second in neighbours(proc):
        if not q.blocks(first) and not q.blocks(second):
            continue
        if isinstance(first, q.Alloc | q.WindowStmt) or isinstance(second, q.WindowStmt):
            continue  # moving declarations is the business of lift_alloc
        a, b = (first,), (second,)
        # Writing what the other reads or writes is only harmless for two reductions.
        clash = (written_buffers(a) & q.used_vars(b)) | (written_buffers(b) & q.used_vars(a))
        if not clash or (isinstance(first, q.Reduce) and isinstance(second, q.Reduce)):
            yield first, {}


def fold_into_reduce(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Turn an assignment that adds to itself into a reduction.

    ```
    x[i] = x[i] + a   ->   x[i] += a
    ```
    """
    for stmt in q.walk(proc.body):
        match stmt:
            case q.Assign(rhs=q.BinOp(op="+", lhs=q.Read() as old)):
                if (old.buf, old.idx) == (stmt.buf, stmt.idx):
                    yield stmt, {}


def delete_pass(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Remove every `pass`.

    ```
    pass
    s      ->   s
    ```
    """
    has_pass = any(isinstance(stmt, q.Pass) for stmt in q.walk(proc.body))
    if has_pass and not all(isinstance(stmt, q.Pass) for stmt in proc.body):
        yield None, {}


def inline_call(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Replace a call by the body of the procedure called.

    ```
    f(x)   ->   body of f, with x for its parameter
    ```
    """
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Call) and stmt.proc.instr is None:
            yield stmt, {}


def inline_window(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Replace a window by the buffer it looks into.

    ```
    w = x[2:10]
    w[i] = 0.0    ->   x[i + 2] = 0.0
    ```
    """
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.WindowStmt):
            yield stmt, {}


def lift_alloc(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Move an allocation out of the scope around it.

    ```
    for i in seq(0, n):        t: f32[8]
        t: f32[8]         ->   for i in seq(0, n):
        s                          s
    ```
    """
    for scope in q.walk(proc.body):
        if not isinstance(scope, q.For | q.If) or getattr(scope, "parallel", False):
            continue
        for stmt in scope.body:
            if isinstance(stmt, q.Alloc) and not any(
                isinstance(scope, q.For) and scope.iter in q.expr_vars(extent)
                for extent in stmt.shape
            ):
                yield stmt, {}


def delete_buffer(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    """Remove an allocation that nothing uses.

    ```
    t: f32[8]
    s           ->   s
    ```
    """
    used = q.used_vars(proc.body)
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Alloc) and stmt.buf not in used:
            yield stmt, {}


ROWS: tuple[Row, ...] = (
    Row(1, cut_loop, lambda path, args: Op("cut_loop", (At(path), args["point"]))),
    Row(1, join_loops, lambda path, args: Op("join_loops", (At(path), At(next_path(path))))),
    Row(1, shift_loop, lambda path, args: Op("shift_loop", (At(path), 0))),
    Row(1, unroll, lambda path, args: Op("unroll_loop", (At(path),))),
    Row(1, remove_loop, lambda path, args: Op("remove_loop", (At(path),))),
    Row(1, fuse, lambda path, args: Op("fuse", (At(path), At(next_path(path))))),
    Row(1, lift_scope, lambda path, args: Op("lift_scope", (At(path),))),
    Row(1, eliminate_dead_code, lambda path, args: Op("eliminate_dead_code", (At(path),))),
    Row(1, reorder_stmts, lambda path, args: Op("reorder_stmts", (Pair(path),))),
    Row(1, fold_into_reduce, lambda path, args: Op("fold_into_reduce", (At(path),))),
    Row(1, delete_pass, lambda path, args: Op("delete_pass")),
    Row(1, inline_call, lambda path, args: Op("inline", (At(path),))),
    Row(1, inline_window, lambda path, args: Op("inline_window", (At(path),))),
    Row(1, lift_alloc, lambda path, args: Op("lift_alloc", (At(path),))),
    Row(1, delete_buffer, lambda path, args: Op("delete_buffer", (At(path),))),
)

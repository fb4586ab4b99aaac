"""Exo's operators under a floating-point contract (`core/floats.py`).

This is the one place where a contract decides about rewrites; whatever proposes them, and
wherever a trace comes from, its operators are run here. Three rules, of which `fast` has none:

1. Order (`strict`): Exo's checks take a sum for what it reads and writes (`exo/checks.py`), so
   that no operator that they guard changes the order in which an element is added up. They always
   do so with minima and maxima, which are assignments to Exo. An instruction may join those of its
   lanes in another order (`reassociate`), unless that changes what a NaN does.
2. Rounding: what stores a value that was not stored, or no longer does, keeps every rounding:
   C has to compute the value in the type it is stored in.
3. Instructions: their C has to compute what their Exo body says, with as many roundings, and
   the same comparisons of NaN. What is known of an instruction is its body.

An operator that is not known here is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.rounding import inexact_body, rounds_as_stored
from schedsearch.analysis.walkers import next_path
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS, INTEGERS
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint, allows
from schedsearch.core.functions import FUNCTIONS
from schedsearch.transforms.exo.checks import sums_in_order
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import (
    At,
    Condition,
    Index,
    Instruction,
    Op,
    Pair,
    Parts,
    run_op,
)
from schedsearch.transforms.vector.fused.model import LANE, Fused, reduced
from schedsearch.transforms.vector.fused.states import law
from schedsearch.transforms.vector.instruction_sets import find

_HARMLESS = frozenset(
    {
        "add_loop",
        "autolift_alloc",
        "call_eqv",
        "cut_loop",
        "delete_buffer",
        "delete_pass",
        "divide_dim",
        "divide_loop",
        "eliminate_dead_code",
        "expand_dim",
        "extract_subproc",
        "fission",
        "fold_into_reduce",
        "fuse",
        "inline",
        "inline_window",
        "insert_noop_call",
        "join_loops",
        "lift_alloc",
        "lift_scope",
        "mult_dim",
        "mult_loops",
        "parallelize_loop",
        "rearrange_dim",
        "remove_loop",
        "reorder_loops",
        "reorder_stmts",
        "resize_dim",
        "set_memory",
        "shift_loop",
        "sink_alloc",
        "specialize",
        "unroll_buffer",
        "unroll_loop",
    }
)
"""Operators that move statements as far as Exo's checks let them, and change no expression of
data."""


def run_within(procedure: Any, op: Op, fp: FloatingPoint) -> Any:
    """Apply one operator. Raises RewriteError if it is illegal, or breaks the contract."""
    if fp is FloatingPoint.FAST:
        return run_op(procedure, op)
    ast = mirror(procedure)
    if reason := refusal(ast, op, fp):
        raise RewriteError(f"{op.name}: --fp {fp} rules it out: {reason}")
    with sums_in_order(fp is FloatingPoint.STRICT and _adds_floats(ast)):
        return run_op(procedure, op)


def refusal(ast: q.Proc, op: Op, fp: FloatingPoint) -> str | None:
    """Why an operator on the procedure would break the contract, the order of sums in loops
    aside; None if it would not."""
    strict = fp is FloatingPoint.STRICT
    match op:
        case Op("stage_mem"):
            if strict and dict(op.kwargs).get("accum") and _adds_floats(ast):
                return "a sum would start from 0 instead of what is there"
        case Op("commute_expr"):
            return None  # x + y and x * y are y + x and y * x, to the bit
        case Op("left_reassociate_expr"):
            return "products and sums would be rounded in another order"
        case Op("lift_reduce_constant"):
            return "a sum times a factor rounds otherwise than a sum of products"
        case Op("bind_expr", (Parts() as parts, *_)):
            if not all(rounds_as_stored(e, e.type) for e in _parts(ast, parts)):
                return "C computes the expression in another type than it would be stored in"
        case Op("inline_assign", (At(path), *_)):
            stmt = ast.by_path.get(path)
            if isinstance(stmt, q.Assign) and not rounds_as_stored(stmt.rhs, stmt.type):
                return "the value would no longer be rounded to the type it is stored in"
        case Op("merge_writes", (Pair(path), *_)):
            return _merged(ast.by_path.get(path), ast.by_path.get(next_path(path)), strict)
        case Op("split_write", (At(path), *_)):
            return _split(ast.by_path.get(path), strict)
        case Op("simplify"):
            if any(map(_simplified, _data(ast))):
                return "Exo would compute with constants in an expression of data"
        case Op("rewrite_expr", (first, *_)):
            if not isinstance(first, Index | Condition):
                return "nobody has shown that the new expression rounds as the old one"
        case Op("replace", (_, Fused() as fused, *_)):
            if fused.recurrence and not _in_any_order(fused, fp):
                return "terms would be multiplied by powers of a factor, or added in another order"
            if strict and reduces_lanes(fused):
                return "the lanes' results would be joined in another order"
            if any(not found.steady for found in map(reduction, reduced(fused)) if found):
                return "which of its terms a NaN hides would depend on their order"
            if loses_rounding(fused):
                return "its vector form computes a function in another precision"
        case Op("replace", (_, Instruction() as given, *_)):
            body = find(given.set, given.digest).asts[given.name]
            return inexact_body(body, sums_reorder=not strict)
        case Op("replace"):
            return None  # of a generated vector set: what C makes of `acc += a * b`
        case _ if op.name not in _HARMLESS:
            return f"nobody has shown that {op.name} keeps each rounding"
    return None


def _merged(first: q.Stmt | None, second: q.Stmt | None, strict: bool) -> str | None:
    """`x = a; x += b` is `x = a + b` if `a` is of the type of `x` in C."""
    if not isinstance(second, q.Reduce) or not isinstance(first, q.Assign | q.Reduce):
        return None  # what was stored first is gone anyway
    if strict and isinstance(first, q.Reduce) and first.type in FLOATS:
        return "two additions to an element would become one of their sum"
    if not all(rounds_as_stored(stmt.rhs, first.type) for stmt in (first, second)):
        return "the first value would no longer be rounded to the type it is stored in"
    return None


def _split(stmt: q.Stmt | None, strict: bool) -> str | None:
    """`x = a + b` is `x = a; x += b` if `a` is of the type of `x` in C."""
    if not isinstance(stmt, q.Assign | q.Reduce):
        return None  # Exo refuses
    if strict and isinstance(stmt, q.Reduce) and stmt.type in FLOATS:
        return "an addition of a sum would become two to an element"
    if not rounds_as_stored(stmt.rhs, stmt.type):
        return "the first value would be rounded to the type it is stored in"
    return None


def _parts(ast: q.Proc, parts: Parts) -> Iterator[Any]:
    stmt = ast.by_path[parts.path]
    assert isinstance(stmt, q.Assign | q.Reduce)
    for route in parts.routes:
        expr: Any = stmt.rhs
        for step in route:
            expr = expr.args[step] if isinstance(step, int) else getattr(expr, step)
        yield expr


def _data(ast: q.Proc) -> Iterator[q.Expr | q.Interval | q.Atom]:
    """Every part of every expression of data."""
    simple = (s for s in q.walk(ast.body) if isinstance(s, q.Assign | q.Reduce | q.WriteConfig))
    calls = (s for s in q.walk(ast.body) if isinstance(s, q.Call))
    roots = [*(stmt.rhs for stmt in simple), *(arg for call in calls for arg in call.args)]
    return (node for root in roots for node in q.walk_expr(root))


def _simplified(expr: q.Expr | q.Interval | q.Atom) -> bool:
    """Whether Exo's `simplify` may take another expression for this one: `x + 0` may be another
    zero than `x`, `0 * x` is not 0 for all `x`, and constants are not computed in f32."""
    if not isinstance(expr, q.BinOp) or expr.type in INTEGERS:
        return False
    sides = (expr.lhs, expr.rhs)
    constants = [side.value for side in sides if isinstance(side, q.Const)]
    difference = expr.op == "-" and isinstance(expr.lhs, q.BinOp) and expr.lhs.op == "+"
    return len(constants) == 2 or any(value in (0, 1) for value in constants) or difference


def _adds_floats(ast: q.Proc) -> bool:
    """Whether the order of sums counts at all: integers are added up in any."""
    stmts = [*q.walk(ast.body)]
    return any(isinstance(s, q.Reduce) and s.type in FLOATS for s in stmts) or any(
        isinstance(s, q.Call) and _adds_floats(s.proc) for s in stmts
    )


def reduces_lanes(fused: Fused) -> bool:
    """Whether it reduces the floating-point values of all lanes to one element."""
    return any({stmt.type, _kind(stmt)} & FLOATS for stmt in reduced(fused))


def _in_any_order(fused: Fused, fp: FloatingPoint) -> bool:
    """Whether a recurrence may be computed in another order than iteration by iteration."""
    found = law(fused.body, LANE)
    return found is not None and allows(fp, found.contract)


def loses_rounding(fused: Fused) -> bool:
    """Whether a function of some statement is computed in another type than C does it."""
    stmts = (stmt for stmt in fused.body if isinstance(stmt, q.Assign | q.Reduce))
    return not all(_exact(stmt) for stmt in stmts)


def _exact(stmt: q.Assign | q.Reduce) -> bool:
    kind = _kind(stmt)
    stored = isinstance(stmt, q.Assign) and stmt.type == kind
    return _same_as_c(stmt.rhs, kind, stored)


def _kind(stmt: q.Assign | q.Reduce) -> str:
    """The type of the right side, which mixes none."""
    kinds = {read.type for read in reads(stmt.rhs)} or {stmt.type}
    return "i32" if kinds <= INTEGERS.keys() else min(kinds)


def _same_as_c(expr: q.Expr, kind: str, rounded: bool) -> bool:
    """`rounded`: the value is next rounded to `kind`."""
    match expr:
        case q.Extern():
            # C converts every argument to the type of the function's.
            same = _is_same(expr.name, kind, rounded)
            return same and all(_same_as_c(arg, kind, True) for arg in expr.args)
        case q.BinOp():
            return _same_as_c(expr.lhs, kind, False) and _same_as_c(expr.rhs, kind, False)
        case q.USub():
            return _same_as_c(expr.arg, kind, False)
        case _:
            return True


def _is_same(name: str, kind: str, rounded: bool) -> bool:
    """Whether C computes a function of numbers of a type in that type, or in f64 with the same
    result once it is `rounded` to f32, as a square root is (Figueroa, 1995)."""
    function = FUNCTIONS.get(name)
    if function is None or kind not in ("i32", "f32", "f64"):
        return False
    if kind == "i32":
        return bool(function.whole)
    return bool(function.c) and (
        function.precision in ("", kind) or (function.correctly and rounded)
    )

"""Where the C that Exo generates converts a value, and which operators would move that.

Exo 1.0.0's C computes `x = e` and `x += e` like this:

- `e` has one type, that of everything it reads. Its constants have that type too: among
  integers `0.5` is 0. Without reads, the type is that of `x`. Of mixed types there is no C.
- Integers narrower than `int` are computed in `int`, and f16 in float on machines without
  f16 arithmetic. Nothing wraps or is rounded to f16 before it is stored.
- If `x` has another type, all of `e` is converted to it, for `+=` *before* the addition:
  a float added to an integer is truncated first.
- A sum is computed in the type of `x` as `e` is in its own, and stored.

Floats become integers by truncation (undefined outside of the integer's range), integers
wrap, and wider floats are rounded. So the terms of a sum into `x` may be added in any order,
in the type of `x` or, for integers, a wider one; whatever else moves across a store, or adds
before it converts, changes the result.
"""

from __future__ import annotations

from operator import add, floordiv, mul, sub

from schedsearch.analysis.accesses import touched
from schedsearch.analysis.walkers import next_path, rest_of_block
from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS, PLAIN, known_type
from schedsearch.core.errors import RewriteError
from schedsearch.core.functions import FUNCTIONS

FLOAT_EXTERNS = frozenset(name for name, function in FUNCTIONS.items() if function.returns)
"""External functions that return a float in C, for arguments of any type."""

Store = q.Assign | q.Reduce

Route = tuple[str | int, ...]
"""Way to a part of an expression: names of Exo's cursor methods, numbers among arguments."""

CONVERTING = frozenset(
    {"merge_writes", "split_write", "inline_assign", "bind_expr", "set_precision"}
)
"""Operators that may move conversions. The others move whole statements."""


def promoted(kind: str) -> str:
    """The type in which C computes with values of type `kind`."""
    return "i32" if kind in INTEGERS else kind


def value_type(expr: q.Expr, stored: str) -> str | None:
    """The type of an expression that is stored as `stored`; None if it mixes types."""
    kinds = _types(expr) or {known_type(stored)}
    return kinds.pop() if len(kinds) == 1 else None


def moved(proc: q.Proc, operator: str, path: q.Path, routes: tuple[Route, ...]) -> str | None:
    """A sentence on the conversion that an operator at `path` would move, drop or add; None
    if it keeps all of them. `routes` leads to the parts of a right side that it is given."""
    stmt = proc.by_path.get(path)
    match operator:
        case "set_precision" if not (isinstance(stmt, q.Alloc) and stmt.type == "R"):
            return "values would be converted to another type"
        case "merge_writes" if isinstance(stmt, Store):
            after = proc.by_path.get(next_path(path))
            if isinstance(after, q.Reduce) and not mergeable(stmt, after):
                return f"both values are converted to {stmt.type} before they are added"
        case "split_write" if isinstance(stmt, Store):
            if value_type(stmt.rhs, stmt.type) != known_type(stmt.type) or stmt.type == "f16":
                return f"the sum is converted to {stmt.type} when it is stored"
        case "inline_assign" if isinstance(stmt, q.Assign):
            if conversion_lost(stmt, rest_of_block(proc, path)):
                return f"the value is converted to {stmt.type} when it is stored"
        case "bind_expr" if isinstance(stmt, Store):
            return next((why for route in routes if (why := _bound(stmt.rhs, route))), None)
    return None


def converting_store(proc: q.Proc, buf: q.Var) -> Store | None:
    """The first statement that converts what it stores in `buf`; None if there is none."""
    return next(
        (
            stmt
            for stmt in q.walk(proc.body)
            if isinstance(stmt, Store)
            and stmt.buf == buf
            and value_type(stmt.rhs, stmt.type) != known_type(stmt.type)
        ),
        None,
    )


def truncated(proc: q.Proc) -> frozenset[q.Var]:
    """The arrays of integers that depend on a float which was truncated: rounded otherwise, that
    may be another integer."""
    stores = [stmt for stmt in q.walk(proc.body) if isinstance(stmt, Store)]
    stores = [stmt for stmt in stores if stmt.type in INTEGERS]
    found: set[q.Var] = set()
    while more := {
        stmt.buf
        for stmt in stores
        if stmt.buf not in found
        and (value_type(stmt.rhs, stmt.type) not in INTEGERS or found & q.expr_vars(stmt.rhs))
    }:
        found |= more
    return frozenset(found)


def without_precision(proc: q.Proc) -> str | None:
    """A sentence on the first buffer of type R, which is f32 to C, that is given values of
    another type: `bind_expr` makes such a buffer of an expression that was reassociated. None if
    there is none."""
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Alloc) and stmt.type == "R" and converting_store(proc, stmt.buf):
            return f"{stmt.buf.name} has no precision, and values of another than f32"
    return None


def mergeable(first: Store, second: q.Reduce) -> bool:
    """Whether adding before storing gives what `first` and then `second` store."""
    one, other = value_type(first.rhs, first.type), value_type(second.rhs, second.type)
    stored = known_type(first.type)
    return one == other and ({one, stored} <= INTEGERS.keys() or one == stored != "f16")


def conversion_lost(value: q.Assign, after: tuple[q.Stmt, ...]) -> bool:
    """Whether a statement in `after` would read another value if it had the right side of
    `value` in the place of what `value` stores."""
    return any(
        not _inlinable(value, user)
        for user in q.walk(after)
        if any(buf == value.buf and not writes for buf, _, writes in touched(user))
    )


def _inlinable(value: q.Assign, user: q.Stmt) -> bool:
    if not isinstance(user, Store):
        return False
    kind, stored, wanted = (
        value_type(value.rhs, value.type),
        known_type(value.type),
        known_type(user.type),
    )
    if isinstance(user.rhs, q.Read) and wanted == stored:  # what is stored next converts it
        return isinstance(user, q.Assign) or kind != stored or stored != "f16"
    # A constant takes the type of its destination.
    return kind == stored and stored in PLAIN and (wanted == stored or bool(_types(value.rhs)))


def _bound(rhs: q.Expr, route: Route) -> str | None:
    """Why storing a part of an expression in a variable of its own would convert it."""
    part = _part(rhs, route)
    if isinstance(part, q.Read):
        return None
    if isinstance(part, q.Affine) or _types(part) != {known_type(part.type)} & PLAIN:
        return "a part of the expression would be converted where it is stored"
    return None


def _part(expr: q.Expr, route: Route) -> q.Expr:
    for step in route:
        match expr:
            case q.Extern() if isinstance(step, int):
                expr = expr.args[step]
            case q.BinOp() if step in ("lhs", "rhs"):
                expr = expr.lhs if step == "lhs" else expr.rhs
            case q.USub() if step == "arg":
                expr = expr.arg
            case _:
                raise RewriteError(f"the expression has no part {step}")
    return expr


def mismatch(call: q.Call) -> str | None:
    """A sentence on the first argument of another type than the procedure called wants, for
    which there is no C; None if all types agree."""
    for arg, given in zip(call.proc.args, call.args, strict=True):
        if (
            isinstance(given, q.Read | q.Window)
            and arg.type not in q.CONTROL_TYPES
            and known_type(given.type) != known_type(arg.type)
        ):
            return f"{call.proc.name} wants {arg.type} as {arg.var.name}, not {given.type}"
    return None


def float_of_integers(proc: q.Proc) -> str | None:
    """A sentence on the first external function that is given integers and returns a float in
    C, so that Exo's C computes what is around it in floats, too; None if there is none."""
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Call) and (found := float_of_integers(stmt.proc)):
            return found
        for node in q.stmt_parts(stmt):
            if isinstance(node, q.Extern) and node.name in FLOAT_EXTERNS:
                kinds = _types(node) & INTEGERS.keys()
                if kinds:
                    other = "use select" if node.name == "fmaxf" else "convert it to f32 first"
                    return f"{node.name} of {min(kinds)} is a float to C: {other}"
    return None


def folds_constants(proc: q.Proc) -> bool:
    """Whether somewhere two constants of a data expression are combined, and `simplify` would
    combine them to something else: with `//` for `/`, and before they are converted to the type of
    the expression. Whole numbers that every step is exact in come out as they should."""
    return any(
        isinstance(node, q.BinOp)
        and _constant(node.lhs)
        and _constant(node.rhs)
        and _whole(node, _exact_up_to(stmt)) is None
        for stmt in q.walk(proc.body)
        if isinstance(stmt, Store | q.WriteConfig)
        for node in q.walk_expr(stmt.rhs)
    )


def _exact_up_to(stmt: Store | q.WriteConfig) -> int:
    """A bound of the whole numbers that are exact in the types of what is computed."""
    kinds = _types(stmt.rhs) or ({known_type(stmt.type)} if isinstance(stmt, Store) else set())
    if kinds and kinds <= {"f32", "f64"}:
        return 2**24
    return 127  # also in f16 and in the narrowest integers


def _whole(expr: q.Expr, most: int) -> int | None:
    """The value of an expression of constants; None if a part of it is no whole number up to
    `most`."""
    match expr:
        case q.Const(value=value) if float(value).is_integer():
            found = int(value)
        case q.BinOp(op=op):
            lhs, rhs = _whole(expr.lhs, most), _whole(expr.rhs, most)
            if op == "*" and 0 in (lhs, rhs):
                return 0  # whatever the other one is
            if lhs is None or rhs is None or (op == "/" and (rhs == 0 or lhs % rhs)):
                return None
            found = {"+": add, "-": sub, "*": mul, "/": floordiv}[op](lhs, rhs)
        case _:
            return None
    return found if abs(found) <= most else None


def _constant(expr: q.Expr) -> bool:
    """Whether Exo's `simplify` makes it a constant."""
    match expr:
        case q.Const():
            return True
        case q.BinOp(op="*") if any(
            isinstance(side, q.Const) and not side.value for side in (expr.lhs, expr.rhs)
        ):
            return True
        case q.BinOp():
            return _constant(expr.lhs) and _constant(expr.rhs)
    return False


def _types(expr: q.Expr) -> set[str]:
    return {
        known_type(node.type)
        for node in q.walk_expr(expr)
        if isinstance(node, q.Read | q.ReadConfig) and node.type != "bool"
    }

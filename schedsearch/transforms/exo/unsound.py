"""What Exo 1.0.0 accepts and gets wrong; the list is that of `exo/compat.py`."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from exo.core.LoopIR import LoopIR

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.by_identity import ByIdentity
from schedsearch.analysis.certain import broken_assert, certain_at
from schedsearch.analysis.conversions import (
    CONVERTING,
    Route,
    converting_store,
    folds_constants,
    mismatch,
    moved,
    value_type,
)
from schedsearch.analysis.independence import conflict
from schedsearch.analysis.liveness import carried, left_stale, maybe_unset, overtaken
from schedsearch.analysis.out_of_bounds import out_of_bounds
from schedsearch.analysis.walkers import next_path, rest_of_block
from schedsearch.analysis.windows import aliased
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS
from schedsearch.transforms.exo.mirror import blocks, mirror, statements
from schedsearch.transforms.exo.modulo import drops_modulo

ORDER_KEPT = {"inline", "inline_window", "set_memory", "simplify", "delete_pass", "specialize"}
ORDER_KEPT |= {"cut_loop", "divide_loop", "shift_loop", "unroll_loop"}
ORDER_KEPT |= {"commute_expr", "left_reassociate_expr"}
"""Operators after which every element is accessed in the order it was before."""


def unsound(
    procedure: Any,
    operator: str,
    path: q.Path,
    routes: tuple[Route, ...] = (),
    circle: tuple[int, int] | None = None,
) -> str | None:
    """Why the result of an operator at a statement would be wrong although Exo accepts it;
    None if Exo's own check can be trusted. `routes` leads to the parts of its right side
    that the operator is given; `circle`: the dimension to fold, and its new size."""
    if operator not in ORDER_KEPT and _has_windows(procedure._loopir_proc.body):
        names = aliased(mirror(procedure))
        if names:
            return f"Exo does not see that {names} share elements"
    if operator == "simplify" and drops_modulo(procedure):
        return "Exo would drop the `%` of a negative value"
    if operator == "simplify" and folds_constants(mirror(procedure)):
        return "Exo would take constants of data for whole numbers; write them as one constant"
    if operator == "extract_subproc" and _after_condition(procedure._loopir_proc, path):
        return "Exo would assert that the condition of an `if` before it does not hold"
    if operator == "remove_loop":
        loop = mirror(procedure).by_path[path]
        if isinstance(loop, q.For) and loop.lo != q.Affine(0):
            return "Exo tells whether a loop runs at all only if it starts at 0"
    if operator == "inline_assign" and _called_alike(mirror(procedure), path):
        return "Exo finds what to replace by its name, and another element is called so too"
    if operator == "lift_scope" and _loses_branch(mirror(procedure), path):
        return "Exo would leave out the other branch where the condition does not hold"
    if operator == "shift_loop" and (name := _sized_by(mirror(procedure), path)):
        return f"Exo would leave the loop's variable in the shape of {name} as it was"
    if operator == "fuse" and _begin_apart(mirror(procedure), path):
        return "Exo does not see that the loops begin at different values"
    if operator == "fuse" and _captures(procedure._loopir_proc, path):
        return "Exo would take a loop in the second for the first: they have one variable"
    if operator == "join_loops" and not goes_on(mirror(procedure), path):
        return "Exo does not see that the loops do different things"
    if operator == "left_reassociate_expr" and not _floats(mirror(procedure), path):
        return "integers might overflow in another order"
    if operator == "lift_reduce_constant":
        return _scaled_otherwise(mirror(procedure), path)
    if operator == "split_write" and _reads_itself(mirror(procedure), path):
        return "a term reads what the terms before it have changed by then"
    if operator == "sink_alloc" and carried(mirror(procedure), path):
        return "an iteration may read what another left in the buffer"
    if circle and overtaken(mirror(procedure), path, *circle):
        return "a row may be needed after another has taken its place"
    if operator == "parallelize_loop":
        ast = mirror(procedure)
        loop = ast.by_path[path]
        return conflict(ast, loop) if isinstance(loop, q.For) else None
    if operator in CONVERTING:
        return moved(mirror(procedure), operator, path, routes)
    return None


def unsound_result(before: Any, after: Any, operator: str, path: q.Path) -> str | None:
    """The same for faults that only the result shows; the operator was applied at `path`."""
    if operator == "inline_assign":
        return left_stale(mirror(before), path, mirror(after))
    if operator == "lift_reduce_constant":
        return out_of_bounds(mirror(after), every=True)  # the factor is read if no loop runs, too
    if operator not in ("set_precision", "replace"):
        return None
    ast = mirror(after)
    if operator == "set_precision":
        alloc = ast.by_path.get(path)
        wrong_type = isinstance(alloc, q.Alloc) and converting_store(ast, alloc.buf)
        return "values would be converted to another type" if wrong_type else None
    call = ast.by_path.get(path)
    wrong = mismatch(call) if isinstance(call, q.Call) else None
    return wrong or broken_assert(ast, path)


def _after_condition(proc: Any, path: q.Path) -> bool:
    """Whether an `if` comes before the statement at `path`, in its block or in one around it."""
    return any(isinstance(each, LoopIR.If) for block, at in _way(proc, path) for each in block[:at])


def _way(proc: Any, path: q.Path) -> list[tuple[Any, int]]:
    """Exo's blocks around the statement at `path`, outermost first, each with the place in it;
    none if there is no such statement. The query AST of a procedure of many nests would take
    longer than an operator."""
    found: list[tuple[Any, int]] = []
    around, block = proc, proc.body
    for part in path:
        if isinstance(part, str):
            block = around.orelse
            continue
        if part >= len(block):
            return []
        found.append((block, part))
        around = block[part]
        block = getattr(around, "body", [])
    return found


def _floats(proc: q.Proc, path: q.Path) -> bool:
    """Whether the statement at `path` stores floats, and computes with them."""
    stmt = proc.by_path.get(path)
    return (
        isinstance(stmt, q.Assign | q.Reduce)
        and stmt.type in FLOATS
        and value_type(stmt.rhs, stmt.type) in FLOATS
    )


def _scaled_otherwise(proc: q.Proc, path: q.Path) -> str | None:
    """Why the loop after the assignment at `path` may add up something else than one factor times
    what is left once that is taken out; None if it does not."""
    start, loop = proc.by_path.get(path), proc.by_path.get(next_path(path))
    if not isinstance(start, q.Assign) or not isinstance(loop, q.For):
        return "Exo takes an `if` for a loop, and forgets its `else`"
    if not isinstance(start.rhs, q.Const) or start.rhs.value != 0:
        return "Exo does not see that the sum begins with another value than 0"
    sums = [s for s in q.walk(loop.body) if isinstance(s, q.Reduce) and s.buf == start.buf]
    if len({s.rhs.lhs for s in sums if isinstance(s.rhs, q.BinOp)}) > 1:
        return "Exo takes factors for equal where conditions tell them apart"
    if not all(start.type in FLOATS and value_type(s.rhs, s.type) == start.type for s in sums):
        return f"terms are converted to {start.type}, or overflow, before they are added"
    factors = {s: s.rhs.lhs for s in sums if isinstance(s.rhs, q.BinOp)}
    for stmt, factor in factors.items():
        unset = (read for read in reads(factor) if maybe_unset(proc, loop.path, read))
        if (read := next(unset, None)) and not _runs(proc, stmt, loop):
            return f"{read.buf.name} may have no value yet where nothing is added up"
    return None


def _runs(proc: q.Proc, stmt: q.Stmt, loop: q.For) -> bool:
    """Whether a statement in a loop runs whenever that is reached."""
    depths = range(len(loop.path), len(stmt.path))
    around = [proc.by_path.get(stmt.path[:depth]) for depth in depths]
    return all(
        isinstance(each, q.For) and certain_at(proc, each.path).below(each.lo, each.hi)
        for each in around
    )


def _reads_itself(proc: q.Proc, path: q.Path) -> bool:
    stmt = proc.by_path.get(path)
    return isinstance(stmt, q.Assign | q.Reduce) and stmt.buf in q.expr_vars(stmt.rhs)


def _called_alike(proc: q.Proc, path: q.Path) -> bool:
    """Whether the name of what the statement at `path` assigns is, further on in its block,
    also that of another element: of another buffer, or with other variables of those names."""
    stmt = proc.by_path[path]
    if not isinstance(stmt, q.Assign):
        return False
    return any(
        read.buf.name == stmt.buf.name
        and (
            read.buf != stmt.buf  # with any index: Exo compares as many as both have
            or (read.idx != stmt.idx and [*map(_names, read.idx)] == [*map(_names, stmt.idx)])
        )
        for later in q.walk(rest_of_block(proc, path))
        for read in q.stmt_parts(later)
        if isinstance(read, q.Read)
    )


def _loses_branch(proc: q.Proc, path: q.Path) -> bool:
    """Whether the statement at `path` is an `if` without `else`, in an `if` with one."""
    inner = proc.by_path[path]
    outer = proc.by_path.get(path[:-2] if path[-2:-1] == ("e",) else path[:-1])
    if not (isinstance(inner, q.If) and isinstance(outer, q.If)):
        return False
    return bool(outer.orelse) and not inner.orelse


def _begin_apart(proc: q.Proc, path: q.Path) -> bool:
    """Whether the loop at `path` and the next statement, a loop, may begin at different values."""
    first, second = proc.by_path[path], proc.by_path.get(next_path(path))
    return isinstance(first, q.For) and isinstance(second, q.For) and first.lo != second.lo


def _captures(proc: Any, path: q.Path) -> bool:
    """Whether the statement after the loop at `path` binds that loop's variable. `fission` and
    others leave one variable to two loops."""
    block, at = _way(proc, path)[-1]
    if not isinstance(block[at], LoopIR.For) or len(block) == at + 1:
        return False
    inside = (each for body in blocks(block[at + 1]) for each in statements(body))
    return any(isinstance(each, LoopIR.For) and each.iter == block[at].iter for each in inside)


def goes_on(proc: q.Proc, path: q.Path) -> bool:
    """Whether the loop at `path` goes on as the next one does."""
    first, second = proc.by_path[path], proc.by_path.get(next_path(path))
    if not (isinstance(first, q.For) and isinstance(second, q.For)):
        return False
    bounds = (first.hi, first.parallel) == (second.lo, second.parallel)
    return bounds and _equal(first.body, second.body, {first.iter: second.iter})


def _equal(one: Any, other: Any, names: dict[q.Var, q.Var]) -> bool:
    """Whether two parts of a query AST are equal but for their paths, with `names` for the
    variables of the first, to which what it binds is added."""
    if isinstance(one, q.Var):
        return bool(names.get(one, one) == other)
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_equal(a, b, names) for a, b in pairs)
    match one:
        case q.For():
            names[one.iter] = other.iter
        case q.Alloc():
            names[one.buf] = other.buf
        case q.WindowStmt():
            names[one.name] = other.name
    if not is_dataclass(one):
        return bool(one == other)
    own = (field.name for field in fields(one) if field.name != "path")
    return all(_equal(getattr(one, name), getattr(other, name), names) for name in own)


def _sized_by(proc: q.Proc, path: q.Path) -> str:
    """An array in the loop at `path` whose shape depends on its variable; empty if none does."""
    loop = proc.by_path[path]
    if not isinstance(loop, q.For):
        return ""
    allocs = (stmt for stmt in q.walk(loop.body) if isinstance(stmt, q.Alloc))
    used = ((alloc, q.expr_vars(extent)) for alloc in allocs for extent in alloc.shape)
    return next((alloc.buf.name for alloc, names in used if loop.iter in names), "")


def _names(index: q.Affine) -> list[str]:
    return sorted(var.name for var in q.expr_vars(index))


def _has_windows(stmts: Any) -> bool:
    """Whether there is a named window: cheaper than a query AST that has none."""
    return any(map(_has_window, stmts))


def _has_window(stmt: Any) -> bool:
    inside = blocks(stmt)
    if not inside:
        return isinstance(stmt, LoopIR.WindowStmt)
    known = _WINDOWS.get(stmt)
    return known if known is not None else _WINDOWS.put(stmt, any(map(_has_windows, inside)))


_WINDOWS: ByIdentity[bool] = ByIdentity(20_000)
"""By loop or branch."""

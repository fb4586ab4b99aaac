"""Exo scheduling operators as data.

A transform says which operators it uses on which statements; replay runs them
and export prints them, so that both always mean the same.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from exo import API_cursors
from exo.core import internal_cursors
from exo.core.LoopIR import LoopIR
from exo.stdlib import scheduling

from schedsearch.analysis.conversions import Route
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import ArgValue, format_path
from schedsearch.transforms.exo.compat import (
    EXO_ERRORS,
    prepare,
    statements_apart,
)
from schedsearch.transforms.exo.memories import memory
from schedsearch.transforms.exo.messages import said
from schedsearch.transforms.exo.mirror import size_of
from schedsearch.transforms.exo.speed.facts import Undecided, value_of
from schedsearch.transforms.exo.taken_out import PUT_BACK, TAKE_OUT, put_back, take_out
from schedsearch.transforms.exo.unsound import unsound, unsound_result
from schedsearch.transforms.operators.byte_dots import ByteDots, dots_instruction
from schedsearch.transforms.operators.prefetching import Prefetch, prefetch_instruction
from schedsearch.transforms.operators.transposing import Transpose, transpose_instruction
from schedsearch.transforms.vector.extension import vector_set
from schedsearch.transforms.vector.fused.model import Fused
from schedsearch.transforms.vector.fused.source import fused_instruction
from schedsearch.transforms.vector.instruction_sets import find

MOST_STATEMENTS = 100_000
"""Of a procedure, and of an unrolled loop: 10 s and 200 MB. Traces may come from anywhere, and
Exo would fill the memory of the machine with 2^60 copies of a statement."""
MOST_NESTED = 64
"""Statements inside of each other. Exo and we walk them recursively."""

Args = Mapping[str, Any]
"""Arguments of a rewrite: integers, texts and truth values by name."""

Proposal = tuple[q.Stmt | None, Mapping[str, ArgValue]]
"""Where a transform looks applicable (None: the procedure), and its arguments."""


@dataclass(frozen=True)
class At:
    """The statement at `path`."""

    path: q.Path


@dataclass(frozen=True)
class After:
    """The gap after the statement at `path`."""

    path: q.Path


@dataclass(frozen=True)
class Pair:
    """The statement at `path` and the next one."""

    path: q.Path


@dataclass(frozen=True)
class Span:
    """`count` statements from the one at `path` on."""

    path: q.Path
    count: int


@dataclass(frozen=True)
class Parts:
    """Parts of the right side of the statement at `path`."""

    path: q.Path
    routes: tuple[Route, ...]


@dataclass(frozen=True)
class Part:
    """The part at `route` of the right side of the statement at `path`."""

    path: q.Path
    route: Route


@dataclass(frozen=True)
class Index:
    """Index number `dim` of the access at `route` on the right side of the statement at
    `path`, or of the one on its left side (`route` None)."""

    path: q.Path
    route: Route | None
    dim: int


@dataclass(frozen=True)
class Condition:
    """The condition of the `if` at `path`."""

    path: q.Path


@dataclass(frozen=True)
class Vector:
    """A memory or an instruction of a generated vector set (`vectors.py`)."""

    kind: str
    lanes: int
    name: str


@dataclass(frozen=True)
class Memory:
    """A memory for buffers (`memories.py`)."""

    name: str


@dataclass(frozen=True)
class Instruction:
    """An instruction of a set (`instruction_sets.py`), of the text with this digest."""

    set: str
    digest: str
    name: str


OpArg = (
    At
    | After
    | Pair
    | Span
    | Parts
    | Part
    | Index
    | Condition
    | Vector
    | Fused
    | Instruction
    | Prefetch
    | Transpose
    | ByteDots
    | Memory
    | int
    | str
    | bool
    | tuple[str, ...]
    | tuple[int, ...]
)


@dataclass(frozen=True)
class Op:
    """A call `name(p, *args, **kwargs)` of Exo's scheduling library."""

    name: str
    args: tuple[OpArg, ...] = ()
    kwargs: tuple[tuple[str, OpArg], ...] = ()


Steps = Generator[Op | None, Any, None]
"""Operators in turn; the generator is sent the procedure after each, and for None the
procedure as it is (`Cursors`)."""


def cursor_at(proc: Any, path: q.Path) -> Any:
    """Exo cursor of the statement at `path`; raises RewriteError if there is none."""
    if not path:
        raise RewriteError("a statement path is needed")
    node, where, branch = proc._loopir_proc, list[tuple[str, int]](), "body"
    try:
        for part in path:
            if isinstance(part, str):
                branch = "orelse"
                continue
            node = getattr(node, branch)[part]
            where.append((branch, part))
            branch = "body"
    except (AttributeError, IndexError, TypeError) as error:
        raise RewriteError(f"no statement at {format_path(path)}") from error
    return API_cursors.lift_cursor(internal_cursors.Node(proc._loopir_proc, where), proc)


def run_op(proc: Any, op: Op) -> Any:
    """Apply one operator; raises RewriteError with the reason if it is illegal."""
    prepare()
    where = next((arg.path for arg in op.args if isinstance(arg, At | Pair | Parts | Part)), ())
    routes = next((arg.routes for arg in op.args if isinstance(arg, Parts)), ())
    if op.name == "unroll_loop" and (copies := _unrolled(proc, where)) > MOST_STATEMENTS:
        raise RewriteError(f"unroll_loop: {copies} statements, {MOST_STATEMENTS} are allowed")
    if reason := unsound(proc, op.name, where, routes, _circle(op)):
        raise RewriteError(f"{op.name}: {reason}")
    asked = [each for each in (statements_apart(proc), proc) if each is not None]
    calls = [(each, *_arguments(each, op)) for each in asked]
    try:
        *_, after = (_operator(op.name)(each, *a, **kw) for each, a, kw in calls)
    except EXO_ERRORS as error:
        raise RewriteError(f"{op.name}: {' '.join(said(error).split())[:400]}") from error
    if reason := unsound_result(proc, after, op.name, where) or _too_much(after):
        raise RewriteError(f"{op.name}: {reason}")
    return after


def _operator(name: str) -> Any:
    return {TAKE_OUT: take_out, PUT_BACK: put_back}.get(name) or getattr(scheduling, name)


def _circle(op: Op) -> tuple[int, int] | None:
    """Dimension and size of what `op` folds. Raises RewriteError if they are no numbers."""
    if op.name != "resize_dim":
        return None
    names = ("buf_cursor", "dim_idx", "size", "offset", "fold")
    given = {**dict(zip(names, op.args, strict=False)), **dict(op.kwargs)}
    if not given.get("fold"):
        return None
    dim, size = given.get("dim_idx"), given.get("size")
    if isinstance(dim, int) and isinstance(size, int):
        return dim, size
    raise RewriteError(f"resize_dim: what is folded needs numbers, not {dim!r} and {size!r}")


def _arguments(proc: Any, op: Op) -> tuple[list[Any], dict[str, Any]]:
    args = [_resolve(proc, arg) for arg in op.args]
    kwargs = {name: _resolve(proc, arg) for name, arg in op.kwargs}
    if op.name == "replace":
        kwargs["quiet"] = True  # else Exo prints what it could not match
    return args, kwargs


def _too_much(proc: Any) -> str | None:
    """Why nothing more is done to a procedure; None if its size is sensible. Looked at after
    every operator: one can double everything, forty of them fill any memory."""
    statements, deepest = size_of(proc._loopir_proc.body)
    if statements > MOST_STATEMENTS:
        return f"{statements} statements, {MOST_STATEMENTS} are allowed"
    if deepest > MOST_NESTED:
        return f"statements {deepest} deep inside of each other, {MOST_NESTED} are allowed"
    return None


def _unrolled(proc: Any, path: q.Path) -> int:
    """Statements that unrolling the loop at `path` gives; 0 if it is none of constant bounds."""
    loop = cursor_at(proc, path)._impl._node
    if not isinstance(loop, LoopIR.For):
        return 0
    try:
        extent = value_of(loop.hi) - value_of(loop.lo)
    except Undecided:
        return 0
    return max(extent.const, 0) * size_of(loop.body)[0] if extent.is_const else 0


def _resolve(proc: Any, arg: OpArg) -> Any:
    match arg:
        case At():
            return cursor_at(proc, arg.path)
        case After():
            return cursor_at(proc, arg.path).after()
        case Pair():
            return cursor_at(proc, arg.path).expand(0, 1)
        case Span():
            return cursor_at(proc, arg.path).expand(0, arg.count - 1)
        case Parts():
            return [_part(cursor_at(proc, arg.path).rhs(), route) for route in arg.routes]
        case Part():
            return _part(cursor_at(proc, arg.path).rhs(), arg.route)
        case Index():
            access = cursor_at(proc, arg.path)
            if arg.route is not None:
                access = _part(access.rhs(), arg.route)
            return access.idx()[arg.dim]
        case Condition():
            return cursor_at(proc, arg.path).cond()
        case Vector():
            return vector_set(arg.kind, arg.lanes)[arg.name]
        case Prefetch():
            return prefetch_instruction(arg)
        case Transpose():
            return transpose_instruction(arg)
        case ByteDots():
            return dots_instruction(arg)
        case Fused():
            return fused_instruction(arg)
        case Memory():
            return memory(arg.name)
        case Instruction():
            return find(arg.set, arg.digest).procedures[arg.name]
        case tuple():
            return list(arg)
        case _:
            return arg


def _part(expr: Any, route: Route) -> Any:
    for step in route:
        expr = expr.args()[step] if isinstance(step, int) else getattr(expr, step)()
    return expr

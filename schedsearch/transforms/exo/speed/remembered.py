"""Answers of Exo 1.0.0 that are kept, because it asks the same again and again.

1. Every question to z3 asks PySMT first which solvers are installed, 10 to 50 ms
   -> `solver_name` remembers; none is made where Exo does not use it.
2. Code generation looks for the range of every size that an assert mentions with 30
   questions, about 1 s each time   -> depends on arguments and asserts only.
3. Comments in generated C and names in messages are formatted by yapf, 1 ms each; it
   depends on the text alone.
4. For the names in a text that a rewrite is given, Exo walks all that comes before the statement
   -> expressions and types bind none, and are left out. A block among 27 takes 3/4 of the time.
   Nor do loops and branches in which the statement is not.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import pysmt.factory
import pysmt.shortcuts
from exo.core import LoopIR_pprint
from exo.core.LoopIR import LoopIR
from exo.frontend import boundscheck, parse_fragment
from exo.rewrite import LoopIR_unification, new_analysis_core, range_analysis

from schedsearch.analysis.by_identity import ByIdentity
from schedsearch.transforms.exo.mirror import blocks

_exo_format = LoopIR_pprint._format_code
_exo_names_before = parse_fragment.BuildEnv.do_s
_exo_arg_range = range_analysis.arg_range_analysis

Range = tuple[int | None, int | None]

REMEMBERED = 512
"""Formatted texts that are kept."""

_ranges: dict[Any, Range] = {}


def patches() -> list[tuple[Any, str, Any]]:
    return [
        (boundscheck, "_get_smt_solver", _any_solver),
        (LoopIR_unification, "_get_smt_solver", _any_solver),
        (new_analysis_core, "_get_smt_solver", _Unused),
        (LoopIR_pprint, "_format_code", lru_cache(maxsize=REMEMBERED)(_exo_format)),
        (range_analysis, "arg_range_analysis", arg_range),
        *((parse_fragment.BuildEnv, visit, lambda *_: None) for visit in ("do_e", "do_t")),
        (parse_fragment.BuildEnv, "do_s", _names_before),
    ]


def _names_before(env: Any, stmt: Any) -> None:
    """In the place of `BuildEnv.do_s`, which looks for a statement equal to `env.trg`."""
    named = blocks(stmt) and isinstance(env.trg, _NAMED)
    if not named or _name_of(env.trg) in _names_in(stmt):
        _exo_names_before(env, stmt)


_NAMED = LoopIR.For | LoopIR.Assign | LoopIR.Reduce | LoopIR.Alloc


def _name_of(stmt: Any) -> Any:
    return stmt.iter if isinstance(stmt, LoopIR.For) else stmt.name


def _names_in(stmt: Any) -> frozenset[Any]:
    """What a loop or branch, and the statements inside, bind and assign. Equal statements do so to
    the same symbols."""
    known = _names.get(stmt)
    if known is None:
        inside = [each for block in blocks(stmt) for each in block]
        found = {_name_of(each) for each in (stmt, *inside) if isinstance(each, _NAMED)}
        found = found.union(*(_names_in(each) for each in inside if blocks(each)))
        known = _names.put(stmt, frozenset(found))
    return known


_names: ByIdentity[frozenset[Any]] = ByIdentity(20_000)
"""By loop or branch."""


def _any_solver() -> Any:
    return pysmt.shortcuts.Solver(name=solver_name())


class _Unused:
    """Exo's analysis makes a PySMT solver for every question, and asks z3 without it."""

    def push(self) -> None: ...

    def pop(self) -> None: ...


@cache
def solver_name() -> str:
    """The solver that Exo would take. Raises OSError if there is none."""
    factory = pysmt.factory.Factory(pysmt.shortcuts.get_env())
    names = list(factory.all_solvers())
    if not names:
        raise OSError("PySMT finds no SMT solver; z3-solver should be installed")
    return str(names[0])


def arg_range(proc: Any, arg: Any, fast: bool = True) -> Range:
    """Least and largest value of a size argument, None where it has none."""
    if fast:
        return _exo_arg_range(proc, arg, fast=True)  # type: ignore[no-any-return]
    names = {a.name: number for number, a in enumerate(proc.args)}
    args = tuple(_shape(a.type, names) for a in proc.args)
    asserts = tuple(_shape(pred, names) for pred in proc.preds)
    key = (names[arg.name], args, asserts)
    if key not in _ranges:
        _ranges[key] = _exo_arg_range(proc, arg, fast=False)
    return _ranges[key]


def _shape(node: Any, names: dict[Any, int]) -> Any:
    """A LoopIR type or expression as hashable data; arguments by number."""
    match node:
        case LoopIR.Tensor():
            return "tensor", node.is_window, tuple(_shape(extent, names) for extent in node.hi)
        case LoopIR.Read():
            return "read", names[node.name]
        case LoopIR.Const():
            return "const", type(node.val), node.val
        case LoopIR.USub():
            return "-", _shape(node.arg, names)
        case LoopIR.BinOp():
            return node.op, _shape(node.lhs, names), _shape(node.rhs, names)
        case LoopIR.StrideExpr():
            return "stride", names[node.name], node.dim
        case LoopIR.ReadConfig():
            return "config", id(node.config), node.field
        case _:
            return type(node)

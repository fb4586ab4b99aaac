"""Answers of Exo 1.0.0 that are kept, because it asks the same again and again.

1. Every question to z3 asks PySMT first which solvers are installed, 10 to 50 ms
   -> `solver_name` remembers; none is made where Exo does not use it.
2. Code generation looks for the range of every size that an assert mentions with 30
   questions, about 1 s each time   -> depends on arguments and asserts only.
3. What a loop's earlier iterations do to the context of a later one depends on the
   loop alone, and one operator asks for it up to 32 times. A register block of conv2d
   takes 0.44 s instead of 0.62 s.
4. Comments in generated C and names in messages are formatted by yapf, 1 ms each; it
   depends on the text alone.
5. For the names in a text that a rewrite is given, Exo walks all that comes before the statement
   -> expressions and types bind none, and are left out. A block among 27 takes 3/4 of the time.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import pysmt.factory
import pysmt.shortcuts
from exo.core import LoopIR_pprint
from exo.core.LoopIR import LoopIR
from exo.frontend import boundscheck, parse_fragment
from exo.rewrite import LoopIR_unification, new_analysis_core, new_eff, range_analysis

from schedsearch.analysis.by_identity import Same

_exo_format = LoopIR_pprint._format_code
_exo_arg_range = range_analysis.arg_range_analysis

Range = tuple[int | None, int | None]

_exo_loop_preenv = new_eff.ContextExtraction.loop_preenv

REMEMBERED = 512
"""Loops whose effect on the context is kept, and formatted texts."""

_ranges: dict[Any, Range] = {}


def patches() -> list[tuple[Any, str, Any]]:
    return [
        (boundscheck, "_get_smt_solver", _any_solver),
        (LoopIR_unification, "_get_smt_solver", _any_solver),
        (new_analysis_core, "_get_smt_solver", _Unused),
        (LoopIR_pprint, "_format_code", lru_cache(maxsize=REMEMBERED)(_exo_format)),
        (range_analysis, "arg_range_analysis", arg_range),
        *((parse_fragment.BuildEnv, visit, lambda *_: None) for visit in ("do_e", "do_t")),
        (
            new_eff.ContextExtraction,
            "loop_preenv",
            lambda _, loop: _effect_of(Same(loop)),
        ),
    ]


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


@lru_cache(maxsize=REMEMBERED)
def _effect_of(loop: Same) -> Any:
    return _exo_loop_preenv(None, loop.node)

"""What statements leave for those after them: nothing, unless a field of a config is written.

For the values of such fields, Exo's checks look at all statements before, and at all in loops
around, and bind what they find around what is to be proven. Where no field is written these
bindings are of names that nothing uses, and Exo takes them out again before it asks z3: they are
not made. A check for aliases looks at arguments of calls; it need not walk through expressions.
"""

from __future__ import annotations

from typing import Any

from exo.core.LoopIR import LoopIR
from exo.rewrite import new_eff

from schedsearch.analysis.by_identity import ByIdentity
from schedsearch.transforms.exo.mirror import blocks

_KEPT = 20_000

_written: ByIdentity[bool] = ByIdentity(_KEPT)
"""Whether a field is written in a statement, or in a procedure."""

_exo_globenv = new_eff.globenv
_exo_let = new_eff.LLetEnv
_exo_loop_preenv = new_eff.ContextExtraction.loop_preenv


def patches() -> list[tuple[Any, str, Any]]:
    aliases = new_eff._Check_Aliasing_Helper
    return [
        (new_eff, "globenv", _globenv),
        (new_eff, "LLetEnv", _let),
        (new_eff.ContextExtraction, "loop_preenv", _loop_preenv),
        *((aliases, visit, lambda *_: None) for visit in ("do_e", "do_t")),
    ]


def _globenv(stmts: Any) -> Any:
    """The environment after statements."""
    return _exo_globenv([stmt for stmt in stmts if _binds(stmt)])


def _let(env: Any, locations: Any) -> Any:
    """Locations, where the names of an environment are bound."""
    return _exo_let(env, locations) if env.bindings else locations


def _loop_preenv(context: Any, loop: Any) -> Any:
    """The environment that the earlier iterations of a loop leave for the next one."""
    return _exo_loop_preenv(context, loop) if _writes(loop) else new_eff.AEnv()


def _binds(stmt: Any) -> bool:
    """Whether a statement binds a name for those after it; or is a call that Exo gets wrong."""
    match stmt:
        case LoopIR.Alloc() | LoopIR.WindowStmt():
            return True
        case LoopIR.Call() if any(map(_is_computed, stmt.f.args, stmt.args)):
            return True
    return _writes(stmt)


def _is_computed(arg: Any, value: Any) -> bool:
    """Whether an argument of data is neither an element, nor a buffer, nor a window."""
    return arg.type.is_numeric() and not isinstance(value, LoopIR.Read | LoopIR.WindowExpr)


def _writes(node: Any) -> bool:
    """Whether a field is written in a statement, or in a procedure."""
    match node:
        case LoopIR.WriteConfig():
            return True
        case LoopIR.For() | LoopIR.If():
            inside = [stmt for block in blocks(node) for stmt in block]
        case LoopIR.Call():
            inside = [node.f]
        case LoopIR.proc():
            inside = node.body
        case _:
            return False
    known = _written.get(node)
    return known if known is not None else _written.put(node, any(map(_writes, inside)))

"""Windows for which Exo generates wrong C, written out (24 of `exo/compat.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exo.core import internal_cursors
from exo.core.LoopIR import LoopIR, T, get_readconfigs, get_writes_of_stmts
from exo.core.prelude import null_srcinfo
from exo.rewrite.LoopIR_scheduling import DoInlineWindow

from schedsearch.transforms.exo.mirror import blocks

Where = list[tuple[str, int]]


def with_right_windows(proc: Any) -> Any:
    """The LoopIR procedure with windows written out for which Exo generates wrong C; itself if
    there are none (24 of `exo/compat.py`).

    Exo's C of a window is a struct, of a type for reading only or of one for writing. A named
    window gets the type by its array: `const` if that is written through the window alone. And an
    argument that is a window's name has the window's type, even if the callee takes the other one.

    `w = x[2:n]; w[i] = 1.0  ->  x[i + 2] = 1.0`, and
    `f(w)  ->  f(w[0:n])`, for a window `w` that is an argument.
    """
    written = _written(proc.body)
    windows = {s.name: s.rhs.name for s, _ in _stmts(proc.body, []) if _is_window(s)}
    passed = [each for s, _ in _stmts(proc.body, []) for each in _passed(s)]
    wrong = [w for w, array in windows.items() if w in written and array not in written]
    wrong += [w for w, writes in passed if w in windows and writes != (windows[w] in written)]
    if wrong:
        proc = _inlined(proc)
        written = _written(proc.body)
        passed = [each for s, _ in _stmts(proc.body, []) for each in _passed(s)]
    if any(writes != (window in written) for window, writes in passed):
        return proc.update(body=_spelt_out(proc.body, written))
    return proc


def _inlined(proc: Any) -> Any:
    """Without named windows, but those of a place that is in a config, which may change."""
    left = 0
    while True:
        found = [where for s, where in _stmts(proc.body, []) if _is_window(s)]
        if len(found) == left:
            return proc
        cursor = internal_cursors.Node(proc, found[left])
        if get_readconfigs([cursor._node]):
            left += 1
        else:
            proc, _ = DoInlineWindow(cursor)


def _spelt_out(stmts: Any, written: set[Any]) -> list[Any]:
    """Windows as arguments of calls that would get another type by their name: the C of
    `w[0:n]` is a struct of the type that the callee takes."""
    return [_spelt_out_in(stmt, written) for stmt in stmts]


def _spelt_out_in(stmt: Any, written: set[Any]) -> Any:
    match stmt:
        case LoopIR.For():
            return stmt.update(body=_spelt_out(stmt.body, written))
        case LoopIR.If():
            body, orelse = _spelt_out(stmt.body, written), _spelt_out(stmt.orelse, written)
            return stmt.update(body=body, orelse=orelse)
        case LoopIR.Call():
            wrong = {name for name, writes in _passed(stmt) if writes != (name in written)}
            args = [_all_of(a) if _by_name(a) and a.name in wrong else a for a in stmt.args]
            return stmt.update(args=args)
    return stmt


def _all_of(window: Any) -> Any:
    where = null_srcinfo()
    shape = window.type.shape()
    idx = [LoopIR.Interval(LoopIR.Const(0, T.int, where), hi, where) for hi in shape]
    whole = T.Window(window.type, T.Tensor(shape, True, window.type.basetype()), window.name, idx)
    return LoopIR.WindowExpr(window.name, idx, whole, window.srcinfo)


def _passed(stmt: Any) -> Iterator[tuple[Any, bool]]:
    """Windows that a call is given by name, and whether it writes them."""
    if isinstance(stmt, LoopIR.Call) and any(map(_by_name, stmt.args)):
        written = _written(stmt.f.body)
        for arg, formal in zip(stmt.args, stmt.f.args, strict=True):
            if _by_name(arg):
                yield arg.name, formal.name in written


def _by_name(arg: Any) -> bool:
    return isinstance(arg, LoopIR.Read) and arg.type.is_win()


def _is_window(stmt: Any) -> bool:
    return isinstance(stmt, LoopIR.WindowStmt)


def _written(stmts: Any) -> set[Any]:
    return {name for name, _ in get_writes_of_stmts(stmts)}


def _stmts(stmts: Any, above: Where, label: str = "body") -> Iterator[tuple[Any, Where]]:
    """Statements in order, each with its place in the procedure."""
    for number, stmt in enumerate(stmts):
        where = [*above, (label, number)]
        yield stmt, where
        for name, block in zip(("body", "orelse"), blocks(stmt), strict=False):
            yield from _stmts(block, where, name)

"""Functions of C in fewer words: `while`, `continue`, `*p++ = *q++` and early returns written as
loops of one kind, branches and statements without effects in their expressions.

What has no such form stays as it is, for the translation to refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from pycparser import c_ast

from schedsearch.frontends.c.jumps import without_continue
from schedsearch.frontends.c.trees import (
    COMPARISONS,
    STEPS,
    block_of,
    in_order,
    names_in,
    only,
    walk,
)


class Loop(c_ast.For):  # type: ignore[misc]
    """A `for`, or what its `word` says. If its condition has an effect (`while (n--)`), `leaves` is
    the statement that happens after the last comparison, and that the body begins with."""

    __slots__ = ("leaves", "word")

    def __init__(
        self, cond: Any, next_: Any, stmt: Any, leaves: Any, coord: Any, word: str = "for"
    ) -> None:
        super().__init__(None, cond, next_, stmt, coord)
        self.leaves = leaves
        self.word = word


def plain(function: c_ast.FuncDef) -> c_ast.FuncDef:
    """The same function; its tree is not changed."""
    out = copy(function)
    out.body = block_of(_inside(function.body), function.body)
    return out


# -- statements ------------------------------------------------------------------------------------


def _inside(node: Any) -> list[Any]:
    """The statements of a block, or of one in the place of a block."""
    items = node.block_items or [] if isinstance(node, c_ast.Compound) else [node]
    return [out for each in items for out in _statement(each)]


def _body(node: Any) -> Any:
    """A block's, or a branch's, place of a single statement kept."""
    if node is None:
        return None
    found = _inside(node)
    if len(found) == 1 and not isinstance(node, c_ast.Compound):
        return found[0]
    return block_of(found, node)


def _statement(node: Any) -> list[Any]:
    match node:
        case c_ast.Compound():
            return [block_of(_inside(node), node)]
        case c_ast.If():
            return [c_ast.If(node.cond, _body(node.iftrue), _body(node.iffalse), node.coord)]
        case c_ast.For():
            return _loop(node, in_order(node.init), node.cond, node.next)
        case c_ast.While():
            return _loop(node, [], node.cond, None)
        case c_ast.DoWhile():
            return [_at_least_once(node)]
        case c_ast.ExprList():
            return [out for each in node.exprs for out in _statement(each)]
        case c_ast.Decl() if node.init is not None and isinstance(
            node.type, c_ast.TypeDecl | c_ast.PtrDecl
        ):
            before, init, after = _taken(node.init, node)
            if init is node.init:
                return [node]
            out = copy(node)
            out.init = init
            return [*before, out, *after]
        case c_ast.Assignment() | c_ast.FuncCall() | c_ast.UnaryOp() | c_ast.Cast():
            return _expression(node)
        case _:
            return [node]


def _expression(node: Any) -> list[Any]:
    """A statement that is an expression."""
    if isinstance(node, c_ast.UnaryOp) and node.op in STEPS:
        inner = node.expr
        before, expr, after = _taken(inner, node)
        return [*before, c_ast.UnaryOp(node.op, expr, node.coord), *after] if after else [node]
    before, expr, after = _taken(node, node)
    return [*before, expr, *after]


# -- effects in expressions ------------------------------------------------------------------------


def _taken(node: Any, whole: Any) -> tuple[list[Any], Any, list[Any]]:
    """Statements before an expression, the expression without steps of variables, and statements
    after it. As it is, if a step is perhaps not executed, or its variable is read elsewhere in
    `whole`, which C does not order."""
    before: list[Any] = []
    after: list[Any] = []
    names = [each.name for each in walk(whole) if isinstance(each, c_ast.ID)]
    out = _without(node, before, after)
    stepped = [each.expr.name for each in (*before, *after)]
    declared = [whole.name] if isinstance(whole, c_ast.Decl) else []
    if out is None or any([*names, *declared].count(name) > 1 for name in stepped):
        return [], node, []
    return before, out, after


def _without(node: Any, before: list[Any], after: list[Any]) -> Any:
    """An expression without its steps, which are put before and after it. None if that changes what
    it does."""
    match node:
        case c_ast.UnaryOp(expr=c_ast.ID()) if node.op in STEPS:
            (after if node.op.startswith("p") else before).append(node)
            return node.expr
        case c_ast.TernaryOp() | c_ast.ExprList() | c_ast.InitList():
            return None if _has_step(node) else node
        case c_ast.BinaryOp(op="&&" | "||") | c_ast.UnaryOp(op="sizeof"):
            return None if _has_step(node) else node
        case c_ast.ArrayRef():
            parts = [_without(each, before, after) for each in (node.name, node.subscript)]
            return None if None in parts else c_ast.ArrayRef(*parts, node.coord)
        case c_ast.UnaryOp():
            inner = _without(node.expr, before, after)
            return None if inner is None else c_ast.UnaryOp(node.op, inner, node.coord)
        case c_ast.BinaryOp():
            parts = [_without(each, before, after) for each in (node.left, node.right)]
            return None if None in parts else c_ast.BinaryOp(node.op, *parts, node.coord)
        case c_ast.Assignment():
            parts = [_without(each, before, after) for each in (node.lvalue, node.rvalue)]
            return None if None in parts else c_ast.Assignment(node.op, *parts, node.coord)
        case c_ast.Cast():
            inner = _without(node.expr, before, after)
            return None if inner is None else c_ast.Cast(node.to_type, inner, node.coord)
        case c_ast.FuncCall() if node.args is not None:
            args = [_without(each, before, after) for each in node.args.exprs]
            if None in args:
                return None
            return c_ast.FuncCall(node.name, c_ast.ExprList(args, node.coord), node.coord)
        case _:
            return node


def _has_step(node: Any) -> bool:
    return any(isinstance(each, c_ast.UnaryOp) and each.op in STEPS for each in walk(node))


# -- loops -----------------------------------------------------------------------------------------


def _loop(node: Any, begins: list[Any], cond: Any, next_: Any) -> list[Any]:
    """A loop in a block of its own, with what comes before it."""
    cond, step, at_once = _without_step(cond)
    body = _inside(node.stmt)
    while body and (leaves := _breaks(body[0])) is not None:
        if step is not None:
            break
        stays = c_ast.UnaryOp("!", leaves, body[0].coord)
        endless = cond is None or _is_one(cond)
        cond = stays if endless else c_ast.BinaryOp("&&", cond, stays, node.coord)
        del body[0]
    body = without_continue(body)
    steps = [out for each in in_order(next_) for out in _statement(each)]
    if step is not None and at_once:  # `while (--n)`
        begins, steps = [*begins, step], [*steps, step]
    leaves = step if step is not None and not at_once else None
    if leaves is not None:
        body.insert(0, leaves)
    stmt = block_of(body, node.stmt)
    then = c_ast.ExprList(steps, node.coord) if steps else None
    word = "while" if isinstance(node, c_ast.While) else "for"
    loop = Loop(cond, then, stmt, leaves, node.coord, word)
    loop.init = c_ast.ExprList(begins, node.coord) if begins else None
    return [loop]


def _without_step(cond: Any) -> tuple[Any, Any, bool]:
    """A condition without the step of a variable in it, the step, and whether it comes before."""
    match cond:
        case c_ast.UnaryOp(expr=c_ast.ID()) if cond.op in STEPS:
            zero = c_ast.Constant("int", "0", cond.coord)
            compared = c_ast.BinaryOp("!=", cond.expr, zero, cond.coord)
            return compared, cond, not cond.op.startswith("p")
        case c_ast.BinaryOp() if cond.op in COMPARISONS:
            for side, other in (("left", cond.right), ("right", cond.left)):
                step = getattr(cond, side)
                stepped = isinstance(step, c_ast.UnaryOp) and step.op in STEPS
                if stepped and isinstance(step.expr, c_ast.ID):
                    if step.expr.name in names_in(other):
                        break
                    out = copy(cond)
                    setattr(out, side, step.expr)
                    return out, step, not step.op.startswith("p")
            return cond, None, False
        case _:
            return cond, None, False


def _at_least_once(node: c_ast.DoWhile) -> c_ast.DoWhile:
    cond, step, at_once = _without_step(node.cond)
    body = without_continue(_inside(node.stmt))
    if step is not None and at_once:
        body.append(step)
    elif step is not None:
        cond = node.cond
    return c_ast.DoWhile(cond, block_of(body, node.stmt), node.coord)


def _is_one(node: Any) -> bool:
    return isinstance(node, c_ast.Constant) and node.value == "1"


def _breaks(node: Any) -> Any:
    """The condition of `if (condition) break;`."""
    if not isinstance(node, c_ast.If) or node.iffalse is not None:
        return None
    return node.cond if isinstance(only(node.iftrue), c_ast.Break) else None


def loops_over(
    target: Any, source: Any, length: Any, names: Sequence[str], copied: bool
) -> c_ast.For:
    """`target[i][j] = source[i][j]`, or `= source`, for so many bytes. The loops have these
    names."""
    coord = length.coord
    zero = c_ast.Constant("int", "0", coord)
    heads: list[tuple[str, Any]] = []
    total, part = length, c_ast.ArrayRef(target, zero, coord)
    for name in names:
        target = c_ast.ArrayRef(target, c_ast.ID(name, coord), coord)
        source = c_ast.ArrayRef(source, c_ast.ID(name, coord), coord) if copied else source
        size = c_ast.UnaryOp("sizeof", part, coord)
        heads.append((name, c_ast.BinaryOp("/", total, size, coord)))
        total, part = size, c_ast.ArrayRef(part, zero, coord)
    body: Any = c_ast.Assignment("=", target, source, coord)
    for name, bound in reversed(heads):
        at = c_ast.ID(name, coord)
        less = c_ast.BinaryOp("<", at, bound, coord)
        body = Loop(less, c_ast.UnaryOp("p++", at, coord), body, None, coord)
        body.init = c_ast.Assignment("=", at, zero, coord)
    return body

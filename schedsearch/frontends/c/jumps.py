"""Jumps to the end: `continue`, and returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from schedsearch.frontends.c.trees import block_of, has_effects, names_in

RESULT = "return"
"""What a function returns is an element of this, which no variable of C can hide."""


def without_continue(items: Sequence[Any]) -> list[Any]:
    """What comes after `if (c) continue;` is under a condition."""
    return _to_the_end(items, c_ast.Continue)


def returning(body: c_ast.Compound) -> c_ast.Compound:
    """A body whose returns, where nothing comes after them, store the result."""
    return block_of(_stored(_to_the_end(body.block_items or [], c_ast.Return)), body)


def _to_the_end(items: Sequence[Any], jump: type) -> list[Any]:
    """Statements of which none comes after a jump: it is the end of its branch. That of `continue`
    is left out. Jumps after which something would have to be written twice stay."""
    for number, each in enumerate(items):
        before, rest = list(items[:number]), list(items[number + 1 :])
        if isinstance(each, jump):
            return [*before, *_kept(each)]
        if isinstance(each, c_ast.Compound) and _jumps(each, jump):
            inner = each.block_items
            declared = {one.name for one in inner if isinstance(one, c_ast.Decl)}
            if any(declared & names_in(one) for one in rest):
                return list(items)
            return [*before, block_of(_to_the_end([*inner, *rest], jump), each)]
        if not isinstance(each, c_ast.If):
            continue
        pair = (each.iftrue, each.iffalse)
        if any(_ends(branch, jump) for branch in pair) or (not rest and _jumps(each, jump)):
            yes, no = (
                _to_the_end(_items(one) if _ends(one, jump) else [*_own(one), *rest], jump)
                for one in pair
            )
            return [*before, *_branch(each, yes, no)]
    return list(items)


def _branch(node: c_ast.If, yes: list[Any], no: list[Any]) -> list[Any]:
    """A branch, turned around if its first part is empty."""
    if yes:
        other = block_of(no, node) if no else None
        return [c_ast.If(node.cond, block_of(yes, node), other, node.coord)]
    if no:
        opposite = c_ast.UnaryOp("!", node.cond, node.coord)
        return [c_ast.If(opposite, block_of(no, node), None, node.coord)]
    if has_effects(node.cond):  # which are not lost
        return [c_ast.If(node.cond, block_of([], node), None, node.coord)]
    return []


def _jumps(node: Any, jump: type) -> bool:
    """Whether a jump of the same loop is in it."""
    if isinstance(node, jump):
        return True
    loop = isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile)
    if loop and jump is c_ast.Continue:
        return False
    return any(_jumps(child, jump) for _, child in node.children())


def _kept(jump: Any) -> list[Any]:
    return [jump] if isinstance(jump, c_ast.Return) and jump.expr is not None else []


def _items(node: Any) -> list[Any]:
    if node is None:
        return []
    return list(node.block_items or []) if isinstance(node, c_ast.Compound) else [node]


def _own(node: Any) -> list[Any]:
    """A branch in the place of a statement: what it declares is its own."""
    return [] if node is None else [node]


def _ends(node: Any, jump: type) -> bool:
    """Whether a branch always ends in a jump."""
    items = _items(node)
    if not items:
        return False
    last = items[-1]
    if isinstance(last, c_ast.If):
        return _ends(last.iftrue, jump) and _ends(last.iffalse, jump)
    return isinstance(last, jump) or (isinstance(last, c_ast.Compound) and _ends(last, jump))


def _stored(items: Sequence[Any]) -> list[Any]:
    """Returns as assignments, where they are the last of their branch."""
    if not items:
        return []
    *before, last = items
    match last:
        case c_ast.Return() if last.expr is not None:
            zero = c_ast.Constant("int", "0", last.coord)
            target = c_ast.ArrayRef(c_ast.ID(RESULT, last.coord), zero, last.coord)
            return [*before, c_ast.Assignment("=", target, last.expr, last.coord)]
        case c_ast.If():
            yes, no = (
                None if each is None else block_of(_stored(_items(each)), each)
                for each in (last.iftrue, last.iffalse)
            )
            return [*before, c_ast.If(last.cond, yes, no, last.coord)]
        case c_ast.Compound():
            return [*before, block_of(_stored(_items(last)), last)]
        case _:
            return list(items)

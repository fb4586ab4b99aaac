"""Questions about syntax trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pycparser import c_ast


def walk(node: Any) -> Iterator[Any]:
    """A tree's nodes, those around others first."""
    stack = [node]
    while stack:
        each = stack.pop()
        yield each
        stack += [child for _, child in reversed(each.children())]


STEPS = ("++", "--", "p++", "p--")
"""Operators that change their variable."""

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def in_order(node: Any) -> list[Any]:
    """The expressions of a list with commas, or declarations of a statement."""
    match node:
        case None | c_ast.EmptyStatement():
            return []
        case c_ast.DeclList():
            return list(node.decls)
        case c_ast.ExprList():
            return list(node.exprs)
        case _:
            return [node]


def assigned(node: Any) -> frozenset[str]:
    """Names of variables around a tree that it assigns to, or takes the address of; those that it
    declares are its own."""
    found: set[str] = set()
    _assigned(node, set(), found)
    return frozenset(found)


def targets(node: Any) -> frozenset[str]:
    """Names that a tree assigns to, or takes the address of, wherever they are declared."""
    found = (_target(each) for each in walk(node))
    return frozenset(each.name for each in found if isinstance(each, c_ast.ID))


def _target(node: Any) -> Any:
    match node:
        case c_ast.Assignment():
            return node.lvalue
        case c_ast.UnaryOp() if node.op in (*STEPS, "&"):
            return node.expr
        case _:
            return None


def _assigned(node: Any, own: set[str], found: set[str]) -> None:
    target = _target(node)
    if isinstance(node, c_ast.Compound | c_ast.For):
        own = set(own)
    if isinstance(target, c_ast.ID) and target.name not in own:
        found.add(target.name)
    for _, child in node.children():
        _assigned(child, own, found)
    if isinstance(node, c_ast.Decl):
        own.add(node.name)


def has_effects(node: Any) -> bool:
    """Whether an expression may change a variable."""
    return any(
        isinstance(each, c_ast.Assignment | c_ast.FuncCall)
        or (isinstance(each, c_ast.UnaryOp) and each.op in STEPS)
        for each in walk(node)
    )


def names_in(node: Any) -> frozenset[str]:
    return frozenset(each.name for each in walk(node) if isinstance(each, c_ast.ID))


def places(
    function: c_ast.FuncDef,
    others: Mapping[str, c_ast.FuncDef],
    around: frozenset[str] = frozenset(),
) -> frozenset[str]:
    """Names of integers that a function's indices, bounds and extents are made of, also by way of
    other variables, and of parameters of `others` that it calls."""
    found: set[str] = set()
    around |= {function.decl.name}
    flows: list[tuple[str, frozenset[str]]] = []
    written: dict[str, int] = {}
    starts: dict[str, Any] = {}
    pointers = {
        each.name
        for each in walk(function)
        if isinstance(each, c_ast.Decl) and isinstance(each.type, c_ast.PtrDecl | c_ast.ArrayDecl)
    }
    for node in walk(function):
        match node:
            case c_ast.ArrayRef():
                found |= names_of_places(node.subscript)
            case c_ast.UnaryOp(op="*"):
                found |= names_of_places(node.expr)
            case c_ast.ArrayDecl() if node.dim is not None:
                found |= names_of_places(node.dim)
            case c_ast.FuncCall(name=c_ast.ID(name=called)) if called in others:
                if called not in around and node.args is not None:
                    inner = places(others[called], others, around)
                    for param, arg in zip(
                        parameters(others[called]), node.args.exprs, strict=False
                    ):
                        array = not isinstance(param.type, c_ast.TypeDecl)
                        if array or param.name in inner:
                            found |= names_of_places(arg)
            case c_ast.For():
                for part in (node.init, node.cond, node.next):
                    if part is not None:
                        found |= names_of_places(part)
                found |= {each.name for each in in_order(node.init) if isinstance(each, c_ast.Decl)}
            case c_ast.DoWhile():
                found |= names_of_places(node.cond)
            case c_ast.FuncCall(name=c_ast.ID(name="memset" | "memcpy")) if node.args is not None:
                found |= names_of_places(node.args)
            case c_ast.Assignment() if isinstance(node.lvalue, c_ast.ID):
                if node.lvalue.name in pointers:
                    found |= names_of_places(node.rvalue)
                flows.append((node.lvalue.name, names_of_places(node.rvalue)))
                written[node.lvalue.name] = written.get(node.lvalue.name, 0) + 1
            case c_ast.UnaryOp() if node.op in STEPS:
                if isinstance(node.expr, c_ast.ID):
                    written[node.expr.name] = written.get(node.expr.name, 0) + 1
            case c_ast.Decl() if node.init is not None:
                flows.append((node.name, names_of_places(node.init)))
                starts[node.name] = node.init
                if isinstance(node.type, c_ast.PtrDecl):
                    found |= names_of_places(node.init)
            case _:
                pass
    reverse = [(each, frozenset({name})) for name, sources in flows for each in sources]
    data = {name for name, init in starts.items() if _reads_elements(init)}
    data = _grown(data - _grown(found, flows), reverse)  # and what is computed of those
    found |= {
        name
        for name, init in starts.items()
        if name not in written and name not in data and _is_affine(init)
    }
    return frozenset(_grown(found, flows))


def _grown(names: set[str], flows: Sequence[tuple[str, frozenset[str]]]) -> set[str]:
    """Names, and those that flow into them."""
    found = set(names)
    growing = True
    while growing:
        growing = False
        for name, sources in flows:
            if name in found and not sources <= found:
                found |= sources
                growing = True
    return found


def _reads_elements(node: Any) -> bool:
    return any(
        isinstance(each, c_ast.ArrayRef) or (isinstance(each, c_ast.UnaryOp) and each.op == "*")
        for each in walk(node)
    )


def parameters(function: c_ast.FuncDef) -> list[c_ast.Decl]:
    """Those that have names."""
    params = function.decl.type.args.params if function.decl.type.args else []
    return [each for each in params if isinstance(each, c_ast.Decl) and each.name]


def names_of_places(node: Any) -> frozenset[str]:
    """Names in an expression, those of arrays and functions left out."""
    found = set()
    stack = [node]
    while stack:
        each = stack.pop()
        match each:
            case c_ast.ID():
                found.add(each.name)
            case c_ast.ArrayRef():
                stack.append(each.subscript)
            case c_ast.FuncCall():
                stack += [] if each.args is None else [each.args]
            case _:
                stack += [child for _, child in each.children()]
    return frozenset(found)


def _is_affine(node: Any) -> bool:
    """Whether it looks like a sum of sizes and constants."""
    match node:
        case c_ast.ID():
            return True
        case c_ast.Constant():
            return node.type in ("int", "long int", "unsigned int", "long unsigned int")
        case c_ast.BinaryOp() if node.op in ("+", "-"):
            return _is_affine(node.left) and _is_affine(node.right)
        case c_ast.BinaryOp() if node.op == "*":
            sides = (node.left, node.right)
            return all(map(_is_affine, sides)) and any(not names_in(side) for side in sides)
        case c_ast.BinaryOp() if node.op in ("/", "%"):
            return _is_affine(node.left) and not names_in(node.right)
        case _:
            return False


def is_constant(decl: c_ast.Decl) -> bool:
    """Whether a variable, or each element of an array, is `const`."""
    inner = decl.type
    while not isinstance(inner, c_ast.TypeDecl) and hasattr(inner, "type"):
        inner = inner.type
    return "const" in (*(decl.quals or []), *(getattr(inner, "quals", None) or []))


def block_of(items: list[Any], node: Any) -> c_ast.Compound:
    """A block in the place of a node."""
    return c_ast.Compound(items, getattr(node, "coord", None))


def only(node: Any) -> Any:
    """The one statement of a block."""
    while isinstance(node, c_ast.Compound) and len(node.block_items or []) == 1:
        node = node.block_items[0]
    return node


def line_of(node: Any) -> int:
    return getattr(getattr(node, "coord", None), "line", 0) or 0


def said(node: Any) -> str:
    words = {
        c_ast.StructRef: "member of a struct",
        c_ast.ExprList: "comma",
        c_ast.CompoundLiteral: "compound literal",
        c_ast.InitList: "list of values",
        c_ast.FuncCall: "result of a function",
        c_ast.BinaryOp: "arithmetic of pointers",
        c_ast.UnaryOp: "pointer",
    }
    return words.get(type(node), type(node).__name__)

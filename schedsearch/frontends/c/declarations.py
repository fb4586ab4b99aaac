"""What names stand for, and what declarations say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from schedsearch.core import ast as q
from schedsearch.frontends import graph
from schedsearch.frontends.c.c_types import CType, Unsupported, arithmetic_type
from schedsearch.frontends.c.linear import Polynomial


@dataclass(frozen=True, eq=False)
class Operand:
    """An expression's value: affine if it is made of integers, sizes and variables of loops."""

    type: CType
    value: q.Affine | graph.Value


@dataclass(frozen=True, eq=False)
class Number:
    """An integer variable for sizes, bounds and indices."""

    name: str
    type: CType


@dataclass(frozen=True, eq=False)
class Data:
    """Storage of elements; of rank 0 a variable."""

    array: graph.Array
    type: CType


@dataclass(frozen=True, eq=False)
class Open:
    """A pointer: an array whose first extent, or all of them, C does not tell."""

    name: str
    type: CType
    inner: tuple[q.Affine, ...]


@dataclass(frozen=True, eq=False)
class Pointer:
    """A pointer to an element or a row of an array, at its first indices. The last of these is what
    the pointer's own index is added to."""

    base: Data | Open
    at: tuple[Polynomial, ...]

    @property
    def inner(self) -> tuple[q.Affine, ...]:
        """Extents of what it points to."""
        shape = self.base.inner if isinstance(self.base, Open) else self.base.array.shape[1:]
        return shape[len(self.at) - 1 :]


Symbol = Number | Data | Open | Operand | Pointer


def base_type(node: Any, typedefs: Mapping[str, Any]) -> CType:
    """The arithmetic type at the end of a declaration."""
    depth = 0
    while depth < 100:
        depth += 1
        match node:
            case c_ast.TypeDecl() | c_ast.Typename() | c_ast.Decl() | c_ast.Typedef():
                node = node.type
            case c_ast.IdentifierType():
                names = tuple(node.names)
                if names == ("char",):
                    names = ("schedsearch_plain_char",)
                if len(names) == 1 and names[0] in typedefs:
                    node = typedefs[names[0]]
                    continue
                return arithmetic_type(names)
            case c_ast.Enum():
                return arithmetic_type(("int",))
            case c_ast.Struct() | c_ast.Union():
                raise Unsupported(
                    f"{type(node).__name__.lower()} {node.name or ''}".strip(),
                    "kernels have arrays and numbers only",
                    "pass the members that the function uses",
                )
            case _:
                break
    raise Unsupported("type", "it is no number", "use arrays of float, double or integers")


def declared(node: Any, typedefs: Mapping[str, Any]) -> tuple[list[Any], Any]:
    """The extents of a declaration, the first first, and the node of its element type. An extent is
    None where there is `[]` or a pointer."""
    extents: list[Any] = []
    kind = node.type
    for _ in range(100):
        match kind:
            case c_ast.ArrayDecl():
                extents.append(kind.dim)
                kind = kind.type
            case c_ast.PtrDecl():
                if extents and extents[-1] is not None:
                    raise Unsupported(
                        "array of pointers", "kernels have dense arrays", "use `double A[n][m]`"
                    )
                extents.append(None)
                kind = kind.type
            case c_ast.TypeDecl() if (
                isinstance(kind.type, c_ast.IdentifierType)
                and len(kind.type.names) == 1
                and kind.type.names[0] in typedefs
                and not isinstance(typedefs[kind.type.names[0]].type, c_ast.TypeDecl)
            ):
                kind = typedefs[kind.type.names[0]].type  # `typedef double matrix[10][10]`
            case _:
                break
    if None in extents[1:]:
        raise Unsupported(
            "pointer to pointers",
            "kernels have dense arrays",
            "use `double A[n][m]`, or `double *A` with `A[i * m + j]`",
        )
    return extents, kind


def walk(node: Any) -> Iterator[Any]:
    """A tree's nodes, those around others first."""
    stack = [node]
    while stack:
        each = stack.pop()
        yield each
        stack += [child for _, child in reversed(each.children())]


STEPS = ("++", "--", "p++", "p--")
"""Operators that change their variable."""


def assigned(node: Any) -> frozenset[str]:
    """Names of variables around a tree that it assigns to, or takes the address of; those that it
    declares are its own."""
    found: set[str] = set()
    _assigned(node, set(), found)
    return frozenset(found)


def _assigned(node: Any, own: set[str], found: set[str]) -> None:
    target = None
    match node:
        case c_ast.Compound() | c_ast.For():
            own = set(own)
        case c_ast.Assignment():
            target = node.lvalue
        case c_ast.UnaryOp() if node.op in (*STEPS, "&"):
            target = node.expr
        case _:
            pass
    if isinstance(target, c_ast.ID) and target.name not in own:
        found.add(target.name)
    for _, child in node.children():
        _assigned(child, own, found)
    if isinstance(node, c_ast.Decl):
        own.add(node.name)


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
                if isinstance(node.init, c_ast.DeclList):
                    found |= {each.name for each in node.init.decls}
            case c_ast.Assignment() if isinstance(node.lvalue, c_ast.ID):
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
    found |= {name for name, init in starts.items() if name not in written and _is_affine(init)}
    growing = True
    while growing:
        growing = False
        for name, sources in flows:
            if name in found and not sources <= found:
                found |= sources
                growing = True
    return frozenset(found)


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

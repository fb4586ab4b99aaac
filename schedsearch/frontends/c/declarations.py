"""What declarations say of types and extents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pycparser import c_ast

from schedsearch.frontends.c.c_types import CType, Unsupported, arithmetic_type


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

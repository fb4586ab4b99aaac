"""A C file's definitions, and the function that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pycparser import c_ast

from schedsearch.core.errors import UserError
from schedsearch.core.suggest import did_you_mean
from schedsearch.frontends.c.constants import value_of
from schedsearch.frontends.c.plain import plain
from schedsearch.frontends.c.preprocessed import parsed
from schedsearch.frontends.c.scopes import File


def definitions(
    path: Path | str,
    function: str | None = None,
    defines: Sequence[str] = (),
    include: Sequence[Path | str] = (),
) -> tuple[File, c_ast.FuncDef]:
    """A file's definitions, and the function that is meant."""
    path = Path(path)
    tree = parsed(path, defines, tuple(map(Path, include)))
    file = _definitions(str(path), tree)
    return file, _meant(file, function)


def _definitions(path: str, tree: c_ast.FileAST) -> File:
    file = File(path, {}, {}, {}, {}, {})
    for node in tree.ext:
        match node:
            case c_ast.Typedef():
                file.typedefs[node.name] = file.declarations[node.name] = node
            case c_ast.FuncDef():
                file.functions[node.decl.name] = _plain(node)
            case c_ast.Decl() if node.name and not isinstance(node.type, c_ast.FuncDecl):
                file.variables[node.name] = file.declarations[node.name] = node
            case _:
                pass
        _enumerators(node, file)
    return file


def _plain(function: c_ast.FuncDef) -> c_ast.FuncDef:
    try:
        return plain(function)
    except RecursionError:
        return function  # who translates it, if anybody, says so


def _enumerators(node: Any, file: File) -> None:
    """Constants of an enumeration: given as numbers, or counted."""
    kind = getattr(node, "type", None)
    kind = getattr(kind, "type", kind) if not isinstance(kind, c_ast.Enum) else kind
    if not isinstance(kind, c_ast.Enum) or kind.values is None:
        return
    value: int | None = -1
    for each in kind.values.enumerators:
        file.declarations[each.name] = node
        if each.value is None:
            value = None if value is None else value + 1
        else:
            value = value_of(each.value, file.enumerators)  # if None, its name is not declared
        if value is not None:
            file.enumerators[each.name] = value


def _meant(file: File, function: str | None) -> c_ast.FuncDef:
    if function is not None:
        if function in file.functions:
            return file.functions[function]
        known = ", ".join(file.functions) or "none"
        raise UserError(
            f"{file.path}: no function {function}; it defines {known}"
            f"{did_you_mean(function, file.functions)}"
        )
    own = {
        name: each
        for name, each in file.functions.items()
        if name != "main" and each.coord.file == file.path
    }
    exported = [each for each in own.values() if "static" not in (each.decl.storage or [])]
    for found in (list(own.values()), exported):
        if len(found) == 1:
            return found[0]
    if not own:
        raise UserError(f"{file.path}: no function; define `void name(...)`")
    raise UserError(
        f"{file.path}: several functions; name one of {', '.join(own)} after the file, "
        f"for example `{file.path} {next(iter(own))}`"
    )

"""A C file's definitions, and the function that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pycparser import c_ast

from schedsearch.core.errors import UserError
from schedsearch.core.suggest import did_you_mean
from schedsearch.frontends.c.constants import enumeration, enumerators
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
                file.declarations[node.name] = file.typedefs.setdefault(node.name, node)
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
    kind, found = enumeration(node), enumerators(node, file.enumerators)
    if found and kind is not None and kind.name:
        file.declarations[f"enum {kind.name}"] = node
    for name, value in found.items():
        file.declarations[name] = node
        if value is not None:  # else the name is not declared
            file.enumerators[name] = value


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

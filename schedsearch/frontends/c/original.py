"""A function as the user wrote it, on its own: what a replacement falls back to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

from pycparser import c_ast, c_generator

from schedsearch.frontends.c.naming import INCLUDE, from_header
from schedsearch.frontends.c.preprocessed import parsed, preprocessed
from schedsearch.frontends.c.prototype import needed, own_meanings
from schedsearch.frontends.c.reading import definitions
from schedsearch.frontends.c.trees import names_in

_HEADER = re.compile(rf'^# \d+ "{re.escape(str(INCLUDE))}/(?!schedsearch)([^"]+)"', re.MULTILINE)


def as_written(
    path: Path | str,
    function: str | None,
    name: str,
    defines: Sequence[str] = (),
    include: Sequence[Path | str] = (),
) -> str:
    """C of a function under another name, macros expanded, with what it needs of its file. All
    functions and variables are static."""
    path, folders = Path(path), tuple(map(Path, include))
    file, found = definitions(path, function, defines, include)
    own = found.decl.name
    tree = parsed(path, defines, folders)
    functions = {each.decl.name: each for each in tree.ext if isinstance(each, c_ast.FuncDef)}
    wanted = needed(functions[own], file.declarations | functions)
    names = {each.decl.name for each in wanted if isinstance(each, c_ast.FuncDef)} | {own}
    places = {(type(each), str(each.coord)) for each in wanted}
    used = frozenset().union(*map(names_in, (functions[own], *wanted))) - functions.keys()
    generator = c_generator.CGenerator()
    text: list[str] = []
    kept: list[c_ast.Node] = []
    for node in map(deepcopy, tree.ext):
        declares = isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl)
        decl = node.decl if isinstance(node, c_ast.FuncDef) else node
        name_there = getattr(decl, "name", None)
        foreign = declares and name_there in used and not from_header(node)
        if (type(node), str(node.coord)) not in places and not ({name_there} & names or foreign):
            continue
        if declares and name_there == own:
            continue
        if isinstance(node, c_ast.FuncDef) or getattr(decl, "init", None) is not None or declares:
            decl.storage = decl.storage if foreign else ["static"]
        if decl.name == own:
            _rename(decl.type, name)
            decl.name = name
        kept += [] if foreign else [node]
        text.append(generator.visit(node) + ("" if isinstance(node, c_ast.FuncDef) else ";"))
    headers = dict.fromkeys(_HEADER.findall(preprocessed(path, defines, folders)))
    before, after = own_meanings(kept)
    return "\n".join([*(f"#include <{each}>" for each in headers), *before, *text, *after, ""])


def _rename(kind: c_ast.Node, name: str) -> None:
    while not isinstance(kind, c_ast.TypeDecl):
        kind = kind.type
    kind.declname = name

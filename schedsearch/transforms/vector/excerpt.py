"""The part of an instruction file that a schedule needs, for files that stand alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schedsearch.transforms.vector.registers import register_kind

REGISTERS = "schedsearch.transforms.registers"
"""The module that files of instructions import their memories from."""


@dataclass(frozen=True)
class Excerpt:
    """Import lines, definitions in the file's order, and the registers they need."""

    imports: tuple[str, ...]
    definitions: tuple[str, ...]
    registers: frozenset[tuple[str, int]]


def excerpt(text: str, names: Iterable[str]) -> Excerpt:
    """What defines `names` in `text`, and whatever that refers to.

    A file that does more at top level than import, define and assign is taken whole.
    """
    body = ast.parse(text).body
    simple = all(isinstance(s, _SIMPLE) or _is_docstring(s) for s in body)
    wanted = _closure(body, set(names)) if simple else {n for s in body for n in _used(s)}
    imports, definitions, registers = [], [], set()
    for stmt in body:
        if isinstance(stmt, ast.ImportFrom) and stmt.module == REGISTERS:
            kinds = {register_kind(alias.name) for alias in stmt.names if alias.name in wanted}
            registers |= {kind for kind in kinds if kind is not None}
        elif isinstance(stmt, ast.Import | ast.ImportFrom):
            if wanted & set(_bound(stmt)) and getattr(stmt, "module", None) != "__future__":
                imports.append(ast.unparse(stmt))
        elif not _is_docstring(stmt) and (not simple or wanted & set(_bound(stmt))):
            definitions.append(_source(text, stmt))
    return Excerpt(tuple(imports), tuple(definitions), frozenset(registers))


_SIMPLE = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


def _is_docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def _bound(stmt: ast.stmt) -> Iterator[str]:
    """Names a top-level statement defines."""
    match stmt:
        case ast.FunctionDef() | ast.ClassDef():
            yield stmt.name
        case ast.Import() | ast.ImportFrom():
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in stmt.names)
        case _:
            for node in ast.walk(stmt):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def _used(stmt: ast.stmt) -> Iterator[str]:
    return (node.id for node in ast.walk(stmt) if isinstance(node, ast.Name))


def _closure(body: list[ast.stmt], names: set[str]) -> set[str]:
    """`names` and every name that their definitions mention."""
    mentions = {name: set(_used(stmt)) for stmt in body for name in _bound(stmt)}
    wanted, todo = set[str](), names
    while todo:
        wanted |= todo
        todo = {n for name in todo for n in mentions.get(name, ())} - wanted
    return wanted


def _source(text: str, stmt: ast.stmt) -> str:
    """The statement's lines, decorators included."""
    first = min([stmt.lineno, *(d.lineno for d in getattr(stmt, "decorator_list", ()))])
    return "\n".join(text.splitlines()[first - 1 : stmt.end_lineno])

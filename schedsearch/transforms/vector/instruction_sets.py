"""Instruction sets: texts of Exo `@instr` procedures, generated here or a user's own file.

A set has a name (its file's) and is identified by a digest of its text. Rewrites refer to
instructions by both, so that a trace says which text it needs. Text is executed only if
this package generates it, or if its file was given to `load_instructions`. Sets in a store or
a trace are compared, never run.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from exo.API import Procedure

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError, UserError
from schedsearch.core.isa import isa
from schedsearch.core.keys import digest
from schedsearch.core.records import InstructionSet, Target
from schedsearch.core.text_file import read_text
from schedsearch.transforms.exo.loader import SOURCE_PREFIX, import_file
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.vector.extension import execute
from schedsearch.transforms.vector.registers import register_kind
from schedsearch.transforms.vector.table import SETS, set_text

Operand = tuple[str, str]
"""Element type and memory of an array."""

_ARRAY = r"^\[(\w+)\]\[.*\] @ (\w+)$"


@dataclass(frozen=True)
class Instructions:
    """The text of a set; it is executed when its procedures are first asked for."""

    record: InstructionSet
    text: str

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Functions and classes at the top level of the text, which is not executed."""
        body = ast.parse(self.text).body
        return tuple(s.name for s in body if isinstance(s, ast.FunctionDef | ast.ClassDef))

    @cached_property
    def operands(self) -> dict[str, frozenset[Operand]]:
        """The kinds of arrays that each function of the text takes. The text is not executed: Exo
        needs a second or more for a set, and most kernels need none of it."""
        body = ast.parse(self.text).body
        imported = {
            alias.asname: alias.name
            for stmt in body
            if isinstance(stmt, ast.ImportFrom)
            for alias in stmt.names
            if alias.asname
        }
        found = {}
        for function in body:
            if isinstance(function, ast.FunctionDef):
                notes = (arg.annotation for arg in function.args.args)
                kinds = (re.search(_ARRAY, ast.unparse(note)) for note in notes if note)
                found[function.name] = frozenset(
                    (kind[1], imported.get(kind[2], kind[2])) for kind in kinds if kind
                )
        return found

    def taking(self, operands: frozenset[Operand]) -> dict[str, q.Proc]:
        """Instructions that take arrays of just these kinds, by name."""
        names = sorted(name for name, kinds in self.operands.items() if kinds == operands)
        return {name: self.asts[name] for name in names if name in self.asts}

    @cached_property
    def procedures(self) -> dict[str, Any]:
        """Exo procedures by name. Raises UserError if the file fails or has none."""
        path = self.record.path
        found = {
            name: value
            for name, value in self._defined().items()
            if isinstance(value, Procedure) and value.is_instr()
        }
        if not found:
            raise UserError(f"no Exo instruction in {path}: define some with `@instr(...)`")
        for name, value in found.items():
            if value.name() != name:
                raise UserError(f"{path}: instruction {value.name()} is bound to another name")
        return found

    def _defined(self) -> dict[str, Any]:
        if not self.record.path:
            return execute(self.record.name, self.text, {})
        path = Path(self.record.path)
        return dict(vars(_imported(path) or import_file(path)))

    @cached_property
    def asts(self) -> dict[str, q.Proc]:
        """Query ASTs by name, in alphabetical order."""
        return {name: mirror(self.procedures[name]) for name in sorted(self.procedures)}


_given: dict[str, Instructions] = {}
"""Sets of files the user gave in this process, by digest."""


@cache
def shipped() -> dict[str, Instructions]:
    """The sets of this package by name; they have no path."""
    texts = {name: set_text(name) for name in sorted(SETS)}
    return {n: Instructions(InstructionSet(n, digest(t), ""), t) for n, t in texts.items()}


def load_instructions(path: Path) -> InstructionSet:
    """Make the instructions of a user's file known to this process.

    Raises UserError if it cannot be read, fails, or defines no instruction.
    """
    found = _read(path)
    if found.record.digest not in _given:
        _ = found.procedures  # a file that fails should do so now, not in the search
        _given[found.record.digest] = found
    return found.record


def load_sets(records: Sequence[InstructionSet]) -> None:
    """Make sets known to this process that the user gave to another one of this run.

    Raises UserError if a file has changed since.
    """
    for record in not_shipped(records):
        if load_instructions(Path(record.path)) != record:
            raise UserError(f"{record.path} changed while it was being used; run it again")


def not_shipped(records: Sequence[InstructionSet]) -> list[InstructionSet]:
    """Those that do not come with this package: the user's own."""
    known = [each.record for each in shipped().values()]
    return [each for each in records if each not in known]


def given_file(record: InstructionSet) -> Path | None:
    """Where this set was given to this process from; None if it was not."""
    given = _given.get(record.digest)
    return Path(given.record.path) if given and given.record == record else None


def find(name: str, wanted: str) -> Instructions:
    """The set called `name` whose text has the digest `wanted`.

    Raises RewriteError if this process has none, or only one of another text.
    """
    known = {each.record.digest: each for each in shipped().values()} | _given
    if wanted in known:
        return known[wanted]
    if any(each.record.name == name for each in known.values()):
        raise RewriteError(f"instruction set {name} has changed: the trace needs {wanted}")
    raise RewriteError(f"instruction set {name} is not loaded: give its file with --instructions")


def with_instructions(target: Target, files: Sequence[Path]) -> Target:
    """The target with the sets of this package that it can run, and those of the user's files.

    Raises UserError if a file cannot be loaded, or if two sets define the same name.
    """
    have = frozenset(target.features)
    own = [name for name, needs in isa(target.isa).instructions if needs <= have]
    sets = (*(shipped()[name].record for name in own), *map(load_instructions, files))
    owners: dict[str, str] = {}
    for record in sets:
        for name in find(record.name, record.digest).names:
            if name in owners:
                raise UserError(
                    f"{record.name} and {owners[name]} both define {name}; "
                    f"rename it in {record.path}"
                )
            owners[name] = record.name
    return replace(target, instructions=sets)


def _imported(path: Path) -> Any:
    """The module of this file, if a kernel has imported it: memories are compared by
    identity, so there must not be two of each."""
    for name, module in sys.modules.copy().items():
        if getattr(module, "__file__", None) == str(path) and not name.startswith(SOURCE_PREFIX):
            return module
    return None


def _read(path: Path) -> Instructions:
    text = read_text(path)
    path = path.resolve()
    return Instructions(InstructionSet(path.stem, digest(text), str(path)), text)


REGISTERS = ("schedsearch.ext", "schedsearch.transforms.registers")
"""The modules that files of instructions import their memories from."""


@dataclass(frozen=True)
class Excerpt:
    """Import lines, definitions in the file's order, and the registers they need."""

    imports: tuple[str, ...]
    definitions: tuple[str, ...]
    registers: frozenset[tuple[str, int]]


def excerpt(text: str, names: Iterable[str]) -> Excerpt:
    """The definitions of `names` in `text`, and all that they refer to.

    A file that does more at top level than import, define and assign is taken whole.
    """
    body = ast.parse(text).body
    simple = all(isinstance(s, _SIMPLE) or _is_docstring(s) for s in body)
    wanted = _closure(body, set(names)) if simple else {n for s in body for n in _used(s)}
    imports, definitions, registers = [], [], set()
    for stmt in body:
        if isinstance(stmt, ast.ImportFrom) and stmt.module in REGISTERS:
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

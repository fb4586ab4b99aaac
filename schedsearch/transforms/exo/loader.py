"""Load procedures from a user's Python file."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exo.API import Procedure

from schedsearch.analysis.conversions import float_of_integers
from schedsearch.analysis.out_of_bounds import out_of_bounds
from schedsearch.analysis.walkers import names
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.suggest import did_you_mean
from schedsearch.core.text_file import read_text
from schedsearch.core.words import C_WORDS
from schedsearch.transforms.exo.compat import prepare
from schedsearch.transforms.exo.messages import said
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.exo.nests import NEST, Nest, nests

SOURCE_PREFIX = "schedsearch_source_"
"""Modules are called that and a digest of their path, whatever the file is called."""

EXO_TYPES = frozenset((*ELEMENT_TYPES, "index", "size", "stride"))


@dataclass(frozen=True)
class Source:
    """A loaded file: its text, the text's key, its procedures by name, and the expression for each:
    a module-level variable, or `matmul.proc` if that holds a kernel (`schedsearch.kernel`)."""

    path: Path
    text: str
    sha: str
    procs: dict[str, Any]
    variables: dict[str, str]

    def named(self, name: str) -> Any | None:
        """The procedure of that name, or the nest: `mm2_nest1` of `mm2`. None if there is none."""
        if name in self.procs:
            return self.procs[name]
        _, nest = self._nest(name)
        return nest.procedure if nest else None

    def place_of(self, name: str) -> tuple[str, int]:
        """The procedure that a nest is of, and the place of the nest in its body."""
        whole, nest = self._nest(name)
        assert nest is not None, "it was loaded by that name"
        return whole, nest.place

    def _nest(self, name: str) -> tuple[str, Nest | None]:
        whole, _, number = name.rpartition(NEST)
        found = nests(self.procs[whole]) if whole in self.procs else ()
        return whole, next((nest for nest in found if str(nest.number) == number), None)


def load_source(path: Path) -> Source:
    """Import `path` and collect the procedures it defines (instructions left out).

    Raises UserError if there is no such file, if it raises, or if it defines no
    procedure.
    """
    text = read_text(path)
    module = import_file(path)
    found = list(_procedures(module, path))
    if not found:
        raise UserError(
            f"no Exo procedure in {path}: define one at top level with `@proc` "
            "(from exo import proc)"
        )
    procs = {procedure.name(): procedure for _, procedure in found}
    variables = {procedure.name(): variable for variable, procedure in found}
    return Source(path, text, digest(text), procs, variables)


def _procedures(module: Any, path: Path) -> Iterator[tuple[str, Any]]:
    """Expressions and the procedures that they are."""
    for variable, value in vars(module).items():
        if not isinstance(value, Procedure):
            value, variable = getattr(value, "proc", None), f"{variable}.proc"
        if isinstance(value, Procedure) and not value.is_instr() and _defined_in(value, path):
            yield variable, value


def imports_exo(text: str) -> bool:
    """Whether a Python file says at top level that it is about Exo. Others are not executed
    because a store or a lock file names them."""
    try:
        return "exo" in {root for stmt in ast.parse(text).body for root in _imported(stmt)}
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False


def _imported(stmt: ast.stmt) -> Iterator[str]:
    """`from exo.libs import ...` -> `exo`"""
    if isinstance(stmt, ast.ImportFrom) and not stmt.level:
        yield str(stmt.module).partition(".")[0]
    elif isinstance(stmt, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in stmt.names)


def pick(source: Source, name: str | None) -> Any:
    """The procedure called `name`; without a name, the only one that no other calls.

    Raises UserError with the names to choose from, or if the procedure accesses something
    outside of an array, calls a function for floats with integers, or has names that C does not
    take.
    """
    procedure = _chosen(source, name)
    ast = mirror(procedure)
    if problem := out_of_bounds(ast) or float_of_integers(ast):
        raise UserError(f"{source.path}: in {procedure.name()}, {problem} (Exo did not check this)")
    if words := sorted(C_WORDS & {ast.name, *names(ast)}):
        raise UserError(
            f"{source.path}: in {procedure.name()}, {', '.join(words)}: words of C, which the "
            "generated code cannot have as names; give other names"
        )
    return procedure


def _chosen(source: Source, name: str | None) -> Any:
    known = ", ".join(sorted(source.procs))
    if name is not None:
        if (found := source.named(name)) is None:
            raise UserError(
                f"no procedure {name!r} in {source.path}; it has: {known}"
                f"{did_you_mean(name, source.procs)}"
            )
        return found
    called = {
        stmt.proc.name
        for procedure in source.procs.values()
        for stmt in q.walk(mirror(procedure).body)
        if isinstance(stmt, q.Call)
    }
    roots = [proc for proc_name, proc in source.procs.items() if proc_name not in called]
    if len(roots) != 1:
        raise UserError(
            f"{source.path} has several procedures; say which one to tune: "
            f"schedsearch run {source.path} NAME, NAME one of: {known}"
        )
    return roots[0]


def _defined_in(procedure: Any, path: Path) -> bool:
    return Path(procedure._loopir_proc.srcinfo.filename).resolve() == path.resolve()


def import_file(path: Path) -> Any:
    """The module a Python file defines; raises UserError if it fails.

    The file's own directory is importable while it loads.
    """
    prepare()
    name = f"{SOURCE_PREFIX}{digest(str(path.resolve()))}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python file (its name should end in .py)")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the user has to see anything that their file raises
        del sys.modules[name]
        reason = _reason(error, module).replace(f"{path.resolve()}:", f"{path}:")
        reason = _UNDEFINED.sub(lambda found: found[0] + _meant(path, found), reason)
        if reason.startswith(f"{path}:"):  # Exo says the line
            raise UserError(reason) from error
        where = "" if f"{path}:" in reason else _where(error, path)
        raise UserError(f"{path} failed to load: {reason}{where}") from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _reason(error: BaseException, module: Any) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, NameError) and error.name in EXO_TYPES:
        return (
            f"{error}, because Python evaluates annotations; begin the file with "
            "`from __future__ import annotations`"
        )
    if isinstance(error, NameError) and error.name:
        return f"{said(error)}{did_you_mean(error.name, vars(module))}"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    return said(error)


_UNDEFINED = re.compile(r":(?P<line>\d+):\d+: variable '(?P<name>\w+)' undefined")
"""What Exo says of a name that it does not know."""


def _meant(path: Path, unknown: re.Match[str]) -> str:
    """What the name may have been meant to be, of those that its procedure has."""
    line = int(unknown["line"])
    return "".join(
        did_you_mean(unknown["name"], _own_names(stmt))
        for stmt in ast.parse(read_text(path)).body
        if isinstance(stmt, ast.FunctionDef) and stmt.lineno <= line <= (stmt.end_lineno or 0)
    )


def _own_names(function: ast.FunctionDef) -> Iterator[str]:
    """Arguments, loops and arrays: `x: f32[8]` declares one, as `x = ...` does."""
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _where(error: BaseException, path: Path) -> str:
    """The line of the syntax error, or the last one of the user's own file in the traceback."""
    if isinstance(error, SyntaxError) and error.filename:
        own = Path(error.filename).resolve() == path.resolve()
        return f"\n  at {path if own else error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    return f"\n  at {path}:{lines[-1]}" if lines else ""

"""Names that Exo, Python and C accept, and that mean one thing each where they are seen."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection
from dataclasses import dataclass

from schedsearch.core import ast as q
from schedsearch.core.words import C_WORDS, CPP_WORDS, DECLARED, MATH_MACROS

_EXO = {
    *("proc", "instr", "config", "DRAM", "size", "index", "seq", "par", "stride", "bool", "int"),
    *("R", "f16", "f32", "f64", "i8", "ui8", "ui16", "i32", "ctxt", "annotations"),
    *("CFunction", "Extern", "Extern_Typecheck_Error", "LoopIR"),
}

# What C around kernels calls, and the macros of its headers and of gcc's own dialect.
_CALLED = {
    *("malloc", "calloc", "realloc", "free", "abort", "aligned_alloc", "memcpy", "memset"),
    *("madvise", "NULL", "EOF", "BUFSIZ", "RAND_MAX", "stdin", "stdout", "stderr"),
    *("linux", "unix"),
}

TAKEN = frozenset(
    {*_CALLED, *MATH_MACROS, *keyword.kwlist, *C_WORDS, *CPP_WORDS, *_EXO, *dir(builtins)}
)

LOOPS = "ijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Naming:
    """The names of a procedure and of its variables."""

    procedure: str
    variables: dict[q.Var, str]

    def __call__(self, var: q.Var) -> str:
        return self.variables[var]


def naming(proc: q.Proc, taken: Collection[str] = ()) -> Naming:
    """Arguments keep their names where they can, then temporaries; loops get the first letter that
    is free where they are. `taken` are names of functions."""
    words = {*TAKEN, *taken}
    name = _free(proc.name, words | DECLARED)
    words.add(name)
    found: dict[q.Var, str] = {}
    arrays = [stmt.buf for stmt in q.walk(proc.body) if isinstance(stmt, q.Alloc)]
    for var in (*(arg.var for arg in proc.args), *arrays):
        if var not in found:
            found[var] = _free(var.name or "t", words)
            words.add(found[var])
    _loops(proc.body, found, words)
    return Naming(name, found)


def _loops(body: tuple[q.Stmt, ...], found: dict[q.Var, str], words: set[str]) -> None:
    for stmt in body:
        if isinstance(stmt, q.For):
            found[stmt.iter] = name = _loop(stmt.iter.name, words)
            _loops(stmt.body, found, {*words, name})
        else:
            for block in q.blocks(stmt):
                _loops(block, found, words)


def _loop(name: str, words: set[str]) -> str:
    if name:
        return _free(name, words)
    return next((each for each in LOOPS if each not in words), None) or _free("i", words)


def _free(name: str, words: set[str]) -> str:
    base = re.sub(r"\W", "_", name, flags=re.ASCII).lstrip("_") or "t"
    if base[0].isdigit():
        base = f"t{base}"
    if base not in words:
        return base
    number = 1
    while f"{base}_{number}" in words:
        number += 1
    return f"{base}_{number}"

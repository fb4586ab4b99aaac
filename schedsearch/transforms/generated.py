"""Generated C and its build options: one text, one key."""

from __future__ import annotations

import re

from schedsearch.core import ast as q
from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.keys import digest
from schedsearch.core.records import GeneratedC

_POINTER = re.compile(r"(\w)\* (\w+)")


def with_build(proc: str, header: str, source: str, build: Build) -> GeneratedC:
    """C as Exo prints it (`header`, `source`), prepared for `build`."""
    if build.restrict:
        header, source = _restrict(header, proc), _restrict(source, proc)
    text = f"{header}\n{source}"
    key = digest(text if build == DEFAULT_BUILD else f"{text}\n{build}")
    return GeneratedC(proc, header, source, key, build)


def may_restrict(proc: q.Proc) -> bool:
    """Whether `restrict` can say anything: two arguments that are pointers in C.

    Exo refuses calls that pass one buffer as two arguments, and its analyses take
    arguments to be distinct; windows are structs in C, to whose members compilers
    do not apply `restrict`.
    """
    pointers = [a for a in proc.args if a.type not in q.CONTROL_TYPES and not a.window]
    return len(pointers) > 1


def _restrict(text: str, proc: str) -> str:
    """Qualify the pointers in declaration and definition of the procedure that is exported.

    Its callees are left alone: what they are passed may be windows of one buffer.
    `__restrict__` is C and C++, gcc and clang.
    """
    signature = re.compile(rf"^void {re.escape(proc)}\( .* \)", re.MULTILINE)
    return signature.sub(lambda m: _POINTER.sub(r"\1 *__restrict__ \2", m.group()), text)

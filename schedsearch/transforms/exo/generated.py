"""Generated C and its build options: one text, one key."""

from __future__ import annotations

import re

from schedsearch.core import ast as q
from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.keys import digest
from schedsearch.core.records import GeneratedC

_POINTER = re.compile(r"(\w)\* (\w+)")

# The beginning of a function at file scope, up to its parameters, at the start of a line.
_FUNCTION = re.compile(
    r"^(?P<before>[A-Za-z_][\w \t*]*[ \t*])(?P<name>[A-Za-z_]\w*)\s*\([^;{}()]*\)\s*(?P<end>[{;])",
    re.MULTILINE,
)
_STATEMENTS = {"if", "for", "while", "switch", "return", "else"}


def with_build(proc: str, header: str, source: str, build: Build) -> GeneratedC:
    """C as Exo prints it (`header`, `source`), prepared for `build`."""
    source = _internal(source, proc)
    if build.restrict:
        header, source = _restrict(header, proc), _restrict(source, proc)
    return GeneratedC(proc, header, source, code_key(header, source, build), build)


def code_key(header: str, source: str, build: Build) -> str:
    """Identity of C and how it is built."""
    text = f"{header}\n{source}"
    return digest(text if build == DEFAULT_BUILD else f"{text}\n{build}")


def _internal(source: str, proc: str) -> str:
    """Give functions other than the one exported internal linkage: `float _relu_float(float x) {`
    -> `static inline float _relu_float(float x) {`.

    Exo's external functions are global. A compiler of position-independent code may not inline
    those, since another library could replace them, and two kernels with the same function
    would not link into one program.
    """
    found = [match for match in _FUNCTION.finditer(source) if _is_function(match)]
    own = {match["name"] for match in found if match["end"] == "{"} - {proc}

    def qualified(match: re.Match[str]) -> str:
        words = match["before"].split()
        if not _is_function(match) or match["name"] not in own or "static" in words:
            return match.group()
        before = re.sub(r"\b(extern|inline)\s+", "", match["before"])
        return f"static inline {before}{match.group()[len(match['before']) :]}"

    return _FUNCTION.sub(qualified, source)


def _is_function(match: re.Match[str]) -> bool:
    return not _STATEMENTS & {match["name"], *match["before"].split()}


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

    Its callees are left alone: their arguments may be windows of one buffer.
    `__restrict__` is C and C++, gcc and clang.
    """
    signature = re.compile(rf"^void {re.escape(proc)}\( .* \)", re.MULTILINE)
    return signature.sub(lambda m: _POINTER.sub(r"\1 *__restrict__ \2", m.group()), text)

"""C peers: the unscheduled procedure's own C, as an expert hands it to a compiler.

That is with `restrict` on every pointer (Exo's arguments do not alias, its C does not say
so), `-O3 -march=native -ffast-math`, and Polly where clang has it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import Failure, GeneratedC
from schedsearch.evaluate.builder import Builder
from schedsearch.evaluate.compiler import default_flags, find_compiler

_COMPILE_S = 120.0
_VERSIONED = tuple(f"clang-{major}" for major in range(30, 13, -1))
_POLLY = ("-mllvm", "-polly")
_PROBE = GeneratedC("probe", "", "int probe(void) { return 0; }", digest("probe"))


@dataclass(frozen=True)
class CompilerPeer:
    """A compiler with flags, by the name it has in the table."""

    name: str
    builder: Builder


def compiler_peers(cache: Path) -> Iterator[CompilerPeer | tuple[str, str]]:
    """What is installed; for what is not, its name and why."""
    flags = default_flags()
    for kind, names in (("gcc", ("gcc",)), ("clang", ("clang", *_VERSIONED))):
        title = f"{kind} -O3"
        found = next((name for name in names if shutil.which(name)), None)
        if found is None:
            yield title, "not installed"
            continue
        try:
            builder = Builder(find_compiler(found), flags, cache)
        except UserError as error:
            yield title, str(error)
            continue
        yield CompilerPeer(title, builder)
        if kind == "clang":
            yield from _polly(builder, flags)


def _polly(builder: Builder, flags: Sequence[str]) -> Iterator[CompilerPeer | tuple[str, str]]:
    title = "clang -O3 +Polly"
    with_polly = replace(builder, flags=(*flags, *_POLLY))
    if isinstance(with_polly.build(_PROBE, _COMPILE_S), Failure):
        yield title, "this clang has no Polly"
    else:
        yield CompilerPeer(title, with_polly)


def with_restrict(code: GeneratedC) -> GeneratedC:
    """The same C with `restrict` on the pointer parameters of the procedure's definition."""
    head = re.compile(rf"^void {code.proc}\((.*?)\) \{{", re.M | re.S)
    match = head.search(code.source)
    assert match is not None, f"no definition of {code.proc}"
    typed = re.sub(r"\*\s*(?!ctxt\b)(?=\w)", "* restrict ", match.group(1))
    start, end = match.span(1)
    source = code.source[:start] + typed + code.source[end:]
    return replace(code, source=source, key=digest(f"{code.header}\n{source}"))

"""Parameters of C functions that Exo made, as text."""

from __future__ import annotations

import re
from dataclasses import replace

from schedsearch.core.records import GeneratedC


def declared(code: GeneratedC) -> list[str]:
    """`void *ctxt`, `int_fast32_t n`, `float* y`"""
    return _declaration(code)[1].split(", ")


def with_own_names(code: GeneratedC) -> GeneratedC:
    """With `_` after the names of arguments in the declaration: nothing of ours, and nothing of C
    or C++, is called so."""
    found = _declaration(code)
    context, *given = declared(code)
    text = ", ".join([context, *(f"{each}_" for each in given)])
    header = f"{code.header[: found.start(1)]}{text}{code.header[found.end(1) :]}"
    return replace(code, header=header)


def _declaration(code: GeneratedC) -> re.Match[str]:
    found = re.search(rf"^void {re.escape(code.proc)}\( (.*) \);", code.header, re.MULTILINE)
    assert found is not None, "the header declares it"
    return found

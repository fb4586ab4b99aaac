"""The loop nest of a procedure in a few lines, for a first look.

Statements in a row that differ in numbers alone (after unrolling) become one line with their count,
so the outline of a schedule of a thousand statements fits on a screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff
from itertools import groupby

from schedsearch.core import ast as q
from schedsearch.core.text import header

_NUMBERS = re.compile(r"\d+")
_PAD = "  "
_CONTEXT = 2


def outline(proc: q.Proc) -> tuple[str, ...]:
    """Lines of loops, branches, buffers and statements; instructions by name alone.

    for i in seq(0, 8):
      C[i] = 0.0
      fma(...)  # 16 alike
    """
    return tuple(_block(proc.body, 0))


def changes(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """Lines that went (`- `), came (`+ `), and stand around (`  `); `...` where some are left
    out. Empty if the outlines are equal."""
    lines = list(unified_diff(before, after, lineterm="", n=_CONTEXT))[2:]  # without file names
    shown = ("..." if line.startswith("@@") else f"{line[0]} {line[1:]}" for line in lines)
    return tuple(line for number, line in enumerate(shown) if number or line != "...")


def _block(body: tuple[q.Stmt, ...], depth: int) -> Iterator[str]:
    texts = (tuple(_stmt(stmt, depth)) for stmt in body)
    for _, alike in groupby(texts, key=_without_numbers):
        first, *others = alike
        count = f"  # {len(others) + 1} alike" if others else ""
        yield first[0] + count
        yield from first[1:]


def _stmt(stmt: q.Stmt, depth: int) -> Iterator[str]:
    pad = _PAD * depth
    own, *others = q.blocks(stmt) or ((),)
    text = f"{stmt.proc.name}(...)" if isinstance(stmt, q.Call) else header(stmt)
    yield f"{pad}{text}{':' if own else ''}"
    yield from _block(own, depth + 1)
    for block in others:
        yield f"{pad}else:"
        yield from _block(block, depth + 1)


def _without_numbers(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_NUMBERS.sub("#", line) for line in lines)

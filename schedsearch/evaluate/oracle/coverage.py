"""Kernels that count: which blocks of their C calls run.

A block is the body of a loop or a branch, as Exo prints them: the line that opens it ends with a
brace. Each sets a flag when it begins. The harness reports those that are not set at the end.
"""

from __future__ import annotations

import re
from dataclasses import replace

from schedsearch.core.keys import digest
from schedsearch.core.records import GeneratedC

_OPENS = re.compile(r"^ *(?:for \(.*\)|if \(.*\)|} else) \{$")


def blocks(source: str) -> tuple[str, ...]:
    """The lines that open the blocks of a kernel, in the order of their numbers."""
    return tuple(line.strip(" {") for line in source.splitlines() if _OPENS.match(line))


def counting(code: GeneratedC) -> GeneratedC:
    """`code` with a flag per block: `for (..) {  ->  for (..) { schedsearch_reached[7] = 1;`."""
    lines, number = [], 0
    for line in code.source.splitlines():
        if _OPENS.match(line):
            line = f"{line} schedsearch_reached[{number}] = 1;"
            number += 1
        lines.append(line)
    head = f"unsigned char schedsearch_reached[{number + 1}];"
    head += f"\nconst unsigned schedsearch_blocks = {number};"
    source = "\n".join([head, *lines, ""])
    return replace(code, source=source, key=digest(f"{code.key} counting"))

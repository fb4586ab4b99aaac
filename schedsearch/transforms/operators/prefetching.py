"""Software prefetch for Exo: instructions that do nothing but ask for a cache line.

Their Exo body is `pass`, so Exo may insert them anywhere (`insert_noop_call`); their
C is a builtin of gcc and clang that no address can make fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from schedsearch.transforms.vector.extension import define


@dataclass(frozen=True)
class Prefetch:
    """The prefetch of an array element of type `kind`."""

    kind: str

    @property
    def name(self) -> str:
        return f"prefetch_{self.kind}"


def prefetch_source(kind: str) -> str:
    """Python text that defines one prefetch; needs `extension.IMPORTS` before it."""
    return f"""
@instr("__builtin_prefetch(&{{x_data}});")
def prefetch_{kind}(x: [{kind}][1] @ DRAM):
    pass
"""


@cache
def prefetch_instruction(prefetch: Prefetch) -> Any:
    """The Exo procedure; the same object for equal prefetches."""
    return define(prefetch.name, prefetch_source(prefetch.kind), {})[prefetch.name]

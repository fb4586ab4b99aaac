"""Kernels written in C."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from schedsearch.frontends import graph
from schedsearch.frontends.c.original import as_written
from schedsearch.frontends.c.prototype import (
    Prototype,
    exported,
    otherwise,
    prototype,
    replacement,
    wrapper,
)
from schedsearch.frontends.c.reading import definitions
from schedsearch.frontends.c.translate import program
from schedsearch.frontends.lower import lower
from schedsearch.frontends.lowered import Lowered

__all__ = [
    "Prototype",
    "as_written",
    "c_kernel",
    "exported",
    "otherwise",
    "prototype",
    "read",
    "replacement",
    "wrapper",
]


def c_kernel(
    path: Path | str,
    function: str | None = None,
    defines: Sequence[str] = (),
    include: Sequence[Path | str] = (),
) -> graph.Program:
    """The program of a function of a C file; without a name, of the only one that the file
    defines, `main` aside. `defines` and `include` are the compiler's -D and -I."""
    file, found = definitions(path, function, defines, include)
    return program(file, found)


def read(
    path: Path | str,
    function: str | None = None,
    defines: Sequence[str] = (),
    include: Sequence[Path | str] = (),
) -> Lowered:
    """The same as the text of an Exo module."""
    return lower(c_kernel(path, function, defines, include))

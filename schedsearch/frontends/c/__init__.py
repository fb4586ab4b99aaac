"""Kernels written in C."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from schedsearch.frontends import graph
from schedsearch.frontends.c.prototype import Prototype, prototype, wrapper
from schedsearch.frontends.c.reading import read
from schedsearch.frontends.c.translate import program

__all__ = ["Prototype", "c_kernel", "prototype", "wrapper"]


def c_kernel(
    path: Path | str,
    function: str | None = None,
    defines: Sequence[str] = (),
    include: Sequence[Path | str] = (),
) -> graph.Program:
    """The program of a function of a C file; without a name, of the only one that the file
    defines, `main` aside. `defines` and `include` are the compiler's -D and -I."""
    file, found = read(path, function, defines, include)
    return program(file, found)

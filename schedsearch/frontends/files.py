"""Files that are not Python: which front end reads which, by suffix."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from schedsearch.frontends.lowered import Lowered

Reader = Callable[[Path, str | None], Lowered]

_READERS = {
    ".c": ("schedsearch.frontends.c", "read"),
    ".eq": ("schedsearch.frontends.equations", "read"),
}
"""Modules, loaded when needed, and their `Reader`: what lowers a file, or a function of it.
Without a name it is the file's only one."""


def lowered_from(path: Path, function: str | None = None) -> Lowered | None:
    """The kernel of a file that has a front end; None for others, which are Python. Raises
    UserError for what is refused."""
    if path.suffix not in _READERS:
        return None
    module, name = _READERS[path.suffix]
    read: Reader = getattr(import_module(module), name)
    return read(path, function)

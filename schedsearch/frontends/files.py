"""Files that are not Python: which front end reads which, by suffix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.frontends.lowered import Lowered

SUFFIXES = (".c", ".eq")


def require_modules(paths: Sequence[Path]) -> None:
    """Raises UserError for files of front ends, where modules of Exo are wanted."""
    for path in paths:
        if path.suffix in SUFFIXES:
            raise UserError(
                f"{path}: lock files have modules of Exo; write one with `schedsearch lower {path} "
                f"--out {path.stem}.py`, and run, pin and check that"
            )


def replacement_for(
    path: Path,
    lowered: Lowered,
    function: str | None = None,
    defines: Sequence[str] = (),
    include: Sequence[Path] = (),
) -> Callable[[str], str] | None:
    """What makes a file in the language of the user's that takes the place of a function there,
    and runs the kernel in the C file that is given. None for languages that have no such thing."""
    if path.suffix != ".c":
        return None
    from schedsearch.frontends import c

    own = c.prototype(path, function, defines, include)
    written = c.as_written(path, function, c.otherwise(own), defines, include)
    return lambda source: c.replacement(lowered, own, source, written)


def lowered_from(
    path: Path,
    function: str | None = None,
    defines: Sequence[str] = (),
    include: Sequence[Path] = (),
) -> Lowered | None:
    """The kernel of a file that has a front end; None for others, which are Python. `function` is
    which of a file; without it, the only one. `defines` (`N=100`) and `include` are the C
    compiler's -D and -I. Raises UserError for what is refused."""
    if (defines or include) and path.suffix != ".c":
        raise UserError(f"{path}: macros and headers are for C")
    match path.suffix:
        case ".c":
            from schedsearch.frontends import c  # each front end has its own parser to load

            return c.read(path, function, defines, include)
        case ".eq":
            from schedsearch.frontends import equations

            return equations.read(path, function)
        case _:
            return None

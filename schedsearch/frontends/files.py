"""Files that are not Python: which front end reads which, by suffix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from schedsearch.core.errors import UserError
from schedsearch.frontends.lowered import Lowered

if TYPE_CHECKING:
    from schedsearch.frontends import c

SUFFIXES = (".c", ".eq")


def require_modules(paths: Sequence[Path]) -> None:
    """Raises UserError for files of front ends, where modules of Exo are wanted."""
    for path in paths:
        if path.suffix in SUFFIXES:
            raise UserError(
                f"{path}: lock files have modules of Exo; write one with `schedsearch lower {path} "
                f"--out {path.stem}.py`, and run, pin and check that"
            )


@dataclass(frozen=True)
class AsWritten:
    """The user's own function in C: its prototype, and its text under the name that it has beside a
    kernel."""

    own: c.Prototype
    text: str

    def replacement(self, lowered: Lowered, source: str) -> str:
        """A file that takes the place of the user's, and runs the kernel in the C file `source`."""
        from schedsearch.frontends import c

        return c.replacement(lowered, self.own, source, self.text)

    def exported(self, lowered: Lowered, name: str, fixed: Mapping[str, int]) -> str:
        """C of it, called `name` and with the arguments of Exo's C of the kernel, without sizes
        that are `fixed`."""
        from schedsearch.frontends import c

        return c.exported(lowered, self.own, self.text, name, fixed)


def as_written(
    path: Path,
    function: str | None = None,
    defines: Sequence[str] = (),
    include: Sequence[Path] = (),
) -> AsWritten | None:
    """A function as its file has it; None for languages other than C."""
    if path.suffix != ".c":
        return None
    from schedsearch.frontends import c

    own = c.prototype(path, function, defines, include)
    return AsWritten(own, c.as_written(path, function, c.otherwise(own), defines, include))


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

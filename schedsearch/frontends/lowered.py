"""What front ends make: the text of an Exo module, and how it belongs to the user's own text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from schedsearch.core.errors import UserError


@dataclass(frozen=True)
class Lowered:
    """A kernel as an ordinary Exo module, which `run`, `tune`, `kernel` and `check` take.

    `text` defines all that it needs beside exo-lang. `parameters` are the names of the procedure's
    arguments, in order; `outputs` those that it writes; `asserts` what it requires of sizes, as
    text. `lines` maps lines of `text` to those of the user's `file`. `sizes` are those of the
    examples that it was made for: it is tuned at them, unless others are named. `order` are the
    user's own parameters, by their places among these, if the user has another order.
    """

    name: str
    text: str
    parameters: tuple[str, ...]
    outputs: tuple[str, ...]
    asserts: tuple[str, ...] = ()
    lines: Mapping[int, int] = field(default_factory=dict)
    file: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    order: tuple[int, ...] = ()

    def in_users_terms(self, message: str, written: str) -> str:
        """An error about the text, in the file `written`, as one about the user's file."""

        def place(found: re.Match[str]) -> str:
            line = self.lines.get(int(found[1]), 0)
            return f"{self._where}:{line}" if line else self._where

        message = message.replace(f"{written} failed to load: ", "")
        found = re.sub(rf"{re.escape(written)}:(\d+)(?::\d+)?", place, message)
        found = found.replace(written, self._where)
        return found if found.startswith(self._where) else f"{self._where}: {found}"

    @property
    def _where(self) -> str:
        return self.file or self.name


class Refusal(UserError):
    """A construct that cannot be had exactly, raised where the user's line is not known. Those who
    know it say `raise refusal.at(file, line) from None`."""

    def __init__(self, construct: str, reason: str, instead: str) -> None:
        super().__init__(f"{construct}: {reason}; {instead}")
        self.parts = construct, reason, instead

    def at(self, file: str, line: int) -> UserError:
        return refused(file, line, *self.parts)


def refused(file: str, line: int, construct: str, reason: str, instead: str) -> UserError:
    """An error about the user's text: where, what, why not, and what to write instead."""
    where = f"{file}:{line}" if line else file
    return UserError(f"{where}: {construct}: {reason}; {instead}")

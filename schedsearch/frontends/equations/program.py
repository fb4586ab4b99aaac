"""Equations from text and from files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.suggest import unknown
from schedsearch.core.text_file import read_text
from schedsearch.frontends.equations.build import Equations, understood
from schedsearch.frontends.equations.parse import parse
from schedsearch.frontends.equations.syntax import Text
from schedsearch.frontends.lower import lower
from schedsearch.frontends.lowered import Lowered
from schedsearch.frontends.types import TYPES


def equations(
    text: str,
    *,
    types: Mapping[str, str] | None = None,
    default: str = "f32",
    name: str = "equations",
    file: str = "equations",
    folder: Path | None = None,
) -> Equations:
    """The program that a text is. `types` are types of arrays that the text does not declare,
    others are `default`. Raises UserError for what is refused."""
    given = dict(types or {})
    for kind in (*given.values(), default):
        if kind not in TYPES:
            raise UserError(unknown("type", kind, TYPES))
    source = Text(text, file)
    return understood(
        parse(source), source, name=name, default=default, given=given, folder=folder or Path()
    )


def read(path: Path, function: str | None = None) -> Lowered:
    """The kernel of a file of equations, which is called as the file is."""
    name = re.sub(r"\W", "_", path.stem, flags=re.ASCII) or "equations"
    if function not in (None, name):
        raise UserError(f"{path} has the program {name} only, not {function}")
    program = equations(read_text(path), name=name, file=str(path), folder=path.parent)
    return lower(program.graph)

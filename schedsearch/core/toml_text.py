"""TOML as people compare and merge it: one item of a long list per line, texts of several lines
as they are, keys as given; and reading it from anywhere.

The standard library reads TOML and does not write it; tomli-w decides on line breaks
itself, while merging two versions of a schedule needs one rewrite per line.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

WIDTH = 96
"""A list is on one line if it fits and has no tables."""

MOST_DOTTED = 10**8
"""The sum of squares of the dots in each line. `tomllib` takes time like that for dotted keys
(`a.a.a = 1`): 9 s for one of 32 KB. A thousand long schedules come to a tenth of it."""


_LITERAL = re.compile(r"(?s)(?!.*''')(?=.*\n)[^\x00-\x08\x0b-\x1f\x7f]*(?<!')")
"""Texts of several lines that need no escapes; what is not printed needs them."""


def toml_data(text: str) -> dict[str, Any]:
    """The data of a file from anywhere. Raises ValueError, saying what is wrong with it."""
    if sum(line.count(".") ** 2 for line in text.split("\n")) > MOST_DOTTED:
        raise ValueError("it has keys of thousands of parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("its lists or tables are nested too deeply") from error


def toml_lines(table: Mapping[str, Any], name: str = "") -> list[str]:
    """Lines of a table whose values are scalars, lists and small tables (written inline).
    `name` is its dotted name, empty for the top of a file."""
    head = [f"[{name}]"] if name else []
    return head + [f"{_key(key)} = {_value(value)}" for key, value in table.items()]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _value(value: Any) -> str:
    match value:
        case str() if _LITERAL.fullmatch(value):
            return f"'''\n{value}'''"
        case list() | tuple():
            line = _inline(value)
            if len(line) <= WIDTH and not any(isinstance(item, Mapping) for item in value):
                return line
            return "".join(["[\n", *(f"  {_inline(item)},\n" for item in value), "]"])
        case _:
            return _inline(value)


def _inline(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case date():
            return value.isoformat()
        case Mapping():
            items = ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items())
            return f"{{ {items} }}" if items else "{}"
        case Sequence():
            return f"[{', '.join(map(_inline, value))}]"
        case _:
            raise TypeError(f"no TOML for {type(value).__name__}")


def _text(value: str) -> str:
    """A basic string: JSON's escapes are TOML's, but for DEL, which JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

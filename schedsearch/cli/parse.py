"""Values of command-line options; those that Python gives too are in `core/given.py`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from schedsearch.core.errors import UserError
from schedsearch.core.given import given_integer, given_number
from schedsearch.core.given import parse_id as parse_id
from schedsearch.core.given import parse_names as parse_names
from schedsearch.core.given import parse_seconds as parse_seconds

_T = TypeVar("_T")


def integer(option: str) -> Callable[[str | int], int]:
    """Reads the integer that an option is given, and refuses what is none in the words of
    `given_integer`, which Python's users see."""
    return _number(option, int, given_integer)


def number(option: str) -> Callable[[str | float], float]:
    """As `integer`."""
    return _number(option, float, given_number)


def _number(
    option: str, kind: Callable[[Any], _T], check: Callable[[str, Any], _T]
) -> Callable[[Any], _T]:
    def read(text: Any) -> _T:
        try:
            found = kind(text)
        except ValueError:
            found = text
        return check(option, found)

    return read


def parse_days(option: str, text: str) -> float:
    """`30d`, `30` (days), `12h` -> seconds. Raises UserError on anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(d|h)?", text.strip())
    if match is None:
        raise UserError(f"{option} {text!r} is not an age; write for example 30d or 12h")
    return float(match[1]) * (3600.0 if match[2] == "h" else 86400.0)


def parse_bytes(option: str, text: str) -> float:
    """`500M`, `2G` -> bytes, of 1000 each. Raises UserError on anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kMGT])?B?", text.strip())
    if match is None:
        raise UserError(f"{option} {text!r} is not a size; write for example 500M or 2G")
    return float(match[1]) * 1000.0 ** " kMGT".index(match[2] or " ")


def parse_sizes(texts: list[str]) -> dict[str, int]:
    """`["M=512", "N=64"]` -> `{"M": 512, "N": 64}`. Raises UserError on anything else."""
    sizes: dict[str, str] = {}
    for text in texts:
        name, _, value = map(str.strip, text.partition("="))
        if not name or not value:
            raise UserError(f"--size {text!r} is not NAME=VALUE; write for example --size M=512")
        if name in sizes:
            raise UserError(f"--size {name} is given twice; give it once")
        sizes[name] = value
    return {name: integer(f"--size {name}")(value) for name, value in sizes.items()}


def parse_share(option: str, text: str) -> float:
    """`5%` or `5` -> 0.05. Raises UserError on anything else, and on 100 % or more."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%?", text.strip())
    if match is None or float(match[1]) >= 100:
        raise UserError(f"{option} {text!r} is not a share; write for example 4%")
    return float(match[1]) / 100

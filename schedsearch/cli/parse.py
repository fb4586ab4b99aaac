"""Values of command-line options; those that Python gives too are in `core/given.py`."""

from __future__ import annotations

import re

from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.given import parse_names as parse_names
from schedsearch.core.given import parse_seconds as parse_seconds
from schedsearch.core.suggest import did_you_mean


def parse_id(text: str | int) -> int:
    """The id of a candidate. Raises UserError for what is none."""
    if not str(text).isdecimal():
        raise UserError(f"{text!r} is no id of a candidate; `schedsearch best` prints the ids")
    return int(text)


def parse_fp(text: str | FloatingPoint) -> FloatingPoint:
    """`strict`, `reassociate`, `fast`. Raises UserError on anything else."""
    if text not in list(FloatingPoint):
        known = list(map(str, FloatingPoint))
        raise UserError(
            f"--fp {text!r} is unknown; known: {', '.join(known)}{did_you_mean(str(text), known)}"
        )
    return FloatingPoint(text)


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
    sizes = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not re.fullmatch(r"\s*-?\d+\s*", value):
            raise UserError(f"--size {text!r} is not NAME=VALUE; write for example --size M=512")
        if name.strip() in sizes:
            raise UserError(f"--size {name.strip()} is given twice; give it once")
        sizes[name.strip()] = int(value)
    return sizes


def parse_share(option: str, text: str) -> float:
    """`5%` or `5` -> 0.05. Raises UserError on anything else, and on 100 % or more."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%?", text.strip())
    if match is None or float(match[1]) >= 100:
        raise UserError(f"{option} {text!r} is not a share; write for example 4%")
    return float(match[1]) / 100

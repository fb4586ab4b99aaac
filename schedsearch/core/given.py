"""What users give, on the command line and in Python: read alike, and refused in the same words.

The command line gives texts alone. Python gives anything, and nothing of it may fail later, in a
worker. Names of arguments are those of the options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from operator import index
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

from schedsearch.core.errors import UserError
from schedsearch.core.fields import LARGEST, brief

_T = TypeVar("_T")

_TIME = "a time; write for example 90, 90s, 2m or 1h"
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_seconds(given: str | float) -> float:
    """`90`, `90s`, `2m`, `1.5h` -> seconds; a number is seconds. Raises UserError on anything else;
    limits of numbers are for `Budget.check`."""
    if not isinstance(given, str):
        return _real("--budget", given, _TIME)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?", given.strip())
    if match is None or float(match[1]) <= 0:
        raise no_time(brief(given))
    return float(match[1]) * _SECONDS[match[2] or ""]


def no_time(given: str) -> UserError:
    """What is said of a budget that is none."""
    return UserError(f"--budget {given} is not {_TIME}")


def parse_id(given: Any) -> int:
    """The id of a candidate. Raises UserError for what is none."""
    try:
        if not isinstance(given, bool) and str(given).isdecimal() and int(given) <= LARGEST:
            return int(given)
    except ValueError:  # Python neither reads nor prints integers of thousands of digits
        pass
    raise UserError(f"{brief(given)} is no id of a candidate; `schedsearch best` prints the ids")


def parse_names(given: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """`reorder,unroll`, or these names one by one -> `("reorder", "unroll")`; None stays None.
    Raises UserError if there is none, or for what is no text."""
    if given is None:
        return None
    found = given.split(",") if isinstance(given, str) else _each("--transforms", given)
    if wrong := [each for each in found if not isinstance(each, str)]:
        raise UserError(f"--transforms: {wrong[0]!r} is not a name; {_REGISTER}")
    names = tuple(name.strip() for name in found if name.strip())
    if not names:
        raise UserError("--transforms is empty; name some, or leave it out to use all")
    return names


_REGISTER = "give names, such as 'reorder,split'; `schedsearch.register` makes a name of your own"


def given_sizes(given: Mapping[str, int] | None) -> dict[str, int]:
    """Raises UserError for what is not integers by name."""
    if not isinstance(given, Mapping | None):
        raise UserError(f"sizes {given!r}: give numbers by name, for example {{'M': 512}}")
    found = {}
    for name, value in (given or {}).items():
        if not isinstance(name, str):
            raise UserError(f"sizes: {name!r} is not a name; write for example {{'M': 512}}")
        found[name] = given_integer(f"--size {name}", value)
    return found


def given_integer(option: str, given: Any) -> int:
    """Raises UserError for what is no integer of Python or NumPy, or one that no store keeps."""
    try:
        found = None if isinstance(given, bool) else index(given)
    except TypeError:
        found = None
    if found is None:
        raise UserError(f"{option} {brief(given)} is not an integer; write for example 4")
    if abs(found) > LARGEST:
        raise UserError(f"{option} is {brief(found)}; write for example 4")
    return found


def given_number(option: str, given: Any) -> float:
    """Raises UserError for what is no real number."""
    return _real(option, given, "a number; write for example 1.5")


def given_text(option: str, given: Any) -> str:
    """Raises UserError for what is no text."""
    if not isinstance(given, str):
        raise UserError(f"{option} is a text, not {given!r}")
    return given


def given_flag(option: str, given: Any) -> bool:
    """Raises UserError for what is not True or False: `"no"` would be true."""
    if not isinstance(given, bool):
        raise UserError(f"{option} is True or False, not {given!r}")
    return given


def given_path(option: str, given: Any) -> Path:
    """Raises UserError for what is no path."""
    return Path(given_place(option, given))


def given_place(option: str, given: Any) -> Path | str:
    """A path, or the URL of a store. Raises UserError for what is neither."""
    if isinstance(given, Path) or (isinstance(given, str) and given):
        return given
    if isinstance(given, PathLike) and isinstance(path := fspath(given), str):
        return Path(path)
    if given == "":
        raise UserError(f"{option} is empty; give a path")
    raise UserError(f"{option} is a path, not {type(given).__name__}")


def given_paths(option: str, given: Any) -> tuple[Path, ...]:
    """One path, or several. Raises UserError for anything else."""
    several = [given] if isinstance(given, str | PathLike) else _each(option, given)
    return tuple(given_path(option, each) for each in several)


def given_texts(option: str, given: Any) -> tuple[str, ...]:
    """One text, or several. Raises UserError for anything else."""
    several = [given] if isinstance(given, str) else _each(option, given)
    return tuple(given_text(option, each) for each in several)


def optional(read: Callable[[str, Any], _T], option: str, given: Any) -> _T | None:
    """None stays None."""
    return None if given is None else read(option, given)


def _real(option: str, given: Any, what: str) -> float:
    if isinstance(given, bool) or not isinstance(given, Real):
        raise UserError(f"{option} {brief(given)} is not {what}")
    try:
        return float(given)
    except OverflowError:
        raise UserError(f"{option} is {brief(given)}, not {what}") from None


def _each(option: str, given: Any) -> list[Any]:
    try:
        return list(given)
    except TypeError:
        raise UserError(f"{option} {given!r}: give a text, or a list of them") from None

"""`[tool.schedsearch]` of pyproject.toml: defaults for options of commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedsearch.core.errors import UserError
from schedsearch.core.fields import toml_data
from schedsearch.core.suggest import unknown

FILE = "pyproject.toml"

_OF_STORES = (
    *("run", "tune", "watch", "ui", "list", "best", "show", "explain", "compare", "report"),
    *("replay", "export", "pin", "check", "merge"),
)
_SEARCHES = ("run", "tune")
_TARGETED = ("run", "check", "doctor")

COMMANDS_OF: Mapping[str, tuple[str, ...]] = {
    "store": _OF_STORES,
    "budget": _SEARCHES,
    "fp": (*_SEARCHES, "doctor"),
    "threads": _SEARCHES,
    "workers": _SEARCHES,
    "executor": _SEARCHES,
    "target": _TARGETED,
    "cc": (*_TARGETED, "build"),
    "align": ("run",),
    "cache": ("run",),
    "strategy": ("run",),
    "transforms": ("run",),
    "seed": ("run",),
    "out": ("run", "export"),
    "lock": ("pin", "build"),
    "tolerance": ("check",),
}
"""The commands whose option of that name a key is the default of. Options that mean something
else elsewhere are not in it: `export --target` compiles for a machine that is not this one."""

_PATHS = ("store", "out", "lock")
_NAMES = ("target", "cc")
"""Names, or paths if there is such a file beside pyproject.toml."""


def defaults(command: str, start: Path) -> dict[str, Any]:
    """The defaults of the options of a command, from the pyproject.toml in `start` or the nearest
    one above; paths in it are relative to it.

    Raises UserError for a key that is unknown, and for a value that no option takes.
    """
    file = _nearest(start)
    return _read(file, command) if file else {}


def said_where(error: UserError, start: Path, given: Sequence[str]) -> UserError:
    """The error with its file, if it is about a default of `defaults` and no option is `given`."""
    option = str(error).partition(" ")[0]
    named = any(word.partition("=")[0] == option for word in given)
    file = _nearest(start)
    if named or option[2:] not in COMMANDS_OF or file is None:
        return error
    return UserError(f"{file}, [tool.schedsearch]: {error}")


def _nearest(start: Path) -> Path | None:
    return next((f for d in (start, *start.parents) if (f := d / FILE).is_file()), None)


def _read(file: Path, command: str) -> dict[str, Any]:
    try:
        tool = toml_data(file.read_text()).get("tool", {})
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read: {error}; correct it, or move it away") from error
    table = tool.get("schedsearch", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UserError(f"{file}: tool.schedsearch is no table; write [tool.schedsearch]")
    found = {}
    for key, value in table.items():
        if key not in COMMANDS_OF:
            raise UserError(f"{file}, [tool.schedsearch]: {unknown('key', key, COMMANDS_OF)}")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise UserError(
                f"{file}: {key} in [tool.schedsearch] is {value!r}; write what --{key} takes, as a "
                "string or a number"
            )
        if command in COMMANDS_OF[key]:
            found[key] = _placed(key, str(value), file.parent)
    return found


def _placed(key: str, value: str, folder: Path) -> str:
    if "://" in value:
        return value
    if key in _PATHS or (key in _NAMES and (folder / value).is_file()):
        return str(folder / value)
    return value

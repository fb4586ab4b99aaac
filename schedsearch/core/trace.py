"""Rewrites and traces: the schedule as plain data."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from schedsearch.core.ast import Path
from schedsearch.core.build import COMPILE_WITH, DEFAULT_BUILD, Build
from schedsearch.core.errors import UserError
from schedsearch.core.fields import LARGEST, LONGEST, brief
from schedsearch.core.keys import digest

ArgValue = int | str | bool

MOST_STEPS = 1000
"""The most steps of a trace that is read: no search gets near it."""
MOST_ARGS = 100


def format_path(path: Path) -> str:
    """`(0, 1, "e", 0)` -> `"0.1.e.0"`"""
    return ".".join(str(part) for part in path)


def parse_path(text: str) -> Path:
    """Inverse of `format_path`. Raises ValueError on anything else."""
    if not text:
        return ()
    path: list[int | str] = []
    for part in text.split("."):
        if part == "e":
            path.append(part)
        elif part.isascii() and part.isdigit() and len(part) < 10:
            path.append(int(part))
        else:
            raise ValueError(f"not a statement path: {text!r}")
    return tuple(path)


Kind = tuple[str, str, tuple[tuple[str, ArgValue], ...]]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One step: which transform, where, and with what arguments.

    `label` is the header of the statement expected at `path` (`for i in seq(0, 8)`); replay stops
    if another statement is there.
    """

    transform: str
    version: int
    path: Path
    label: str
    args: tuple[tuple[str, ArgValue], ...] = ()

    def arg(self, name: str) -> Any:
        """The value of an argument. Raises KeyError if it has none of this name."""
        for key, value in self.args:
            if key == name:
                return value
        raise KeyError(name)

    @property
    def kind(self) -> Kind:
        """What rewrites that are alike have in common, wherever in the procedure they apply."""
        return self.transform, self.label, self.args

    def to_json(self) -> dict[str, Any]:
        """As the store has it; `from_json` reads it."""
        return {
            "transform": self.transform,
            "version": self.version,
            "path": format_path(self.path),
            "label": self.label,
            "args": dict(self.args),
        }

    @staticmethod
    def from_json(data: Any) -> Rewrite:
        """Raises UserError if `data` is not a rewrite (it may come from anywhere)."""
        try:
            args = data["args"]
            if len(args) > MOST_ARGS:
                raise ValueError(f"{len(args)} arguments")
            return Rewrite(
                _text(data["transform"]),
                _integer(data["version"]),
                parse_path(_text(data["path"])),
                _text(data["label"]),
                tuple(sorted((_text(name), _argument(value)) for name, value in args.items())),
            )
        except KeyError as error:
            raise UserError(f"not a schedsearch rewrite: {error} is missing") from error
        except (TypeError, ValueError, AttributeError) as error:
            raise UserError(f"not a schedsearch rewrite: {error}") from error

    def __str__(self) -> str:
        args = ", ".join(f"{name}={value}" for name, value in self.args)
        where = f"{format_path(self.path)} `{self.label}`".lstrip()  # the procedure has no path
        return f"{self.transform}({args}) at {where}"


def _json(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def _text(value: Any) -> str:
    """It is printed, and part of exported Python: nothing of it may end a line."""
    if not isinstance(value, str) or len(value) > LONGEST or not value.isprintable():
        raise TypeError(f"expected printable text, got {brief(value)}")
    return value


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST:
        raise TypeError(f"expected an integer below 2^63, got {brief(value)}")
    return value


def _argument(value: Any) -> ArgValue:
    if isinstance(value, bool):
        return value
    return _text(value) if isinstance(value, str) else _integer(value)


@dataclass(frozen=True)
class Trace:
    """The schedule: rewrites from the unscheduled procedure, in order."""

    steps: tuple[Rewrite, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.steps)

    def then(self, rewrite: Rewrite) -> Trace:
        """This trace with one more rewrite."""
        longer = Trace((*self.steps, rewrite))
        # Children are many and their traces long: what they begin with is written once.
        head = self._text[:-1] + "," if self.steps else "["
        longer.__dict__["_text"] = f"{head}{_json(rewrite.to_json())}]"
        return longer

    @property
    def parent(self) -> Trace | None:
        """Without the last rewrite; None of the trace without rewrites."""
        return Trace(self.steps[:-1]) if self.steps else None

    @property
    def prefixes(self) -> list[Trace]:
        """The schedules on the way here, from the unscheduled procedure to itself."""
        return [Trace(self.steps[:count]) for count in range(len(self) + 1)]

    @property
    def build(self) -> Build:
        """Build options at the end of the trace: the last ones set win.

        Raises UserError if they are none that replay would accept.
        """
        for step in reversed(self.steps):
            if step.transform == COMPILE_WITH:
                return Build.from_json(dict(step.args))
        return DEFAULT_BUILD

    @cached_property
    def key(self) -> str:
        """Computed once: the books of a run ask for it several times."""
        return digest(self.dumps())

    def dumps(self) -> str:
        """As JSON text; `loads` reads it."""
        return self._text

    @cached_property
    def _text(self) -> str:
        return _json([step.to_json() for step in self.steps])

    @staticmethod
    def loads(text: str) -> Trace:
        """Raises UserError on anything but a serialised trace."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UserError(f"not a schedsearch trace: {error}") from error
        if not isinstance(data, list):
            raise UserError("not a schedsearch trace: a JSON list of rewrites is expected")
        if len(data) > MOST_STEPS:
            raise UserError(f"not a schedsearch trace: more than {MOST_STEPS} rewrites")
        return Trace(tuple(Rewrite.from_json(item) for item in data))


AS_WRITTEN = Trace()
"""The schedule of the procedure as written."""

"""Reading of data from elsewhere: every field by name, type and bounds, nothing unexpected."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from schedsearch.core.errors import UserError

Choice = TypeVar("Choice", bound=StrEnum)

LARGEST = 2**63 - 1
"""Integers beyond are no size, factor or count of anything here."""
LARGEST_NUMBER = 1e18
"""Limit of numbers that are written with rounded digits: rounding pushes none above it."""
LONGEST = 10_000
"""Characters of one text: labels of long statements have hundreds."""


MOST_DOTTED = 10**8
"""The sum of squares of the dots in each line. `tomllib` takes time like that for dotted keys
(`a.a.a = 1`): 9 s for one of 32 KB. A thousand long schedules come to a tenth of it."""


def toml_data(text: str) -> dict[str, Any]:
    """The data of a file from anywhere. Raises ValueError, saying what is wrong with it."""
    if sum(line.count(".") ** 2 for line in text.split("\n")) > MOST_DOTTED:
        raise ValueError("it has keys of thousands of parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("its lists or tables are nested too deeply") from error


class Fields:
    """The fields of one table. In messages `where` names their owner, and `path` (dotted) the
    table.

    Every method raises UserError, naming the field, if it is missing and has no `default`, or if it
    is of another type; `end` does so if a field was never asked for.
    """

    def __init__(self, data: Any, where: str, path: str = "") -> None:
        self.where = where
        if not isinstance(data, Mapping):
            raise UserError(f"{where}: a table is expected, not {brief(data)}")
        self._data = dict(data)
        self._path = path

    def text(self, name: str, default: str | None = None) -> str:
        return self._checked_text(name, self._take(name, default))

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(self._checked_text(name, item) for item in self._list(name))

    def integer(self, name: str, least: int = 0, default: int | None = None) -> int:
        return self._checked_integer(name, self._take(name, default), least)

    def integers(self, name: str, least: int = 0) -> tuple[int, ...]:
        return tuple(self._checked_integer(name, item, least) for item in self._list(name))

    def number(self, name: str, zero: bool = False) -> float:
        """A finite number above zero, or zero if that is allowed."""
        value = self._take(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(name, "a number", value)
        if not (0 < value <= LARGEST_NUMBER and math.isfinite(value)) and not (zero and value == 0):
            raise self.wrong(name, "a finite number above 0", value)
        return float(value)

    def scalar(self, name: str) -> int | str | bool:
        """Truth, an integer or a text."""
        value = self._data.get(name)
        if isinstance(value, bool):
            return bool(self._take(name))
        if isinstance(value, int):
            return self.integer(name, least=-LARGEST)
        return self.text(name)

    def value(self, name: str, kind: type, what: str) -> Any:
        """A value of just this type; `what` describes it in the message."""
        value = self._take(name)
        if type(value) is not kind:
            raise self.wrong(name, what, value)
        return value

    def choice(self, name: str, kind: type[Choice], default: Choice | None = None) -> Choice:
        """A member of `kind`, by its value."""
        value = self._take(name, default)
        found = next((each for each in kind if each.value == value), None)
        if found is None:
            raise self.wrong(name, f"one of {', '.join(kind)}", value)
        return found

    def table(self, name: str) -> Fields:
        data = self._take(name)
        if not isinstance(data, Mapping):
            raise self.wrong(name, "a table", data)
        return Fields(data, self.where, f"{self._path}{name}.")

    def tables(self, name: str, default: Sequence[Any] | None = None) -> tuple[Fields, ...]:
        return tuple(
            Fields(item, f"{self.where}: {self._path}{name}, number {number}")
            for number, item in enumerate(self._list(name, default), 1)
        )

    def has(self, name: str) -> bool:
        return name in self._data

    def names(self) -> tuple[str, ...]:
        """The fields that were not asked for yet, sorted."""
        return tuple(sorted(self._data))

    def end(self) -> None:
        if self._data:
            unknown = ", ".join(brief(f"{self._path}{name}") for name in self.names()[:5])
            raise UserError(f"{self.where}: unknown {unknown}; is it of a newer schedsearch?")

    def wrong(self, name: str, what: str, value: Any) -> UserError:
        return UserError(f"{self.where}: {self._path}{name} is not {what}: {brief(value)}")

    def _take(self, name: str, default: Any = None) -> Any:
        if name not in self._data:
            if default is not None:
                return default
            raise UserError(f"{self.where}: {self._path}{name} is missing")
        return self._data.pop(name)

    def _list(self, name: str, default: Sequence[Any] | None = None) -> list[Any]:
        value = self._take(name, default)
        if not isinstance(value, list | tuple):
            raise self.wrong(name, "a list", value)
        return list(value)

    def _checked_text(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or len(value) > LONGEST or not value.isprintable():
            raise self.wrong(name, f"a printable text of at most {LONGEST} characters", value)
        return value

    def _checked_integer(self, name: str, value: Any, least: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(name, "an integer", value)
        if not least <= value <= LARGEST:
            raise self.wrong(name, f"at least {least} and below 2^63", value)
        return value


def brief(value: Any) -> str:
    """The start of a value as Python prints it; numbers and nests of any size are not printed."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "a number of more than 63 bits"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

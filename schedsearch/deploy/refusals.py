"""What a kernel says when it refuses arguments: which one, what is wanted, what came.

The C code of the caller decides; here is only the wording, and whether two windows that interleave
have an element in common. Wheels have a copy of this file, which therefore needs NumPy alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Argument:
    """An argument of a procedure in words: what is `wanted`, of arrays their `shape` too. `bytes`
    is the size of an element, 0 for control values; `window`: it may have any strides."""

    name: str
    wanted: str
    shape: str = ""
    bytes: int = 0
    window: bool = False


class Refused(IntEnum):
    """As `enum refusal` of runtime/caller.c."""

    TOO_MANY = 0
    UNKNOWN_NAME = 1
    TWICE = 2
    MISSING = 3
    NO_CONTROL = 4
    NO_ARRAY = 5
    ELEMENT = 6
    RANK = 7
    STRIDES = 8
    ALIGNMENT = 9
    READ_ONLY = 10
    NO_SCALAR = 11
    SHAPE = 12
    CONDITION = 13
    ONTO_ITSELF = 14
    OVERLAP = 15


_TYPES = {
    *(Refused.TOO_MANY, Refused.UNKNOWN_NAME, Refused.TWICE, Refused.MISSING),
    *(Refused.NO_CONTROL, Refused.NO_ARRAY, Refused.ELEMENT),
}
"""What a TypeError is; all else is a ValueError."""

_MOST_WORK = 10_000
"""Of NumPy's search for a common element of two windows; then they count as overlapping."""


def as_buffer(given: Any) -> Any:
    """An array that shares the memory of one with DLPack on the CPU. Raises what NumPy raises, or
    PyTorch, whose own way takes a quarter of the time."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(given, torch.Tensor):
        return given.numpy()
    return np.from_dlpack(given)


@dataclass(frozen=True)
class Refusals:
    """The refusals of one procedure; `conditions` are what has to hold, by number. Its `repr` is
    Python."""

    proc: str
    args: tuple[Argument, ...]
    conditions: tuple[str, ...]

    def __call__(
        self, kind: int, position: int, detail: int, what: Any, values: Sequence[Any]
    ) -> None:
        """Raise TypeError or ValueError for a refusal of caller.c. `position` is the argument's,
        `detail` a dimension, another argument, a condition or a number; `what` came; `values` are
        all arguments, with those that were inferred. Returns if nothing is wrong after all."""
        refused = Refused(kind)
        if refused is Refused.OVERLAP and not self._share(values[position], values[detail]):
            return
        wanted, came = self._words(refused, position, detail, what, values)
        where = f", argument {self.args[position].name}" if position >= 0 else ""
        error = TypeError if refused in _TYPES else ValueError
        raise error(f"{self.proc}{where}: wanted {wanted}; got {came}")

    def _words(
        self, refused: Refused, position: int, detail: int, what: Any, values: Sequence[Any]
    ) -> tuple[str, str]:
        """What is wanted, and what came."""
        arg = self.args[position] if position >= 0 else None
        names = [each.name for each in self.args]
        match refused:
            case Refused.TOO_MANY:
                data = [each.name for each in self.args if each.bytes]
                arrays = "1 array" if len(data) == 1 else f"{len(data)} arrays"
                return f"{arrays} by position ({', '.join(data)})", str(detail)
            case Refused.UNKNOWN_NAME:
                return f"names among {', '.join(names)}", repr(what)
            case Refused.TWICE:
                return "one value", "one by position and one by name"
            case Refused.CONDITION:
                return self.conditions[detail], self._in_condition(self.conditions[detail], values)
        assert arg is not None, "the others are of an argument"
        wanted = arg.wanted
        match refused:
            case Refused.MISSING if not arg.bytes:
                return f"{wanted}, as {arg.name}=..., because no shape tells it", "nothing"
            case Refused.MISSING:
                return wanted, "nothing"
            case Refused.NO_CONTROL | Refused.NO_SCALAR:
                return wanted, f"{_type_name(what)} {what!r:.50}"
            case Refused.NO_ARRAY:
                return f"{wanted} with the buffer protocol, or DLPack on the CPU", _no_array(what)
            case Refused.SHAPE:
                return f"shape ({arg.shape}) with {self._bound(values)}", f"shape {_shape(what)}"
            case Refused.STRIDES if arg.window:
                return (
                    f"strides in whole elements of {arg.bytes} bytes",
                    f"strides {_strides(what)}",
                )
            case Refused.STRIDES:
                return (
                    "a dense array in C order (numpy.ascontiguousarray makes a copy that is)",
                    f"shape {_shape(what)} with strides {_strides(what)} bytes",
                )
            case Refused.ALIGNMENT:
                return f"elements aligned to their size, {wanted}", "memory that is not"
            case Refused.READ_ONLY:
                return "an array that can be written", "a read-only one"
            case Refused.ONTO_ITSELF:
                return "an output without an element twice", f"strides {_strides(what)} bytes"
            case Refused.OVERLAP:
                return "an output apart from all other arguments", f"memory of {names[detail]} too"
        return wanted, f"{_described(what)}"

    def _in_condition(self, condition: str, values: Sequence[Any]) -> str:
        """`n=64, x.strides=(128, 1)`: strides in elements, where the condition is about them."""
        pairs = zip(self.args, values, strict=True)
        about = [(arg, value) for arg, value in pairs if f"{arg.name}.strides" in condition]
        strides = (
            f"{arg.name}.strides={tuple(s // arg.bytes for s in _array(value).strides)}"
            for arg, value in about
        )
        return ", ".join([self._bound(values), *strides])

    def _share(self, one: Any, other: Any) -> bool:
        """Whether two arrays whose ranges overlap have an element in common."""
        try:
            return np.shares_memory(_array(one), _array(other), max_work=_MOST_WORK)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            return True

    def _bound(self, values: Sequence[Any]) -> str:
        """`M=64, K=32`"""
        pairs = zip(self.args, values, strict=True)
        known = (
            f"{arg.name}={value}" for arg, value in pairs if not arg.bytes and value is not None
        )
        return ", ".join(known) or "no sizes"


def _array(given: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Without a copy."""
    try:
        return np.asarray(memoryview(given))
    except TypeError:
        return np.from_dlpack(given)


def _shape(given: Any) -> str:
    return str(_array(given).shape)


def _strides(given: Any) -> str:
    return str(_array(given).strides)


def _type_name(given: Any) -> str:
    return type(given).__name__


def _no_array(given: Any) -> str:
    """With the reason, if it is an array that says why it does not lend its memory."""
    if not hasattr(given, "__dlpack__"):
        return _type_name(given)
    try:
        as_buffer(given)
    except Exception as error:  # of any library
        return f"{_type_name(given)}: {error}"
    return _type_name(given)


def _described(given: Any) -> str:
    try:
        array = _array(given)
    except (TypeError, ValueError, BufferError):
        return _type_name(given)
    return f"{array.dtype} array of shape {array.shape}"

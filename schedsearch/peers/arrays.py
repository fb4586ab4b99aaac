"""Arguments of a procedure as its users have them: arrays of NumPy's allocator.

They are described as data, so that each contender makes the same in a process of its own. This
module imports nothing but NumPy: it is what such a process waits for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

# Sums of thousands of products, called hundreds of times, stay within 32 bits.
_INTEGERS = {"int8": (-127, 128), "uint8": (0, 256), "uint16": (0, 256), "int32": (-64, 65)}


@dataclass(frozen=True)
class Fill:
    """How an array starts; elements are drawn uniformly from `[lo, hi)`.

    `zeroed`: all zero (accumulators, so that a peer may overwrite instead of add).
    `lower`: only the lower triangle counts; above it, inputs are zero and outputs are
    not compared.
    `diagonal` is added to the diagonal of a matrix, so that solving with it is stable.
    `below`: integers are drawn from 0 up to it, not from the usual ones of both signs.
    """

    lo: float = 0.5
    hi: float = 1.5
    zeroed: bool = False
    lower: bool = False
    diagonal: float = 0.0
    below: int = 0


@dataclass(frozen=True)
class Argument:
    """One argument: a control value (`control`, or `truth` of a boolean), or an array."""

    name: str
    control: int | None = None
    truth: bool = False
    dtype: str = ""
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    window: bool = False
    written: bool = False
    fill: Fill = Fill()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Argument:
        shape, strides = tuple(data["shape"]), tuple(data["strides"])
        return Argument(
            **{**data, "shape": shape, "strides": strides, "fill": Fill(**data["fill"])}
        )


@dataclass(frozen=True)
class Arrays:
    """The arguments: `values` in order, a control value as int; `pristine` holds the initial
    contents of the arrays that are written."""

    described: tuple[Argument, ...]
    values: tuple[int | Array, ...]
    pristine: tuple[tuple[Array, Array], ...]

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(value for value in self.values if not isinstance(value, int))

    @property
    def outputs(self) -> tuple[tuple[str, Array], ...]:
        pairs = zip(self.described, self.values, strict=True)
        return tuple((a.name, v) for a, v in pairs if a.written and not isinstance(v, int))

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def restore(self) -> None:
        """Put every array that is written back to its start."""
        for array, start in self.pristine:
            np.copyto(array, start)

    def elsewhere(self) -> Arrays:
        """The same arguments from the start, in other memory. A stream through two arrays takes up
        to 1.3 times as long at one pair of addresses as at another."""
        self.restore()
        moved: dict[int, Array] = {}
        for argument, value in zip(self.described, self.values, strict=True):
            if not isinstance(value, int):
                moved[id(value)] = new = _allocate(argument)
                new[...] = value
        values = tuple(v if isinstance(v, int) else moved[id(v)] for v in self.values)
        pristine = tuple((moved[id(array)], start) for array, start in self.pristine)
        return Arrays(self.described, values, pristine)

    def passed(self) -> tuple[Any, ...]:
        """The arguments as C takes them."""
        pairs = zip(self.described, self.values, strict=True)
        return tuple(_passed(argument, value) for argument, value in pairs)


def make_arrays(described: tuple[Argument, ...], seed: int = 0) -> Arrays:
    """Equal for equal seeds."""
    rng = np.random.default_rng(seed)
    values: list[int | Array] = []
    pristine: list[tuple[Array, Array]] = []
    for argument in described:
        if argument.control is not None:
            values.append(argument.control)
            continue
        array = _allocate(argument)
        _fill(array, argument.fill, rng)
        values.append(array)
        if argument.written:
            pristine.append((array, array.copy()))
    return Arrays(described, tuple(values), tuple(pristine))


def _allocate(argument: Argument) -> Array:
    dtype = np.dtype(argument.dtype)
    pairs = zip(argument.shape, argument.strides, strict=True)
    elements = 1 + sum((extent - 1) * stride for extent, stride in pairs)
    steps = [stride * dtype.itemsize for stride in argument.strides]
    memory = np.empty(max(elements, 1), dtype)
    return np.ndarray(argument.shape, dtype, memory, strides=steps)


def _fill(array: Array, how: Fill, rng: np.random.Generator) -> None:
    """In place. Floats stay away from zero: no denormals, no cancellation."""
    if how.zeroed:
        array[...] = 0
    elif array.dtype.name in _INTEGERS:
        usual = _INTEGERS[array.dtype.name]
        array[...] = rng.integers(*((0, how.below) if how.below else usual), array.shape)
    else:
        array[...] = rng.uniform(how.lo, how.hi, array.shape)
    if how.diagonal:
        np.einsum("ii->i", array)[...] += how.diagonal
    if how.lower:
        array[...] = np.tril(array)


def _passed(argument: Argument, value: int | Array) -> Any:
    if isinstance(value, int):
        return ctypes.c_bool(bool(value)) if argument.truth else ctypes.c_long(value)
    if not argument.window:
        return ctypes.c_void_p(value.ctypes.data)
    count = len(argument.strides)
    fields = [("data", ctypes.c_void_p), ("strides", ctypes.c_long * count)]
    window = type("Window", (ctypes.Structure,), {"_fields_": fields})
    return window(value.ctypes.data, (ctypes.c_long * count)(*argument.strides))

"""The inputs of a case as NumPy arrays: those that runtime/case.c makes, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.evaluate.arithmetic import STORED, is_integer
from schedsearch.evaluate.harness import Buffer, Case, Field, initial_value
from schedsearch.evaluate.oracle import Data, Fill
from schedsearch.evaluate.scope import Config

_GAMMA = 0x9E3779B97F4A7C15
_PER_ARGUMENT = 0x632BE59BD9B4E019
_PIECE = 1 << 18  # elements drawn together: 40 bytes each meanwhile

FIELD_TYPES: dict[str, np.dtype[Any]] = {
    "HS_F16": np.dtype(np.float16),
    "HS_F32": np.dtype(np.float32),
    "HS_F64": np.dtype(np.float64),
    "HS_I8": np.dtype(np.int8),
    "HS_I32": np.dtype(np.int32),
    "HS_INDEX": np.dtype(np.int64),
    "HS_BOOL": np.dtype(np.bool_),
}
"""Of configuration fields, by the harness's names."""


def arguments(case: Case) -> list[Any]:
    """What the procedure is called with, in the order of its parameters: integers, and
    arrays of their own with the case's shapes and strides."""
    data = dict(case.oracle.data)
    return [
        item if isinstance(item, int) else _filled(item, data[item.name], case.seed, position)
        for position, item in enumerate(case.layout)
    ]


def configuration(case: Case, fields: tuple[Field, ...]) -> Config:
    """What the configuration's fields are before the call."""
    config: Config = {}
    for number, field in enumerate(fields):
        name, own = field.name.split(".")
        fill, lo, hi = initial_value(case, field)
        value = _drawn(case.seed + number, 1, fill, lo, hi)[0]
        config[name, own] = FIELD_TYPES[field.type].type(value).item()
    return config


def logical(flat: NDArray[Any], buffer: Buffer) -> NDArray[Any]:
    """The elements of a buffer, without what is between its rows."""
    strides = tuple(stride * flat.itemsize for stride in buffer.strides)
    return np.lib.stride_tricks.as_strided(flat, buffer.shape, strides)


def _filled(buffer: Buffer, data: Data, seed: int, position: int) -> NDArray[Any]:
    dtype = STORED[buffer.type]
    flat = np.zeros(buffer.elements, dtype)
    array = logical(flat, buffer)
    if data.fill is Fill.POISON:
        array[...] = np.frombuffer(_poison(buffer.type), dtype)[0]
    else:
        start = seed + _PER_ARGUMENT * (position + 1)
        values = np.empty(array.size, dtype)
        for first in range(0, array.size, _PIECE):
            count = min(_PIECE, array.size - first)
            state = start + first * _GAMMA
            values[first : first + count] = _drawn(state, count, data.fill, data.lo, data.hi)
        array[...] = values.reshape(buffer.shape)
    return array


def _poison(kind: str) -> bytes:
    return (b"\xa5" if is_integer(kind) else b"\xff") * STORED[kind].itemsize


def _drawn(state: int, count: int, fill: Fill, lo: float, hi: float) -> NDArray[np.float64]:
    """Splitmix64 from `state` on, as numbers of `[lo, hi]`."""
    steps = np.arange(1, count + 1, dtype=np.uint64)
    z = np.uint64(state % 2**64) + steps * np.uint64(_GAMMA)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    unit = (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
    if fill is Fill.INTEGERS:
        return np.floor(lo + unit * (hi - lo + 1))
    return lo + unit * (hi - lo)

"""Where lanes are in memory: buffers, and elements of them one per lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Linear(NamedTuple):
    """`base + sum(steps[axis] * lane[axis])`"""

    base: int
    steps: tuple[int, ...]


def ends(linear: Linear, counts: Sequence[int]) -> tuple[int, int]:
    """Least and largest value over the lanes."""
    low = high = linear.base
    for step, count in zip(linear.steps, counts, strict=True):
        low += min(step * (count - 1), 0)
        high += max(step * (count - 1), 0)
    return low, high


def line(linear: Linear, counts: Sequence[int]) -> NDArray[np.int64]:
    """Values of all lanes, with extent 1 along axes on which they do not depend."""
    total = np.full((1,) * len(counts), linear.base, np.int64)
    for axis, (step, count) in enumerate(zip(linear.steps, counts, strict=True)):
        if step:
            shape = [1] * len(counts)
            shape[axis] = count
            total = total + step * np.arange(count).reshape(shape)
    return total


@dataclass(frozen=True, slots=True)
class Lane:
    """A loop variable with one value per index of an axis: `first`, `first + 1`, ..."""

    axis: int
    first: int


@dataclass(frozen=True, slots=True)
class Storage:
    """A buffer: dense elements, the axes of the lanes it was allocated in first.

    `lanes` and `strides` are steps in elements, along lanes and dimensions; `outer` what
    `stride(...)` gives.
    """

    data: NDArray[Any]
    lanes: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    outer: tuple[int, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Place:
    """Elements of a buffer, one per lane.

    `steps`: their offset is `offset + sum(steps[axis] * lane[axis])`; or else `offsets`,
    an array with extent 1 along axes on which they do not depend.
    """

    storage: Storage
    offset: int
    steps: tuple[int, ...]
    offsets: NDArray[np.int64] | None = None

    def view(self, counts: Sequence[int]) -> NDArray[Any]:
        """With extent 1 along axes on which the place does not depend."""
        data, size = self.storage.data, self.storage.data.itemsize
        shape = [count if step else 1 for count, step in zip(counts, self.steps, strict=True)]
        strides = [step * size for step in self.steps]
        return np.ndarray(shape, data.dtype, data, self.offset * size, strides)

    def listed(self, counts: Sequence[int]) -> NDArray[np.int64]:
        """The offsets of all lanes."""
        if self.offsets is not None:
            return np.broadcast_to(self.offsets, counts)
        return np.broadcast_to(line(Linear(self.offset, self.steps), counts), counts)

    def distinct(self, counts: Sequence[int]) -> bool:
        """Whether lanes along the axes it depends on are certainly different elements."""
        if self.offsets is not None:
            return False
        pairs = zip(self.steps, counts, strict=True)
        reach = 0
        for step, count in sorted((abs(step), count) for step, count in pairs if step):
            if step <= reach:
                return False
            reach += step * (count - 1)
        return True

"""Arrays of a kernel, shared by all contenders: one layout, one page policy.

As in the measuring harness: each begins where `malloc` has large arrays, 16 bytes past the start
of a page, and asks for no huge pages.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.suite.case import Case, Fill
from schedsearch.core.alignment import ALLOCATED
from schedsearch.evaluate.effects import written_buffers
from schedsearch.evaluate.harness import Buffer, layout
from schedsearch.evaluate.inline import inline_calls
from schedsearch.search.subject import Subject

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES: dict[str, type] = {
    "R": np.float32,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "i32": np.int32,
}

# Sums of thousands of products, called hundreds of times, stay within 32 bits.
INTEGERS = {np.int8: (-127, 128), np.uint8: (0, 256), np.uint16: (0, 256), np.int32: (-64, 65)}


@dataclass(frozen=True)
class Arrays:
    """Arguments of one kernel: `args` in order, a size as int; `pristine` holds what the
    arrays that are written start from."""

    names: tuple[str, ...]
    args: tuple[int | Array, ...]
    pristine: tuple[tuple[Array, Array], ...]
    written: tuple[str, ...]

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(arg for arg in self.args if not isinstance(arg, int))

    @property
    def outputs(self) -> tuple[tuple[str, Array], ...]:
        named = zip(self.names, self.args, strict=True)
        return tuple((n, a) for n, a in named if n in self.written and not isinstance(a, int))

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def restore(self) -> None:
        """Put every array that is written back to its start."""
        for array, start in self.pristine:
            np.copyto(array, start)


def make_arrays(case: Case, subject: Subject, seed: int = 0) -> Arrays:
    """Filled arguments of `case`; equal for equal seeds."""
    rng = np.random.default_rng(seed)
    writes = {var.name for var in written_buffers(inline_calls(subject.ast))}
    names: list[str] = []
    args: list[int | Array] = []
    pristine: list[tuple[Array, Array]] = []
    for arg, item in zip(subject.ast.args, layout(subject.ast, subject.binding), strict=True):
        name = arg.var.name
        names.append(name)
        if not isinstance(item, Buffer):
            args.append(item)
            continue
        array = allocate(item)
        fill(array, case.fill(name), rng)
        args.append(array)
        if name in writes:
            pristine.append((array, array.copy()))
    return Arrays(tuple(names), tuple(args), tuple(pristine), tuple(sorted(writes)))


def allocate(buffer: Buffer) -> Array:
    """An array as above."""
    memory = mmap.mmap(-1, buffer.bytes + ALLOCATED)
    flat: Array = np.frombuffer(memory, DTYPES[buffer.type], buffer.elements, ALLOCATED)
    return flat.reshape(buffer.shape)


def fill(array: Array, how: Fill, rng: np.random.Generator) -> None:
    """Fill `array` in place. Floats stay away from zero: no denormals, no cancellation."""
    if how.zeroed:
        array[...] = 0
    elif array.dtype.type in INTEGERS:
        array[...] = rng.integers(*INTEGERS[array.dtype.type], array.shape)
    else:
        array[...] = rng.uniform(how.lo, how.hi, array.shape)
    if how.lower:
        array[...] = np.tril(array)

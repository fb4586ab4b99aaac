"""Calls what `enclosure.py` makes of a procedure on NumPy arrays."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.analysis.accesses import written_buffers
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES, INTEGERS
from schedsearch.core.floats import FloatingPoint
from schedsearch.evaluate.build.runtime_text import runtime_source
from schedsearch.evaluate.oracle.enclosure import enclosure_source

_DIMS = 16
_CELL = np.dtype(
    [(name, "f8") for name in ("value", "size", "error", "terms")] + [("state", "i4")], align=True
)
_DRIVER = """
#include <setjmp.h>
#include <stdio.h>
static jmp_buf outside;
static char message[200];
_Noreturn void hs_out_of_bounds(const char *name, int dim, int64_t index, int64_t extent)
{
    snprintf(message, sizeof message, "%s %d %lld %lld", name, dim, (long long)index,
             (long long)extent);
    longjmp(outside, 1);
}
const bool *hs_samples;
int64_t hs_first, hs_last;
bool hs_jumped;
void hs_initial(struct cell *cell, const struct hs_arg *arg, size_t flat) {}
void *hs_cells(int64_t count) { return calloc((size_t)count + 1, sizeof(struct cell)); }
const char *drive(const struct hs_arg *args, void *context, struct cell *const *cells,
                  struct cell *fields)
{
    if (setjmp(outside))
        return message;
    hs_enclose(args, context, cells, fields);
    return NULL;
}
void fill(struct cell *cells, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assign(&cells[i], exactly(values[i]));
}
size_t argument_bytes(void) { return sizeof(struct hs_arg); }
"""


class _Argument(ctypes.Structure):
    """`struct hs_arg` of runtime/harness.h, as far as an evaluation reads it."""

    _fields_ = (
        ("control", ctypes.c_int64),
        ("data", ctypes.c_void_p),
        ("ndim", ctypes.c_int),
        ("extents", ctypes.c_int64 * _DIMS),
        ("strides", ctypes.c_int64 * _DIMS),
    )


@dataclass(frozen=True)
class Enclosed:
    """Of an output: what it may be, element by element; NaN and infinities have radius 0."""

    value: NDArray[np.float64]
    radius: NDArray[np.float64]

    def holds(self, found: NDArray[Any]) -> NDArray[np.bool_]:
        """Which elements of `found` are admissible."""
        same = (self.value == found) | (np.isnan(self.value) & np.isnan(found))
        with np.errstate(invalid="ignore"):
            return same | (np.abs(found - self.value) <= self.radius)


class OutOfBounds(Exception):
    """An index of the procedure."""


class Enclosure:
    """A procedure compiled for evaluation, in a folder of its own."""

    def __init__(self, proc: q.Proc, folder: Path, fp: FloatingPoint = FloatingPoint.FAST) -> None:
        self.proc = inline_calls(proc)
        self.written = written_buffers(self.proc.body)
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("harness.h", "enclosure.h"):
            (folder / name).write_text(runtime_source(name))
        kinds = {a.type for a in self.proc.args} - set(q.CONTROL_TYPES)
        (folder / "procedure.c").write_text(
            enclosure_source(proc, "", (), fp) + _DRIVER + "".join(map(_reader, sorted(kinds)))
        )
        library = folder / "procedure.so"
        command = ["gcc", "-O1", "-march=native", "-ffp-contract=off", "-std=gnu11", "-fPIC"]
        command += ["-shared", "procedure.c", "-o", str(library), "-lm"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        self.library = ctypes.CDLL(str(library))
        self.library.drive.restype = ctypes.c_char_p
        self.library.argument_bytes.restype = ctypes.c_size_t

    def run(self, args: list[Any]) -> dict[str, Enclosed]:
        """What outputs may be, by name; `args` stay as they are. Raises OutOfBounds."""
        size = self.library.argument_bytes()
        memory = ctypes.create_string_buffer(size * len(args))
        cells: list[NDArray[Any] | None] = []
        kept = []
        for number, (arg, value) in enumerate(zip(self.proc.args, args, strict=True)):
            place = _Argument.from_buffer(memory, size * number)
            if not isinstance(value, np.ndarray):
                place.control = value
                cells.append(None)
                continue
            dense = np.ascontiguousarray(value)
            kept.append(dense)
            place.data, place.ndim = dense.ctypes.data, dense.ndim
            for dim in range(dense.ndim):
                place.extents[dim] = dense.shape[dim]
                place.strides[dim] = dense.strides[dim] // dense.itemsize
            cells.append(self._cells(dense) if arg.var in self.written else None)
        pointers = (ctypes.c_void_p * len(args))(
            *(c.ctypes.data if c is not None else None for c in cells)
        )
        if outside := self.library.drive(memory, None, pointers, None):
            raise OutOfBounds(outside.decode())
        return {
            arg.var.name: self._read(arg, own, np.shape(value))
            for arg, own, value in zip(self.proc.args, cells, args, strict=True)
            if own is not None
        }

    def _cells(self, array: NDArray[Any]) -> NDArray[Any]:
        cells, values = np.zeros(array.size, _CELL), array.astype(np.float64).ravel()
        self.library.fill(
            ctypes.c_void_p(cells.ctypes.data),
            ctypes.c_void_p(values.ctypes.data),
            ctypes.c_size_t(array.size),
        )
        return cells

    def _read(self, arg: q.Arg, cells: NDArray[Any], shape: tuple[int, ...]) -> Enclosed:
        found = np.empty((2, cells.size))
        read = getattr(self.library, f"read_{arg.type}")
        read(
            ctypes.c_void_p(cells.ctypes.data),
            ctypes.c_void_p(found.ctypes.data),
            ctypes.c_size_t(cells.size),
        )
        return Enclosed(found[0].reshape(shape), found[1].reshape(shape))


def _reader(kind: str) -> str:
    assert kind in ELEMENT_TYPES
    load = "load_int(&cells[i])" if kind in INTEGERS else f"load_float(&cells[i], {_format(kind)})"
    return f"""
void read_{kind}(const struct cell *cells, double *into, size_t count)
{{
    for (size_t i = 0; i < count; i++) {{
        struct enclosed a = {load};
        into[i] = a.value;
        into[count + i] = a.radius;
    }}
}}
"""


def _format(kind: str) -> str:
    return "f32" if kind == "R" else kind

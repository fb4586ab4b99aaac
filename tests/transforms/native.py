"""Many generated procedures in one shared object, called through ctypes."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC

PRELUDE = """
#include <stdlib.h>
#include <string.h>
static void *dirty_malloc(size_t n) { return memset(malloc(n), 0xff, n); }
#define malloc dirty_malloc
"""
"""Fresh memory is all ones: NaN as a float, -1 as an integer."""

PADDING = 61
"""Elements before and after every array; they must not change. Odd, so that no array is
aligned to more than its elements."""


class Library:
    """The functions of `codes`, in order, compiled together."""

    def __init__(
        self, codes: Sequence[GeneratedC], folder: Path, flags: Sequence[str] = ("-O1",)
    ) -> None:
        parts = [PRELUDE]
        for number, code in enumerate(codes):
            text = f"{code.header}\n{code.source}"
            defined = set(re.findall(r"^\w[\w \t]*?[ *]+(\w+)\(.*\{$", text, re.MULTILINE))
            defined |= set(re.findall(r"struct ((?!exo_win)\w+) \{", text))
            for name in sorted(defined):
                text = re.sub(rf"\b{name}\b", f"k{number}_{name}", text)
            parts.append(text)
        source, library = folder / "kernels.c", folder / "kernels.so"
        source.write_text("\n".join(parts))
        fixed = ["-w", "-shared", "-fPIC", "-ftrivial-auto-var-init=pattern"]
        subprocess.run(["gcc", *fixed, *flags, "-o", library, source, "-lm"], check=True)
        handle = ctypes.CDLL(str(library))
        self.functions = [handle[f"k{number}_{code.proc}"] for number, code in enumerate(codes)]

    def call(self, number: int, proc: q.Proc, args: Sequence[Any]) -> None:
        """Call function `number`; arrays are changed in place."""
        padded: list[tuple[Any, Any]] = []
        converted: list[Any] = [ctypes.create_string_buffer(1024)]
        for arg, value in zip(proc.args, args, strict=True):
            if isinstance(value, np.ndarray):
                held = np.full(value.size + 2 * PADDING, 77, value.dtype)
                held[PADDING:-PADDING] = value.ravel()
                padded.append((held, value))
                address = ctypes.c_void_p(held.ctypes.data + PADDING * held.itemsize)
                converted.append(_window(address, value) if arg.window else address)
            else:
                converted.append(
                    ctypes.c_bool(value) if arg.type == "bool" else ctypes.c_long(value)
                )
        function = self.functions[number]
        function.restype = None
        function(*converted)
        for held, value in padded:
            value[...] = held[PADDING:-PADDING].reshape(value.shape)
            edges = np.concatenate([held[:PADDING], held[-PADDING:]])
            assert (edges == 77).all(), "written outside an array"


def _window(address: ctypes.c_void_p, value: Any) -> ctypes.Structure:
    class Window(ctypes.Structure):
        _fields_ = (("data", ctypes.c_void_p), ("strides", ctypes.c_long * value.ndim))

    strides = [int(np.prod(value.shape[dim + 1 :])) for dim in range(value.ndim)]
    return Window(address, (ctypes.c_long * value.ndim)(*strides))

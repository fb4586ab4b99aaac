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
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
enum { BEFORE = 128, BEHIND = 64, MARK = 0x5a };
int heap_damaged;
static char *guarded(size_t n, size_t off_line) {
  char *base = aligned_alloc(64, (n + BEFORE + BEHIND + 127) / 64 * 64);
  char *memory = base + BEFORE + off_line;
  memset(base, MARK, BEFORE + off_line);
  memcpy(base, &n, sizeof n);
  memset(memory + n, MARK, BEHIND);
  return memset(memory, 0xff, n);
}
static void checked_free(char *memory) {
  if (!memory) return;
  char *base = memory - BEFORE - (uintptr_t)memory % 64;
  size_t n;
  memcpy(&n, base, sizeof n);
  for (char *c = base + sizeof n; c < memory; c++) heap_damaged |= *c != MARK;
  for (char *c = memory + n; c < memory + n + BEHIND; c++) heap_damaged |= *c != MARK;
  free(base);
}
#define malloc(n) ((void *)guarded(n, 16))
#define aligned_alloc(unit, n) ((void *)guarded(n, 0))
#define free(memory) checked_free((char *)(memory))
"""
"""Fresh memory is all ones: NaN as a float, -1 as an integer. What is around it must not
change; plain memory is aligned to no more than 16 bytes."""

PADDING = 61
"""Elements before and after every array; they must not change. Odd, so that no array is
aligned to more than its elements."""


def together(codes: Sequence[GeneratedC]) -> str:
    """One C text; the names of function `n` start with `kn_`."""
    parts = [PRELUDE]
    for number, code in enumerate(codes):
        text = f"{code.header}\n{code.source}"
        defined = set(re.findall(r"^\w[\w \t]*?[ *]+(\w+)\(.*\{$", text, re.MULTILINE))
        defined |= set(re.findall(r"struct ((?!exo_win)\w+) \{", text))
        for name in sorted(defined):
            text = re.sub(rf"\b{name}\b", f"k{number}_{name}", text)
        parts.append(text)
    return "\n".join(parts)


class Library:
    """The functions of `codes`, in order, compiled together."""

    def __init__(
        self,
        codes: Sequence[GeneratedC],
        folder: Path,
        flags: Sequence[str] = ("-O1",),
        compiler: str = "gcc",
    ) -> None:
        source, library = folder / "kernels.c", folder / "kernels.so"
        compiled = folder / "kernels.o"
        source.write_text(together(codes))
        fixed = ["-w", "-fPIC", "-ftrivial-auto-var-init=pattern"]
        threads = ["-fopenmp"] if "#pragma omp" in source.read_text() else []
        compile_ = [compiler, *fixed, *threads, *flags, "-c", "-o", compiled, source]
        # Linked without `flags`: -ffast-math there would turn denormals off in this process.
        link = [compiler, "-shared", *threads, "-o", library, compiled, "-lm"]
        for command in (compile_, link):
            subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
        handle = ctypes.CDLL(str(library))
        self.heap_damaged = ctypes.c_int.in_dll(handle, "heap_damaged")
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
        assert not self.heap_damaged, "written outside a temporary"


Call = tuple[int, Sequence[Any]]
"""Number of a function, and its arguments: integers and dense arrays."""


def emulated(
    codes: Sequence[GeneratedC],
    calls: Sequence[Call],
    folder: Path,
    compile_with: Sequence[str],
    run_with: Sequence[str],
) -> None:
    """Run calls in a program for another processor; arrays are changed in place."""
    lines = [together(codes), "#include <stdio.h>", "int main(void) {"]
    data: list[Any] = []
    for number, args in calls:
        passed = ["0"]
        for value in args:
            if isinstance(value, np.ndarray):
                lines.append(f"static _Alignas(64) char b{len(data)}[{value.nbytes}];")
                lines.append(f"fread(b{len(data)}, 1, {value.nbytes}, stdin);")
                passed.append(f"(void *)b{len(data)}")
                data.append(value)
            else:
                passed.append(str(value))
        lines.append(f"k{number}_{codes[number].proc}({', '.join(passed)});")
    lines += [f"fwrite(b{n}, 1, {value.nbytes}, stdout);" for n, value in enumerate(data)]
    source, program = folder / "program.c", folder / "program"
    source.write_text("\n".join([*lines, "return 0; }"]))
    subprocess.run([*compile_with, "-w", "-o", program, source, "-lm"], check=True)
    given = b"".join(value.tobytes() for value in data)
    out = subprocess.run([*run_with, program], input=given, stdout=subprocess.PIPE, check=True)
    at = 0
    for value in data:
        found = np.frombuffer(out.stdout, value.dtype, value.size, at)
        value[...] = found.reshape(value.shape)
        at += value.nbytes


def _window(address: ctypes.c_void_p, value: Any) -> ctypes.Structure:
    class Window(ctypes.Structure):
        _fields_ = (("data", ctypes.c_void_p), ("strides", ctypes.c_long * value.ndim))

    strides = [int(np.prod(value.shape[dim + 1 :])) for dim in range(value.ndim)]
    return Window(address, (ctypes.c_long * value.ndim)(*strides))

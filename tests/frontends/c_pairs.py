"""C functions, as gcc compiles them and as kernels with the same prototype."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from transforms.native import together

from schedsearch.frontends.c import c_kernel, prototype, wrapper
from schedsearch.frontends.lower import lower
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source, pick

RESULTS = {
    "": None,
    "int": ctypes.c_int,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "helper_real": ctypes.c_float,
}
"""Types of results."""

FLAGS = ("-O1", "-ffp-contract=off", "-fwrapv", "-w", "-fPIC", "-shared")


class Pairs:
    """Texts with one function `f` each, in order. `lowered` are their kernels."""

    def __init__(self, texts: Sequence[str], folder: Path) -> None:
        self.lowered, self.results, codes, wrappers, originals = [], [], [], [], []
        for number, text in enumerate(texts):
            file = folder / f"f{number}.c"
            file.write_text(text)
            done = lower(replace(c_kernel(file, "f"), name="kernel"))
            self.lowered.append(done)
            module = folder / f"f{number}.py"
            module.write_text(done.text)
            code = generate_c(pick(load_source(module), done.name))
            guards = re.sub(r"\bHAVE_\w+", rf"\g<0>_{number}", code.source)
            codes.append(replace(code, source=guards))
            own = prototype(file, "f")
            self.results.append(RESULTS[own.result])
            renamed = re.sub(r"\bf\(", f"ours_{number}(", own.text)
            own = replace(own, name=f"ours_{number}", text=renamed)
            wrappers.append(re.sub(r"\bkernel\b", f"k{number}_kernel", wrapper(done, own)))
            originals.append(f"#define f theirs_{number}\n{_own_names(text, number)}\n#undef f\n")
        self.ours = _library(folder, "ours", [together(codes), *wrappers])
        self.theirs = _library(folder, "theirs", originals)

    def run(self, number: int, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Arguments after the original and after the kernel, and what these return."""
        wanted, found = (
            [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args] for _ in range(2)
        )
        names = (self.theirs, f"theirs_{number}", wanted), (self.ours, f"ours_{number}", found)
        for library, name, own in names:
            function = library[name]
            function.restype = self.results[number]
            own.append(function(*map(_passed, own)))
        return wanted, found

    def check(self, number: int, args: Sequence[Any]) -> None:
        """All arrays are equal, bit for bit."""
        for wanted, found in zip(*self.run(number, args), strict=True):
            np.testing.assert_array_equal(_bits(wanted), _bits(found), self.lowered[number].text)


def _bits(value: Any) -> Any:
    """Zeros have signs; which NaN it is does not matter."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return (
            np.where(np.isnan(value), np.nan, value).astype(value.dtype).view(f"i{value.itemsize}")
        )
    return value


def _own_names(text: str, number: int) -> str:
    """Functions and macros of the text, so that several may be in one file."""
    return re.sub(r"\b(helper\w*)\b", rf"\1_{number}", text)


def _library(folder: Path, name: str, texts: Sequence[str]) -> ctypes.CDLL:
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text("\n".join(texts))
    subprocess.run(["gcc", *FLAGS, "-o", library, source, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def _passed(arg: Any) -> Any:
    match arg:
        case np.ndarray():
            return ctypes.c_void_p(arg.ctypes.data)
        case np.float32():
            return ctypes.c_float(arg)
        case float():
            return ctypes.c_double(arg)
        case _:
            return ctypes.c_long(arg)

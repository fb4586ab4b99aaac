"""What a child process does: run compiled kernels and compare. Its imports are few, as every
child begins with them."""

from __future__ import annotations

import faulthandler
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from transforms.native import Library

from fuzz.enclosure import Bounds, within
from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC

Case = tuple[Mapping[str, int], list[Any], list[Bounds]]
"""Sizes, arguments, and what they may be afterwards."""


def compare(
    sender: Connection,
    meaning: q.Proc,
    codes: Sequence[GeneratedC],
    data: Sequence[Case],
    folder: Path,
    flags: Sequence[str],
) -> None:
    """Send what is wrong with which of `codes`, or that they do not compile."""
    faulthandler.disable()  # pytest's: crashes are expected here
    try:
        library = Library([writable(code) for code in codes], folder, flags)
    except subprocess.CalledProcessError as error:
        sender.send(f"it does not compile: {error.stderr}")
        return
    found: dict[int, str] = {}
    for number in range(len(codes)):
        for controls, given, wanted in data:
            wrong = _difference(library, number, meaning, given, wanted)
            if wrong:
                found[number] = f"{dict(controls)}: {wrong}"
                break
    sender.send(found)


def writable(code: GeneratedC) -> GeneratedC:
    """The code without `const`: Exo also puts it on windows that are written through, which
    C compilers refuse; what such code would compute is of interest all the same."""
    return replace(
        code, header=code.header.replace("const ", ""), source=code.source.replace("const ", "")
    )


def _difference(
    library: Library, number: int, meaning: q.Proc, given: list[Any], wanted: list[Bounds]
) -> str:
    args = [value.copy() if isinstance(value, np.ndarray) else value for value in given]
    try:
        library.call(number, meaning, args)
    except AssertionError as error:
        return str(error)
    for arg, value, bounds in zip(meaning.args, args, wanted, strict=True):
        if bounds is not None and not within(value, bounds):
            lo, hi = bounds
            right = f"\n{lo}" if np.array_equal(lo, hi) else f" from\n{lo}\nto\n{hi}"
            return f"{arg.var.name} is\n{value}\nand should be{right}"
    return ""

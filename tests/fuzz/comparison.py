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

from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC

Case = tuple[Mapping[str, int], list[Any], list[Any]]
"""Sizes, arguments, and what they are afterwards."""


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
    library: Library, number: int, meaning: q.Proc, given: list[Any], wanted: list[Any]
) -> str:
    args = [value.copy() if isinstance(value, np.ndarray) else value for value in given]
    try:
        library.call(number, meaning, args)
    except AssertionError as error:
        return str(error)
    for arg, value, right in zip(meaning.args, args, wanted, strict=True):
        if not np.array_equal(value, right):
            return f"{arg.var.name} is\n{value}\nand should be\n{right}"
    return ""

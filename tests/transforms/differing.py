"""Where compiled C computes something else than its procedure means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC
from transforms.execution import on_threads
from transforms.helpers import arguments, runs_here
from transforms.interpret import interpret
from transforms.native import Library


@cache
def _meant(meaning: q.Proc, controls: tuple[tuple[str, int], ...]) -> list[Any]:
    """Kept, as a procedure has many codes: one for each planted fault."""
    wanted = arguments(meaning, dict(controls), 3)
    interpret(meaning, wanted)
    return wanted


def differing(
    meaning: q.Proc,
    codes: list[GeneratedC],
    flags: list[str],
    folder: Path,
    sizes: Iterable[Mapping[str, int]],
    tolerance: float,
    threads: Iterable[int] = (1,),
) -> list[tuple[int, Mapping[str, int]]]:
    """Codes by number, with sizes at which they are off by more than `tolerance` on one of these
    numbers of threads. Compiled with `flags` if what they are for is here."""
    library = Library(codes, folder, flags if runs_here(flags) else ["-O2"])
    found = []
    for controls in sizes:
        wanted = _meant(meaning, tuple(controls.items()))
        for number, count in product(range(len(codes)), threads):
            given = arguments(meaning, controls, 3)
            with on_threads(count):
                library.call(number, meaning, given)
            pairs = zip(given, wanted, strict=True)
            same = (np.allclose(a, b, tolerance, tolerance) for a, b in pairs)
            found += [] if all(same) else [(number, controls)]
    return found

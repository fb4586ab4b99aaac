"""Where compiled C computes something else than its procedure means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC
from transforms.helpers import arguments, runs_here
from transforms.interpret import interpret
from transforms.native import Library


def differing(
    meaning: q.Proc,
    codes: list[GeneratedC],
    flags: list[str],
    folder: Path,
    sizes: Iterable[Mapping[str, int]],
    tolerance: float,
) -> list[tuple[int, Mapping[str, int]]]:
    """Codes by number, with sizes at which they are off by more than `tolerance`. Compiled with
    `flags` if what they are for is here."""
    library = Library(codes, folder, flags if runs_here(flags) else ["-O2"])
    found = []
    for controls in sizes:
        wanted = arguments(meaning, controls, 3)
        interpret(meaning, wanted)
        for number in range(len(codes)):
            given = arguments(meaning, controls, 3)
            library.call(number, meaning, given)
            pairs = zip(given, wanted, strict=True)
            same = (np.allclose(a, b, tolerance, tolerance) for a, b in pairs)
            found += [] if all(same) else [(number, controls)]
    return found

"""Blocks of random sums of products of bytes compute what the procedure as written does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from transforms.native import Library
from transforms.test_byte_dots import DATA, FEATURES, data, proposed, target

from fuzz.byte_sums import ByteSums, byte_sums
from fuzz.procedures import drawn
from fuzz.schedules import walk
from schedsearch.core.errors import RewriteError
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply

pytestmark = pytest.mark.slow

choices = st.lists(st.integers(0, 2**20), max_size=2)


@pytest.mark.parametrize("number", range(3))
def test_blocks_of_random_sums_of_bytes_are_exact(number: int, tmp_path: Path) -> None:
    reached = 0
    for example, (sums, chosen) in enumerate(drawn(number, 6, byte_sums(), choices)):
        (folder := tmp_path / str(example)).mkdir()
        reached += examine(sums, chosen, folder)
    assert reached >= 4


def examine(sums: ByteSums, chosen: list[int], folder: Path) -> int:
    """How many schedules were compared: each block, and what legal rewrites make of it."""
    (folder / "fuzzed.py").write_text(sums.text)
    procedure = load_source(folder / "fuzzed.py").procs["fuzzed"]
    ast, machine = mirror(procedure), target(sums.lanes, FEATURES[sums.lanes])
    results: list[Any] = []
    for rewrite in proposed(procedure, machine):
        try:
            results.append(apply(procedure, ast, rewrite))
        except RewriteError as error:
            raise AssertionError(f"{sums.text}{rewrite}") from error
        results += [step.state.procedure for step in walk(results[-1], chosen, machine, {})]
    has = FEATURES[sums.lanes] in cpu_identity()[1]
    flags = ("-O2", "-march=native") if has else ("-O1",)
    library = Library([generate_c(each) for each in (procedure, *results)], folder, flags)
    for kind in DATA:
        wanted = data(ast, {}, kind)
        library.call(0, ast, wanted)
        for number, result in enumerate(results, 1):
            found = data(ast, {}, kind)
            library.call(number, ast, found)
            same = map(np.array_equal, found, wanted)
            assert all(same), f"{sums}{kind}{result}"
    return len(results)

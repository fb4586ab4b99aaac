"""Blocks of rows are solved for together, whatever the block leaves; exactly, on whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, normalises, propose, select
from schedsearch.transforms.vector.registers import register_kind
from transforms.helpers import TARGET, Procedures, runs_here
from transforms.interpret import interpret
from transforms.native import Library

PROCEDURES = Procedures("solves")
(SOLVE,) = select(["block_solve"])
ALL = select(None)
KERNELS = ("lu", "cholesky", "right", "right_of_transpose")
LENGTHS = (1, 3, 4, 7, 8, 9, 16, 21, 29)


def solvable(name: str, n: int) -> list[Any]:
    """Arguments of whole numbers whose solution, and all on the way, are whole numbers."""
    rng = np.random.default_rng(n)
    low = np.tril(rng.integers(-1, 2, (n, n)), -1)
    high = np.triu(rng.integers(-1, 2, (n, n)), 1)
    signs = np.diag(rng.choice([-1, 1], n))
    m = n + 2
    factors = {
        "lu": lambda: (n, (low + np.eye(n)) @ (high + signs)),
        "cholesky": lambda: (n, (low + 2 * np.eye(n)) @ (low + 2 * np.eye(n)).T),
        "right": lambda: (m, n, rng.integers(-1, 2, (m, n)) @ (high + signs), high + signs),
        "right_of_transpose": lambda: (m, n, rng.integers(-1, 2, (m, n)), low + np.eye(n), 2.0),
    }
    given = (factors.get(name) or factors["lu"])()
    return [np.array(x, np.float32) if np.ndim(x) else x for x in given]


def scalars_as_arrays(given: Sequence[Any]) -> list[Any]:
    return [np.full((), x, np.float32) if isinstance(x, float) else x for x in given]


def differing(
    name: str, results: Sequence[Any], folder: Path, flags: Sequence[str] = ("-O1",)
) -> list[tuple[int, int]]:
    """Which of the results gives what else than the procedure means, at what length."""
    meaning = mirror(PROCEDURES[name])
    library = Library([generate_c(result) for result in results], folder, flags)
    found = []
    for n in LENGTHS:
        wanted = scalars_as_arrays(solvable(name, n))
        interpret(meaning, wanted)
        assert all(np.isfinite(x).all() for x in wanted if isinstance(x, np.ndarray))
        for number in range(len(results)):
            given = scalars_as_arrays(solvable(name, n))
            library.call(number, meaning, given)
            if not all(np.array_equal(a, b) for a, b in zip(given, wanted, strict=True)):
                found.append((number, n))
    return found


def solved(name: str, target: Target = TARGET) -> list[Any]:
    procedure = PROCEDURES[name]
    ast = mirror(procedure)
    # The factors that are proposed, of vectors of four, and one that nothing suggests.
    rewrites = list(SOLVE.rewrites(ast, target))
    assert rewrites
    odd = replace(rewrites[0], args=(("factor", 5),))
    return [apply(procedure, ast, each) for each in (*rewrites, odd)]


def in_the_end(procedure: Any, target: Target) -> Any:
    """What the way through the normal form makes of it."""
    last = 1
    while True:
        ast = mirror(procedure)
        rewrites = [each for each in propose(ast, target, ALL) if normalises(each) >= last]
        for rewrite in sorted(rewrites, key=normalises):
            with suppress(RewriteError):
                procedure = apply(procedure, ast, rewrite)
                last = normalises(rewrite)
                break
        else:
            return procedure


@pytest.mark.normal
@pytest.mark.parametrize("name", KERNELS)
def test_every_block_solves_for_the_same(name: str, tmp_path: Path) -> None:
    assert differing(name, solved(name), tmp_path) == []


@pytest.mark.normal
@pytest.mark.parametrize(("name", "bits"), [("lu", 512), ("cholesky", 128)])
def test_in_registers_too(name: str, bits: int, tmp_path: Path) -> None:
    """With masked instructions, where this processor has them."""
    flags = ["-O1", *(["-march=x86-64-v4"] if runs_here(["-march=x86-64-v4"]) else [])]
    target = replace(TARGET, vector_bits=bits, vector_registers=32)
    end = in_the_end(PROCEDURES[name], target)
    kept = [s for s in q.walk(mirror(end).body) if isinstance(s, q.Alloc) and register_kind(s.mem)]
    assert len(kept) > 1
    assert differing(name, [end], tmp_path, flags) == []


@pytest.mark.normal
def test_the_check_finds_sums_that_leave_out_the_diagonal(tmp_path: Path) -> None:
    found = differing("lu", [PROCEDURES["lu_off_the_diagonal"]], tmp_path)
    assert {n for _, n in found} >= {7, 16, 29}


@pytest.mark.normal
def test_rows_that_are_not_finished_are_not_subtracted_first() -> None:
    """Of a row below, the values from before it was solved for; of the next row, as it is now."""
    for name in ("of_rows_below", "of_the_row_before"):
        procedure = PROCEDURES[name]
        ast = mirror(procedure)
        rewrites = list(SOLVE.rewrites(ast, TARGET))
        assert rewrites
        for rewrite in rewrites:
            with pytest.raises(RewriteError):
                apply(procedure, ast, rewrite)


@pytest.mark.parametrize("factor", [1, 5000, "8", True])
def test_refuses_factors_that_it_would_not_propose(factor: Any) -> None:
    procedure = PROCEDURES["lu"]
    ast = mirror(procedure)
    (rewrite, *_) = SOLVE.rewrites(ast, TARGET)
    odd = Rewrite(rewrite.transform, 1, rewrite.path, rewrite.label, (("factor", factor),))
    with pytest.raises(RewriteError, match="factor"):
        apply(procedure, ast, odd)

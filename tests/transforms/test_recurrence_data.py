"""Recurrences of floats in registers, on numbers of all sizes: finite where the loop is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.helpers import TARGET, Procedures, arguments
from transforms.native import Library

PROCEDURES = Procedures("recurrences")
(TRANSFORM,) = select(["vectorise_recurrence"])
WIDE = replace(TARGET, vector_bits=512)
GUARDED = ["scaled", "large_factors", "fibonacci", "store_that_grows", "growing_rotation"]
NAMES = [*GUARDED, "products", "between_limits", "affine_gaps_in_rows"]
SMALL = [0.0, -0.0, 1.0, -1.0, 0.5, 1.125, -1.125, 3.0]
FACTORS = {
    "f32": [*SMALL, 1e30, -1e30, 1e-30, 1e-42],
    "f64": [*SMALL, 1e200, -1e200, 1e-200, 1e-320],
}


def codes(name: str) -> list[GeneratedC]:
    """As written, then in registers."""
    procedure, meaning = PROCEDURES[name], mirror(PROCEDURES[name])
    rewrite = next(r for r in TRANSFORM.rewrites(meaning, WIDE) if dict(r.args)["lanes"] == 8)
    return [generate_c(procedure), generate_c(apply(procedure, meaning, rewrite))]


def numbers(meaning: q.Proc, rng: Any) -> list[Any]:
    """Zeros, numbers of all sizes, small or denormal ones, by array; often nothing but factors."""
    written = {s.buf for s in q.walk(meaning.body) if isinstance(s, q.Assign | q.Reduce)}
    quiet = rng.random() < 0.5
    args = arguments(meaning, {"n": 40, "m": 40}, 3)
    for arg, value in zip(meaning.args, args, strict=True):
        if not isinstance(value, np.ndarray):
            continue
        factors = FACTORS[arg.type]
        scale = rng.choice([0.0, 1.0, factors[-1]])
        value[...] = scale * rng.standard_normal(value.shape)
        if not value.ndim or rng.random() < 0.25:
            value[...] = rng.choice(factors, value.shape)
        elif quiet:
            value[...] = 0.0
        if quiet and arg.var in written:
            value[...] = 0.0
    return args


def wrong(name: str, both: list[GeneratedC], folder: Path) -> bool:
    meaning, library = mirror(PROCEDURES[name]), Library(both, folder)
    finite, far = 0, False
    for seed in range(60):
        wanted, found = (numbers(meaning, np.random.default_rng(seed)) for _ in range(2))
        library.call(0, meaning, wanted)
        library.call(1, meaning, found)
        arrays = [pair for pair in zip(wanted, found, strict=True) if hasattr(pair[0], "dtype")]
        if not all(np.isfinite(one).all() for one, _ in arrays):
            continue
        finite += 1
        most = max(float(np.abs(one).max()) for one, _ in arrays)
        far |= not all(np.allclose(one, two, 1e-4, 1e-4 * most) for one, two in arrays)
    assert finite > 10
    return far


@pytest.mark.normal
@pytest.mark.parametrize("name", NAMES)
def test_results_are_finite_where_the_loop_has_finite_ones(name: str, tmp_path: Path) -> None:
    assert not wrong(name, codes(name), tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize("name", GUARDED)
def test_powers_that_overflow_are_found(name: str, tmp_path: Path) -> None:
    """Without the condition that has lanes computed in turn."""
    plain, code = codes(name)
    tests = r"if \(.*\)(?=\s+return \w+_in_turn)|if \(grown\w+\)"
    header, source = (re.sub(tests, "if (0)", text) for text in (code.header, code.source))
    assert (header, source) != (code.header, code.source)
    assert wrong(name, [plain, replace(code, header=header, source=source)], tmp_path)

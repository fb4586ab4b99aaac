"""Recurrences of floats in registers, on numbers of all sizes: finite where the loop is, and 0
where the loop is."""

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


VANISHING = ["small_factor", "small_factors_of_both", "small_pair", "pair", "scaled", "fibonacci"]
VANISHING += ["products", "gates", "store_that_grows", "pair_of_factors", "two_factors"]
VANISHING += ["two_known_factors"]
VANISHED = {
    "f32": ([0.0, 1.0, 1e30], [0.0, 1.0, 1e-3, 1e-9, 1e-12, 1e-30]),
    "f64": ([0.0, 1.0, 1e300], [0.0, 1.0, 1e-40, 1e-120, 1e-250]),
}
"""Values, and factors: the names of arguments that are."""
FACTOR_NAMES = ("f", "w", "k")


def codes(name: str, most: bool = False) -> list[GeneratedC]:
    """As written, then in registers of eight lanes, or of the most."""
    procedure, meaning = PROCEDURES[name], mirror(PROCEDURES[name])
    found = [r for r in TRANSFORM.rewrites(meaning, WIDE) if most or dict(r.args)["lanes"] == 8]
    rewrite = max(found, key=lambda each: int(str(dict(each.args)["lanes"])))
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
    plain, code = codes(name)
    assert wrong(name, [plain, unguarded(code)], tmp_path)


def unguarded(code: GeneratedC) -> GeneratedC:
    """Without the condition that has lanes computed in turn."""
    tests = r"if \(.*\)(?=\s+return \w+_in_turn)|if \(grown\w+\)"
    header, source = (re.sub(tests, "if (0)", text) for text in (code.header, code.source))
    assert (header, source) != (code.header, code.source)
    return replace(code, header=header, source=source)


def vanishes(name: str, both: list[GeneratedC], folder: Path) -> bool:
    """Whether an element is off by more than roundings of itself. Nothing is negative."""
    meaning, library = mirror(PROCEDURES[name]), Library(both, folder)
    finite, far = 0, False
    for seed in range(150):
        wanted, found = (small_products(meaning, np.random.default_rng(seed)) for _ in range(2))
        library.call(0, meaning, wanted)
        library.call(1, meaning, found)
        arrays = [pair for pair in zip(wanted, found, strict=True) if hasattr(pair[0], "dtype")]
        if all(np.isfinite(one).all() for one, _ in arrays):
            finite += 1
            least = [64 * float(np.finfo(one.dtype).tiny) for one, _ in arrays]
            pairs = zip(arrays, least, strict=True)
            far |= not all(np.allclose(one, two, 1e-4, small) for (one, two), small in pairs)
    assert finite > 10
    return far


def small_products(meaning: q.Proc, rng: Any) -> list[Any]:
    """Values, few of which are not 0, and factors whose products are small."""
    args = arguments(meaning, {"n": 40}, 3)
    for arg, value in zip(meaning.args, args, strict=True):
        if isinstance(value, np.ndarray):
            values, factors = VANISHED[arg.type]
            of_factors = arg.var.name in FACTOR_NAMES
            value[...] = rng.choice(factors if of_factors else values, value.shape)
            if not of_factors and rng.random() < 0.8:
                value[...] *= rng.random(value.shape) < 0.05
    return args


@pytest.mark.normal
@pytest.mark.parametrize("name", VANISHING)
def test_results_are_0_only_where_the_loop_has_0(name: str, tmp_path: Path) -> None:
    assert not vanishes(name, codes(name, most=True), tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize("name", VANISHING)
def test_powers_that_vanish_are_found(name: str, tmp_path: Path) -> None:
    plain, code = codes(name, most=True)
    assert vanishes(name, [plain, unguarded(code)], tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize(
    ("right", "fault"),
    [
        (r"vanished \|= [^;]*;(?=[\s\S]*vanished \|=)", ";"),  # products of all lanes alone
        (r"small = [^;]*;", "small = {0};"),
    ],
)
def test_products_are_looked_at_on_the_way(right: str, fault: str, tmp_path: Path) -> None:
    """Where a factor is 0 the product of all is, too, but not that of the lanes after it."""
    plain, code = codes("gates", most=True)
    source, changed = re.subn(right, fault, code.source)
    assert changed
    assert vanishes("gates", [plain, replace(code, source=source)], tmp_path)

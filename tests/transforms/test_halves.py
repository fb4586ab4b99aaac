"""f16 on vector registers: as NumPy rounds it, for every value and register width."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.helpers import TARGET, Procedures, arguments, runs_here
from transforms.interpret import interpret
from transforms.native import Library

PROCEDURES = Procedures("halves")
REFUSED = sorted(name for name in PROCEDURES if name.startswith("no_"))
CONVERTED = sorted(PROCEDURES.keys() - {*REFUSED, "product", "total"})

WIDTHS = {
    128: ["-O2", "-mf16c"],
    256: ["-O3", "-mavx2", "-mfma", "-mf16c", "-ffast-math"],
    512: ["-O3", "-march=x86-64-v4", "-ffast-math"],
}
"""Options of gcc by bits of a register."""


def wide(bits: int) -> Target:
    return replace(TARGET, vector_bits=bits)


@cache
def forms(name: str, transform: str, target: Target) -> list[tuple[Any, Any]]:
    original = PROCEDURES[name]
    meaning = mirror(original)
    (chosen,) = select([transform])
    rewrites = list(chosen.rewrites(meaning, target))
    assert rewrites
    return [(rewrite, apply(original, meaning, rewrite)) for rewrite in rewrites]


def compiled(name: str, bits: int, folder: Path, transform: str = "vectorise") -> Library:
    if not runs_here(WIDTHS[bits]):
        pytest.skip("this processor does not run such code")
    found = [generate_c(procedure) for _, procedure in forms(name, transform, wide(bits))]
    return Library(found, folder, WIDTHS[bits])


def every_half() -> np.ndarray:
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    return values[np.isfinite(values)]


def around_halves() -> np.ndarray:
    """Every f16, what lies between it and the next, and the singles beside that."""
    values = np.unique(every_half().astype(np.float32))
    middles = (values[1:] + values[:-1]) / 2
    beside = [np.nextafter(middles, way) for way in (np.float32(-np.inf), np.float32(np.inf))]
    return np.concatenate([values, middles, *beside]).astype(np.float32)


@pytest.mark.normal
@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize(
    ("name", "given", "kind"),
    [
        ("widened", every_half(), np.float32),
        ("widened_twice", every_half(), np.float64),
        ("narrowed", around_halves(), np.float16),
    ],
)
def test_every_value_is_converted_as_numpy_does(
    bits: int, name: str, given: np.ndarray, kind: type, tmp_path: Path
) -> None:
    library, meaning = compiled(name, bits, tmp_path), mirror(PROCEDURES[name])
    for number in range(len(forms(name, "vectorise", wide(bits)))):
        found = np.full(len(given), 7, kind)
        library.call(number, meaning, [len(given), found, given.copy()])
        np.testing.assert_array_equal(found, given.astype(kind))


@pytest.mark.normal
@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", CONVERTED)
def test_every_form_keeps_the_meaning(name: str, bits: int, tmp_path: Path) -> None:
    agree(name, bits, tmp_path, "vectorise", (1, 3, 17, 53))


@pytest.mark.normal
@pytest.mark.parametrize(
    ("name", "transform"), [("total", "vectorise_reduction"), ("product", "register_block")]
)
def test_sums_in_singles(name: str, transform: str, tmp_path: Path) -> None:
    agree(name, 256, tmp_path, transform, (1, 17, 85))


def agree(name: str, bits: int, folder: Path, transform: str, sizes: tuple[int, ...]) -> None:
    """What is stored as f16 may differ by one rounding where C keeps more digits before."""
    library, meaning = compiled(name, bits, folder, transform), mirror(PROCEDURES[name])
    symbolic = any(arg.shape is None and arg.type == "size" for arg in meaning.args)
    for n in sizes if symbolic else sizes[:1]:
        wanted = arguments(meaning, {"n": n} if symbolic else {}, 3)
        interpret(meaning, wanted)
        for number, (rewrite, _) in enumerate(forms(name, transform, wide(bits))):
            found = arguments(meaning, {"n": n} if symbolic else {}, 3)
            library.call(number, meaning, found)
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-3, err_msg=str(rewrite))


@pytest.mark.parametrize("name", REFUSED)
def test_what_c_would_round_at_another_place_has_no_form(name: str) -> None:
    original = mirror(PROCEDURES[name])
    for transform in select(["vectorise", "vectorise_reduction"]):
        assert not list(transform.rewrites(original, wide(512)))


def test_operands_are_converted_once_before_the_product() -> None:
    """By element and step they would be by the loops of the product."""
    procedure, (fold, block) = PROCEDURES["product"], select(["fold_operand", "register_block"])
    for operand in ("A[i, k]", "B[k, j]"):
        meaning = mirror(procedure)
        [rewrite] = [r for r in fold.rewrites(meaning, TARGET) if r.arg("operand") == operand]
        procedure = apply(procedure, meaning, rewrite)
    product = mirror(procedure).body[-1]
    stored = [s for s in q.walk((product,)) if isinstance(s, q.Assign | q.Reduce)]
    assert [s.type for s in stored] == ["f32"]
    assert list(block.rewrites(mirror(procedure), TARGET))

"""Narrow rows are carried out side by side, in whole registers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import GeneratedC
from schedsearch.core.trace import ArgValue, Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.differing import differing
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("narrow_rows")
(TRANSFORM,) = select(["join_rows"])
REFUSED = sorted(name for name in PROCEDURES if name.startswith("no_"))
NAMES = sorted(set(PROCEDURES) - set(REFUSED))
WIDE = replace(TARGET, vector_bits=512, vector_registers=32)
WAYS = [
    (TARGET, ["-O1"]),
    (replace(TARGET, vector_bits=256), ["-O2", "-mavx2", "-ffast-math"]),
    (WIDE, ["-O3", "-march=x86-64-v4", "-ffast-math"]),
]
LENGTHS = [{"n": n} for n in (1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 64, 67, 200)]
SIZES = {"pixels": [{"h": h, "w": w} for h, w in ((1, 1), (2, 5), (3, 37), (2, 131))]}


def proposed(name: str, fp: FloatingPoint = FloatingPoint.FAST) -> list[Rewrite]:
    return list(TRANSFORM.rewrites(mirror(PROCEDURES[name]), replace(WIDE, fp=fp)))


def with_chains(rewrite: Rewrite, chains: int) -> Rewrite:
    return replace(rewrite, args=tuple(sorted({**dict(rewrite.args), "chains": chains}.items())))


@cache
def code_of(name: str, rewrite: Rewrite) -> GeneratedC:
    return generate_c(apply(PROCEDURES[name], mirror(PROCEDURES[name]), rewrite))


def wrong(name: str, codes: list[GeneratedC], flags: list[str], folder: Path) -> list[Any]:
    """Sizes at which a code is off by more than roundings of small numbers."""
    sizes = SIZES.get(name, LENGTHS)
    return differing(mirror(PROCEDURES[name]), codes, flags, folder, sizes, 1e-4)


@pytest.mark.normal
@pytest.mark.parametrize(("target", "flags"), WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_the_meaning_stays(name: str, target: Any, flags: list[str], tmp_path: Path) -> None:
    [rewrite] = TRANSFORM.rewrites(mirror(PROCEDURES[name]), target)
    codes = [code_of(name, with_chains(rewrite, chains)) for chains in (1, 2, 8)]
    assert not wrong(name, codes, flags, tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize(
    ("name", "right", "fault"),
    [
        ("scaled", "r * 3 + j] = x", "r * 3] = x"),
        ("columns", "t[r * 3 + j]", "t[r * 3]"),
        ("columns", "left > 16", "left > 32"),
        ("weighted", "r += 16", "r += 8"),
        ("weighted", "0, 0, 1, 1", "0, 1, 1, 1"),
        ("weighted", "+ m - 1) / 6 + 1", "+ m - 1) / 6"),
        ("moments", "left - 16 :", "left :"),
        ("largest", "long r = 1; r <", "long r = 2; r <"),
        ("largest", "? 5 - q :", "? 4 - q :"),
    ],
)
def test_faults_are_found(name: str, right: str, fault: str, tmp_path: Path) -> None:
    [rewrite] = proposed(name)
    code = code_of(name, rewrite)
    assert code.header.count(right) + code.source.count(right)
    planted = replace(
        code, header=code.header.replace(right, fault), source=code.source.replace(right, fault)
    )
    assert wrong(name, [planted], WAYS[2][1], tmp_path)


@pytest.mark.parametrize("name", REFUSED)
def test_other_loops_stay(name: str) -> None:
    assert not proposed(name)


def test_strict_adds_nothing_up_in_another_order() -> None:
    allowed = {name for name in NAMES if proposed(name, FloatingPoint.STRICT)}
    assert allowed == {"pixels"}
    for name in set(NAMES) - allowed:
        [rewrite], ast = proposed(name), mirror(PROCEDURES[name])
        with pytest.raises(RewriteError, match="another order"):
            apply(PROCEDURES[name], ast, rewrite, FloatingPoint.STRICT)


@pytest.mark.parametrize("args", [{"chains": 3}, {"chains": True}, {"lanes": "16"}, {"lanes": 3}])
def test_other_arguments_are_refused(args: dict[str, ArgValue]) -> None:
    [rewrite] = proposed("columns")
    wrong_one = replace(rewrite, args=tuple(sorted({**dict(rewrite.args), **args}.items())))
    with pytest.raises(RewriteError, match=r"whole numbers|follow each other"):
        apply(PROCEDURES["columns"], mirror(PROCEDURES["columns"]), wrong_one)

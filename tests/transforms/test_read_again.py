"""A later pass over a row asks for the next one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.differing import differing
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("rows_again")
(REDUCTION,) = select(["vectorise_reduction"])
WIDE = replace(TARGET, vector_bits=512, vector_registers=32, cache_bytes=(1024, 4096, 1 << 20))


def rewrites(name: str, first: Rewrite | None = None, small: bool = False) -> list[Rewrite]:
    """Of the loops after the first pass; after a rewrite of that, if there is one."""
    procedure = PROCEDURES[name]
    if first:
        procedure = apply(procedure, mirror(procedure), first)
    target = replace(WIDE, cache_bytes=(1 << 16, 1 << 20)) if small else WIDE
    return list(REDUCTION.rewrites(mirror(procedure), target))


def ahead(found: list[Rewrite]) -> list[Rewrite]:
    return [each for each in found if dict(each.args).get("ahead")]


def test_a_pass_after_another_over_the_same_row_asks_for_the_next_one() -> None:
    """First of all, if the array is larger than a core's caches; also after an instruction."""
    for found in (rewrites("deviations"), rewrites("deviations", rewrites("deviations")[0])):
        own = [each for each in found if each.path == (0, 4)]
        assert own[0] in ahead(found)
        assert {each.path for each in ahead(found)} == {(0, 4)}
    first, second, *_ = [each for each in rewrites("deviations", small=True) if each.path == (0, 4)]
    assert (dict(first.args).get("ahead"), dict(second.args).get("ahead")) == (None, True)
    unknown = [each for each in rewrites("of_open_size") if each.path == (0, 1)]
    assert not dict(unknown[0].args).get("ahead")
    assert ahead(unknown)


@pytest.mark.parametrize("name", [name for name in PROCEDURES if name.startswith("no_")])
def test_what_is_read_once_asks_for_nothing(name: str) -> None:
    assert rewrites(name)
    assert not ahead(rewrites(name))


@pytest.mark.normal
@pytest.mark.parametrize("name", ["deviations", "of_open_size"])
def test_results_are_the_same(name: str, tmp_path: Path) -> None:
    procedure, meaning = PROCEDURES[name], mirror(PROCEDURES[name])
    codes = [generate_c(apply(procedure, meaning, each)) for each in ahead(rewrites(name))]
    assert all("__builtin_prefetch(x" in code.source for code in codes)
    open_sizes = [{"m": 3, "n": n} for n in (1, 7, 130, 300)]
    sizes = open_sizes if name == "of_open_size" else [{}]
    flags = ["-O3", "-march=x86-64-v4", "-ffast-math"]
    assert not differing(meaning, codes, flags, tmp_path, sizes, 1e-4)

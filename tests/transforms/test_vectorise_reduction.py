"""Sums on vector registers are the sums of the plain loops, for every length, tile and tail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.differing import differing
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("sums")
(VECTORISE,) = select(["vectorise_reduction"])
WIDE = replace(TARGET, vector_bits=512)
SIZES = [1, 4, 5, 17, 140]


def proposals(name: str, target: Target) -> list[Rewrite]:
    return list(VECTORISE.rewrites(mirror(PROCEDURES[name]), target))


def with_tail(rewrite: Rewrite, tail: str) -> Rewrite:
    return replace(rewrite, args=tuple(sorted({**dict(rewrite.args), "tail": tail}.items())))


NAMES = sorted(name for name in PROCEDURES if not name.startswith("no_"))
NARROW, NATIVE = ["-O1"], ["-O3", "-march=x86-64-v4", "-ffast-math"]
FORMS = [(name, TARGET, NARROW) for name in NAMES]
WIDE_ONES = ("dot", "matrix_vector", "deviation", "one_beside_its_terms", "one_between_others")
WIDE_ONES += ("short_rows", "one_of_three_sums", "rows_that_overlap", "long_rows")
WIDE_ONES += ("one_of_both_halves",)
FORMS += [(name, WIDE, NATIVE) for name in WIDE_ONES]


@pytest.mark.normal
@pytest.mark.parametrize(("name", "target", "flags"), FORMS)
def test_every_form_keeps_the_meaning(
    name: str, target: Target, flags: list[str], tmp_path: Path
) -> None:
    original = PROCEDURES[name]
    meaning = mirror(original)
    rewrites = proposals(name, target)
    assert rewrites
    one = name.startswith("one_")
    several = [rewrite for rewrite in rewrites if "at_once" not in dict(rewrite.args)]
    if not one and several and several[0].arg("tail") == "masked":
        rewrites.append(with_tail(several[0], "cut"))
    vectorised = [apply(original, meaning, rewrite) for rewrite in rewrites]
    for rewrite, procedure in zip(rewrites, vectorised, strict=True):
        calls = [s.proc for s in q.walk(mirror(procedure).body) if isinstance(s, q.Call)]
        if "at_once" in dict(rewrite.args) and rewrite.arg("tile_rows") > 1:
            assert len(calls) in (1, 2)  # the rows that are left have one of their own
        else:
            assert len(calls) == 1 if one or "at_once" in dict(rewrite.args) else len(calls) >= 3
        assert all(call.name.startswith("vec_") for call in calls)
    codes = [generate_c(procedure) for procedure in vectorised]
    sizes = [{"n": n, "m": 9} for n in SIZES]
    assert not differing(meaning, codes, flags, tmp_path, sizes, 1e-5)


@pytest.mark.parametrize("name", sorted(n for n in PROCEDURES if n.startswith("no_")))
def test_refuses_what_is_no_such_sum(name: str) -> None:
    assert not proposals(name, TARGET)


def test_rows_are_tiled_where_they_share_an_operand() -> None:
    def rows(name: str) -> set[int]:
        return {rewrite.arg("tile_rows") for rewrite in proposals(name, TARGET)}

    assert rows("matrix_vector") == {1, 4, 8}
    assert proposals("matrix_vector", TARGET)[0].arg("tile_rows") == 4  # before single rows
    assert rows("constant_length") == {1}
    assert rows("dot") == {1}


@pytest.mark.parametrize("change", [{"tile_rows": 2}, {"chains": 64}, {"lanes": 3}, {"tail": ""}])
def test_refuses_other_arguments(change: dict[str, int | str]) -> None:
    (rewrite, *_) = proposals("dot", TARGET)
    args = tuple(sorted({**dict(rewrite.args), **change}.items()))
    with pytest.raises(RewriteError):
        apply(PROCEDURES["dot"], mirror(PROCEDURES["dot"]), replace(rewrite, args=args))

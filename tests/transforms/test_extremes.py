"""Minima and maxima are reductions as sums are: blocked for registers, and taken in several
chains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.analysis.independence import has_threads
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.differing import differing
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("extremes")
WIDE = replace(TARGET, vector_bits=512, vector_registers=32)
HALF = replace(TARGET, vector_bits=256)
BLOCKED = ("min_plus", "max_plus", "farthest", "relaxed", "bottleneck", "pooled")
ROWS = sorted(name for name in PROCEDURES if name.startswith(("row_", "norm", "spread")))
REFUSED = sorted(name for name in PROCEDURES if name.startswith("no_"))
WAYS = [
    (TARGET, ["-O1"]),
    (HALF, ["-O2", "-mavx2"]),
    (WIDE, ["-O3", "-march=x86-64-v4", "-ffast-math"]),
]
SIZES = {
    "min_plus": [
        {"M": 1, "N": 1, "K": 1},
        {"M": 7, "N": 13, "K": 5},
        {"M": 17, "N": 67, "K": 2},
    ],
    "pooled": [{}],
    **{name: [{"n": n} for n in (1, 3, 4, 17, 140)] for name in ROWS},
}


def proposals(name: str, transform: str, target: Target) -> list[Rewrite]:
    return list(select([transform])[0].rewrites(mirror(PROCEDURES[name]), target))


def assert_means_the_same(
    name: str,
    rewrites: list[Rewrite],
    flags: list[str],
    folder: Path,
    before: Any = None,
    threads: tuple[int, ...] = (1,),
) -> None:
    """Each of the rewrites, of the procedure or of what `before` is, on so many threads."""
    before = before or PROCEDURES[name]
    found = [apply(before, mirror(before), rewrite) for rewrite in rewrites]
    for procedure in found:
        assert any(isinstance(s, q.Call) for s in q.walk(mirror(procedure).body))
    codes, meaning = [generate_c(each) for each in found], mirror(PROCEDURES[name])
    assert not differing(meaning, codes, flags, folder, SIZES.get(name, [{}]), 0, threads)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "flags"), WAYS)
@pytest.mark.parametrize("name", BLOCKED)
def test_every_block_keeps_the_meaning(
    name: str, target: Target, flags: list[str], tmp_path: Path
) -> None:
    rewrites = proposals(name, "register_block", target)
    assert rewrites
    assert_means_the_same(name, rewrites, flags, tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize("name", BLOCKED)
def test_first_and_last_block_keep_the_meaning(name: str, tmp_path: Path) -> None:
    rewrites = proposals(name, "register_block", HALF)
    assert_means_the_same(name, [rewrites[0], rewrites[-1]], WAYS[1][1], tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize(("target", "flags"), WAYS)
@pytest.mark.parametrize("name", ROWS)
def test_every_form_over_lanes_keeps_the_meaning(
    name: str, target: Target, flags: list[str], tmp_path: Path
) -> None:
    rewrites = proposals(name, "vectorise_reduction", target)
    assert {dict(each.args)["chains"] for each in rewrites} == {8, 4}
    rewrites += [with_arg(rewrites[0], "chains", chains) for chains in (1, 2)]
    assert_means_the_same(name, rewrites, flags, tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize(("target", "flags"), WAYS)
@pytest.mark.parametrize("name", ROWS)
def test_parts_on_any_number_of_threads_keep_the_meaning(
    name: str, target: Target, flags: list[str], tmp_path: Path
) -> None:
    found = proposals(name, "vectorise_reduction", target)
    rewrite = next(each for each in found if "aligned" not in dict(each.args))
    rewrites = [with_arg(rewrite, "parts", parts) for parts in (2, 3)]
    assert_means_the_same(name, rewrites, flags, tmp_path, threads=(1, 8))


def with_arg(rewrite: Rewrite, name: str, value: int) -> Rewrite:
    return replace(rewrite, args=tuple(sorted({**dict(rewrite.args), name: value}.items())))


def test_threads_are_offered_parts_where_no_loop_around_could_be_parallel() -> None:
    threads = replace(TARGET, threads=2)
    offered = {name: proposals(name, "vectorise_reduction", threads) for name in ROWS}
    in_parts = {
        name: [each for each in found if dict(each.args).get("parts") == 2]
        for name, found in offered.items()
    }
    offers = {name for name, found in in_parts.items() if found}
    assert offers == {"norm", "row_maybe_empty", "spread"}
    procedure, rewrite = PROCEDURES["norm"], in_parts["norm"][0]
    after = mirror(apply(procedure, mirror(procedure), rewrite))
    assert has_threads(after)


def test_a_part_in_a_parallel_loop_is_refused() -> None:
    procedure = PROCEDURES["row_tops"]
    (rewrite, *_) = select(["parallelize"])[0].rewrites(
        mirror(procedure), replace(TARGET, threads=2)
    )
    parallel = apply(procedure, mirror(procedure), rewrite)
    (lanes, *_) = select(["vectorise_reduction"])[0].rewrites(mirror(parallel), TARGET)
    apply(parallel, mirror(parallel), lanes)
    with pytest.raises(RewriteError, match="parts"):
        apply(parallel, mirror(parallel), with_arg(lanes, "parts", 2))
    (lanes, *_) = proposals("row_tops", "vectorise_reduction", TARGET)
    inside = apply(procedure, mirror(procedure), with_arg(lanes, "parts", 2))
    with pytest.raises(RewriteError, match="sequential"):
        apply(inside, mirror(inside), rewrite)


@pytest.mark.normal
def test_extremes_in_scalars_get_loops_of_their_own_and_a_block(tmp_path: Path) -> None:
    original = PROCEDURES["in_a_scalar"]
    (isolate,) = proposals("in_a_scalar", "isolate_sum", HALF)
    alone = apply(original, mirror(original), isolate)
    blocks = list(select(["register_block"])[0].rewrites(mirror(alone), HALF))
    assert_means_the_same("in_a_scalar", [blocks[0], blocks[-1]], WAYS[1][1], tmp_path, alone)


def test_extremes_of_elements_that_loops_do_not_move_are_kept_in_scalars() -> None:
    (rewrite,) = proposals("row_integers", "stage_scalar", TARGET)
    procedure = PROCEDURES["row_integers"]
    ast = mirror(apply(procedure, mirror(procedure), rewrite))
    (inner,) = (s for s in q.walk(ast.body) if isinstance(s, q.For) and s.iter.name == "j")
    assert not any(s.idx for s in inner.body if isinstance(s, q.Assign))


def test_operands_are_packed_where_they_lie_across() -> None:
    assert {each.arg("pack") for each in proposals("farthest", "register_block", TARGET)} == {True}
    assert any(each.arg("pack") for each in proposals("min_plus", "register_block", TARGET))


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_what_is_no_such_reduction(name: str) -> None:
    assert not proposals(name, "vectorise_reduction", TARGET)


@pytest.mark.parametrize(
    "change",
    [
        {"tile_rows": 4},
        {"tail": "none"},
        {"chains": 64},
        {"parts": 0},
        {"parts": 10**6},
        {"parts": "n"},
    ],
)
def test_refuses_other_arguments(change: dict[str, int | str]) -> None:
    (rewrite, *_) = proposals("row_tops", "vectorise_reduction", TARGET)
    args = tuple(sorted({**dict(rewrite.args), **change}.items()))
    procedure = PROCEDURES["row_tops"]
    with pytest.raises(RewriteError):
        apply(procedure, mirror(procedure), replace(rewrite, args=args))

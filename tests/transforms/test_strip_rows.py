"""Rows that are read twice are carried out in strips."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures, only

PROCEDURES = Procedures("strips")
BLOCK, STRIP, SUMS = select(["block_all", "strip_rows", "vectorise_reduction"])

SIZES: dict[str, list[dict[str, int]]] = {
    "normal_equations": [{}],
    "gradient": [{"n": n, "m": m} for n, m in ((1, 1), (15, 7), (16, 33), (53, 20))],
    "with_outputs": [{"n": n} for n in (1, 31, 32, 70)],
    "cosines": [{"n": n} for n in (1, 15, 16, 53)],
    "thin_product": [{"n": n} for n in (1, 15, 16, 53)],
}
SHORT = ("cosines", "thin_product")


def blocked(name: str) -> list[tuple[Trace, State]]:
    """The strips alone, with blocks for the result, and with both sums in registers."""
    found = [only(STRIP, PROCEDURES[name])]
    for transform in (SUMS,) if name in SHORT else (BLOCK, SUMS):
        trace, state = found[-1]
        rewrite = next(transform.rewrites(state.ast, TARGET))
        procedure = apply(state.procedure, state.ast, rewrite)
        found.append((trace.then(rewrite), State(procedure, mirror(procedure))))
    return found


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    assert_same_meaning(PROCEDURES[name], blocked(name), SIZES[name], tmp_path)


@pytest.mark.parametrize("name", sorted(SIZES))
def test_each_part_has_a_loop_over_the_strip(name: str) -> None:
    trace, state = only(STRIP, PROCEDURES[name])
    [rewrite] = trace.steps
    rows = [s for s in q.walk(state.ast.body) if isinstance(s, q.For) and s.iter.name == "ir"]
    assert len(rows) >= (2 if name in SHORT else 3)
    assert all(len(each.body) <= 2 for each in rows)
    assert all(each.extent == rewrite.arg("rows") for each in rows)
    assert not list(STRIP.rewrites(state.ast, TARGET))


@pytest.mark.normal
def test_only_scalars_of_a_strip_are_on_the_stack(tmp_path: Path) -> None:
    after = only(STRIP, PROCEDURES["with_rows"])
    allocs = [s for s in q.walk(after[1].ast.body) if isinstance(s, q.Alloc)]
    places = {(s.buf.name, len(s.shape)): s.mem for s in allocs}
    assert (places["row", 2], places["t", 1]) == ("DRAM", "DRAM_STACK_ALIGNED")
    sizes = [{"n": n} for n in (1, 64, 70)]
    assert_same_meaning(PROCEDURES["with_rows"], [after], sizes, tmp_path)


@pytest.mark.parametrize("name", ["own_rows", "other_array"])
def test_rows_that_are_not_read_twice_for_one_result_stay(name: str) -> None:
    assert not list(STRIP.rewrites(mirror(PROCEDURES[name]), TARGET))


def test_short_rows_of_a_product_are_left_to_its_blocks() -> None:
    ast = mirror(PROCEDURES["short_product"])
    assert not list(STRIP.rewrites(ast, TARGET))
    assert list(BLOCK.rewrites(ast, TARGET))


def test_rows_that_need_what_those_before_gave_are_refused() -> None:
    procedure = PROCEDURES["weights_change"]
    ast = mirror(procedure)
    [rewrite] = STRIP.rewrites(ast, TARGET)
    with pytest.raises(RewriteError, match="fission"):
        apply(procedure, ast, rewrite)


@pytest.mark.parametrize("rows", [1, 65, 2000, True, "8"])
def test_other_strips_are_refused(rows: object) -> None:
    procedure = PROCEDURES["normal_equations"]
    ast = mirror(procedure)
    [rewrite] = STRIP.rewrites(ast, TARGET)
    with pytest.raises(RewriteError):
        apply(procedure, ast, replace(rewrite, args=(("rows", rows),)))

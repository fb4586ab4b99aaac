"""Rows and columns of one array are summed in one pass, several rows in an instruction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.trace import AS_WRITTEN, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from schedsearch.transforms.vector.fused.recognise import fuse
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures, only

PROCEDURES = Procedures("one_pass")
BLOCK, CUT, STAGE, STRIP, SUMS = select(
    ["block_all", "cut_triangle", "stage_sums", "strip_rows", "vectorise_reduction"]
)
WIDE = replace(TARGET, vector_bits=256, vector_registers=32)
STRICT = replace(TARGET, fp=FloatingPoint.STRICT)

SIZES: dict[str, list[dict[str, int]]] = {
    "both_ways": [{"n": n, "m": m} for n, m in ((1, 1), (8, 16), (7, 33), (27, 70))],
    "of_a_batch": [{"b": 2, "n": n, "m": m} for n, m in ((1, 1), (9, 21), (16, 8))],
    "updated": [{"n": n} for n in (1, 7, 8, 19, 33)],
    "column_used_by_the_next": [{"n": n, "m": m} for n, m in ((1, 1), (19, 35))],
}
TRIANGLES: dict[str, list[dict[str, int]]] = {
    "lower": [{"n": n} for n in (1, 7, 8, 9, 16, 45)],
    "upper": [{"n": n} for n in (1, 7, 8, 9, 16, 45)],
    "with_diagonal": [{"n": n} for n in (1, 8, 15, 45)],
    "below_diagonal": [{"n": n} for n in (1, 8, 15, 45)],
    "constant": [{}],
}


def side_by_side(name: str) -> list[tuple[Trace, State]]:
    """The strips of a triangle, and with all sums in registers."""
    procedure = PROCEDURES[name]
    found = [only(STRIP, procedure)] if name in TRIANGLES else []
    trace, state = found[-1] if found else (AS_WRITTEN, State(procedure, mirror(procedure)))
    while rewrite := next(iter(SUMS.rewrites(state.ast, WIDE)), None):
        trace, procedure = trace.then(rewrite), apply(state.procedure, state.ast, rewrite)
        state = State(procedure, mirror(procedure))
        found.append((trace, state))
    return found


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES | TRIANGLES))
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    found = side_by_side(name)
    rows = [step.args for step in found[-1][0].steps if step.transform == SUMS.name]
    assert any(dict(args)["tile_rows"] > 1 for args in rows)
    assert_same_meaning(PROCEDURES[name], found, (SIZES | TRIANGLES)[name], tmp_path)


@pytest.mark.parametrize("name", sorted(SIZES | TRIANGLES))
def test_one_pass_is_not_taken_apart(name: str) -> None:
    ast = mirror(PROCEDURES[name])
    for transform in (BLOCK, STAGE, CUT):
        assert not list(transform.rewrites(ast, TARGET))


@pytest.mark.parametrize("name", sorted(TRIANGLES))
def test_a_strip_has_a_corner_and_a_rectangle(name: str) -> None:
    _, state = only(STRIP, PROCEDURES[name])
    strips = next(s for s in state.ast.body if isinstance(s, q.For))
    rows = [s for s in strips.body if isinstance(s, q.For) and s.iter.name == "ir"]
    inner = [s for each in rows for s in each.body if isinstance(s, q.For)]
    depends = [
        bool({r.iter for r in rows} & (q.expr_vars(s.lo) | q.expr_vars(s.hi))) for s in inner
    ]
    assert sorted(depends) == [False, True]
    assert not list(STRIP.rewrites(state.ast, TARGET))


@pytest.mark.parametrize(
    ("name", "possible"),
    [
        ("both_ways", True),
        ("next_column", False),
        ("row_used", False),
        ("overlapping_rows", False),
        ("row_before", False),
    ],
)
def test_lanes_that_access_what_others_write_are_refused(name: str, possible: bool) -> None:
    proc = mirror(PROCEDURES[name])
    rows = proc.body[0]
    assert isinstance(rows, q.For)
    some = replace(rows, hi=q.Affine(4), body=rows.body[-1:])
    assert bool(fuse(proc, some, 8, True, together=True)) is possible


def test_sums_keep_their_order_where_it_counts() -> None:
    assert not list(STRIP.rewrites(mirror(PROCEDURES["lower"]), STRICT))
    assert list(STAGE.rewrites(mirror(PROCEDURES["lower"]), STRICT))


@pytest.mark.parametrize("name", ["both_ways", "next_column"])
def test_there_is_no_triangle_elsewhere(name: str) -> None:
    procedure = PROCEDURES[name]
    ast = mirror(procedure)
    [rewrite] = STRIP.rewrites(mirror(PROCEDURES["lower"]), TARGET)
    with pytest.raises(RewriteError, match="triangle"):
        apply(procedure, ast, rewrite)


def test_rows_are_not_more_than_there_are() -> None:
    procedure = PROCEDURES["constant"]
    ast = mirror(procedure)
    [rewrite] = STRIP.rewrites(ast, TARGET)
    with pytest.raises(RewriteError, match="only 37"):
        apply(procedure, ast, replace(rewrite, args=(("diagonal", True), ("rows", 64))))

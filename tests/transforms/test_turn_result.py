"""Results of triangles over their columns are laid out along their rows."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from schedsearch.analysis.accesses import accesses
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("triangles")
(TURN,) = select(["turn_result"])

RECTANGLES = [{"m": m, "n": n} for m, n in ((1, 1), (3, 1), (1, 4), (5, 9), (17, 16))]
SIZES: dict[str, list[dict[str, int]]] = {
    "right_in_place": RECTANGLES,
    "right_by_columns": RECTANGLES,
    "right_steps_first": RECTANGLES,
    "right_symmetric": RECTANGLES,
    "right_of_each": RECTANGLES,
    "above_diagonal": [{"n": n} for n in (1, 2, 9, 16)],
}


@cache
def turned(name: str) -> tuple[Rewrite, State]:
    original = PROCEDURES[name]
    rewrite = next(iter(TURN.rewrites(mirror(original), TARGET)))
    after = apply(original, mirror(original), rewrite)
    return rewrite, State(after, mirror(after))


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    rewrite, state = turned(name)
    assert_same_meaning(PROCEDURES[name], [(Trace((rewrite,)), state)], SIZES[name], tmp_path)


@pytest.mark.parametrize("name", sorted(SIZES))
def test_no_loop_depends_on_that_along_the_result(name: str) -> None:
    """Or, above the diagonal, `interchange_triangle` has a row end there."""
    _, state = turned(name)
    sums = [s for s in q.walk(state.ast.body) if isinstance(s, q.Reduce)]
    assert sums
    loops = [s for s in q.walk(state.ast.body) if isinstance(s, q.For)]
    used = frozenset().union(*(q.expr_vars(end) for x in loops for end in (x.lo, x.hi)))
    along = frozenset().union(*(q.expr_vars(s.idx[-1]) for s in sums))
    if name == "above_diagonal":
        assert not list(TURN.rewrites(state.ast, TARGET))
    else:
        assert not along & used


def test_what_is_read_along_the_steps_is_turned_too() -> None:
    _, state = turned("right_of_each")
    *_, total = (s for s in q.walk(state.ast.body) if isinstance(s, q.Reduce))
    names = {each.buf.name for each in accesses((total,))}
    assert names == {"C_c", "B_c", "A"}


@pytest.mark.parametrize(
    "name",
    ["product_below", "reduced", "solved", "symmetric", "in_place", "rank_update", "rows_below"],
)
def test_what_is_along_its_rows_stays(name: str) -> None:
    assert not list(TURN.rewrites(mirror(PROCEDURES[name]), TARGET))


@pytest.mark.parametrize("name", ["right_of_the_next", "right_of_a_window"])
def test_another_part_or_a_window_is_not_turned(name: str) -> None:
    assert not list(TURN.rewrites(mirror(PROCEDURES[name]), TARGET))


def test_a_trace_that_names_another_sum_is_refused() -> None:
    procedure = PROCEDURES["right_steps_first"]
    ast = mirror(procedure)
    [rewrite] = TURN.rewrites(ast, TARGET)
    elsewhere = (0, 0)
    wrong = replace(rewrite, path=elsewhere, label="for j in seq(0, n)")
    with pytest.raises(RewriteError, match="no sum over a triangle"):
        apply(procedure, ast, wrong)

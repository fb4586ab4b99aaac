"""Sums whose rows are the inner loop of a triangle get the rows outside."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from exo.stdlib.scheduling import specialize

from schedsearch.analysis.conditions import LARGEST, in_dead_branch
from schedsearch.analysis.walkers import loops
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, propose, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("triangles")
ALL = select(None)
(INTERCHANGE,) = select(["interchange_triangle"])


@cache
def interchanged(name: str) -> tuple[Rewrite, State]:
    original = PROCEDURES[name]
    (rewrite,) = INTERCHANGE.rewrites(mirror(original), TARGET)
    after = apply(original, mirror(original), rewrite)
    return rewrite, State(after, mirror(after))


@pytest.mark.normal
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("rows_above", [{"n": n, "m": m} for n, m in ((1, 3), (2, 1), (9, 4))]),
        ("rows_up_to", [{}]),
        ("rows_in_place", [{"n": n} for n in (1, 2, 9)]),
        ("rows_below", [{"n": n, "m": m} for n, m in ((1, 3), (2, 1), (9, 4))]),
        ("rows_from", [{}]),
        ("columns_first", [{"n": n} for n in (1, 2, 9)]),
    ],
)
def test_the_meaning_stays(name: str, sizes: list[dict[str, int]], tmp_path: Path) -> None:
    rewrite, state = interchanged(name)
    assert_same_meaning(PROCEDURES[name], [(Trace((rewrite,)), state)], sizes, tmp_path)


@pytest.mark.parametrize(("name", "beyond"), [("rows_above", 1), ("rows_up_to", 0)])
def test_a_row_has_its_terms_one_after_another(name: str, beyond: int) -> None:
    _, state = interchanged(name)
    alive = [each for each in loops(state.ast) if not in_dead_branch(state.ast, each.path)]
    row, column, term = alive[-3:]
    assert [each.iter.name for each in (row, column, term)] == ["k", "j", "i"]
    assert term.lo == q.as_affine(row.iter) + beyond
    assert term.hi == row.hi


@pytest.mark.parametrize(("name", "beyond"), [("rows_below", 0), ("rows_from", 1)])
def test_a_row_that_begins_at_the_diagonal_has_the_terms_up_to_it(name: str, beyond: int) -> None:
    _, state = interchanged(name)
    alive = [each for each in loops(state.ast) if not in_dead_branch(state.ast, each.path)]
    row, column, term = alive[-3:]
    assert [each.iter.name for each in (row, column, term)] == ["k", "j", "i"]
    assert term.lo == q.Affine(0)
    assert term.hi == q.as_affine(row.iter) + beyond


def test_columns_come_to_be_inside() -> None:
    _, state = interchanged("columns_first")
    alive = [each for each in loops(state.ast) if not in_dead_branch(state.ast, each.path)]
    assert [each.iter.name for each in alive] == ["i", "j", "k"]
    assert alive[1].hi == q.as_affine(alive[0].iter) + 1


def test_nothing_is_proposed_for_what_never_runs() -> None:
    _, state = interchanged("rows_above")
    dead = [s for s in q.walk(state.ast.body) if in_dead_branch(state.ast, s.path)]
    assert dead
    found = [rewrite.path for rewrite in propose(state.ast, TARGET, ALL)]
    assert found
    assert not {stmt.path for stmt in dead} & {*found}


@pytest.mark.parametrize(
    ("condition", "dead"),
    [(f"n <= {LARGEST}", True), (f"n < {LARGEST}", False), (f"2 * n <= {LARGEST}", False)],
)
def test_only_an_else_of_all_sizes_is_dead(condition: str, dead: bool) -> None:
    original = PROCEDURES["reduced"]
    ast = mirror(specialize(original, original.find_loop("i"), [condition]))
    assert in_dead_branch(ast, (0, "e", 0)) is dead
    assert not in_dead_branch(ast, (0, 0))


@pytest.mark.parametrize(
    "name", ["columns_before", "reduced", "solved", "rank_update", "rows_beyond", "above_diagonal"]
)
def test_other_triangles_stay(name: str) -> None:
    assert not list(INTERCHANGE.rewrites(mirror(PROCEDURES[name]), TARGET))


def test_a_row_that_is_read_meanwhile_stays() -> None:
    with pytest.raises(RewriteError, match="cannot be reordered"):
        interchanged("rows_of_the_first")

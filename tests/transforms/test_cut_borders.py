"""Borders are cut off, and what is between has no conditions."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Trace
from schedsearch.transforms.estimate.cost import log_cost
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.library.composites import cut_borders
from schedsearch.transforms.registry import select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures, only

PROCEDURES = Procedures("borders")
[CUT] = select(["cut_borders"])

SIZES = {
    "line": [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 9}],
    "image": [{}],
    "convolution": [{"n": 1, "c": 1}, {"n": 2, "c": 3}, {"n": 7, "c": 2}],
    "plane": [{"n": 1, "m": 1}, {"n": 2, "m": 2}, {"n": 5, "m": 7}],
    "batch": [{"n": 1, "m": 1}, {"n": 2, "m": 2}, {"n": 3, "m": 7}],
    "two_windows": [{"n": 1}, {"n": 4}, {"n": 5}, {"n": 9}],
}


@cache
def cut(name: str) -> tuple[Trace, State]:
    return only(CUT, PROCEDURES[name])


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    assert_same_meaning(PROCEDURES[name], [cut(name)], SIZES[name], tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_most_iterations_have_no_condition(name: str) -> None:
    _, state = cut(name)
    conditions = [s for s in q.walk(state.ast.body) if isinstance(s, q.If) and not s.orelse]
    sums = [s for s in q.walk(state.ast.body) if isinstance(s, q.Reduce)]
    guarded = {s.path for each in conditions for s in q.walk(each.body)}
    assert [s for s in sums if s.path not in guarded]
    sizes = {"n": 500, "c": 8, "m": 500}
    assert log_cost(state.ast, TARGET, sizes) < log_cost(mirror(PROCEDURES[name]), TARGET, sizes)


@pytest.mark.parametrize("name", ["diagonal", "short", "far"])
def test_what_is_no_border_is_not_cut(name: str) -> None:
    ast = mirror(PROCEDURES[name])
    assert not list(CUT.rewrites(ast, TARGET))
    [loop, *_] = ast.body
    with pytest.raises(RewriteError, match="no loop with borders"):
        next(cut_borders.steps(ast, loop.path, {}))


@pytest.mark.parametrize("name", sorted(SIZES))
def test_what_is_kept_for_small_sizes_is_not_cut_again(name: str) -> None:
    _, state = cut(name)
    assert not [rewrite for rewrite in CUT.rewrites(state.ast, TARGET) if "e" in rewrite.path]

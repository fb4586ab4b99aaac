"""Loops are cut where they overwrite what all their iterations read."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Trace
from schedsearch.transforms.estimate.cost import log_cost
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures, only

PROCEDURES = Procedures("overwritten")
[CUT] = select(["cut_apart"])

SIZES = {
    "shortest_paths": [{"n": 1}, {"n": 2}, {"n": 9}],
    "next_to": [{"n": 1}, {"n": 7}],
    "fixed": [{}],
}


@cache
def cut(name: str) -> tuple[Trace, State]:
    return only(CUT, PROCEDURES[name])


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    assert_same_meaning(PROCEDURES[name], [cut(name)], SIZES[name], tmp_path)


@pytest.mark.parametrize("name", sorted(SIZES))
def test_two_loops_are_left_that_can_be_vectorised(name: str) -> None:
    _, state = cut(name)
    own = [s for s in q.walk(state.ast.body) if isinstance(s, q.For) and s.iter.name == "j"]
    assert len(own) == 2
    assert all(loop.lo == q.Affine(0) for loop in own)
    scalars = {s.buf for s in q.walk(state.ast.body) if isinstance(s, q.Alloc) and not s.shape}
    assert all(q.used_vars(loop.body) & scalars for loop in own)
    assert not list(CUT.rewrites(state.ast, TARGET))
    before = log_cost(mirror(PROCEDURES[name]), TARGET, {"n": 500})
    assert log_cost(state.ast, TARGET, {"n": 500}) < before or name == "fixed"


@pytest.mark.parametrize("name", ["below_diagonal", "other_rows"])
def test_nothing_is_cut_where_nothing_meets(name: str) -> None:
    assert not list(CUT.rewrites(mirror(PROCEDURES[name]), TARGET))


def test_other_elements_are_refused() -> None:
    procedure = PROCEDURES["shortest_paths"]
    ast = mirror(procedure)
    [rewrite] = CUT.rewrites(ast, TARGET)
    for element in ("D[k, j]", "D", 3, True):
        with pytest.raises(RewriteError, match="no loop that overwrites this"):
            apply(procedure, ast, replace(rewrite, args=(("element", element),)))

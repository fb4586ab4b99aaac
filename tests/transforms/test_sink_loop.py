"""Loops along rows are moved inside of loops that go down columns."""

from __future__ import annotations

from functools import cache
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

PROCEDURES = Procedures("columns")
[SINK] = select(["sink_loop"])

SIZES = {
    "projections": [{"n": 1, "m": 1}, {"n": 5, "m": 9}],
    "means": [{"n": 1, "m": 1}, {"n": 7, "m": 4}],
    "above_diagonal": [{"n": 1}, {"n": 9}],
    "recurrences": [{"n": 1, "m": 1}, {"n": 6, "m": 5}],
    "filters_down": [{"n": 1, "m": 1}, {"n": 6, "m": 5}],
    "oscillators": [{"n": 1, "m": 1}, {"n": 6, "m": 5}],
    "patches": [{"c": 1, "n": 1}, {"c": 3, "n": 5}],
}


@cache
def sunk(name: str) -> tuple[Trace, State]:
    return only(SINK, PROCEDURES[name])


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    assert_same_meaning(PROCEDURES[name], [sunk(name)], SIZES[name], tmp_path)


@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_loop_is_innermost_everywhere(name: str) -> None:
    _, state = sunk(name)
    loops = [s for s in q.walk(state.ast.body) if isinstance(s, q.For)]
    own = [loop for loop in loops if loop.iter.name == "j"]
    assert len(own) >= (1 if name == "patches" else 2)
    assert not any(isinstance(s, q.For) for loop in own for s in loop.body)
    assert not list(SINK.rewrites(state.ast, TARGET))


@pytest.mark.parametrize(
    "name",
    ["along_rows", "perfect", "bounded_by_it", "a_branch", "sums_alone", "filters_of_rows"],
)
def test_where_it_gains_nothing_or_cannot_be_done_nothing_is_proposed(name: str) -> None:
    assert not list(SINK.rewrites(mirror(PROCEDURES[name]), TARGET))


@pytest.mark.normal
def test_scalars_that_columns_share_become_rows(tmp_path: Path) -> None:
    """Each with the value of its own column; rows of them are jammed with such scalars apart."""
    _, state = sunk("filters_down")
    rows = [s for s in q.walk(state.ast.body) if isinstance(s, q.Alloc) and s.shape]
    assert {alloc.buf.name for alloc in rows} == {"r_p", "before_p", "s_p"}
    [jam] = select(["unroll_and_jam"])
    procedure = PROCEDURES["filters_down"]
    rewrite = next(iter(jam.rewrites(mirror(procedure), TARGET)))
    made = apply(procedure, mirror(procedure), rewrite)
    jammed = (Trace().then(rewrite), State(made, mirror(made)))
    assert_same_meaning(procedure, [jammed], SIZES["filters_down"], tmp_path)


def test_what_the_next_iteration_needs_is_refused() -> None:
    with pytest.raises(RewriteError, match="fission"):
        sunk("carried")


def test_statements_without_loops_stay_together() -> None:
    _, state = sunk("recurrences")
    loops = [s for s in q.walk(state.ast.body) if isinstance(s, q.For) and s.iter.name == "j"]
    assert [sum(not isinstance(s, q.Alloc) for s in loop.body) for loop in loops] == [2, 4]
    arrays = {s.buf.name: len(s.shape) for s in q.walk(state.ast.body) if isinstance(s, q.Alloc)}
    assert arrays == {"before": 1, "last": 1, "t": 0}

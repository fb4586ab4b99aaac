"""Temporaries are computed once where loops around them do not change their value."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("temporaries")
[HOIST] = select(["hoist_temporary"])

SIZES: dict[str, list[dict[str, int]]] = {
    "cosines": [{"n": 1, "m": 1, "p": 1}, {"n": 3, "m": 5, "p": 4}],
    "triangle": [{"n": 1}, {"n": 6}],
    "functions": [{"n": 1}, {"n": 5}],
    "rows": [{"n": 1}, {"n": 3}],
}


@cache
def hoisted(name: str) -> list[tuple[Trace, State]]:
    """One temporary after the other, until none is left to move."""
    procedure, trace = PROCEDURES[name], Trace()
    found = []
    while rewrites := list(HOIST.rewrites(mirror(procedure), TARGET)):
        procedure = apply(procedure, mirror(procedure), rewrites[0])
        trace = trace.then(rewrites[0])
        found.append((trace, State(procedure, mirror(procedure))))
    return found


def depths(ast: q.Proc, buf: str) -> set[int]:
    """How many loops are around the statements that write a buffer of this name."""
    simple = (s for s in q.walk(ast.body) if isinstance(s, q.Assign | q.Reduce))
    return {len(s.path) - 1 for s in simple if s.buf.name == buf}


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_step_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    steps = hoisted(name)
    assert steps
    assert_same_meaning(PROCEDURES[name], steps, SIZES[name], tmp_path)


@pytest.mark.normal
def test_only_the_loops_that_change_the_value_are_left_around_it() -> None:
    end = hoisted("cosines")[-1][1].ast
    assert (depths(end, "xx"), depths(end, "yy")) == ({1, 2}, {1, 2})
    shapes = {
        s.buf.name: [*map(show_affine, s.shape)] for s in q.walk(end.body) if isinstance(s, q.Alloc)
    }
    assert (shapes["xx"], shapes["yy"]) == ([], ["m"])


def test_a_triangle_stays_around_what_depends_on_both_of_its_loops() -> None:
    assert depths(hoisted("triangle")[-1][1].ast, "mean") == {2, 3}


def test_a_function_alone_gets_no_array() -> None:
    [(_, state)] = hoisted("functions")
    assert depths(state.ast, "s") == {1}
    assert depths(state.ast, "r") == {2}


@pytest.mark.parametrize(
    "name",
    [
        "overwritten",
        "of_another",
        "in_turn",
        "sometimes",
        "in_either_branch",
        "depends_on_all",
        "goes_on",
        "perhaps_never",
        "used_between",
    ],
)
def test_others_stay(name: str) -> None:
    assert not hoisted(name)

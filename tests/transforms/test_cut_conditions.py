"""Loops are cut where conditions change in them, and the parts have none."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.text import show_proc
from schedsearch.core.trace import Trace
from schedsearch.transforms.estimate.cost import log_cost
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.library.composites import cut_conditions
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("conditions")
[CUT] = select(["cut_conditions"])

ANY = [{"n": n} for n in (1, 2, 9)]
SIZES: dict[str, list[dict[str, int]]] = {
    **dict.fromkeys(("below", "above", "inside", "diagonal", "falling", "two_conditions"), ANY),
    "scores": [{}],
    "band": [{}],
    "band_of_any": [{"n": n, "w": w} for n, w in ((1, 1), (3, 7), (7, 3), (8, 8), (9, 1))],
    "box": [
        dict(zip("nmabcd", each, strict=True))
        for each in ((1, 1, 1, 1, 1, 1), (9, 8, 2, 5, 3, 7), (9, 8, 5, 2, 1, 8), (3, 4, 5, 6, 7, 8))
    ],
    "causal_filter": [{"n": n} for n in (1, 69, 70, 71, 100)],
    "first_part": [{"n": n, "m": m} for n, m in ((1, 1), (3, 7), (7, 3), (8, 8))],
}


@cache
def cut(name: str) -> list[tuple[Trace, State]]:
    """What is made of a procedure, one loop after the other."""
    procedure = PROCEDURES[name]
    found = [(Trace(), State(procedure, mirror(procedure)))]
    while rewrite := next(CUT.rewrites(found[-1][1].ast, TARGET), None):
        trace, state = found[-1]
        procedure = apply(state.procedure, state.ast, rewrite)
        found.append((trace.then(rewrite), State(procedure, mirror(procedure))))
        assert len(found) < 10
    return found[1:]


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    states = cut(name)
    assert_same_meaning(PROCEDURES[name], states, SIZES[name], tmp_path)


def conditions(proc: q.Proc) -> list[q.If]:
    """Those that are about loops, but for the copies of nests for other sizes."""
    iters = {stmt.iter for stmt in q.walk(proc.body) if isinstance(stmt, q.For)}
    found = [stmt for stmt in q.walk(proc.body) if isinstance(stmt, q.If)]
    return [each for each in found if q.expr_vars(each.cond) & iters and "e" not in each.path]


@pytest.mark.parametrize("name", sorted(SIZES.keys() - {"box"}))
def test_no_condition_is_left(name: str) -> None:
    _, state = cut(name)[-1]
    assert not conditions(state.ast)
    sizes = {"n": 500, "m": 100, "w": 30}
    assert log_cost(state.ast, TARGET, sizes) <= log_cost(mirror(PROCEDURES[name]), TARGET, sizes)


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("below", ["0:i + 1", "i + 1:n"]),
        ("above", ["i + 1:n"]),
        ("inside", ["0:i"]),
        ("diagonal", ["0:i", "i + 1:n"]),
        ("falling", ["0:n - i", "n - i:n"]),
        ("two_conditions", ["0:i"]),
    ],
)
def test_where_it_is_cut(name: str, ends: list[str]) -> None:
    _, state = cut(name)[-1]
    text = show_proc(state.ast)
    for each in ends:
        low, high = each.split(":")
        assert f"for j in seq({low}, {high})" in text, text


def test_copies_for_other_sizes_have_an_end() -> None:
    found = cut("box")
    assert len(found) <= 4
    _, state = found[-1]
    assert "for j in seq(0, -c + d)" in show_proc(state.ast)


@pytest.mark.parametrize("name", ["of_sizes", "of_steps", "borders"])
def test_what_is_not_cut(name: str) -> None:
    ast = mirror(PROCEDURES[name])
    assert not list(CUT.rewrites(ast, TARGET))
    [loop, *_] = ast.body
    with pytest.raises(RewriteError, match="no loop in which a condition changes"):
        next(cut_conditions.steps(ast, loop.path, {}))

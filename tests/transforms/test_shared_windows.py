"""What neighbouring windows share is summed up once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.text import header, show_affine
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, propose, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("shared_windows")
(FACTOR,) = select(["factor_sum"])

OPEN = [{"n": 1, "m": 1}, {"n": 13, "m": 2}, {"n": 26, "m": 7}]
"""Too few rows, so that all are summed up as before, just enough, and more than that."""
COLUMNS = [{"n": 1, "m": 1}, {"n": 2, "m": 13}, {"n": 7, "m": 26}]

SIZES = {
    "separable": [{}],
    "of_any_size": [{"n": 8, "m": 3}, {"n": 9, "m": 3}, {"n": 10, "m": 1}],
    "mean": [{"n": 16, "m": 3}, {"n": 17, "m": 3}, {"n": 23, "m": 4}],
    "space": [{}],
    "turned": OPEN,
    "apart": [{"n": 24, "m": 2}, {"n": 25, "m": 2}, {"n": 31, "m": 9}],
    "from_the_end": OPEN,
    "batch": [{"b": 1, "n": 1}, {"b": 2, "n": 13}, {"b": 1, "n": 20}],
    "weights_of_rows": OPEN,
    "in_steps": COLUMNS,
    "otherwise": COLUMNS,
    "overwritten": COLUMNS,
}


@cache
def shared(name: str) -> list[tuple[Trace, State]]:
    """The procedure after each window in turn."""
    procedure, trace = PROCEDURES[name], Trace()
    found: list[tuple[Trace, State]] = []
    while rewrites := windows(procedure):
        procedure = apply(procedure, mirror(procedure), rewrites[0])
        trace = trace.then(rewrites[0])
        found.append((trace, State(procedure, mirror(procedure))))
    return found


def windows(procedure: object) -> list[Rewrite]:
    found = FACTOR.rewrites(mirror(procedure), TARGET)
    return [rewrite for rewrite in found if dict(rewrite.args).get("window")]


def sums(proc: q.Proc) -> list[str]:
    return [header(stmt) for stmt in q.walk(proc.body) if isinstance(stmt, q.Reduce)]


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_window_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    states = shared(name)
    assert states
    assert_same_meaning(PROCEDURES[name], states, SIZES[name], tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("separable", ["y_s[i, j] += (h[s] * x[i, j + s])", "y[i, j] += (g[r] * y_s[i + r, j])"]),
        ("mean", ["y_s[i, j] += x[i, j + s]", "y[i, j] += y_s[i + r, j]"]),
        (
            "turned",
            ["y_s[i, j] += (g[s] * x[i, j - s + 3])", "y[i, j] += (g[r] * y_s[i - r + 3, j])"],
        ),
        (
            "apart",
            ["y_s[i, j] += (g[s] * x[i, j + 2 * s])", "y[i, j] += (g[r] * y_s[2 * r + i, j])"],
        ),
    ],
)
def test_a_part_of_the_sum_has_an_array(name: str, wanted: list[str]) -> None:
    (_, state), *_ = shared(name)
    found = sums(state.ast)
    assert [text for text in wanted if text not in found] == [], found


def test_parts_of_an_inner_loop_stay_in_the_outer_ones() -> None:
    [(_, state)] = shared("space")
    [outer] = state.ast.body
    assert isinstance(outer, q.For)
    [alloc] = [stmt for stmt in outer.body if isinstance(stmt, q.Alloc)]
    assert [show_affine(extent) for extent in alloc.shape] == ["20", "9"]


@pytest.mark.parametrize(
    "name", ["not_separable", "of_few_rows", "integers", "in_place", "triangle"]
)
def test_others_stay(name: str) -> None:
    procedure = PROCEDURES[name]
    assert not windows(procedure)
    stmt = next(s for s in q.walk(mirror(procedure).body) if isinstance(s, q.Reduce))
    wanted = Rewrite("factor_sum", 1, stmt.path, header(stmt), (("window", True),))
    with pytest.raises(RewriteError, match="saves no operations"):
        apply(procedure, mirror(procedure), wanted)


def test_sizes_with_too_few_rows_stay_as_they_are() -> None:
    (_, state), *_ = shared("mean")
    assert not [rewrite for rewrite in windows(state.procedure) if "e" in rewrite.path]


@pytest.mark.parametrize("fp", [FloatingPoint.STRICT, FloatingPoint.REASSOCIATE])
def test_other_contracts_rule_it_out(fp: FloatingPoint) -> None:
    procedure = PROCEDURES["separable"]
    ast = mirror(procedure)
    assert not list(FACTOR.rewrites(ast, replace(TARGET, fp=fp)))
    [rewrite] = windows(procedure)
    with pytest.raises(RewriteError, match="rules it out"):
        apply(procedure, ast, rewrite, fp)


def test_it_comes_before_factors_are_multiplied() -> None:
    both = select(["factor_sum", "fold_operand"])
    first = next(propose(mirror(PROCEDURES["separable"]), TARGET, both))
    assert (first.transform, dict(first.args)) == ("factor_sum", {"window": True})

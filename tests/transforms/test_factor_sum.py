"""Factors leave the sums that do not change them, in the order that takes the fewest operations."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.text import header, show_affine
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, propose, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("factored")
(FACTOR,) = select(["factor_sum"])

SIZES = {
    "two_sided": [{"N": 1}, {"N": 5}],
    "quadratic": [{}],
    "bilinear": [{"n": 1}, {"n": 7}],
    "product_of_two_with_a_vector": [{"n": 1}, {"n": 7}],
    "spectral": [{}],
    "four_indices": [{}],
    "kept_in_a_scalar": [{}],
    "scaled": [{"n": 1}, {"n": 9}],
    "scaled_by_an_expression": [{"n": 1}, {"n": 9}],
    "triangular": [{"n": 1}, {"n": 7}],
    "spread": [{}],
    "with_all_loops": [{}],
    "in_steps": [{}],
    "batches": [{"B": 1}, {"B": 3}],
    "rotated": [{"n": 1}, {"n": 5}],
}

SUMS = {
    "two_sided": [
        "Y_s[x, v] += (X[x, y] * C[v, y])",
        "Y[u, v] += (C[u, x] * Y_s[x, v])",
    ],
    "quadratic": [
        "s_s[n, i] += (A[i, j] * (X[n, j] - mu[j]))",
        "s[n] += ((X[n, i] - mu[i]) * s_s[n, i])",
    ],
    "product_of_two_with_a_vector": ["y_s[k] += (B[k, j] * x[j])", "y[i] += (A[i, k] * y_s[k])"],
    "spectral": [
        "U_s[a, b, k] += (C[k, c] * X[a, b, c])",
        "U_s_2[j, a, k] += (B[j, b] * U_s[a, b, k])",
        "U[i, j, k] += (A[i, a] * U_s_2[j, a, k])",
    ],
    "scaled": ["s_s += (x[i] * y[i])", "s += (2.0 * (a * s_s))"],
    "scaled_by_an_expression": ["y_s += (A[i, j] * B[i, j])", "y[i] += ((w[i] + 1.0) * y_s)"],
    "kept_in_a_scalar": ["acc_s[u, y] += (C[u, x] * X[x, y])", "acc += (D[v, y] * acc_s[u, y])"],
    "spread": ["y_s += x[k]", "y[i, j] += y_s"],
}


@cache
def factored(name: str) -> list[tuple[Trace, State]]:
    """The procedure after each factorisation in turn."""
    procedure, trace = PROCEDURES[name], Trace()
    found: list[tuple[Trace, State]] = []
    while rewrites := list(FACTOR.rewrites(mirror(procedure), TARGET)):
        procedure = apply(procedure, mirror(procedure), rewrites[0])
        trace = trace.then(rewrites[0])
        found.append((trace, State(procedure, mirror(procedure))))
    return found


def sums(proc: q.Proc) -> list[str]:
    return [header(stmt) for stmt in q.walk(proc.body) if isinstance(stmt, q.Reduce)]


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_factorisation_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    states = factored(name)
    assert states
    assert_same_meaning(PROCEDURES[name], states, SIZES[name], tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SUMS))
def test_sums_of_products_of_many_become_chains_of_products_of_two(name: str) -> None:
    assert sums(factored(name)[-1][1].ast) == SUMS[name]


@pytest.mark.normal
def test_a_sum_leaves_the_loops_that_it_does_not_depend_on() -> None:
    alloc, fill, nest = factored("two_sided")[-1][1].ast.body
    assert isinstance(alloc, q.Alloc)
    assert [show_affine(extent) for extent in alloc.shape] == ["N", "N"]
    assert isinstance(fill, q.For)
    assert isinstance(nest, q.For)


def test_a_sum_stays_in_loops_whose_iterations_share_nothing() -> None:
    """Each sum belongs to one element of the result, and so do all of its factors."""
    _, state = factored("scaled_by_an_expression")[-1]
    (loop,) = state.ast.body
    assert isinstance(loop, q.For)
    assert any(isinstance(stmt, q.Alloc) and not stmt.shape for stmt in loop.body)


def test_short_sums_stay_in_the_iterations_that_they_belong_to() -> None:
    """An array of them all would be written and read once, for three multiplications each."""
    (loop,) = factored("rotated")[-1][1].ast.body
    assert isinstance(loop, q.For)
    (alloc,) = [stmt for stmt in loop.body if isinstance(stmt, q.Alloc)]
    assert [show_affine(extent) for extent in alloc.shape] == ["3", "3"]


def test_loops_that_change_a_factor_keep_the_sum_inside() -> None:
    (loop,) = factored("in_steps")[-1][1].ast.body
    assert isinstance(loop, q.For)
    assert any(isinstance(stmt, q.Alloc) for stmt in loop.body)


@pytest.mark.parametrize(
    "name",
    ["matmul", "weighted", "tensor", "convolution", "perhaps_empty", "integers", "of_two_types"],
)
def test_what_saves_no_operations_or_is_not_the_same_stays(name: str) -> None:
    assert not list(FACTOR.rewrites(mirror(PROCEDURES[name]), TARGET))


@pytest.mark.parametrize("fp", [FloatingPoint.STRICT, FloatingPoint.REASSOCIATE])
def test_other_contracts_rule_it_out(fp: FloatingPoint) -> None:
    procedure = PROCEDURES["bilinear"]
    ast = mirror(procedure)
    assert not list(FACTOR.rewrites(ast, replace(TARGET, fp=fp)))
    [rewrite] = FACTOR.rewrites(ast, TARGET)
    with pytest.raises(RewriteError, match="rules it out"):
        apply(procedure, ast, rewrite, fp)


def test_elsewhere_there_is_nothing_to_take_out() -> None:
    [rewrite] = FACTOR.rewrites(mirror(PROCEDURES["bilinear"]), TARGET)
    (wrong,) = factored("bilinear")
    elsewhere = replace(rewrite, path=(2, 0), label=header(wrong[1].ast.by_path[2, 0]))
    with pytest.raises(RewriteError, match="saves no operations"):
        apply(wrong[1].procedure, wrong[1].ast, elsewhere)


def test_it_comes_before_operands_are_folded() -> None:
    ast = mirror(PROCEDURES["two_sided"])
    both = select(["factor_sum", "fold_operand"])
    assert next(propose(ast, TARGET, both)).transform == "factor_sum"
    assert {each.normal_form for each in both} == {1}

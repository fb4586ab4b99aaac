"""Products of many factors become products of two arrays."""

from __future__ import annotations

import runpy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from exo.stdlib.scheduling import divide_loop, set_precision

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.text import show_affine
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export import schedule_lines, schedule_python
from schedsearch.transforms.operators.floating_point import run_within
from schedsearch.transforms.operators.ops import At, Op, Part, Parts, run_op
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures, source

PROCEDURES = Procedures("factors")
(FOLD,) = select(["fold_operand"])
(BLOCK,) = select(["register_block"])
(REORDER,) = select(["reorder"])
STMT = (0, 0, 0, 0)

SIZES = {
    "across": [{"n": 1, "m": 1, "p": 1}, {"n": 5, "m": 18, "p": 3}],
    "across_a_changing_one": [{"n": 1, "m": 1, "p": 1}, {"n": 5, "m": 18, "p": 3}],
    "blas_gemm": [{"M": 1, "N": 1, "K": 1}, {"M": 5, "N": 18, "K": 3}],
    "scaled_last": [{"M": 3, "N": 9, "K": 7}],
    "scaled_first": [{"n": 1}, {"n": 13}],
    "covariance": [{}],
    "weighted": [{}],
    "activated": [{}],
    "truncated": [{}],
    "strided": [{}],
    "strided_window": [{"n": 1}, {"n": 19}],
    "perhaps_empty": [{"n": 1}, {"n": 2}, {"n": 9}],
    "lower": [{"n": 1}, {"n": 13}],
    "above": [{"n": 1}, {"n": 13}],
    "upper": [{"n": 1}, {"n": 13}],
    "converted": [{"M": 1, "N": 1, "K": 1}, {"M": 5, "N": 18, "K": 3}],
    "of_a_triangle": [{"n": 1}, {"n": 13}],
    "of_three": [{"I": 1, "J": 1, "K": 1, "R": 1}, {"I": 5, "J": 3, "K": 4, "R": 19}],
    "of_three_as_two": [{}],
    "of_four": [{}],
}


@cache
def folded(name: str, fp: FloatingPoint = FloatingPoint.FAST) -> list[tuple[Trace, State]]:
    original = PROCEDURES[name]
    ast = mirror(original)
    found = []
    for rewrite in FOLD.rewrites(ast, replace(TARGET, fp=fp)):
        procedure = apply(original, ast, rewrite, fp)
        found.append((Trace((rewrite,)), State(procedure, mirror(procedure))))
    return found


def operands(name: str, fp: FloatingPoint = FloatingPoint.FAST) -> set[Any]:
    return {trace.steps[0].arg("operand") for trace, _ in folded(name, fp)}


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_fold_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    assert_same_meaning(PROCEDURES[name], folded(name), SIZES[name], tmp_path)


@pytest.mark.normal
def test_an_operand_takes_all_factors_of_its_loops_with_it() -> None:
    assert operands("blas_gemm") == {"alpha[0] * A[i, k]", "alpha[0] * B[k, j]"}
    assert operands("weighted") == {"A[i, k] * 2.0 * w[k] * D[i, k]", "2.0 * w[k] * B[k, j]"}
    assert operands("covariance") == {"(D[k, i] - mean[i])", "(D[k, j] - mean[j])"}
    assert operands("activated") == {"relu(A[i, k])", "-(B[k, j])"}
    assert operands("scaled_first") == {"by * x[j]"}  # no loop uses elements of A again
    assert operands("truncated") == {"s * A[i, k]"}  # rounded otherwise, it may be truncated so


@pytest.mark.normal
def test_of_three_arrays_the_two_with_the_smallest_product_are_multiplied() -> None:
    assert operands("of_three") == {"B[j, r] * C[k, r]"}
    assert operands("of_four") == {"B[j, r] * C[k, r]"}
    scaled, *_ = folded("of_three_as_two")  # the smallest array first
    assert scaled[0].steps[0].arg("operand") == "a * B[j, r]"
    first = scaled[1]
    [again] = FOLD.rewrites(first.ast, TARGET)
    assert again.arg("operand") == "B_f[j, r] * C[k, r]"
    last = mirror(apply(first.procedure, first.ast, again))
    alloc = last.body[2]
    assert isinstance(alloc, q.Alloc)
    assert [show_affine(extent) for extent in alloc.shape] == ["4", "5", "18"]  # rows stay rows
    assert not list(FOLD.rewrites(last, TARGET))


def test_of_three_arrays_none_is_multiplied_in_another_order_unless_it_may_be() -> None:
    for fp in (FloatingPoint.STRICT, FloatingPoint.REASSOCIATE):
        assert operands("of_three", fp) == set()
        assert operands("of_three_as_two", fp) == {"a * X[i, j, k]"}


@pytest.mark.parametrize("name", ["of_three_used_seldom", "of_three_with_all_loops"])
def test_of_three_arrays_none_is_multiplied_for_little(name: str) -> None:
    assert operands(name) == set()


@pytest.mark.parametrize("name", ["plain", "overwritten", "integers", "scalars_that_stay"])
def test_proposes_nothing_else(name: str) -> None:
    assert operands(name) == set()


def test_scalars_that_loops_compute_again_become_arrays() -> None:
    assert operands("converted") == {"A[i, k]", "B[k, j]"}
    assert operands("of_a_triangle") == {"(A[i, k] + A[k, k])"}
    [(_, first), _] = folded("converted")
    alloc, fill, nest = first.ast.body
    assert isinstance(alloc, q.Alloc)
    assert (alloc.type, [show_affine(extent) for extent in alloc.shape]) == ("f64", ["M", "K"])
    assert isinstance(fill, q.For)
    assert isinstance(nest, q.For)


def test_loops_that_may_be_empty_stay_where_the_operand_does_not_depend_on_them() -> None:
    assert operands("perhaps_empty") == {"s * B[k, j]"}


def test_a_loop_that_ends_at_another_one_is_never_empty() -> None:
    """`i < n - k` with `k < n`."""
    assert operands("above") == {"alpha * A[i, k]", "alpha * B[k, j]"}


def test_an_operand_of_a_triangle_is_made_whole_before_it() -> None:
    """The length of the inner loop is the outer one's."""
    operands_of = {
        "lower": "alpha * A[i, k]",
        "above": "alpha * A[i, k]",
        "upper": "alpha * A[k, i]",
    }
    for name, operand in operands_of.items():
        [state] = [s for trace, s in folded(name) if trace.steps[0].arg("operand") == operand]
        alloc, fill, nest = state.ast.body
        assert isinstance(alloc, q.Alloc)
        assert [show_affine(extent) for extent in alloc.shape] == ["n", "n"]
        assert isinstance(fill, q.For)
        assert isinstance(nest, q.For)


def test_what_is_read_with_gaps_is_gathered() -> None:
    assert operands("strided", FloatingPoint.STRICT) == {"x[c, 2 * h, 2 * v]"}
    [(_, state)] = folded("strided")
    assert "x_f[c, h, v] * w[o, c]" in str(state.procedure)
    # A loop that runs on by one element is outside of the one that leaves gaps.
    [(_, state)] = folded("strided_window")
    assert "w[o, r] * x_f[r, v]" in str(state.procedure)
    assert list(BLOCK.rewrites(state.ast, TARGET))


@pytest.mark.parametrize("name", ["split_already", "used_seldom"])
def test_what_has_no_gaps_or_is_used_seldom_is_not_gathered(name: str) -> None:
    assert operands(name) == set()


@pytest.mark.parametrize("name", ["across", "across_a_changing_one"])
def test_what_lies_across_the_rows_is_turned(name: str) -> None:
    assert operands(name, FloatingPoint.STRICT) == {"s[j, g]"}
    [(_, state)] = folded(name)
    assert "s_f[g, j]" in str(state.procedure)


@pytest.mark.parametrize("name", ["across_in_a_block", "across_used_once"])
def test_what_blocks_pack_or_nothing_uses_again_is_not_turned(name: str) -> None:
    assert operands(name) == set()


def test_other_contracts_allow_only_what_is_a_product_as_written() -> None:
    for fp in (FloatingPoint.STRICT, FloatingPoint.REASSOCIATE):
        assert operands("blas_gemm", fp) == set()
        assert operands("scaled_first", fp) == {"by * x[j]"}
        assert operands("covariance", fp) == operands("covariance")
    ast = mirror(PROCEDURES["blas_gemm"])
    rewrite = next(iter(FOLD.rewrites(ast, TARGET)))
    with pytest.raises(RewriteError, match="--fp reassociate rules it out"):
        apply(PROCEDURES["blas_gemm"], ast, rewrite, FloatingPoint.REASSOCIATE)


@pytest.mark.parametrize("name", ["blas_gemm", "scaled_last", "weighted", "of_three"])
def test_what_is_left_is_blocked(name: str) -> None:
    assert not list(BLOCK.rewrites(mirror(PROCEDURES[name]), TARGET))
    _, state = folded(name)[0]
    assert list(BLOCK.rewrites(state.ast, TARGET))


def test_arrays_have_the_type_and_the_layout_of_the_operand() -> None:
    _, state = folded("scaled_last")[1]
    alloc, fill = state.ast.body[:2]
    assert isinstance(alloc, q.Alloc)
    assert isinstance(fill, q.For)
    assert alloc.type == "f64"
    assert [str(extent) for extent in alloc.shape] == [
        str(extent) for extent in mirror(PROCEDURES["scaled_last"]).args[5].shape or ()
    ]
    assert fill.iter.name == "k"


def test_refuses_operands_it_would_not_propose() -> None:
    ast = mirror(PROCEDURES["plain"])
    with pytest.raises(RewriteError, match="no such operand"):
        list(FOLD.steps(ast, STMT, {"operand": "A[i, k]"}))


def test_no_operator_leaves_or_gives_the_wrong_precision() -> None:
    """Exo gives what it reassociates no precision: it would be f32 in C."""
    wide = PROCEDURES["scaled_last"]
    turned = run_op(wide, Op("commute_expr", (Parts(STMT, ((),)),)))
    product = run_op(turned, Op("left_reassociate_expr", (Part(STMT, ()),)))
    bound = run_op(product, Op("bind_expr", (Parts(STMT, (("lhs",),)), "t")))
    for kind in ("f32", "i8"):
        with pytest.raises(RewriteError, match="converted to another type"):
            run_op(bound, Op("set_precision", (At(STMT), kind)))
    right = run_op(bound, Op("set_precision", (At(STMT), "f64")))
    with pytest.raises(RewriteError, match="converted to another type"):
        run_op(right, Op("set_precision", (At(STMT), "f32")))


def test_integers_are_multiplied_in_the_order_written() -> None:
    with pytest.raises(RewriteError, match="overflow"):
        run_op(PROCEDURES["integers"], Op("left_reassociate_expr", (Part(STMT, ()),)))


def test_only_fast_reorders_a_product() -> None:
    for fp in (FloatingPoint.STRICT, FloatingPoint.REASSOCIATE):
        wide = PROCEDURES["scaled_last"]
        turned = run_within(wide, Op("commute_expr", (Parts(STMT, ((),)),)), fp)
        with pytest.raises(RewriteError, match="another order"):
            run_within(turned, Op("left_reassociate_expr", (Part(STMT, ()),)), fp)


@pytest.mark.normal
def test_a_block_of_a_loop_called_o_is_exported(tmp_path: Path) -> None:
    """Its rows were called `or`, which no pattern of Exo's can name."""
    [(trace, state)] = folded("strided")
    block = next(r for r in BLOCK.rewrites(state.ast, TARGET) if r.arg("rows") == "o")
    path = tmp_path / "exported.py"
    path.write_text(schedule_python(source("factors"), "strided", trace.then(block)))
    made = runpy.run_path(str(path))["strided_scheduled"]
    assert mirror(made) == mirror(apply(state.procedure, state.ast, block))


def test_loops_of_earlier_versions_called_or_are_exported_by_position() -> None:
    procedure = divide_loop(PROCEDURES["strided"], "o", 3, ["o", "or"], perfect=True)
    reorder = next(r for r in REORDER.rewrites(mirror(procedure), TARGET) if r.path == (0, 0))
    [line] = schedule_lines(procedure, Trace((reorder,)))
    assert line == "p = reorder_loops(p, p.body()[0].body()[0])"


@pytest.mark.normal
def test_no_array_has_a_negative_length_where_loops_around_it_are_empty() -> None:
    """`n - 16` columns of the rectangles of a triangle: there are none for small `n`."""
    original = PROCEDURES["upper"]
    cut, blocks = mirror(original), 0
    for rewrite in select(["cut_triangle"])[0].rewrites(cut, TARGET):
        state = apply(original, cut, rewrite)
        for fold in FOLD.rewrites(mirror(state), TARGET):
            after = mirror(apply(state, mirror(state), fold))
            for alloc in (stmt for stmt in after.body if isinstance(stmt, q.Alloc)):
                blocks += 1
                for length in (1, 5, 40):
                    shape = [q.evaluate_affine(each, lambda _, n=length: n) for each in alloc.shape]
                    assert min(shape) >= 0, str(fold)
    assert blocks


def test_a_sign_has_the_type_of_what_it_is_of() -> None:
    """`set_precision` leaves it without one, as BLAS's solves of the suite are made."""
    procedure = source("triangles").procs["solved_of_any_type"]
    for name in ("B", "L"):
        procedure = set_precision(procedure, name, "f64")
    ast = mirror(procedure)
    (rewrite,) = FOLD.rewrites(ast, TARGET)
    after = mirror(apply(procedure, ast, rewrite))
    assert [stmt.type for stmt in after.body if isinstance(stmt, q.Alloc)] == ["f64"]

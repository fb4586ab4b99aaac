"""Sums of products get loops of their own, whatever temporaries are beside them."""

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
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("products")
ISOLATE, BLOCK = select(["isolate_sum", "register_block"])

SIZES = {
    "dense": [{"n": 1, "m": 1, "p": 1}, {"n": 5, "m": 18, "p": 3}],
    "dense_of_bytes": [{"n": 1, "m": 1, "p": 1}, {"n": 5, "m": 18, "p": 7}],
    "weighted_mean": [{"n": 1, "m": 1, "p": 1}, {"n": 6, "m": 5, "p": 17}],
    "lower_dense": [{"n": 1}, {"n": 9}],
    "upper_dense": [{"n": 1}, {"n": 9}],
}


@cache
def isolated(name: str, **args: int) -> tuple[Trace, State]:
    found = ISOLATE.rewrites(mirror(PROCEDURES[name]), TARGET)
    [rewrite] = [each for each in found if each.args == tuple(args.items())]
    procedure = apply(PROCEDURES[name], mirror(PROCEDURES[name]), rewrite)
    return Trace((rewrite,)), State(procedure, mirror(procedure))


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_a_sum_of_its_own_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    assert_same_meaning(PROCEDURES[name], [isolated(name)], SIZES[name], tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize("name", ["dense", "dense_of_bytes", "weighted_mean"])
def test_what_is_isolated_is_blocked(name: str) -> None:
    def rows(ast: q.Proc) -> set[str]:
        return {rewrite.arg("rows") for rewrite in BLOCK.rewrites(ast, TARGET)}

    assert rows(mirror(PROCEDURES[name])) <= {""}
    _, state = isolated(name)
    assert "i" in rows(state.ast)
    assert not list(ISOLATE.rewrites(state.ast, TARGET))


def test_only_temporaries_that_others_need_get_an_element_for_every_iteration() -> None:
    _, state = isolated("weighted_mean")
    shapes = {s.buf.name: len(s.shape) for s in q.walk(state.ast.body) if isinstance(s, q.Alloc)}
    assert shapes == {"row": 2, "total": 1, "unused": 0}


@pytest.mark.normal
def test_rows_shorter_than_a_register_become_arrays(tmp_path: Path) -> None:
    after = isolated("gates", short=4)
    [alloc] = [s for s in q.walk(after[1].ast.body) if isinstance(s, q.Alloc)]
    assert alloc.shape[0] == q.Affine(3)
    sizes = [{"n": 1, "m": 1, "p": 1}, {"n": 5, "m": 18, "p": 3}]
    assert_same_meaning(PROCEDURES["gates"], [after], sizes, tmp_path)


@pytest.mark.normal
def test_a_batch_shares_what_its_sums_do_not_depend_on(tmp_path: Path) -> None:
    original = PROCEDURES["dense_of_batch"]
    first, second = ISOLATE.rewrites(mirror(original), TARGET)
    assert (first.args, second.args) == ((("batched", True),), ())
    after = isolated("dense_of_batch", batched=True)
    _, nest, _ = (s for s in after[1].ast.body if isinstance(s, q.For))
    assert len([s for s in q.walk((nest,)) if isinstance(s, q.For)]) == 4
    sizes = [{"c": 1, "n": 1, "m": 1, "p": 1}, {"c": 3, "n": 5, "m": 18, "p": 3}]
    assert_same_meaning(original, [after, isolated("dense_of_batch")], sizes, tmp_path)


@pytest.mark.parametrize("name", ["dense_of_others", "dense_then_summed", "dense_of_changing"])
def test_a_batch_stays_where_nothing_is_shared_or_temporaries_would_be_larger(name: str) -> None:
    assert [each.args for each in ISOLATE.rewrites(mirror(PROCEDURES[name]), TARGET)] == [()]


def test_sums_that_use_each_operand_once_stay() -> None:
    assert not list(ISOLATE.rewrites(mirror(PROCEDURES["norms"]), TARGET))
    assert not list(ISOLATE.rewrites(mirror(PROCEDURES["both"]), TARGET))


def test_what_depends_on_the_sum_of_an_earlier_iteration_is_refused() -> None:
    with pytest.raises(RewriteError, match="fission"):
        isolated("carried")


@pytest.mark.normal
def test_a_sum_that_its_loops_go_on_with_comes_last(tmp_path: Path) -> None:
    after = isolated("both_sides", late=True)
    first, last = after[1].ast.body
    assert [s.buf.name for s in q.walk((last,)) if isinstance(s, q.Reduce)] == ["C"]
    assert [s.buf.name for s in q.walk((first,)) if isinstance(s, q.Reduce)] == ["below"]
    sizes = [{"n": 1, "m": 1}, {"n": 9, "m": 4}]
    assert_same_meaning(PROCEDURES["both_sides"], [after], sizes, tmp_path)


@pytest.mark.normal
def test_a_scalar_that_such_a_sum_shares_gets_an_element_for_every_iteration(
    tmp_path: Path,
) -> None:
    after = isolated("both_sides_by_scalars", late=True)
    *_, last = after[1].ast.body
    assert [s.buf.name for s in q.walk((last,)) if isinstance(s, q.Reduce)] == ["C"]
    shapes = {s.buf.name: len(s.shape) for s in q.walk(after[1].ast.body) if isinstance(s, q.Alloc)}
    assert shapes == {"scaled": 2, "below": 0}
    sizes = [{"n": 1, "m": 1}, {"n": 9, "m": 4}]
    assert_same_meaning(PROCEDURES["both_sides_by_scalars"], [after], sizes, tmp_path)


def test_elements_that_are_overwritten_later_keep_their_sum_before() -> None:
    with pytest.raises(RewriteError, match="reorder_stmts"):
        isolated("overwritten", late=True)


def test_sums_whose_own_element_is_assigned_after_stay() -> None:
    for name in ("dense", "weighted_mean", "both"):
        assert not [r for r in ISOLATE.rewrites(mirror(PROCEDURES[name]), TARGET) if r.args]


GROUPS = {
    "dense_of_groups": {"n": 5, "m": 18, "p": 3},
    "dense_of_groups_by_scalars": {"n": 17, "m": 9, "p": 2},
    "dense_of_groups_of_bytes": {"n": 4, "m": 33, "p": 3},
}


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(GROUPS))
def test_groups_come_outside_of_the_rows_and_columns_of_their_sums(
    name: str, tmp_path: Path
) -> None:
    """Each has an array of sums then, as large as the result, with blocks."""
    after = isolated(name, grouped=True)
    sums = [s for s in q.walk(after[1].ast.body) if isinstance(s, q.Alloc) and s.buf.name == "t"]
    assert [len(each.shape) for each in sums] == [2]
    loops = [s for s in after[1].ast.body if isinstance(s, q.For)]
    assert "g" in [loop.iter.name for loop in loops]
    assert "i" in {rewrite.arg("rows") for rewrite in BLOCK.rewrites(after[1].ast, TARGET)}
    sizes = [{"n": 1, "m": 1, "p": 1}, GROUPS[name]]
    assert_same_meaning(PROCEDURES[name], [after], sizes, tmp_path)


def test_what_each_group_adds_gets_no_element_for_every_group() -> None:
    """It is a factor of the outer sum that has another value in each of its iterations."""
    _, state = isolated("dense_of_groups_of_bytes", grouped=True)
    assert not list(ISOLATE.rewrites(state.ast, TARGET))


@pytest.mark.parametrize(
    "name",
    [
        "dense_of_few",  # steps
        "dense_of_columns",  # that groups are, of one product
        "dense_of_own",  # elements of each group
        "dense_of_last",  # group, whose order counts
        "dense_of_triangle",
        "dense_then_summed",  # groups are outside
        "dense",
    ],
)
def test_groups_stay_where_they_are(name: str) -> None:
    found = ISOLATE.rewrites(mirror(PROCEDURES[name]), TARGET)
    assert not [each for each in found if "grouped" in dict(each.args)]


def test_groups_that_read_the_outer_sum_keep_their_order() -> None:
    with pytest.raises(RewriteError, match="reorder_loops"):
        isolated("dense_of_read", grouped=True)

"""However a product is written, the way to its normal form leads to the same blocks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, normalises, propose, select
from schedsearch.transforms.replay import State
from schedsearch.transforms.vector.registers import register_kind
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

pytestmark = pytest.mark.normal

PROCEDURES = Procedures("triangles")
WIDE = replace(TARGET, vector_bits=256)
ALL = select(None)
BLOCK_ALL, REGISTER, TURN = select(["block_all", "register_block", "turn_operand"])

SIZES: dict[str, list[dict[str, int]]] = {
    "product_below": [{}],
    "below_diagonal": [{}],
    "rank_update": [{}],
    "updated": [{}],
    "updated_twice": [{"n": n} for n in (1, 7, 8, 9, 16, 33)],
    "squared": [{}],
    "covariance_above": [{}],
    "solved_scaled": [{}],
    "symmetric": [{}],
    "in_place": [{}],
    "from_the_last": [{}],
    **{
        name: [{"m": 5, "n": 9}, {"m": 19, "n": 33}]
        for name in ("right_in_place", "right_by_columns")
    },
    "right_symmetric": [{"m": 17, "n": 18}],
    "above_diagonal": [{"n": n} for n in (1, 8, 33)],
    "columns_first": [{"n": n} for n in (1, 8, 33)],
}


@cache
def way(name: str, target: Target = WIDE) -> list[tuple[Trace, State]]:
    """The procedure and what each rewrite of the normal form makes of it, in their order."""
    procedure = PROCEDURES[name]
    found = [(Trace(), State(procedure, mirror(procedure)))]
    while True:
        trace, state = found[-1]
        last = max(map(normalises, trace.steps), default=1)
        rewrites = [each for each in propose(state.ast, target, ALL) if normalises(each) >= last]
        for rewrite in sorted(rewrites, key=normalises):
            with suppress(RewriteError):
                procedure = apply(state.procedure, state.ast, rewrite)
                found.append((trace.then(rewrite), State(procedure, mirror(procedure))))
                break
        else:
            return found


@pytest.mark.parametrize("bits", [256, 512])
@pytest.mark.parametrize("name", ["below_f64", "updated_twice", "below_and_above"])
def test_what_no_register_holds_does_not_stop_the_way(name: str, bits: int) -> None:
    target = replace(TARGET, vector_bits=bits)
    assert any(step.transform == "block_all" for step in way(name, target)[-1][0].steps)


def names(name: str) -> list[str]:
    return [step.transform for step in way(name)[-1][0].steps]


def sums_in_memory(proc: q.Proc) -> list[q.Path]:
    return [stmt.path for stmt in q.walk(proc.body) if isinstance(stmt, q.Reduce)]


@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_step_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    assert_same_meaning(PROCEDURES[name], way(name), SIZES[name], tmp_path)


def test_operands_become_two_arrays_along_the_result_then_triangles_are_cut() -> None:
    turned = ["fold_operand", "turn_operand", "cut_triangle", "block_all", "transpose"]
    assert names("updated") == turned
    assert names("rank_update") == turned[:-1]  # three columns have no squares
    assert names("updated_twice")[:5] == [
        *["fold_operand"] * 2,
        *["turn_operand"] * 2,
        "cut_triangle",
    ]
    assert names("solved_scaled") == ["fold_operand", "cut_triangle", "block_all"]
    symmetric = names("symmetric")
    assert symmetric[:4] == [*["fold_operand"] * 3, "interchange_triangle"]
    assert symmetric[4:6] == ["cut_triangle"] * 2
    assert {*symmetric[6:]} == {"block_all"}
    assert names("in_place") == [*["fold_operand"] * 2, "cut_triangle", "block_all"]
    assert names("from_the_last") == ["cut_triangle", "block_all"]
    assert names("squared") == ["fold_operand", "block_all"]
    assert names("covariance_above") == [
        *["fold_operand", "turn_result", "interchange_triangle", "cut_triangle", "block_all"],
        *["transpose"] * 2,
    ]


@pytest.mark.parametrize("name", ["product_below", "below_diagonal", "rank_update", "updated"])
def test_every_sum_of_a_triangle_is_in_registers_in_the_end(name: str) -> None:
    end = way(name)[-1][1].ast
    assert sums_in_memory(end) == []
    kept = [s for s in q.walk(end.body) if isinstance(s, q.Alloc) and register_kind(s.mem)]
    assert {len(alloc.shape) for alloc in kept} == {2, 3}  # small triangles have one register a row


@pytest.mark.parametrize(
    "name", ["right_in_place", "right_by_columns", "right_steps_first", "right_symmetric"]
)
def test_a_triangle_over_columns_becomes_one_over_rows(name: str) -> None:
    """With the same blocks, and copies that are transposed in registers."""
    steps = [step for step in names(name) if step != "vectorise"]  # rows that no sum needs
    assert steps.index("turn_result") < steps.index("cut_triangle") < steps.index("block_all")
    assert steps[-1] == "transpose"


def test_a_triangle_above_the_diagonal_becomes_one_below() -> None:
    steps = names("above_diagonal")
    for earlier, later in zip(
        ["fold_operand", "turn_result", "interchange_triangle", "cut_triangle"],
        ["turn_result", "interchange_triangle", "cut_triangle", "block_all"],
        strict=True,
    ):
        assert steps.index(earlier) < steps.index(later)
    end = way("above_diagonal")[-1][1].ast
    kept = [s for s in q.walk(end.body) if isinstance(s, q.Alloc) and register_kind(s.mem)]
    assert {len(alloc.shape) for alloc in kept} == {2, 3}


def test_a_product_of_one_array_with_itself_is_blocked_once_one_is_a_copy() -> None:
    (_, before), (_, after), _ = way("squared")
    assert not list(REGISTER.rewrites(before.ast, WIDE))
    assert list(REGISTER.rewrites(after.ast, WIDE))


def test_an_operand_is_turned_only_before_a_triangle_and_only_if_it_is_read_once() -> None:
    for name in ("product_below", "squared", "rank_update", "updated_twice"):
        assert not list(TURN.rewrites(mirror(PROCEDURES[name]), WIDE))
    procedure = PROCEDURES["below_diagonal"]
    [rewrite] = TURN.rewrites(mirror(procedure), WIDE)
    assert dict(rewrite.args) == {"lines": True, "operand": "B"}
    wrong = replace(rewrite, args=(("operand", "A"),))
    with pytest.raises(RewriteError, match="no such operand"):
        apply(procedure, mirror(procedure), wrong)


def test_rows_of_a_turned_operand_have_an_odd_number_of_lines() -> None:
    """So that a column is spread over all sets of a cache, whatever the length is."""
    turned = next(state for trace, state in way("updated_twice") if "turn_operand" in str(trace))
    (alloc,) = [s for s in turned.ast.body if isinstance(s, q.Alloc) and s.buf.name == "B_t"]
    for length in (1, 15, 16, 31, 32, 512, 1000):
        row = q.evaluate_affine(alloc.shape[1], lambda _, n=length: n)
        assert row >= length
        assert row % 32 == 16


def test_rows_of_known_length_have_whole_lines() -> None:
    """An older trace, which does not ask for them, gives what it gave."""
    procedure = PROCEDURES["below_diagonal"]
    ast = mirror(procedure)
    [rewrite] = TURN.rewrites(ast, WIDE)
    older = replace(rewrite, args=(("operand", "B"),))
    for found, row in ((rewrite, 48), (older, 35)):
        (alloc,) = [s for s in mirror(apply(procedure, ast, found)).body if isinstance(s, q.Alloc)]
        assert alloc.shape[1] == q.Affine(row)


def test_rows_that_fall_are_tiled() -> None:
    end = way("from_the_last")[-1][1].ast
    tiles = [s for s in q.walk(end.body) if isinstance(s, q.Alloc) and register_kind(s.mem)]
    assert max(len(alloc.shape) for alloc in tiles) == 3  # rows, registers, elements


def test_one_nest_is_left_to_register_block() -> None:
    assert not list(BLOCK_ALL.rewrites(way("squared")[-1][1].ast, WIDE))


@pytest.mark.parametrize("args", [{"bits": 0, "registers": 16}, {"bits": 256, "registers": 99}])
def test_registers_that_no_target_has_are_refused(args: dict[str, int]) -> None:
    _, state = way("product_below")[1]
    [rewrite, *_] = BLOCK_ALL.rewrites(state.ast, WIDE)
    with pytest.raises(RewriteError, match="registers of some bits"):
        apply(state.procedure, state.ast, replace(rewrite, args=tuple(args.items())))

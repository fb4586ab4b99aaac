"""Transforms of producers and consumers keep the meaning, alone and one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("stages")
TRANSFORMS = select(["compute_at", "fuse", "inline_value", "shrink_buffer"])

SIZES: dict[str, list[dict[str, int]]] = {
    "blur": [{}],
    "blur_sizes": [{"n": 1, "m": 3}, {"n": 2, "m": 1}, {"n": 11, "m": 5}],
    "three_stages": [{}],
    "interior": [{}],
    "rows_of_products": [{"n": 1}, {"n": 2}, {"n": 7}],
    "softmax_like": [{}],
    "reversed_rows": [{}],
    "used_again": [{}],
    "input_overwritten": [{}],
    "scaled_twice": [{"n": 1}, {"n": 9}],
    "one_loop": [{"n": 1}, {"n": 6}],
    "tiles_in_turn": [{}],
    "one_block": [{"n": 1}, {"n": 6}],
    "bytes_wrap": [{}],
    "two_sweeps": [{"n": 5}, {"n": 6}, {"n": 11}],
    "sweeps_in_place": [{}],
    "late_rows": [{"n": 1}, {"n": 2}, {"n": 7}],
}


def states(original: Any, depth: int) -> Iterator[tuple[Trace, State]]:
    """Every state up to `depth` legal rewrites away, by the transforms above."""
    level = [(Trace(), State(original, mirror(original)))]
    for _ in range(depth):
        following = []
        for trace, state in level:
            for transform in TRANSFORMS:
                for rewrite in transform.rewrites(state.ast, TARGET):
                    try:
                        procedure = apply(state.procedure, state.ast, rewrite)
                    except RewriteError:
                        continue
                    following.append((trace.then(rewrite), State(procedure, mirror(procedure))))
        yield from following
        level = following


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_chain_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    found = list(states(PROCEDURES[name], 2))
    assert_same_meaning(PROCEDURES[name], found, SIZES[name], tmp_path)


@cache
def accepted(name: str, transform: str) -> dict[Rewrite, q.Proc]:
    ast = mirror(PROCEDURES[name])
    (chosen,) = select([transform])
    found = {}
    for rewrite in chosen.rewrites(ast, TARGET):
        try:
            found[rewrite] = mirror(apply(PROCEDURES[name], ast, rewrite))
        except RewriteError:
            continue
    return found


def shapes(proc: q.Proc) -> dict[str, tuple[q.Affine, ...]]:
    return {s.buf.name: s.shape for s in q.walk(proc.body) if isinstance(s, q.Alloc)}


def test_a_folded_buffer_holds_the_window() -> None:
    (folded,) = [p for r, p in accepted("blur", "compute_at").items() if r.arg("fold")]
    assert shapes(folded) == {"tmp": (q.Affine(3), q.Affine(9))}
    loops = [s for s in folded.body if isinstance(s, q.For)]
    assert [loop.extent for loop in loops] == [2, 7]
    assert len(loops[1].body) == 2


def test_rows_are_any_dimension_and_statements_between_are_passed() -> None:
    found = accepted("interior", "compute_at")
    assert {r.arg("dim") for r in found} == {1}
    assert {len(p.body) for p in found.values()} == {4}


def test_two_sweeps_run_one_row_apart() -> None:
    ((_, fused),) = accepted("two_sweeps", "compute_at").items()
    before, both, after = fused.body
    assert isinstance(before, q.For)
    assert isinstance(both, q.For)
    assert isinstance(after, q.For)
    assert (before.extent, len(both.body), after.extent) == (1, 2, 1)
    assert not accepted("sweeps_in_place", "compute_at")  # overwrites what the first still reads


def test_loops_need_not_be_of_equal_length() -> None:
    ((_, fused),) = accepted("late_rows", "compute_at").items()
    assert [len(loop.body) for loop in fused.body if isinstance(loop, q.For)] == [1, 2]


def test_not_fused_where_rows_are_not_ready_or_change() -> None:
    assert not accepted("reversed_rows", "compute_at")
    assert not accepted("input_overwritten", "compute_at")


def test_not_folded_where_rows_are_used_again() -> None:
    assert {r.arg("fold") for r in accepted("used_again", "compute_at")} == {False}


def test_shrinks_only_what_no_other_iteration_reads() -> None:
    ((_, shrunk),) = accepted("one_loop", "shrink_buffer").items()
    assert shapes(shrunk)["t"] == (q.Affine(1), q.Affine(5))
    assert shapes(shrunk)["u"][1] == q.Affine(5)


def test_shrinks_to_the_rows_of_a_tile() -> None:
    ((_, shrunk),) = accepted("tiles_in_turn", "shrink_buffer").items()
    assert shapes(shrunk)["c"] == (q.Affine(8), q.Affine(3))
    assert shapes(shrunk)["d"][0] == q.Affine(24)  # rows of another tile are read


def test_inlines_values_that_are_still_the_same_where_used() -> None:
    inlined = {r.label.split(" =")[0] for r in accepted("one_block", "inline_value")}
    assert inlined == {"s", "t[i]"}  # what `u` is computed from is overwritten
    assert not accepted("bytes_wrap", "inline_value")


@pytest.mark.parametrize(
    "change", [{"fold": 1}, {"dim": 1}, {"dim": "0"}, {"buffer": "inp"}, {"fold": "yes"}]
)
def test_arguments_it_would_not_propose_are_refused(change: dict[str, Any]) -> None:
    ast = mirror(PROCEDURES["blur"])
    (first, *_) = select(["compute_at"])[0].rewrites(ast, TARGET)
    args = tuple(sorted({**dict(first.args), **change}.items()))
    with pytest.raises(RewriteError, match="no loop reads"):
        apply(
            PROCEDURES["blur"],
            ast,
            Rewrite(first.transform, first.version, first.path, first.label, args),
        )

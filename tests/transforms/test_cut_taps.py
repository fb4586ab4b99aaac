"""Taps of windows that reach over the edges become nests without conditions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.text import show_affine, show_expr
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.library.composites.cut_taps import windows
from schedsearch.transforms.registry import apply, label, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures, only

PROCEDURES = Procedures("taps")
[CUT] = select(["cut_taps"])
[ISOLATE] = select(["isolate_sum"])
[BLOCK] = select(["block_all"])

SIZES: dict[str, list[dict[str, int]]] = {
    "places": [{}],
    "channels": [{"n": 1, "m": 1, "c": 1}, {"n": 2, "m": 1, "c": 3}, {"n": 4, "m": 5, "c": 2}],
    "dilated": [{"n": 1, "c": 1}, {"n": 6, "c": 3}],
    "strided": [{"n": 1}, {"n": 2}, {"n": 6}],
    "triangle": [{}],
    "one_by_one": [{"n": 1, "m": 1, "c": 1}, {"n": 2, "m": 1, "c": 3}, {"n": 4, "m": 5, "c": 2}],
    "inner_first": [{"n": 1, "c": 1}, {"n": 5, "c": 3}],
    "of_any_size": [{"b": 1, "n": 1, "m": 1}, {"b": 2, "n": 2, "m": 7}],
    "of_five": [{"n": n, "c": 3} for n in (1, 2, 3, 6)],
    "causal": [{"b": 2, "c": 3, "t": t} for t in (1, 7, 8, 9, 21)],
}


@cache
def cut(name: str, fp: FloatingPoint = FloatingPoint.FAST) -> tuple[Trace, State]:
    before = PROCEDURES[name]
    [window, *_] = windows(mirror(before))
    guard = window.guards[0]
    rewrite = Rewrite("cut_taps", 1, guard.path, label(guard), ())
    after = apply(before, mirror(before), rewrite, fp)
    return Trace((rewrite,)), State(after, mirror(after))


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    assert_same_meaning(PROCEDURES[name], [cut(name)], SIZES[name], tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize(
    ("name", "taps"),
    [
        *(("places", 9), ("channels", 9), ("dilated", 3), ("strided", 5)),
        *(("one_by_one", 9), ("inner_first", 3), ("of_any_size", 9)),
    ],
)
def test_every_tap_is_a_nest_without_conditions(name: str, taps: int) -> None:
    ast = cut(name)[1].ast
    assert not [s for s in q.walk(ast.body) if isinstance(s, q.If | q.Pass)]
    assert len([s for s in q.walk(ast.body) if isinstance(s, q.Reduce)]) == taps


def test_places_that_a_tap_does_not_reach_are_left_out() -> None:
    loops = [s for s in q.walk(cut("dilated")[1].ast.body) if isinstance(s, q.For)]
    ends = [(show_affine(s.lo), show_affine(s.hi)) for s in loops if s.iter.name == "i"]
    assert ends == [("2", "n + 4"), ("0", "n + 4"), ("0", "n + 2")]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("places", True), ("inner_first", True), ("one_by_one", False), ("of_any_size", True)],
)
def test_open_sizes_have_few_taps(name: str, wanted: bool) -> None:
    assert bool(list(CUT.rewrites(mirror(PROCEDURES[name]), TARGET))) is wanted


@pytest.mark.normal
def test_windows_of_any_size_are_blocked(tmp_path: Path) -> None:
    """27 blocks, for which Exo was not fast enough once, nor could it replay them."""
    before = PROCEDURES["of_any_size"]
    trace, state = cut("of_any_size")
    wide = replace(TARGET, vector_bits=512, vector_registers=32)
    *_, block = BLOCK.rewrites(state.ast, wide)  # before are those that take a nest out
    procedure = apply(state.procedure, state.ast, block)
    after = trace.then(block), State(procedure, mirror(procedure))
    sizes = [{"b": 1, "n": 1, "m": 1}, {"b": 2, "n": 3, "m": 37}]
    assert_same_meaning(before, [after], sizes, tmp_path)


@pytest.mark.parametrize(
    ("name", "need"), [("of_five", "(n - 2 >= 0)"), ("causal", "(t - 8 >= 0)")]
)
def test_sizes_that_no_tap_is_inside_of_keep_a_copy(name: str, need: str) -> None:
    """Which is not looked at again."""
    ast = cut(name)[1].ast
    [choice] = [s for s in q.walk(ast.body) if isinstance(s, q.If) and s.orelse]
    assert show_expr(choice.cond) == need
    assert not [s for s in q.walk(choice.body) if isinstance(s, q.If)]
    assert len([s for s in q.walk(choice.body) if isinstance(s, q.Reduce)]) > 1
    assert [s for s in q.walk(choice.orelse) if isinstance(s, q.If)]
    assert not list(windows(ast))


@pytest.mark.normal
def test_taps_of_a_signal_of_any_length_are_blocked(tmp_path: Path) -> None:
    before = PROCEDURES["causal"]
    trace, state = cut("causal")
    wide = replace(TARGET, vector_bits=512, vector_registers=32)
    *_, block = BLOCK.rewrites(state.ast, wide)  # before are those that take a nest out
    procedure = apply(state.procedure, state.ast, block)
    after = trace.then(block), State(procedure, mirror(procedure))
    assert_same_meaning(before, [after], [{"b": 2, "c": 3, "t": t} for t in (1, 8, 45)], tmp_path)


@pytest.mark.parametrize("name", ["by_thirds", "of_one", "with_others", "of_two_axes"])
def test_others_stay(name: str) -> None:
    assert not list(CUT.rewrites(mirror(PROCEDURES[name]), TARGET))


@pytest.mark.normal
def test_a_sum_in_a_scalar_gets_all_loops_that_its_taps_move(tmp_path: Path) -> None:
    before = PROCEDURES["in_a_scalar"]
    isolated = only(ISOLATE, before)
    trace, state = only(CUT, isolated[1].procedure)
    assert len([s for s in q.walk(state.ast.body) if isinstance(s, q.Reduce)]) == 9
    assert not [s for s in q.walk(state.ast.body) if isinstance(s, q.If)]
    assert_same_meaning(before, [isolated, (trace, state)], [{}], tmp_path)


@pytest.mark.normal
def test_a_loop_that_changes_operands_is_not_taken_along(tmp_path: Path) -> None:
    before = PROCEDURES["step_by_step"]
    assert_same_meaning(before, [only(ISOLATE, before)], [{"t": 1}, {"t": 3}], tmp_path)

"""Results whose columns have gaps in an operand, or are few, are laid out along another loop."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("gaps")
BLOCK, CHANGE, FOLD = select(["block_all", "change_columns", "fold_operand"])
WIDE = replace(TARGET, vector_bits=512, vector_registers=32)

SIZES: dict[str, list[dict[str, int]]] = {
    "strided": [
        {"N": 1, "C": 1, "O": 1, "H": 1, "W": 1},
        {"N": 2, "C": 3, "O": 18, "H": 2, "W": 11},
    ],
    "biased": [{}],
    "added": [{}],
    "weights": [{}],
    "strided_weights": [
        {"N": 1, "C": 1, "O": 1, "H": 1, "W": 1},
        {"N": 2, "C": 3, "O": 18, "H": 3, "W": 5},
    ],
    "scattered": [{"N": 1, "C": 1, "H": 1, "W": 1}, {"N": 2, "C": 9, "H": 2, "W": 5}],
    "scattered_rows": [{}],
}

NARROW = {"weights", "strided_weights"}


@cache
def changed(name: str) -> tuple[Rewrite, State]:
    original = PROCEDURES[name]
    [rewrite] = CHANGE.rewrites(mirror(original), WIDE)
    after = apply(original, mirror(original), rewrite)
    return rewrite, State(after, mirror(after))


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    rewrite, state = changed(name)
    [block] = BLOCK.rewrites(state.ast, WIDE)
    blocked = apply(state.procedure, state.ast, block)
    states = [
        (Trace((rewrite,)), state),
        (Trace((rewrite, block)), State(blocked, mirror(blocked))),
    ]
    assert_same_meaning(PROCEDURES[name], states, SIZES[name], tmp_path)


@pytest.mark.parametrize("name", sorted(SIZES))
def test_nothing_is_gathered_before_or_after(name: str) -> None:
    for ast in (mirror(PROCEDURES[name]), changed(name)[1].ast):
        assert not list(FOLD.rewrites(ast, WIDE))
    assert not list(CHANGE.rewrites(changed(name)[1].ast, WIDE))


@pytest.mark.parametrize(
    ("name", "loads"),
    [("strided", 0), ("biased", 0), ("added", 1), ("weights", 1), ("strided_weights", 0)],
)
def test_first_values_are_not_overwritten(name: str, loads: int) -> None:
    """Where the nest gives every element of the result its first value, no other is copied."""
    result = "w" if name in NARROW else "y"
    statements = list(q.walk(changed(name)[1].ast.body))
    copies = [s for s in statements if isinstance(s, q.Assign) and s.buf.name == f"{result}_c"]
    loaded = [s for s in copies if isinstance(s.rhs, q.Read) and s.rhs.buf.name == result]
    assert len(loaded) == loads
    sums = [s for s in statements if isinstance(s, q.Reduce)]
    assert [s.buf.name for s in sums] == [f"{result}_c"]


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(NARROW))
def test_few_columns_of_gradients_become_channels(name: str) -> None:
    """The gradient of the result is copied, which every weight uses, and not that of the picture,
    which each place of the window would take another part of."""
    rewrite, state = changed(name)
    assert rewrite.args == (("narrow", 16),)
    [total] = [s for s in q.walk(state.ast.body) if isinstance(s, q.Reduce)]
    [channels] = {read.idx[1] for read in reads(total.rhs) if read.buf.name == "y"}
    assert total.idx[-1] == channels
    [block] = BLOCK.rewrites(state.ast, WIDE)
    after = mirror(apply(state.procedure, state.ast, block))
    assert any(s.mem == "VEC_F32X16" for s in q.walk(after.body) if isinstance(s, q.Alloc))


@pytest.mark.parametrize("name", sorted(NARROW))
def test_columns_that_fill_half_a_register_stay(name: str) -> None:
    assert not list(CHANGE.rewrites(mirror(PROCEDURES[name]), TARGET))


@pytest.mark.parametrize("width", [0, 4, -1, "16", True])
def test_a_width_that_no_register_has_is_refused(width: int | str) -> None:
    ast = mirror(PROCEDURES["weights"])
    [rewrite] = CHANGE.rewrites(ast, WIDE)
    with pytest.raises(RewriteError, match=r"narrow|few of them"):
        apply(PROCEDURES["weights"], ast, replace(rewrite, args=(("narrow", width),)))


@pytest.mark.parametrize(
    "name",
    [
        *("of_one_element", "channels_last", "few_channels", "channels_apart", "few_columns"),
        *("scattered_by_many_taps", "scattered_to_few_channels"),
    ],
)
def test_others_stay(name: str) -> None:
    assert not list(CHANGE.rewrites(mirror(PROCEDURES[name]), WIDE))


def test_a_window_of_one_element_is_gathered() -> None:
    [rewrite] = FOLD.rewrites(mirror(PROCEDURES["of_one_element"]), TARGET)
    assert rewrite.arg("operand") == "x[c, 2 * j]"


def test_a_trace_that_names_another_sum_is_refused() -> None:
    procedure = PROCEDURES["strided"]
    ast = mirror(procedure)
    [rewrite] = CHANGE.rewrites(ast, TARGET)
    wrong = replace(rewrite, path=(0,), label="for n in seq(0, N)")
    with pytest.raises(RewriteError, match="no sum with gaps"):
        apply(procedure, ast, wrong)

"""Results whose columns have gaps in an operand are laid out along another loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, source

PROCEDURES = source("gaps").procs
BLOCK, CHANGE, FOLD = select(["block_all", "change_columns", "fold_operand"])
WIDE = replace(TARGET, vector_bits=512, vector_registers=32)

SIZES: dict[str, list[dict[str, int]]] = {
    "strided": [
        {"N": 1, "C": 1, "O": 1, "H": 1, "W": 1},
        {"N": 2, "C": 3, "O": 18, "H": 2, "W": 11},
    ],
    "biased": [{}],
    "added": [{}],
    "scattered": [{"N": 1, "C": 1, "H": 1, "W": 1}, {"N": 2, "C": 9, "H": 2, "W": 5}],
    "scattered_rows": [{}],
}


def changed(name: str) -> tuple[Rewrite, State]:
    original = PROCEDURES[name]
    [rewrite] = CHANGE.rewrites(mirror(original), TARGET)
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
        assert not list(FOLD.rewrites(ast, TARGET))
    assert not list(CHANGE.rewrites(changed(name)[1].ast, TARGET))


@pytest.mark.parametrize(("name", "loads"), [("strided", 0), ("biased", 0), ("added", 1)])
def test_first_values_are_not_overwritten(name: str, loads: int) -> None:
    """Where the nest gives every element of the result its first value, no other is copied."""
    statements = list(q.walk(changed(name)[1].ast.body))
    copies = [s for s in statements if isinstance(s, q.Assign) and s.buf.name == "y_c"]
    from_y = [s for s in copies if isinstance(s.rhs, q.Read) and s.rhs.buf.name == "y"]
    assert len(from_y) == loads
    sums = [s for s in statements if isinstance(s, q.Reduce)]
    assert [s.buf.name for s in sums] == ["y_c"]


@pytest.mark.parametrize(
    "name",
    [
        *("of_one_element", "channels_last", "few_channels", "channels_apart"),
        *("scattered_by_many_taps", "scattered_to_few_channels"),
    ],
)
def test_others_stay(name: str) -> None:
    assert not list(CHANGE.rewrites(mirror(PROCEDURES[name]), TARGET))


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

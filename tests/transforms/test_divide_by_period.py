"""Loops are divided by the period with which their indices repeat."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import ArgValue, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("periods")
[DIVIDE] = select(["divide_by_period"])
LENGTHS = [{"n": n} for n in (1, 6, 7, 8, 11, 12, 13, 31, 32)]

SIZES = {
    "fold": [{}],
    "any_length": LENGTHS,
    "later": LENGTHS,
    "from_five": [{}],
    "means": LENGTHS,
    "pairs": LENGTHS,
    "image": [{"n": 1}, {"n": 3}],
    "rows_of_eight": LENGTHS,
    "enlarged": [{"n": 1, "m": 1}, {"n": 3, "m": 4}],
    "between": LENGTHS,
    "in_turns": [{"t": t, "n": 3} for t in (1, 2, 5, 8)],
}


@cache
def divided(name: str) -> list[tuple[Trace, State]]:
    """Every step, until no loop has a period."""
    found = [(Trace(), State(PROCEDURES[name], mirror(PROCEDURES[name])))]
    while rewrites := list(DIVIDE.rewrites(found[-1][1].ast, TARGET)):
        trace, state = found[-1]
        procedure = apply(state.procedure, state.ast, rewrites[0])
        found.append((trace.then(rewrites[0]), State(procedure, mirror(procedure))))
    return found[1:]


def repeats(stmt: q.Stmt) -> bool:
    """Whether a remainder or a quotient is in the statement."""
    return any(isinstance(part, q.Mod | q.FloorDiv) for part in q.stmt_parts(stmt))


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    assert_same_meaning(PROCEDURES[name], divided(name), SIZES[name], tmp_path)


@pytest.mark.parametrize("name", sorted(SIZES))
def test_nothing_repeats_in_whole_periods(name: str) -> None:
    _, state = divided(name)[-1]
    whole = next(s for s in q.walk(state.ast.body) if isinstance(s, q.For) and s.iter.name == "io")
    assert not any(map(repeats, q.walk(whole.body)))


def arguments_of(name: str) -> list[dict[str, ArgValue]]:
    return [dict(each.args) for each in DIVIDE.rewrites(mirror(PROCEDURES[name]), TARGET)]


def test_periods_are_what_is_left_of_the_divisor() -> None:
    assert arguments_of("rows_of_eight") == [{"period": 3, "peel": 0, "unroll": False}]
    assert [each["period"] for each in arguments_of("image")] == [50, 10]


def test_what_comes_before_the_first_whole_period_is_cut_off() -> None:
    assert arguments_of("later") == [{"period": 12, "peel": 7, "unroll": False}]
    assert arguments_of("from_five") == [{"period": 12, "peel": 5, "unroll": False}]


def test_short_periods_of_several_beginnings_are_unrolled() -> None:
    assert arguments_of("between") == [{"period": 2, "peel": 0, "unroll": True}]
    assert [each["unroll"] for each in arguments_of("enlarged")] == [False, False]


@pytest.mark.parametrize("name", [name for name in PROCEDURES if name.startswith("no_")])
def test_other_loops_stay(name: str) -> None:
    assert not arguments_of(name)


@pytest.mark.parametrize(
    "wrong", [{"period": "12"}, {"peel": 12}, {"peel": -1}, {"period": 0}, {"unroll": 1}]
)
def test_other_arguments_are_refused(wrong: dict[str, ArgValue]) -> None:
    ast = mirror(PROCEDURES["fold"])
    [rewrite] = DIVIDE.rewrites(ast, TARGET)
    args = {**dict(rewrite.args), **wrong}
    with pytest.raises(RewriteError, match=r"whole numbers|true or false"):
        apply(PROCEDURES["fold"], ast, replace(rewrite, args=tuple(sorted(args.items()))))

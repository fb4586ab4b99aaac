"""Calls and windows are resolved at once, so that nests in other procedures get blocks, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import select
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures, only

PROCEDURES = Procedures("callees")
BLOCK, INLINE = select(["block_all", "inline_all"])

SIZES: dict[str, list[dict[str, int]]] = {
    "by_rows": [{"m": 1, "n": 1, "d": 1}, {"m": 3, "n": 5, "d": 2}],
    "by_elements": [{"m": 1, "n": 1, "d": 1}, {"m": 3, "n": 5, "d": 2}],
    "in_turn": [{"n": 1}, {"n": 4}],
}


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_the_meaning_stays(name: str, tmp_path: Path) -> None:
    before = PROCEDURES[name]
    assert_same_meaning(before, [only(INLINE, before)], SIZES[name], tmp_path)


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_no_call_and_no_window_is_left(name: str) -> None:
    ast = only(INLINE, PROCEDURES[name])[1].ast
    assert not [s for s in q.walk(ast.body) if isinstance(s, q.Call | q.WindowStmt)]


@pytest.mark.parametrize("name", ["by_rows", "by_elements"])
def test_sums_of_callees_get_blocks(name: str) -> None:
    before = PROCEDURES[name]
    assert not list(BLOCK.rewrites(mirror(before), TARGET))
    assert list(BLOCK.rewrites(only(INLINE, before)[1].ast, TARGET))


def test_instructions_stay() -> None:
    assert not list(INLINE.rewrites(mirror(PROCEDURES["instructed"]), TARGET))


@pytest.mark.normal
def test_there_is_an_end_to_it() -> None:
    with pytest.raises(RewriteError, match="more than 100 calls"):
        only(INLINE, PROCEDURES["too_often"])

"""Sums of differences, functions and products of them get register blocks as products do."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures, only

PROCEDURES = Procedures("terms")
BLOCK, FOLD, TERM, ISOLATE = select(["block_all", "fold_sums", "inline_term", "isolate_sum"])

SIZES = [{"n": n, "m": m, "d": d} for n, m, d in ((1, 1, 1), (5, 9, 3), (19, 40, 7))]


def blocked(name: str) -> list[tuple[Trace, State]]:
    """What each of the rewrites to the blocks makes of the procedure, as far as they are needed."""
    procedure, trace = PROCEDURES[name], Trace()
    found = []
    for transform in (FOLD, TERM, ISOLATE, BLOCK):
        for rewrite in list(transform.rewrites(mirror(procedure), TARGET))[:1]:
            procedure = apply(procedure, mirror(procedure), rewrite)
            trace = trace.then(rewrite)
            found.append((trace, State(procedure, mirror(procedure))))
    return found


@pytest.mark.normal
@pytest.mark.parametrize("name", ["squares", "magnitudes", "above", "bent", "assigned"])
def test_the_meaning_stays_and_no_sum_is_left_in_memory(name: str, tmp_path: Path) -> None:
    states = blocked(name)
    assert states[-1][0].steps[-1].transform == "block_all"
    assert not [s for s in q.walk(states[-1][1].ast.body) if isinstance(s, q.Reduce)]
    assert_same_meaning(PROCEDURES[name], states, SIZES, tmp_path)


def test_a_chain_of_scalars_is_one_expression() -> None:
    ast = only(TERM, PROCEDURES["squares"])[1].ast
    assert [s.buf.name for s in q.walk(ast.body) if isinstance(s, q.Alloc)] == ["s"]


@pytest.mark.parametrize("name", ["above", "converted", "used_once", "used_later"])
def test_others_stay(name: str) -> None:
    assert not list(TERM.rewrites(mirror(PROCEDURES[name]), TARGET))


@pytest.mark.parametrize("name", ["running", "above"])
def test_what_is_no_sum_or_is_one_stays(name: str) -> None:
    assert not list(FOLD.rewrites(mirror(PROCEDURES[name]), TARGET))


def test_hostile_places_are_refused() -> None:
    ast = mirror(PROCEDURES["used_once"])
    [place] = [s.path for s in q.walk(ast.body) if isinstance(s, q.Reduce)]
    with pytest.raises(RewriteError, match="no such sum"):
        next(TERM.steps(ast, place, {}))

"""Names of windows and calls stand for the elements that NumPy finds behind them."""

from __future__ import annotations

import pytest

from schedsearch.analysis.inline import inline_calls
from schedsearch.analysis.windows import aliased, behind, views
from schedsearch.core import ast as q

from .execution import execute, few
from .programs import programs

pytestmark = pytest.mark.normal


def test_an_inlined_procedure_accesses_the_same_elements_in_the_same_order() -> None:
    calls = 0
    for program in programs():
        inlined = inline_calls(program.proc)
        assert not any(isinstance(s, q.Call | q.WindowStmt) for s in q.walk(inlined.body))
        found = [(event.element, event.writes) for event in execute(inlined, program.sizes)]
        assert found == [(event.element, event.writes) for event in program.events]
        calls += any(isinstance(s, q.Call | q.WindowStmt) for s in q.walk(program.proc.body))
    assert calls > 5


def test_a_window_shows_elements_of_the_buffer_behind_it() -> None:
    resolved = 0
    for program in programs():
        known = views(program.proc.body)
        for event in few(program.events, 500):
            stmt = event.stmt
            if event.called or not event.writes or not isinstance(stmt, q.Assign | q.Reduce):
                continue
            if view := known.get(stmt.buf):
                place = [
                    q.evaluate_affine(i, event.values.__getitem__) for i in view.at(stmt.idx).idx
                ]
                assert event.arrays[view.buf][tuple(place)] == event.element
                resolved += 1
    assert resolved > 5


def test_what_has_one_name_is_accessed_by_it_alone() -> None:
    for program in programs():
        if aliased(program.proc) is None:
            known = views(program.proc.body)
            names: dict[q.Var, set[q.Var]] = {}
            for event in program.events:
                if not event.called and event.writes:
                    names.setdefault(behind(event.stmt.buf, known), set()).add(event.stmt.buf)
            assert all(len(own) == 1 for own in names.values())

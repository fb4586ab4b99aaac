"""The loop nests of a procedure as procedures, and their schedules put together."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.build import COMPILE_WITH
from schedsearch.core.errors import UserError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.loader import pick
from schedsearch.transforms.exo.nests import nests, together
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.registry import propose, select
from schedsearch.transforms.replay import Replayer
from transforms.helpers import TARGET, source


def procedure(name: str) -> Any:
    return source("extracted").procs[name]


def test_every_loop_at_top_level_is_a_procedure_of_what_it_accesses() -> None:
    found = nests(procedure("chain"))
    assert [(nest.number, nest.place) for nest in found] == [(1, 1), (2, 2), (3, 3)]
    assert [nest.procedure.name() for nest in found] == [f"chain_nest{n}" for n in (1, 2, 3)]
    assert [str(arg.name()) for arg in found[2].procedure.args()] == ["C", "D", "AB"]


def test_asserts_and_sizes_come_along() -> None:
    [nest] = nests(procedure("sized"))
    assert [str(arg.name()) for arg in nest.procedure.args()] == ["n", "m", "x"]
    assert "assert n % 8 == 0" in str(nest.procedure)
    assert "assert m >= 3" in str(nest.procedure)


def test_what_an_if_before_a_nest_asks_is_no_assert_of_it() -> None:
    [nest] = nests(procedure("conditional"))
    assert "assert" not in str(nest.procedure)


def test_nests_that_are_not_procedures_of_plain_arrays_stay() -> None:
    assert nests(procedure("windowed")) == ()
    assert nests(procedure("placed")) == ()


def schedule(procedure: Any, transforms: list[str]) -> Trace:
    """The first legal rewrite of each transform, one after the other."""
    trace = Trace()
    for name in transforms:
        state = Replayer(procedure).state(trace)
        trace = trace.then(next(iter(propose(state.ast, TARGET, select([name])))))
    return trace


def test_schedules_of_nests_are_one_of_the_procedure() -> None:
    """Though each changes how many statements there are at top level."""
    whole = procedure("chain")
    found = [
        (nest, schedule(nest.procedure, ["pack", "reorder", "split"])) for nest in nests(whole)[1:]
    ]
    [trace] = together(found)
    assert len(trace) == 6
    ended = Replayer(whole).state(trace).procedure
    for nest, alone in found:
        own = Replayer(nest.procedure).state(alone).procedure
        for line in str(own).splitlines()[3:]:
            assert line.strip() in str(ended)


def test_each_choice_of_compilation_is_tried() -> None:
    step = Rewrite("split", 1, (0, 0), "for j in seq(0, 40)", (("factor", 8),))
    clang, native = (Rewrite(COMPILE_WITH, 1, (), "", (("cc", cc),)) for cc in ("clang", "icx"))
    one, *others = nests(procedure("chain"))
    found = [(one, Trace((step, clang))), *((each, Trace((step, native))) for each in others)]
    traces = together(found)
    assert [trace.steps[:3] for trace in traces] == [traces[0].steps] * 3
    assert [step.path for step in traces[0].steps] == [(3, 0), (2, 0), (1, 0)]
    assert [trace.steps[3:] for trace in traces] == [(), (native,), (clang,)]
    assert together([(one, Trace((clang,)))]) == [Trace((clang,))]
    assert together([(one, Trace())]) == []


def test_a_nest_is_picked_by_its_name() -> None:
    found = source("extracted")
    assert str(pick(found, "chain_nest2")) == str(nests(procedure("chain"))[1].procedure)
    for name in ("chain_nest4", "chain_nest", "chain_nest02", "_nest1", "other_nest1"):
        with pytest.raises(UserError, match="it has: branching, chain, conditional"):
            pick(found, name)


def test_the_exported_schedule_of_a_nest_takes_it_out_of_its_procedure(tmp_path: Path) -> None:
    found = source("extracted")
    nest = pick(found, "chain_nest2")
    trace = schedule(nest, ["reorder", "split"])
    path = tmp_path / "exported.py"
    path.write_text(schedule_python(found, "chain_nest2", trace))
    expected = Replayer(nest).state(trace).procedure
    made = runpy.run_path(str(path))["chain_nest2_scheduled"]
    assert str(made) == str(expected)

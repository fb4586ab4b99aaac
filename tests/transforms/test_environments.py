"""What is asked without needless environments is what Exo asks."""

from __future__ import annotations

from typing import Any

import pytest
from exo.core.LoopIR import LoopIR
from exo.rewrite import new_analysis_core, new_eff

from schedsearch.transforms.exo.mirror import statements
from schedsearch.transforms.exo.speed import environments, exo_as_is
from transforms.helpers import source

FILES = ["kernels", "named", "nodes", "compat", "races", "triangles", "calls"]
"""With configs, windows, calls, and branches."""

LOCATIONS = [new_eff.ES.WRITE_ALL, new_eff.ES.READ_ALL, new_eff.ES.REDUCE, new_eff.ES.ALL]


def asked(proc: Any, stmt: Any) -> str:
    """A question about what a statement accesses, where it is, and what is accessed later on."""
    context = new_eff.ContextExtraction(proc, [stmt])
    effects = context.get_pre_globenv()(new_eff.stmts_effs([stmt]))
    written, *others = new_eff.getsets(LOCATIONS, effects)
    later = new_eff.getsets(LOCATIONS, context.get_posteffs())
    apart = [new_eff.is_empty(new_eff.LIsct(written, each)) for each in (*others, *later)]
    question = new_analysis_core.AAnd(context.get_control_predicate(), *apart)
    return str(question.simplify().simplify())  # the first leaves what it has made needless


def lines(proc: Any) -> list[str]:
    """Of all statements; and what Exo says where it cannot ask. What Exo remembers of callees may
    be of the other way to ask."""
    found = []
    for known in (new_eff._globenv_proc_cache, new_eff._proc_effs_cache):
        known.clear()
    new_eff._proc_changeset_cache.clear()
    for stmt in statements(proc.body):
        try:
            found.append(asked(proc, stmt))
        except (AssertionError, KeyError, TypeError, AttributeError) as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


@pytest.mark.normal
@pytest.mark.parametrize("file", FILES)
def test_questions_are_those_of_exo(file: str) -> None:
    for name, procedure in source(file).procs.items():
        proc = procedure._loopir_proc
        found = lines(proc)
        with exo_as_is():
            assert found == lines(proc), name


@pytest.mark.normal
def test_fields_that_callees_write_are_known() -> None:
    below_limit = source("named").procs["below_limit"]
    found = lines(below_limit._loopir_proc)
    assert any("i < 3" in each for each in found)
    with exo_as_is():
        assert found == lines(below_limit._loopir_proc)


def test_statements_that_write_no_field_leave_nothing() -> None:
    procs = {name: p._loopir_proc for name, p in source("kernels").procs.items()}
    context = new_eff.ContextExtraction(procs["conv"], [])
    for stmt in statements(procs["conv"].body):
        if isinstance(stmt, LoopIR.For):
            assert not new_eff.globenv([stmt]).bindings
            assert not context.loop_preenv(stmt).bindings
    written = [s for s in procs["configured"].body if isinstance(s, LoopIR.WriteConfig)]
    assert written
    assert all(new_eff.globenv([stmt]).names for stmt in written)


def test_fields_are_found_wherever_they_are_written() -> None:
    procs = {name: p._loopir_proc for name, p in source("races").procs.items()}
    assert environments._writes(procs["racy_config"])
    assert environments._writes(procs["racy_config"].body[0])
    assert not environments._writes(procs["fine_rows"])

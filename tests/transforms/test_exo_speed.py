"""What is remembered for Exo is what Exo would have found out again."""

from __future__ import annotations

from abc import ABCMeta
from pathlib import Path
from typing import Any

import pytest
from asdl_adt.validators import ValidationError
from attrs.exceptions import FrozenInstanceError
from exo.core.LoopIR import LoopIR
from exo.frontend import boundscheck, parse_fragment, pattern_match
from exo.rewrite import LoopIR_unification, new_analysis_core, new_eff, range_analysis

from schedsearch.transforms.exo.canonical import canonical
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import statements
from schedsearch.transforms.exo.speed import exo_as_is, remembered
from transforms.helpers import source

SIZED = """from __future__ import annotations
from exo import proc


@proc
def below(n: size, m: size, x: f32[n]):
    assert n <= 40
    assert m + 3 <= n
    for i in seq(0, n):
        x[i] = 0.0


@proc
def above(n: size, m: size, x: f32[n]):
    assert n >= 40
    assert m + 3 <= n
    for i in seq(0, n):
        x[i] = 0.0


@proc
def renamed(a: size, b: size, y: f32[a]):
    assert a <= 40
    assert b + 3 <= a
    for j in seq(0, a):
        y[j] = 1.0


@proc
def strided(n: size, m: size, w: [f32][n, m]):
    assert stride(w, 0) == 16
    assert n % 8 == 0
    for i in seq(0, n):
        w[i, 0] = 0.0
"""


@pytest.fixture
def procs(tmp_path: Path) -> dict[str, Any]:
    (file := tmp_path / "sized.py").write_text(SIZED)
    return {name: p._loopir_proc for name, p in load_source(file).procs.items()}


def sizes(proc: Any) -> list[Any]:
    return [arg for arg in proc.args if isinstance(arg.type, LoopIR.Size)]


@pytest.mark.normal
def test_ranges_of_arguments_are_exos_own(procs: dict[str, Any]) -> None:
    for proc in procs.values():
        for arg in sizes(proc):
            expected = remembered._exo_arg_range(proc, arg, fast=False)
            for _ in range(2):
                assert range_analysis.arg_range_analysis(proc, arg, fast=False) == expected
    n, m = sizes(procs["below"])
    assert remembered.arg_range(procs["below"], n, fast=False) == (4, 40)
    assert remembered.arg_range(procs["below"], m, fast=False) == (1, 37)
    assert remembered.arg_range(procs["below"], m) == (1, None)


def test_equal_asserts_are_asked_about_once(
    procs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def ask(proc: Any, arg: Any, fast: bool) -> remembered.Range:
        asked.append(f"{proc.name} {arg.name.name()}")
        return (1, None)

    monkeypatch.setattr(remembered, "_exo_arg_range", ask)
    monkeypatch.setattr(remembered, "_ranges", {})
    for proc in procs.values():
        for copy in (proc, canonical(proc)):
            for arg in sizes(copy):
                remembered.arg_range(copy, arg, fast=False)
    names = ("below n", "below m", "above n", "above m", "strided n", "strided m")
    assert asked == list(names)


def test_code_generation_asks_nothing_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file := tmp_path / "sized.py").write_text(SIZED)
    procedure = load_source(file).procs["below"]
    first = generate_c(procedure)

    def fail(*_: Any) -> None:
        raise AssertionError("a solver was started")

    monkeypatch.setattr(new_analysis_core, "_get_smt_solver", fail)
    assert generate_c(procedure) == first


def test_solvers_are_those_exo_would_take() -> None:
    for module in (boundscheck, LoopIR_unification):
        assert "z3" in type(module._get_smt_solver()).__name__.lower()


def test_the_frames_start_at_the_caller() -> None:
    for module in (pattern_match, new_eff):
        frames = module.inspect.stack()
        assert frames[0].function == "test_the_frames_start_at_the_caller"
        assert module.inspect.getframeinfo(frames[0][0]).filename == __file__


NAMED = [("locality", "product"), ("taps", "one_by_one"), ("kernels", "configured")]
NAMED += [("extracted", "branching"), ("named", "moving")]


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_names_for_a_text_are_those_that_exo_finds(file: str, name: str) -> None:
    proc = source(file).procs[name]._loopir_proc
    for stmt in statements(proc.body):
        ours = parse_fragment.BuildEnv(proc, stmt).result
        with exo_as_is():
            assert dict(ours) == dict(parse_fragment.BuildEnv(proc, stmt).result)


def nodes_of(text: str) -> Any:
    """The first loop of a procedure, which has nodes and lists of nodes as fields."""
    return source("locality").procs[text]._loopir_proc.body[0]


def test_nodes_check_their_fields_as_exo_does() -> None:
    loop = nodes_of("product")
    for wrong in ({"body": [loop.hi]}, {"body": loop.body[0]}, {"lo": None}, {"iter": "i"}):
        messages = []
        for _ in range(2):
            with pytest.raises(ValidationError) as error:
                loop.update(**wrong)
            messages.append(str(error.value))
        with exo_as_is(), pytest.raises(ValidationError) as error:
            loop.update(**wrong)
        assert {*messages} == {str(error.value)}
    with pytest.raises(TypeError, match="nothing_known"):
        loop.update(nothing_known=1)


def test_nodes_are_what_exo_builds() -> None:
    loop = nodes_of("product")
    copy = loop.update(lo=loop.hi)
    with exo_as_is():
        assert copy == loop.update(lo=loop.hi)
        assert isinstance(copy, LoopIR.stmt)
    assert isinstance(copy, LoopIR.stmt)
    assert not isinstance(copy, LoopIR.expr)
    assert copy.body == loop.body
    assert copy.body is not loop.body  # Exo copies lists: a caller may go on changing its own
    operator = loop.hi.update(type=loop.hi.type)
    assert operator == loop.hi
    with pytest.raises(FrozenInstanceError):
        copy.lo = loop.lo


def test_exo_can_be_had_as_it_is() -> None:
    fast = new_analysis_core._get_smt_solver
    with exo_as_is():
        assert new_analysis_core._get_smt_solver.__module__ == "exo.rewrite.new_analysis_core"
        assert type(LoopIR.For) is ABCMeta
    assert new_analysis_core._get_smt_solver is fast
    assert type(LoopIR.For) is not ABCMeta

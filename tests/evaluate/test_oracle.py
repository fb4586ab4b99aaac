from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedsearch.analysis.accesses import read_buffers, written_buffers
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.oracle.agreed import Agreement
from schedsearch.evaluate.oracle.agreement import Power, Told, unclear_parts, weaknesses
from schedsearch.evaluate.oracle.harness import Case
from schedsearch.evaluate.oracle.ladders import LADDERS, Fill, Mode, Rung, oracle
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.transforms.exo.mirror import mirror

from . import lossy, procs


def cases(procedure: Any, builder: Builder, work: Path, **sizes: int) -> tuple[Case, ...]:
    proc = mirror(procedure)
    return prepare(proc, procs.generate(procedure), bind(proc, sizes), builder, work).cases


def rungs(procedure: Any, builder: Builder, work: Path, **sizes: int) -> list[Rung]:
    """Of the last cases on integers and on floats: those of the timed size."""
    last = {case.oracle.mode: case.oracle.rung for case in cases(procedure, builder, work, **sizes)}
    return [last[Mode.INTEGERS], last[Mode.FLOATS]]


@pytest.mark.normal
def test_usual_sums_take_the_first_rungs(builder: Builder, tmp_path: Path) -> None:
    usual = [LADDERS[mode][0] for mode in (Mode.INTEGERS, Mode.FLOATS)]
    assert rungs(procs.matmul, builder, tmp_path, M=16, N=16, K=500) == usual


@pytest.mark.normal
def test_sums_that_are_not_exact_are_of_smaller_integers_and_of_fewer(
    builder: Builder, tmp_path: Path
) -> None:
    integers, floats = rungs(procs.long_sum, builder, tmp_path)
    assert integers.hi < 8
    assert floats.density < 1
    own = rungs(procs.half_precision, builder, tmp_path)
    assert own[0].hi == 1


@pytest.mark.normal
def test_inputs_avoid_what_is_not_a_number(builder: Builder, tmp_path: Path) -> None:
    integers, floats = rungs(procs.shifted_root, builder, tmp_path)
    assert integers.lo > 10
    assert floats.hi > 10


def test_only_outputs_never_read_are_poisoned() -> None:
    usual = LADDERS[Mode.INTEGERS][0]

    def fills(procedure: Any) -> dict[str, Fill]:
        found = oracle(mirror(procedure), Mode.INTEGERS, usual)
        return {name: data.rung.fill for name, data in found.data}

    assert fills(procs.triple) == {"y": Fill.POISON, "x": Fill.INTEGERS}
    assert set(fills(procs.matmul).values()) == {Fill.INTEGERS}


def test_integers_have_their_range_where_no_float_is_converted() -> None:
    mode, rung = Mode.FLOATS, LADDERS[Mode.FLOATS][0]

    def range_of(procedure: Any, name: str) -> tuple[float, float]:
        own = dict(oracle(mirror(procedure), mode, rung).data)[name].rung
        return own.lo, own.hi

    assert range_of(procs.whole, "x") == (-128, 127)
    assert range_of(procs.quantised, "y") == (-8, 8)


WEAK = Power(100, 100, 0)


def test_an_output_that_no_case_shows_is_weakly_verified() -> None:
    strong, undefined = Power(100, 100, 60), Power(100, 0, 0)
    assert weaknesses([{"y": strong}, {"y": WEAK}]) == ()
    (reason,) = weaknesses([{"y": WEAK, "z": strong}, {"y": WEAK}])
    assert reason.startswith("y is known so roughly")
    (reason,) = weaknesses([{"y": undefined}])
    assert "infinite or NaN" in reason
    assert Agreement((), (), (reason,)).verdict == f"weakly verified: {reason}"
    assert Agreement(()).verdict == "verified on data"


def test_a_part_that_no_case_shows_is_weakly_verified() -> None:
    part, rough, tail = Power(100, 50, 50), Power(100, 100, 60, 30), Power(100, 95, 90)
    (reason,) = weaknesses([{"y": part}, {"y": rough}])
    assert "a wrong or missing term may not show" in reason
    (reason,) = weaknesses([{"y": part}])
    assert "undefined" in reason
    assert weaknesses([{"y": part}, {"y": tail}]) == ()


def test_elements_that_no_case_shows_are_weakly_verified() -> None:
    powers = {"y": Power(3, 3, 1, 2)}
    first, second, third = (
        Told(powers, None, {"y": bytes(marks)}) for marks in ([0, 1, 1], [1, 3, 0], [1, 0, 2])
    )
    (reason,) = unclear_parts([first, second])
    assert reason.startswith("y is known so roughly in 1 of 3 elements")
    assert unclear_parts([first, second, third]) == ()


def test_elements_that_are_always_0_are_weakly_verified() -> None:
    told = Told({"y": Power(3, 3, 1)}, None, {"y": bytes([0, 2, 0])})
    assert unclear_parts([told] * 4) == (), "that may be chance"
    (reason,) = unclear_parts([told] * 12)
    assert reason.startswith("y is 0 in 1 of 3 elements")


@pytest.mark.normal
def test_one_element_that_no_case_shows_is_weakly_verified(
    builder: Builder, tmp_path: Path
) -> None:
    proc = mirror(lossy.one_long_sum)
    bench = prepare(proc, procs.generate(lossy.one_long_sum), bind(proc, {}), builder, tmp_path)
    assert "y is known so roughly in 1 of 61 elements" in bench.agreement.verdict


@pytest.mark.normal
def test_an_element_that_is_always_0_is_weakly_verified(builder: Builder, tmp_path: Path) -> None:
    """But not those that the procedure makes 0."""
    proc = mirror(lossy.lost)
    bench = prepare(proc, procs.generate(lossy.lost), bind(proc, {}), builder, tmp_path)
    assert "y is 0 in 1 of 5 elements" in bench.agreement.verdict


@pytest.mark.normal
def test_a_part_that_is_never_defined_is_weakly_verified(builder: Builder, tmp_path: Path) -> None:
    proc = mirror(lossy.half_defined)
    bench = prepare(proc, procs.generate(lossy.half_defined), bind(proc, {}), builder, tmp_path)
    assert "y is undefined" in bench.agreement.verdict


@pytest.mark.normal
def test_a_procedure_that_is_never_defined_is_weakly_verified(
    builder: Builder, tmp_path: Path
) -> None:
    proc = mirror(procs.never)
    bench = prepare(proc, procs.generate(procs.never), bind(proc, {}), builder, tmp_path)
    assert "y is undefined" in bench.agreement.verdict


def test_inlining_resolves_windows_and_calls() -> None:
    inlined = inline_calls(mirror(procs.calls))
    kinds = {type(stmt) for stmt in q.walk(inlined.body)}
    assert kinds == {q.For, q.Reduce, q.Assign}
    y, x = inlined.args[1].var, inlined.args[2].var
    assert written_buffers(inlined.body) == {y}
    assert read_buffers(inlined.body) == {x, y}
    assign = next(s for s in q.walk(inlined.body) if isinstance(s, q.Assign))
    assert assign.idx[0] == q.Affine(3)

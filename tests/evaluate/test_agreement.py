"""A miscompiled baseline is found out: the reference does not go through its C."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.errors import BaselineError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Artifact
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.oracle.agreement import Told
from schedsearch.evaluate.oracle.harness import Case
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror

from . import control, procs


def prepared(procedure: Any, old: str, new: str, builder: Builder, work: Path) -> Bench:
    """With a baseline whose C was edited."""
    proc, code = mirror(procedure), procs.generate(procedure)
    assert old in code.source
    wrong = procs.handwritten(code, code.source.replace(old, new))
    return prepare(proc, wrong, bind(proc, {}), builder, work)


MISCOMPILED = [
    (procs.triple, "3.0f * x[i]", "3.0f * x[i] + (i == 63)", "y[63] is "),
    (procs.matmul, "k < K", "k < K / 8 * 8", "C[0, 0] is "),
    (procs.every_type, "s[j] * s[j]", "s[j] * (s[j] & 63)", "s["),
    (procs.every_type, "d[j] * 2.0", "d[j] * 2.0000001", "d[0] is "),
    (procs.every_type, "*a * 2.0", "*a * 3.0", "f[0] is "),
    (procs.windowed, "i * x.strides[0]", "i * m", "y[1, "),
    (procs.configured, "ctxt->Cfg.scale", "1.0f", "x[0] is "),
    (procs.configured, "ctxt->Cfg.count = n", "ctxt->Cfg.count = n + 1", "Cfg.count is "),
    (control.stepped, "ctxt->Set.step", "1", "y["),
    (control.stepped, "ctxt->Set.gain", "1", "z["),
    (procs.waves, "0.5f", "0.5001f", "y["),
    (procs.normalise, "i < 256", "i < 255", "y["),
]


@pytest.mark.slow
@pytest.mark.parametrize(("procedure", "old", "new", "part"), MISCOMPILED)
def test_miscompiled_baseline(
    procedure: Any, old: str, new: str, part: str, builder: Builder, tmp_path: Path
) -> None:
    with pytest.raises(BaselineError, match="disagrees with its evaluation") as caught:
        prepared(procedure, old, new, builder, tmp_path)
    assert part in str(caught.value)


def shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every evaluation, to three processes."""
    monkeypatch.setattr("schedsearch.evaluate.run.bench._LONG", 0.0)
    monkeypatch.setattr(Bench, "_places", lambda bench, cases: [bench.cores] * 3)


@pytest.mark.normal
def test_evaluations_that_are_shared_out_are_those_of_one_process(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._SAMPLED", 20_000)
    alone = prepared(procs.matmul_acc, "24", "24", builder, tmp_path / "alone")
    shared_out(monkeypatch)
    shared = prepared(procs.matmul_acc, "24", "24", builder, tmp_path / "shared")
    assert [str(case) for case in shared.cases] == [str(case) for case in alone.cases]
    assert shared.agreement == alone.agreement
    known = {file.name: file.read_bytes() for file in (tmp_path / "alone").glob("*.bin")}
    assert len(known) > 3
    assert known == {file.name: file.read_bytes() for file in (tmp_path / "shared").glob("*.bin")}


@pytest.mark.normal
@pytest.mark.parametrize(("procedure", "old", "new", "part"), MISCOMPILED[1:5:3])
def test_a_miscompiled_baseline_is_found_wherever_it_is_evaluated(
    procedure: Any,
    old: str,
    new: str,
    part: str,
    builder: Builder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared_out(monkeypatch)
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._SAMPLED", 20_000)
    with pytest.raises(BaselineError, match="disagrees with its evaluation") as caught:
        prepared(procedure, old, new, builder, tmp_path)
    assert part.partition("[")[0] in str(caught.value)


@pytest.mark.normal
def test_the_baseline_is_called_once_for_each_case_that_needs_it(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for the looks at what inputs tell, of which there may be eleven a case: calls of half a
    second took most of the time before a search. What is compared with is as it was."""
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._CASE_STEPS", 3_000)
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._TRIED", 2_000)
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._SAMPLED", 20_000)
    asked: list[list[Case]] = []
    enclose = Bench.enclose

    def noted(bench: Bench, cases: Sequence[Case]) -> Sequence[Told]:
        asked.append(list(cases))
        return enclose(bench, cases)

    monkeypatch.setattr(Bench, "enclose", noted)
    bench = prepared(procs.matmul_acc, "24", "24", builder, tmp_path)
    *looks, whole = asked
    assert all(case.look == case.uncalled == (case.share < 1) for each in looks for case in each)
    assert any(case.look for each in looks for case in each)
    assert not any(case.look or case.uncalled for case in whole)
    called = [case for case in bench.cases[:-1] if case.share < 1]
    assert called
    assert set(map(id, called)) <= set(map(id, whole))


@pytest.mark.normal
def test_arguments_are_what_fields_were(builder: Builder, tmp_path: Path) -> None:
    """A callee that is given a field, and sets it."""
    bench = prepared(control.given_before_it_is_set, "i < k", "i < k", builder, tmp_path)
    assert not bench.agreement.weak


@pytest.mark.normal
def test_every_case_is_compared(builder: Builder, tmp_path: Path) -> None:
    bench = prepared(procs.matmul, "k < K", "k < K", builder, tmp_path)
    *compared, timed = map(str, bench.cases)
    assert bench.agreement.cases == tuple(compared)
    assert timed == compared[-1]
    assert f"agrees with its evaluation in {len(compared)} of {len(compared)} cases" in str(
        bench.agreement
    )


@pytest.mark.normal
def test_what_cannot_be_evaluated_is_said(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._MOST_EVALUATED", 100)
    bench = prepared(procs.normalise, "256", "256", builder, tmp_path)
    assert not bench.agreement.cases
    assert f"in 0 of {len(bench.cases) - 1} cases (its size takes too long to evaluate)" in str(
        bench.agreement
    )
    assert bench.agreement.verdict.startswith("weakly verified: its size takes too long")


@pytest.mark.normal
def test_a_part_of_independent_iterations_is_evaluated(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is held against the procedure as written, which must be right where it shows."""
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._SAMPLED", 20_000)
    bench = prepared(procs.matmul_acc, "24", "24", builder, tmp_path / "right")
    assert bench.cases[-1].share < 0.9
    assert bench.sandbox == bench.run_baseline(bench.cases, FloatingPoint.FAST)[0].sandbox
    assert len(bench.agreement.cases) == len(bench.cases) - 1
    assert not bench.agreement.weak
    assert bench.verify(bench.baseline) is None
    for number, wrong in enumerate(("C[i * 24 + j] * (1 - (i == 9))", "C[i * 24 + j] * 1.001f")):
        code = procs.generate(procs.matmul_acc)
        end = code.source.rindex("}")
        loop = f"for (int i = 0; i < 24; i++) for (int j = 0; j < 24; j++) C[i * 24 + j] = {wrong};"
        source = f"{code.source[:end]}{loop}\n}}\n"
        built = builder.build(procs.handwritten(code, source), 60)
        assert isinstance(built, Artifact)
        assert bench.verify(built) is not None
        if number:  # a row that is zero throughout is not one that is evaluated, perhaps
            with pytest.raises(BaselineError, match="disagrees with its evaluation"):
                prepare(
                    bench.plan.proc, procs.handwritten(code, source), bind(bench.plan.proc, {}),
                    builder, tmp_path / "wrong",
                )  # fmt: skip


INTEGERS = """from __future__ import annotations

from exo import proc


@proc
def copied(y: KIND[300, 300], x: KIND[300, 300]):
    for i in seq(0, 300):
        for j in seq(0, 300):
            y[i, j] = x[i, j]
"""


@pytest.mark.normal
@pytest.mark.parametrize("kind", ["i8", "ui16", "i32"])
def test_integers_with_all_bits_set_are_results_too(
    kind: str, builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a part is evaluated, the kernel's -1 counts as written; of floats that is the NaN that
    outputs start as."""
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._SAMPLED", 80_000)
    file = tmp_path / "integers.py"
    file.write_text(INTEGERS.replace("KIND", kind))
    bench = prepared(load_source(file).procs["copied"], "300", "300", builder, tmp_path / "work")
    assert bench.cases[-1].share < 1
    assert not bench.agreement.weak
    with pytest.raises(BaselineError, match="disagrees with its evaluation"):
        prepared(
            load_source(file).procs["copied"], "= x[i * 300 + j]", "= x[i * 300 + j] + 1",
            builder, tmp_path / "wrong",
        )  # fmt: skip


IN_PLACE = """from __future__ import annotations

from exo import proc


@proc
def raised(x: i8[1500, 1500]):
    for i in seq(0, 1500):
        for j in seq(0, 1500):
            x[i, j] = x[i, j] + 1.0
"""


@pytest.mark.normal
def test_places_of_a_part_have_room_in_the_file(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of bytes they take most of it, eight for each."""
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._LARGE", 1000)
    monkeypatch.setattr("schedsearch.evaluate.oracle.cases._EVALUATED", 2_000_000)
    file = tmp_path / "in_place.py"
    file.write_text(IN_PLACE)
    bench = prepared(load_source(file).procs["raised"], "1500", "1500", builder, tmp_path / "work")
    assert bench.cases[-1].share < 1
    assert "a part of the results is compared" in bench.agreement.verdict

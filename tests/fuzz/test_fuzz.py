"""A slice of the campaign (`python -m fuzz` runs more), and that it would find something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import strategies as st
from transforms.helpers import TARGET

from fuzz import campaign
from fuzz.campaign import run, targets
from fuzz.examine import Finding, Report
from fuzz.procedures import Generated, drawn, procedures
from fuzz.running import cases, differences
from fuzz.schedules import TRIES, walk
from fuzz.writer import Writer
from schedsearch.analysis import conversions
from schedsearch.analysis.conversions import INTEGERS
from schedsearch.core.errors import CodegenError, RewriteError, UserError
from schedsearch.core.isa import KNOWN
from schedsearch.core.records import GeneratedC, Target
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.library.composites import inline_value
from schedsearch.transforms.library.primitives import merge_writes
from schedsearch.transforms.registry import apply, registry, select
from schedsearch.transforms.replay import State
from schedsearch.transforms.vector.fused import function, source

pytestmark = pytest.mark.slow


def test_random_schedules_compute_what_the_procedure_means() -> None:
    report = run(2, (TARGET, replace(TARGET, threads=2)), count=6)
    assert not report.findings, str(report.findings[0])
    assert report.procedures >= 3, "too few of what is drawn gets through Exo's front end"
    assert len(report.pairs) >= 10
    assert len(report.transforms) >= 5
    assert report.carried


def test_random_schedules_compute_minima_and_maxima() -> None:
    report = run(3, (TARGET, replace(TARGET, threads=2)), count=6, extremes=True)
    assert not report.findings, str(report.findings[0])
    assert len(report.pairs) >= 10
    texts = [each.text for (each,) in drawn(3, 6, procedures(True))]
    assert sum(" = select(" in text for text in texts) > 2


SAMPLE = (
    *((1, 4), (2, 3), (3, 4), (4, 4), (5, 3), (6, 4), (8, 3), (9, 2), (10, 3), (11, 2)),
    *((14, 4), (15, 3), (17, 2), (33, 2), (68, 2), (261, 2), (360, 3), (1005, 3), (52, 2)),
)
"""Seeds and numbers of procedures: few of 1,000 that were drawn, which have all there is
to reach."""

SELDOM = {
    *("block_all", "block_edges", "block_elimination", "block_solve"),
    "change_columns",
    *("cut_apart", "cut_borders", "cut_conditions", "cut_taps", "cut_triangle"),
    "divide_by_period",
    *(
        "factor_sum",
        "fold_operand",
        "hoist_temporary",
        "inline_term",
        "interchange_triangle",
        "isolate_sum",
        "join_rows",
        "make_planar",
        "scalarise",
        "skew",
        "split_sum",
        "stage_sums",
        "strip_rows",
        "transpose",
        "turn_operand",
    ),
    *("turn_result", "vectorise_recurrence"),
}
"""Hardly one of 1,200 drawn procedures has a place for them: register blocks leave no edges any
more, and two products in a procedure, sums of triangles, of two products, or of products of three
arrays that a loop uses again are not drawn, nor copies of rows to columns, nor rows that depend on
the rows before them, nor values stored part after part, nor loops that overwrite what they read
throughout, nor windows over borders, nor conditions that change inside of loops, nor
recurrences along a row, nor periods of indices, nor sums in loops that do not change them, nor
rows that follow each other without a gap, nor terms of blocks by way of scalars, nor small arrays
of an iteration, nor sums beside others of their array, nor rows that are read twice. Procedures of
their own are compared with their meaning:
`test_block_edges.py`, `test_block_elimination.py`, `test_block_solve.py`, `test_cut_apart.py`,
`test_change_columns.py`, `test_cut_borders.py`, `test_cut_conditions.py`, `test_cut_taps.py`,
`test_cut_triangle.py`, `test_divide_by_period.py`,
`test_factor_sum.py`, `test_fold_operand.py`, `test_hoist_temporary.py`,
`test_interchange_triangle.py`, `test_isolate_sum.py`, `test_join_rows.py`,
`test_make_planar.py`, `test_scalarise.py`, `test_skew.py`, `test_stage_sums.py`, `test_terms.py`,
`test_split_sum.py`, `test_strip_rows.py`, `test_transpose.py`, `test_turn_result.py`,
`test_vectorise_recurrence.py`,
`test_normal_form.py`."""


def test_every_transform_is_legal_somewhere(tmp_path: Path) -> None:
    features = {feature for isa in KNOWN for feature in isa.needs}
    machines = [machine for machine in targets(features) if machine.threads == 2]
    reached = set[str]()
    for number, count in SAMPLE:
        choices = st.lists(st.integers(0, 2**20), max_size=2)
        for each in drawn(number, count, procedures(), choices, st.sampled_from(machines)):
            reached.update(legal(*each, tmp_path, reached))
    assert reached >= set(registry()) - SELDOM


def legal(
    drawn: Generated, choices: list[int], machine: Target, folder: Path, known: set[str]
) -> Iterator[str]:
    """Transforms, but those `known`, that have a legal proposal in a state of this walk."""
    (folder / "fuzzed.py").write_text(drawn.text)
    try:
        procedure = load_source(folder / "fuzzed.py").procs["fuzzed"]
    except UserError:
        return
    steps = walk(procedure, choices, machine, dict(drawn.sizes[-1]))
    for state in (State(procedure, mirror(procedure)), *(step.state for step in steps)):
        target = replace(machine, build=state.build)
        for transform in select(sorted(registry().keys() - known)):
            for rewrite in islice(transform.rewrites(state.ast, target), TRIES):
                with suppress(RewriteError):
                    apply(state.procedure, state.ast, rewrite)
                    yield transform.name


PLANTED: dict[str, tuple[str, str, list[tuple[ModuleType, str, object]], tuple[int, int]]] = {
    "a term is added before it is converted": (
        "contraction",
        "vectorise_reduction",
        [(function, "promoted", lambda kind: "f32" if kind in INTEGERS else kind)],
        (15, 10),
    ),
    "two terms are added before they are converted": (
        "twice",
        "merge_writes",
        [(module, "mergeable", lambda *_: True) for module in (merge_writes, conversions)],
        (2, 7),
    ),
    "a value is not converted on its way": (
        "through",
        "inline_value",
        [(module, "conversion_lost", lambda *_: False) for module in (inline_value, conversions)],
        (2, 3),
    ),
}
"""What is drawn, which transform is tried, what is put out of order
there; the seed and how many procedures of it."""


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_faults_are_found(
    fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drawn_kind, transform, changes, (number, count) = PLANTED[fault]
    monkeypatch.setattr(
        Writer,
        "item",
        lambda self, scope: getattr(self, drawn_kind if scope.depth else "loop")(scope),
    )
    for module, name, changed in changes:
        monkeypatch.setattr(module, name, changed)
    source.fused_instruction.cache_clear()
    found: list[str] = []
    for (each,) in drawn(number, count, procedures()):
        found.extend(first_steps(each, transform, tmp_path))
    source.fused_instruction.cache_clear()
    assert found


def first_steps(drawn: Generated, transform: str, folder: Path) -> Iterator[str]:
    """What is wrong with the C of a procedure after each proposal of a transform."""
    (folder / "fuzzed.py").write_text(drawn.text)
    try:
        procedure = load_source(folder / "fuzzed.py").procs["fuzzed"]
    except UserError:
        return
    meaning = mirror(procedure)
    codes = []
    for rewrite in select([transform])[0].rewrites(meaning, TARGET):
        with suppress(RewriteError, CodegenError):
            codes.append(generate_c(apply(procedure, meaning, rewrite)))
    data, _ = cases(meaning, drawn.sizes) if codes else ([], None)
    if data:
        yield from differences(meaning, codes, data, folder, ("-O1",)).values()


SHIFT = """
from __future__ import annotations
from exo import proc
@proc
def fuzzed(n: size, x: f32[n, 4], y: f32[n, 4]):
    t: f32[n]
    for i in seq(0, n):
        t[i] = x[i, 1]
    for i in seq(0, n):
        y[i, 2] += t[i]
"""


def problems(folder: Path, old: str, new: str) -> dict[int, str]:
    """What is found wrong with the C of a procedure and with a changed copy of it."""
    (folder / "shift.py").write_text(SHIFT)
    procedure = load_source(folder / "shift.py").procs["fuzzed"]
    code = generate_c(procedure)
    assert old in code.source
    wrong = GeneratedC(code.proc, code.header, code.source.replace(old, new), "wrong")
    meaning = mirror(procedure)
    data, _ = cases(meaning, [{"n": 1}, {"n": 5}])
    return differences(meaning, [code, wrong], data, folder, ("-O1",))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("+= t3", "= t3", "should be"),
        ("i5 < n", "i5 < n - 1", "should be"),
        ("y[i5 * 4 + 2]", "y[i5 * 4 + 6]", "{'n': 1}: written outside an array"),
        ("t3[i4]", "t3[i4 + 1]", "written outside a temporary"),
        ("free(", "abort(); free(", "the process ended with -6"),
        ("free(", "free(undeclared", "does not compile"),
    ],
)
def test_what_is_wrong_is_found(tmp_path: Path, old: str, new: str, problem: str) -> None:
    found = problems(tmp_path, old, new)
    assert list(found) == [1]
    assert problem in found[1]


def test_findings_are_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(drawn: Generated, *_: object) -> Report:
        wrong = "for j" in drawn.text
        return Report(findings=[Finding(drawn.text, Trace(), "", "")] if wrong else [])

    monkeypatch.setattr(campaign, "examine", planted)
    found: list[Finding] = []

    def smaller(finding: Finding) -> None:
        found.append(finding)
        if len(found) == 4:  # all the way takes a minute
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(1, (TARGET,), smaller=smaller)
    sizes = [len(finding.text) for finding in found]
    assert sizes == sorted(set(sizes), reverse=True)
    assert all("for j" in finding.text for finding in found)

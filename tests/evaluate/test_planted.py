"""Every kind of fault is found by running kernels: our static checks take no part.

Faults are put into the C by hand, or are Exo's own mistakes, made by calling its operators
and its code generator directly. docs/oracle.md lists what finds what.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exo.rewrite import LoopIR_scheduling
from exo.rewrite.new_eff import Check_FissionLoop
from exo.stdlib.scheduling import (
    bind_expr,
    fission,
    fuse,
    inline_assign,
    lift_alloc,
    lift_reduce_constant,
    lift_scope,
    parallelize_loop,
    remove_loop,
    rename,
    reorder_loops,
    reorder_stmts,
    replace,
    simplify,
    sink_alloc,
)
from transforms.procs import compat

from schedsearch.core.errors import UserError
from schedsearch.core.records import Artifact, Failure, GeneratedC, Measurement, Outcome
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.host import usable_cores
from schedsearch.evaluate.run.bench import Anchor, Bench
from schedsearch.evaluate.run.findings import Finding
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.evaluate.run.sanitize import Inspector
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror

from . import procs

pytestmark = pytest.mark.normal

PLAN = TimingPlan("screen", 2, 2, sample_ns=1e5)


SIGNATURE = """#include <stdlib.h>
void rows(void *c, int_fast32_t n, float *y, const float *A, const float *x)"""
RIGHT = """
for (int i = FROM; i < TO; i++) {
    float s = 0;
    for (int k = 0; k < 48; k++) s += A[i * 48 + k] * x[k];
    y[i] = s;
}"""
ALL = RIGHT.replace("FROM", "0").replace("TO", "n")

PLANTED = {
    "wrong tail: left out": (RIGHT.replace("FROM", "0").replace("TO", "n / 8 * 8"), "y["),
    "wrong tail: too long": (
        RIGHT.replace("FROM", "0").replace("TO", "(n + 7) / 8 * 8"),
        "past the end of",
    ),
    "wrong tail: once too often": (f"{ALL} if (n % 8) y[n - 1] += A[0];", "y["),
    "read past the end, unused": (
        f"{ALL} volatile float after = A[n * 48]; (void)after;",
        "accessed memory 0 bytes past the end of A",
    ),
    "read before the start, unused": (
        f"{ALL} volatile float before = x[-1]; (void)before;",
        "accessed memory 4 bytes before the start of x",
    ),
    "write past the end": (f"{ALL} y[n] = 0;", "accessed memory 0 bytes past the end of y"),
    "write before the start": (f"{ALL} y[-1] = 0;", "4 bytes before the start of y"),
    "missed write": (RIGHT.replace("FROM", "(n > 1)").replace("TO", "n"), "y[0] is nan"),
    "stale buffer": (
        f"""static float *panel;
        if (!panel) {{ panel = malloc(48 * 4); for (int k = 0; k < 48; k++) panel[k] = x[k]; }}
        {ALL.replace("x[k]", "panel[k]")}""",
        "on floats",
    ),
    "sum begun once, as by Exo's fission": (
        f"float s = 0; {ALL.replace('float s = 0;', '')}",
        "y[1] is",
    ),
    "input overwritten": (f"{ALL} ((float *)x)[3] = 1;", "changed the input x[3]"),
}


def prepared(procedure: Any, builder: Builder, work: Path) -> Bench:
    proc = mirror(procedure)
    return prepare(
        proc, generate_c(procedure), bind(proc, {}), builder, work, threads=len(usable_cores())
    )


def judged(bench: Bench, builder: Builder, code: GeneratedC) -> Measurement | Failure:
    artifact = builder.build(code, 60)
    assert isinstance(artifact, Artifact), artifact
    return bench.evaluate(artifact, PLAN, Anchor(bench.baseline, "baseline")).result


@pytest.fixture(scope="module")
def bench(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return prepared(procs.rows, builder, tmp_path_factory.mktemp("work"))


@pytest.mark.parametrize(("body", "part"), PLANTED.values(), ids=PLANTED.keys())
def test_planted_in_c(bench: Bench, builder: Builder, body: str, part: str) -> None:
    code = procs.handwritten(generate_c(procs.rows), f"{SIGNATURE} {{ {body} }}\n")
    result = judged(bench, builder, code)
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.INCORRECT
    assert part in result.message


AS_WRITTEN = {
    "parentheses of 5 * (i % 2)": (compat.parentheses, "disagrees with its evaluation"),
    "remainder of a negative index": (
        compat.negative_modulo,
        "disagrees with its evaluation: x",
    ),
    "-(-x) as a decrement": (compat.double_negation, "disagrees with its evaluation"),
    "y[i + 7 / 2] as y[i + 3.5]": (compat.constant_division, "does not compile"),
    "unchecked write through a window": (
        compat.written_outside,
        "index 8 of dimension 0 of x is outside",
    ),
    "unchecked write by a call": (
        compat.written_outside_by_a_call,
        "index 8 of dimension 0 of x is outside",
    ),
    "unchecked read in a function's argument": (
        compat.read_outside,
        "index 8 of dimension 0 of x is outside",
    ),
}


@pytest.mark.parametrize(("procedure", "found"), AS_WRITTEN.values(), ids=AS_WRITTEN.keys())
def test_mistakes_of_front_end_and_code_generator(
    procedure: Any, found: str, builder: Builder, tmp_path: Path
) -> None:
    """Exo's own C of the unscheduled procedure, against reference and guard pages."""
    proc = mirror(procedure)
    with pytest.raises(UserError, match=found):
        prepare(proc, procs.generate(procedure), bind(proc, {}), builder, tmp_path)


def fused_with_an_inner_loop(p: Any) -> Any:
    p = reorder_loops(fission(p, p.find("x[_] = _").after()), "i k")
    return fuse(p, p.body()[0], p.body()[1])


OPERATORS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "simplify drops a remainder": (compat.dropped_modulo, simplify),
    "remove_loop of a loop that may not run": (
        compat.empty_loop,
        lambda p: remove_loop(p, p.find_loop("i #1")),
    ),
    "replace beyond what the instruction asserts: length": (
        compat.too_long,
        lambda p: replace(p, "for i in _:_", procs.copy_up_to_8),
    ),
    "replace beyond what the instruction asserts: stride": (
        compat.down_a_column,
        lambda p: replace(p, "for i in _:_", procs.copy_up_to_8),
    ),
    "simplify of constants": (compat.constants, simplify),
    "inline_assign of what is converted": (
        compat.stored_between,
        lambda p: inline_assign(p, p.find("t = _")),
    ),
    "bind_expr of what is computed in int": (
        compat.computed_wide,
        lambda p: bind_expr(p, [p.find("y[_] = _").rhs().lhs()], "t"),
    ),
    "inline_assign of another buffer of that name": (
        compat.one_name_twice,
        lambda p: inline_assign(p, p.body()[1]),
    ),
    "inline_assign of what is read again": (
        compat.read_again,
        lambda p: inline_assign(p, p.find("t[_] = _")),
    ),
    "lift_scope of one of two branches": (
        compat.other_branch,
        lambda p: lift_scope(p, p.find("if i < 3: _")),
    ),
    "reorder_stmts of a window and its array": (
        compat.read_of_moved_window,
        lambda p: reorder_stmts(p, p.body()[2].expand(0, 1)),
    ),
    "fission of a window and its array": (
        compat.read_beside_window,
        lambda p: fission(p, p.body()[2].body()[0].after()),
    ),
    "fuse of a window and its array": (
        compat.read_before_window,
        lambda p: fuse(p, p.body()[2], p.body()[3]),
    ),
    "sink_alloc of what iterations share": (
        compat.kept_rows,
        lambda p: sink_alloc(p, p.body()[0]),
    ),
    "lift_reduce_constant of a sum that begins at 1": (
        compat.begins_at_one,
        lambda p: lift_reduce_constant(p, p.body()[0].expand(0, 1)),
    ),
    "lift_reduce_constant of one of two branches": (
        compat.scaled_in_one_branch,
        lambda p: lift_reduce_constant(p, p.body()[0].expand(0, 1)),
    ),
    "lift_reduce_constant of one of two factors": (
        compat.scaled_by_branch,
        lambda p: lift_reduce_constant(p, p.body()[0].expand(0, 1)),
    ),
    "fuse of loops that have one variable": (compat.one_variable, fused_with_an_inner_loop),
    "parallelize_loop of a sum": (procs.sums, lambda p: parallelize_loop(p, "j")),
    "lift_alloc out of a parallel loop": (
        compat.scratch_of_each,
        lambda p: lift_alloc(p, "t : _"),
    ),
}


@pytest.mark.parametrize(("procedure", "schedule"), OPERATORS.values(), ids=OPERATORS.keys())
def test_mistakes_of_operators(
    procedure: Any, schedule: Callable[[Any], Any], builder: Builder, tmp_path: Path
) -> None:
    """What Exo accepts and our checks refuse, compiled and run."""
    wrong = rename(schedule(procedure), procedure.name())
    result = judged(prepared(procedure, builder, tmp_path), builder, generate_c(wrong))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.INCORRECT


def test_fission_of_a_sum_and_its_beginning(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    procedure = compat.sums
    monkeypatch.setattr(LoopIR_scheduling, "Check_FissionLoop", Check_FissionLoop)  # Exo's own
    wrong = rename(fission(procedure, procedure.find("s[_] = _").after()), procedure.name())
    result = judged(prepared(procedure, builder, tmp_path), builder, generate_c(wrong))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.INCORRECT


@pytest.mark.parametrize("procedure", [compat.kept_row, compat.kept_on_stack])
def test_temporaries_that_hold_what_was_left_there(
    procedure: Any, builder: Builder, tmp_path: Path
) -> None:
    """What `sink_alloc` makes of them may give right results, with luck: small blocks are used
    again, and registers too."""
    wrong = rename(sink_alloc(procedure, procedure.body()[0]), procedure.name())
    bench, code = prepared(procedure, builder, tmp_path), generate_c(procedure)
    memory = Inspector(mirror(procedure), code, bench, builder).inspect(generate_c(wrong))[0]
    assert memory.verdict is Finding.FAILED
    assert "expected" in memory.detail


def test_a_race_that_did_not_happen(builder: Builder, tmp_path: Path) -> None:
    """Few iterations: results are mostly right, the race is there."""
    proc, code = mirror(procs.rows), generate_c(procs.rows)
    source = "float s;\n#pragma omp parallel for" + ALL.replace("float s = 0;", "s = 0;")
    racy = procs.handwritten(code, f"{SIGNATURE} {{ {source} }}\n")
    inspector = Inspector(proc, code, prepared(procs.rows, builder, tmp_path), builder)
    races = inspector.inspect(racy)[-1]
    assert races.verdict is Finding.FAILED
    assert "data race" in races.detail

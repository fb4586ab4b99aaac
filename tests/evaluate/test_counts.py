"""Loops of an instruction that no call enters are no reason to refuse a kernel; others are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from transforms.helpers import TARGET, Procedures

from schedsearch.core.trace import Rewrite
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.oracle.counts import Count, counts, never_entered
from schedsearch.evaluate.oracle.reach import Reacher
from schedsearch.evaluate.run.findings import Check, Finding
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.evaluate.run.sanitize import COVERAGE, Inspector
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select

PROCEDURES = Procedures("counted")
(SUMS,) = select(["vectorise_reduction"])
WIDE = replace(TARGET, vector_bits=256)  # four lanes of f64, two chains


@pytest.mark.parametrize("step", [0, 1, 4, 6, 16])
@pytest.mark.parametrize("first", [0, 3, 8, 70])
def test_the_largest_rest_is_that_of_some_call(first: int, step: int) -> None:
    values = range(first, first + 1) if not step else range(first, first + 100 * step, step)
    for by in (1, 4, 8, 12):
        assert Count(first, step).rest(by) == max(value % by for value in values)


@pytest.mark.parametrize("step", [0, 1, 4, 6, 16])
@pytest.mark.parametrize("first", [1, 3, 8, 70])
@pytest.mark.parametrize("chains", [1, 2, 8])
@pytest.mark.parametrize("by_bytes", [False, True])
def test_what_no_call_enters(first: int, step: int, chains: int, by_bytes: bool) -> None:
    lines = ["static inline __attribute__((always_inline)) void some(", "    long n)", "{"]
    wholes = sorted({4 * chains, 4}, reverse=True)
    for whole in wholes:
        several = f"q + {4 * whole} <= 4 * n; q += {4 * whole}"
        several = several if by_bytes else f"n - l >= {whole}; l += {whole}"
        lines += [f"    for (; {several}) {{", "    }"]
    lines += [f"    if ({'q < 4 * n' if by_bytes else 'l < n'}) {{", "    }", "}"]
    entered = set[int]()
    for n in range(first, first + 1) if not step else range(first, first + 100 * step, step):
        left = n
        for at, whole in enumerate(wholes):
            entered |= {3 + 2 * at} if left >= whole else set()
            left %= whole
        entered |= {3 + 2 * len(wholes)} if left else set()
    opening = {3 + 2 * at for at in range(len(wholes) + 1)}
    found = set(never_entered("\n".join(lines), {"some": frozenset({Count(first, step)})}))
    assert found == opening - entered
    comment = [
        "/* relying on the following instruction...",
        "some({n});",
        "*/",
        "void kernel(long n) {",
    ]
    told = {"some": frozenset({Count(first, step)})}
    assert set(never_entered("\n".join([*lines, *comment]), told)) == found
    any_number = frozenset({Count(first, step), Count(0, 1)})
    assert not set(never_entered("\n".join(lines), {"some": any_number}))
    assert not set(never_entered("\n".join(lines), {"other": frozenset({Count(first, step)})}))


def coverage(name: str, builder: Builder, work: Path, told: bool = True) -> Check:
    procedure = PROCEDURES[name]
    ast = mirror(procedure)
    one = next(r for r in SUMS.rewrites(ast, WIDE) if _is_plain(r))
    kernel = apply(procedure, ast, replace(one, args=_two_chains(one.args)))
    code, binding = generate_c(kernel), bind(ast, {"n": 40})
    bench = prepare(ast, generate_c(procedure), binding, builder, work)
    reach = Reacher(ast, binding, lambda call: True, lambda call: True).reach(mirror(kernel))
    if not told:
        reach = replace(reach, counts={})
    checks = Inspector(ast, generate_c(procedure), bench, builder).inspect(code, reach)
    return next(check for check in checks if check.what == COVERAGE)


def _is_plain(rewrite: Rewrite) -> bool:
    """Of one row, from its first element on."""
    return dict(rewrite.args)["tile_rows"] == 1 and "aligned" not in dict(rewrite.args)


def _two_chains(args: tuple[tuple[str, object], ...]) -> tuple[tuple[str, object], ...]:
    return tuple((name, 2 if name == "chains" else value) for name, value in args)


@pytest.mark.normal
@pytest.mark.parametrize("name", ["rows_of_14", "rows_of_18", "rows_of_any", "rows_of_fours"])
def test_all_that_can_be_run_is_run(name: str, builder: Builder, tmp_path: Path) -> None:
    assert coverage(name, builder, tmp_path).verdict is Finding.PASSED


@pytest.mark.normal
@pytest.mark.parametrize(
    ("name", "line"), [("rows_of_18", "n - l >= 4"), ("rows_of_fours", "l < n")]
)
def test_without_the_numbers_they_would_be_missed(
    name: str, line: str, builder: Builder, tmp_path: Path
) -> None:
    found = coverage(name, builder, tmp_path, told=False)
    assert found.verdict is Finding.FAILED
    assert line in found.detail


def test_numbers_of_calls() -> None:
    for name, count in (("rows_of_18", Count(18, 0)), ("rows_of_fours", Count(4, 4))):
        procedure = PROCEDURES[name]
        ast = mirror(procedure)
        one = next(r for r in SUMS.rewrites(ast, WIDE) if _is_plain(r))
        [found] = counts(mirror(apply(procedure, ast, one))).values()
        assert found == {count}


def maxima(name: str, parts: int = 1) -> tuple[object, object]:
    """A procedure, and with an instruction for each maximum; the last one in parts for threads."""
    procedure = kernel = PROCEDURES[name]
    threads = replace(WIDE, threads=parts)
    for at in range(2):
        ast = mirror(kernel)
        found = [r for r in SUMS.rewrites(ast, threads) if r.arg("chains") == 8]
        wanted = parts if at else 1
        one = next(r for r in found if dict(r.args).get("parts", 1) == wanted)
        kernel = apply(kernel, ast, one, WIDE.fp)
    return procedure, kernel


@pytest.mark.normal
def test_an_instruction_that_another_calls_may_have_any_number(
    builder: Builder, tmp_path: Path
) -> None:
    procedure, kernel = maxima("two_maxima", parts=4)
    ast, code = mirror(procedure), generate_c(kernel)
    given = counts(mirror(kernel))
    assert Count(64, 0) in frozenset().union(*given.values())
    assert not list(never_entered(code.source, given))
    binding = bind(ast, {"n": 640})
    bench = prepare(ast, generate_c(procedure), binding, builder, tmp_path)
    reach = Reacher(ast, binding, lambda call: True, lambda call: True).reach(mirror(kernel))
    checks = Inspector(ast, generate_c(procedure), bench, builder).inspect(code, reach)
    # Its text is there twice and compiled once.
    assert next(c for c in checks if c.what == COVERAGE).verdict is Finding.PASSED


def test_dead_loops_of_instructions_are_no_blocks_of_the_kernel() -> None:
    procedure, kernel = maxima("one_that_is_dead")
    ast = mirror(procedure)
    reacher = Reacher(ast, bind(ast, {"n": 64}), lambda call: True, lambda call: True)
    assert reacher.reach(mirror(kernel)).dead == 1

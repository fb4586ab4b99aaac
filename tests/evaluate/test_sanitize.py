"""Sanitizers find what outputs do not show."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from transforms.helpers import TARGET, source

from schedsearch.core.records import Compiler
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import default_flags, find_compiler
from schedsearch.evaluate.oracle.reach import Reacher
from schedsearch.evaluate.run.findings import Check, Finding
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.evaluate.run.sanitize import Inspector
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select

from . import procs

SIGNATURE = "#include <stdlib.h>\nvoid triple(void *ctxt, float *y, const float *x)"
LOOP = "for (int i = 0; i < 64; i++)"
PARALLEL = f"\n#pragma omp parallel for\n{LOOP}"


@pytest.fixture(scope="module")
def inspector(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> Inspector:
    return make(procs.triple, builder, tmp_path_factory.mktemp("work"))


def make(procedure: Any, builder: Builder, work: Path) -> Inspector:
    proc, code = mirror(procedure), procs.generate(procedure)
    bench = prepare(proc, code, bind(proc, {}), builder, work)
    return Inspector(proc, code, bench, builder)


def checks(inspector: Inspector, body: str) -> list[Check]:
    source = f"{SIGNATURE} {{ {body} }}\n"
    return list(inspector.inspect(procs.handwritten(inspector.unscheduled, source)))


RIGHT = f"{LOOP} y[i] = 3.0f * x[i];"
MEMORY = {
    "input read past its end": (f"{RIGHT} volatile float t = x[64]; (void)t;", "use-after-poison"),
    "temporary read past its end": (
        f"float *t = malloc(256); {LOOP} t[i] = 3.0f * x[i]; {LOOP} y[i] = t[i];"
        "volatile float z = t[64]; (void)z; free(t);",
        "insufficient space",
    ),
    "stack array written past its end": (
        f"float t[64]; volatile int n = 65; for (int i = 0; i < n; i++) t[i] = i; {RIGHT}",
        "out of bounds",
    ),
    "used after it was freed": (
        f"float *t = malloc(256); {LOOP} t[i] = 3.0f * x[i]; free(t);"
        f"{RIGHT} volatile float z = ((volatile float *)t)[0]; (void)z;",
        "heap-use-after-free",
    ),
    "integer overflow": (f"volatile int n = 2147483647; n = n + 1; {RIGHT}", "integer overflow"),
}


@pytest.mark.normal
@pytest.mark.parametrize(("body", "part"), MEMORY.values(), ids=MEMORY.keys())
def test_memory_and_undefined_behaviour(inspector: Inspector, body: str, part: str) -> None:
    (found,) = checks(inspector, body)
    assert found.verdict is Finding.FAILED
    assert part in found.detail
    assert found.detail.endswith("while verifying with integers")


@pytest.mark.normal
@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (f"{PARALLEL} y[i] = 3.0f * x[i];", Finding.PASSED),
        (f"float t[1]; {PARALLEL} {{ t[0] = 3.0f * x[i]; y[i] = 3.0f * x[i]; }}", Finding.FAILED),
    ],
)
def test_races(inspector: Inspector, body: str, verdict: Finding) -> None:
    """The second is right whatever the threads do: no output shows its race."""
    memory, _, races = checks(inspector, body)
    assert memory.verdict is Finding.PASSED
    assert races.verdict is verdict
    assert ("data race" in races.detail) is (verdict is Finding.FAILED)


@pytest.mark.normal
def test_tails_of_an_instruction_that_no_call_runs_are_not_missed(
    builder: Builder, tmp_path: Path
) -> None:
    """The length is fixed, and a multiple of the register's."""
    inspector = make(procs.largest, builder, tmp_path)
    proc = inspector.proc
    for rewrite in select(["vectorise_reduction"])[0].rewrites(proc, replace(TARGET, threads=2)):
        code = procs.generate(apply(procs.largest, proc, rewrite))
        reach = Reacher(proc, bind(proc, {}), lambda _: True, lambda _: True)
        _, coverage, *_ = inspector.inspect(code, reach.reach(proc))
        assert coverage.verdict is Finding.PASSED, rewrite


@pytest.mark.normal
@pytest.mark.parametrize("name", ["axpy", "mixed_precision"])
def test_iterations_before_the_first_aligned_register_are_run(
    name: str, builder: Builder, tmp_path: Path
) -> None:
    """Arrays lie at several distances from a cache line."""
    procedure = source("elementwise").procs[name]
    proc, own = mirror(procedure), procs.generate(procedure)
    bench = prepare(proc, own, bind(proc, {"n": 1000}), builder, tmp_path)
    reacher = Reacher(proc, bind(proc, {"n": 1000}), lambda _: True, lambda _: True)
    wide = replace(TARGET, vector_bits=512, vector_registers=32)
    rewrites = select(["vectorise"])[0].rewrites(proc, wide)
    aligned, *_ = [each for each in rewrites if dict(each.args).get("aligned")]
    scheduled = apply(procedure, proc, aligned)
    code = procs.generate(scheduled)
    assert "if (before)" in code.source
    reach = replace(reacher.reach(mirror(scheduled)), dead=0)
    memory, coverage = Inspector(proc, own, bench, builder).inspect(code, reach)
    assert memory.verdict is Finding.PASSED, memory.detail
    assert coverage.verdict is Finding.PASSED, coverage.detail


@pytest.mark.normal
def test_registers_of_64_bytes_beside_an_array_on_the_stack(
    builder: Builder, tmp_path: Path
) -> None:
    """gcc 12 places them wrongly where frames are kept after a return."""
    procedure = source("narrow_rows").procs["columns"]
    proc, own = mirror(procedure), procs.generate(procedure)
    bench = prepare(proc, own, bind(proc, {"n": 100}), builder, tmp_path)
    wide = replace(TARGET, vector_bits=512, vector_registers=32)
    [rewrite] = select(["join_rows"])[0].rewrites(proc, wide)
    code = procs.generate(apply(procedure, proc, rewrite))
    memory, *_ = Inspector(proc, own, bench, builder).inspect(code)
    assert memory.verdict is Finding.PASSED, memory.detail


REDUCTIONS = [
    ("parallel_sums", "dot", "parallelize_reduction", ("r_parts[ip]", "r_parts[0]")),
    ("extremes", "spread", "vectorise_reduction", ("found[p]", "found[0]")),
]


@pytest.mark.normal
@pytest.mark.parametrize(("file", "name", "transform", "plant"), REDUCTIONS)
def test_reductions_on_threads(
    file: str,
    name: str,
    transform: str,
    plant: tuple[str, str],
    builder: Builder,
    tmp_path: Path,
) -> None:
    """They pass. If all threads shared one accumulator, they would not."""
    procedure = source(file).procs[name]
    proc, own = mirror(procedure), procs.generate(procedure)
    bench = prepare(proc, own, bind(proc, {"n": 40_000}), builder, tmp_path)
    inspector = Inspector(proc, own, bench, builder)
    target = replace(TARGET, threads=2)
    *_, rewrite = select([transform])[0].rewrites(proc, target)
    code = procs.generate(apply(procedure, proc, rewrite))
    *_, races = inspector.inspect(code)
    assert races == Check("data races", Finding.PASSED)
    assert plant[0] in code.source
    planted = procs.handwritten(code, code.source.replace(*plant))
    *_, races = inspector.inspect(planted)
    assert races.verdict is Finding.FAILED
    assert "data race" in races.detail


@pytest.mark.normal
def test_windows_of_any_strides_pass(builder: Builder, tmp_path: Path) -> None:
    inspector = make(procs.windowed, builder, tmp_path)
    found, _ = inspector.inspect(inspector.unscheduled)
    assert found == Check("memory and undefined behaviour", Finding.PASSED)


@pytest.mark.normal
@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_those_of_clang(tmp_path: Path) -> None:
    builder = Builder(find_compiler("clang"), default_flags(), tmp_path / "cache")
    inspector = make(procs.triple, builder, tmp_path)
    right = checks(inspector, RIGHT)
    assert [each.verdict for each in right] == [Finding.PASSED] * 2, right
    (wrong,) = checks(inspector, MEMORY["used after it was freed"][0])
    assert wrong.verdict is Finding.FAILED


@pytest.mark.normal
def test_what_the_procedure_does_itself_is_not_held_against_a_schedule(
    inspector: Inspector,
) -> None:
    source = f"{SIGNATURE} {{ {MEMORY['integer overflow'][0]} }}\n"
    own = replace(inspector, unscheduled=procs.handwritten(inspector.unscheduled, source))
    (found,) = own.inspect(own.unscheduled)
    assert found.verdict is Finding.NOT_CHECKED
    assert "triple as written fails it too" in found.detail


@pytest.mark.normal
def test_a_kernel_whose_process_is_killed_is_not_found_wrong(inspector: Inspector) -> None:
    """As by the system when memory runs out, of which sanitizers need more."""
    (found,) = checks(inspector, f"{RIGHT} extern int raise(int); raise(9);")
    assert found.verdict is Finding.NOT_CHECKED
    assert "killed by somebody else" in found.detail


def test_what_is_missing_is_said(inspector: Inspector, tmp_path: Path) -> None:
    """A compiler without sanitizers, and one whose OpenMP is not gcc's."""
    wrapper = tmp_path / "gcc"
    real = inspector.builder.compiler
    wrapper.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *-shared*-fsanitize*|*-fsanitize*-shared*) echo "cannot find -lasan" >&2; '
        f'exit 1;; esac\nexec {real.path} "$@"\n'
    )
    wrapper.chmod(0o755)
    poor = Compiler(real.kind, f"{real.version}-poor", str(wrapper))
    builder = replace(inspector.builder, compiler=poor)
    (memory,) = replace(inspector, builder=builder).inspect(inspector.unscheduled)
    assert memory.verdict is Finding.NOT_CHECKED
    assert "not installed" in memory.detail
    wrapper.write_text(
        "#!/bin/sh\n"
        'case "$*" in *-DSANITIZED*) echo "no such option" >&2; exit 1;; esac\n'
        f'exec {real.path} "$@"\n'
    )
    poor = replace(poor, version=f"{real.version}-poorer")
    builder = replace(inspector.builder, compiler=poor)
    (memory,) = replace(inspector, builder=builder).inspect(inspector.unscheduled)
    assert memory.detail.endswith("cannot compile what runs kernels: no such option")
    other = replace(inspector.builder, compiler=replace(poor, kind="clang"))
    _, races = checks(replace(inspector, builder=other), f"{PARALLEL} y[i] = 3.0f * x[i];")
    assert str(races) == "data races: not checked (needs gcc, the target has clang)"

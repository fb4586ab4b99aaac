"""A schedule as a file: runs with Exo alone and gives the kernel that was measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.errors import ReplayError, RewriteError
from schedsearch.core.records import Compiler
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export import schedule_lines, schedule_python
from schedsearch.transforms.export_c import c_files
from schedsearch.transforms.registry import label, select
from schedsearch.transforms.replay import Replayer
from transforms.helpers import CONTROLS, PROCS, TARGET, kernels, walk

BLOCK_SCHEDSEARCH = """
import runpy, sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "schedsearch":
            raise ImportError("schedsearch is not installed here")
sys.meta_path.insert(0, Blocker())
for path in sys.argv[1:]:
    print("####", path)
    runpy.run_path(path, run_name="__main__")
"""


def last(name: str, seed: int) -> Trace:
    return [trace for trace, _ in walk(kernels()[name], seed, 5)][-1]


def scheduled(path: Path, variable: str) -> Any:
    namespace: dict[str, Any] = {}
    sys.path.insert(0, str(path.parent))
    try:
        namespace = vars(__import__(path.stem))
    finally:
        sys.path.remove(str(path.parent))
    return namespace[f"{variable}_scheduled"]


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_a_standalone_file_gives_the_same_code(name: str, tmp_path: Path) -> None:
    source = load_source(PROCS / "kernels.py")
    trace = last(name, 1)
    path = tmp_path / f"schedule_of_{name}.py"
    path.write_text(schedule_python(source, name, trace, ["1.5 times faster"]))
    expected = Replayer(source.procs[name]).state(trace).procedure
    assert generate_c(scheduled(path, name)).key == generate_c(expected).key


@pytest.mark.slow
def test_files_run_without_schedsearch_and_print_c(tmp_path: Path) -> None:
    source = load_source(PROCS / "kernels.py")
    paths = []
    for name in ("matmul", "branches", "chains", "windows"):
        paths.append(tmp_path / f"{name}.py")
        paths[-1].write_text(schedule_python(source, name, last(name, 4)))
    found = subprocess.run(
        [sys.executable, "-I", "-c", BLOCK_SCHEDSEARCH, *paths],
        capture_output=True,
        text=True,
        check=True,
    )
    printed = found.stdout.split("#### ")[1:]
    assert len(printed) == len(paths)
    for path, text in zip(paths, printed, strict=True):
        assert f"void {path.stem}(" in text


@pytest.mark.normal
def test_the_file_of_an_empty_trace(tmp_path: Path) -> None:
    source = load_source(PROCS / "kernels.py")
    path = tmp_path / "unscheduled_conv.py"
    path.write_text(schedule_python(source, "conv", Trace(), ["first", "second"]))
    assert path.read_text().splitlines()[1:3] == ["# first", "# second"]
    assert generate_c(scheduled(path, "conv")).key == generate_c(source.procs["conv"]).key


AMBIGUOUS = """
from __future__ import annotations
from exo import proc

@proc
def shadow(n: size, x: f32[n, 8]):
    for i in seq(0, n):
        for i in seq(0, 8):
            x[0, i] = 1.0
    for i in seq(0, n):
        if i < 4:
            for j in seq(0, 8):
                x[i, j] += 2.0
        else:
            for j in seq(0, 8):
                x[i, j] += 3.0
            for j in seq(0, 8):
                x[i, j] += 4.0
            pass

inner_name = shadow
"""


def test_every_statement_is_addressed_even_if_names_repeat(tmp_path: Path) -> None:
    path = tmp_path / "ambiguous.py"
    path.write_text(AMBIGUOUS)
    source = load_source(path)
    root = Replayer(source.procs["shadow"]).state(Trace())
    loops = {p: stmt for p, stmt in root.ast.by_path.items() if label(stmt).startswith("for j")}
    assert len(loops) == 3
    lines = []
    for where, stmt in loops.items():
        args = (("point", 5),)
        trace = Trace((Rewrite("cut_loop", 1, where, label(stmt), args),))
        (line,) = schedule_lines(source.procs["shadow"], trace)
        lines.append(line)
        file = tmp_path / f"cut_{len(lines)}.py"
        file.write_text(schedule_python(source, "shadow", trace))
        expected = Replayer(source.procs["shadow"]).state(trace).procedure
        assert generate_c(scheduled(file, "inner_name")).key == generate_c(expected).key
    assert lines == [
        'p = cut_loop(p, p.find_loop("j"), 5)',
        'p = cut_loop(p, p.find_loop("j #1"), 5)',
        'p = cut_loop(p, p.find_loop("j #2"), 5)',
    ]


def test_lines_name_statements_as_people_do() -> None:
    split = Rewrite(
        "split",
        1,
        (0, 0),
        "for j in seq(0, 8)",
        (("factor", 4), ("inner", "ji"), ("outer", "jo"), ("tail", "perfect")),
    )
    assert schedule_lines(kernels()["matmul"], Trace((split,))) == [
        "p = divide_loop(p, p.find_loop(\"j\"), 4, ['jo', 'ji'], perfect=True)"
    ]


def test_a_trace_that_does_not_apply_is_not_exported() -> None:
    wrong = Rewrite("unroll", 1, (0,), "for q in seq(0, 6)")
    with pytest.raises(RewriteError, match="expected `for q"):
        schedule_lines(kernels()["matmul"], Trace((wrong,)))


@pytest.mark.parametrize("name", ["matmul", "layernorm", "configured", "windows", "chains"])
def test_c_files_compile(name: str, tmp_path: Path) -> None:
    procedure = kernels()[name]
    header, source = c_files(generate_c(procedure), mirror(procedure), f"{name}-1.tuned")
    (tmp_path / f"{name}-1.tuned.h").write_text(header)
    (tmp_path / "kernel.c").write_text(source)
    (tmp_path / "twice.c").write_text(f'#include "{name}-1.tuned.h"\n' * 2 + "int unused;\n")
    flags = ["-fsyntax-only", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]
    for file in ("kernel.c", "twice.c"):
        for checked in ([], ["-DNDEBUG"]):
            subprocess.run(["gcc", *flags, *checked, tmp_path / file], check=True)


@pytest.mark.normal
@pytest.mark.parametrize("name", ["functions", "stencil", "widened"])
def test_generated_instructions_travel_with_the_file(name: str, tmp_path: Path) -> None:
    source = load_source(PROCS / "elementwise.py")
    (vectorise,) = select(["vectorise"])
    rewrites = vectorise.rewrites(mirror(source.procs[name]), TARGET)
    trace = Trace((next(r for r in rewrites if r.arg("tail") == "masked"),))
    path = tmp_path / f"vectorised_{name}.py"
    path.write_text(schedule_python(source, name, trace))
    subprocess.run([sys.executable, "-I", "-c", BLOCK_SCHEDSEARCH, path], check=True)
    expected = Replayer(source.procs[name]).state(trace).procedure
    assert generate_c(scheduled(path, name)).key == generate_c(expected).key


def chain(procedure: Any, names: Sequence[str]) -> Trace:
    """The first legal rewrite of each transform, in turn."""
    target = replace(TARGET, threads=2, other_compilers=(Compiler("clang", "19", ""),))
    trace, replayer = Trace(), Replayer(procedure)
    for name in names:
        (transform,) = select([name])
        ast = replayer.state(trace).ast
        for rewrite in transform.rewrites(ast, target):
            with suppress(ReplayError):
                replayer.state(trace.then(rewrite))
                trace = trace.then(rewrite)
                break
        else:
            pytest.fail(f"{name} is nowhere legal")
    return trace


@pytest.mark.normal
def test_conditions_are_rewritten_without_schedsearch(tmp_path: Path) -> None:
    source = load_source(PROCS / "triangles.py")
    trace = chain(source.procs["above_diagonal"], ("turn_result", "interchange_triangle"))
    path = tmp_path / "turned_schedule.py"
    path.write_text(schedule_python(source, "above_diagonal", trace))
    assert ".cond()" in path.read_text()
    subprocess.run([sys.executable, "-I", "-c", BLOCK_SCHEDSEARCH, path], check=True)
    expected = Replayer(source.procs["above_diagonal"]).state(trace).procedure
    assert generate_c(scheduled(path, "above_diagonal")).key == generate_c(expected).key


@pytest.mark.normal
def test_long_schedules_run_without_schedsearch(tmp_path: Path) -> None:
    """Packed, placed, in registers, parallel: all that takes is in the file."""
    source = load_source(PROCS / "blocks.py")
    names = ("pack", "place", "register_block", "parallelize", "compile_with")
    trace = chain(source.procs["transposed"], names)
    path = tmp_path / "long_schedule.py"
    path.write_text(schedule_python(source, "transposed", trace))
    subprocess.run([sys.executable, "-I", "-c", BLOCK_SCHEDSEARCH, path], check=True)
    expected = Replayer(source.procs["transposed"]).state(trace).procedure
    assert generate_c(scheduled(path, "transposed")).key == generate_c(expected).key


@pytest.mark.normal
def test_notes_stay_comments(tmp_path: Path) -> None:
    source = load_source(PROCS / "kernels.py")
    notes = ["on zen5\nraise SystemExit(3)", "c\r#error c\u2028\\"]
    path = tmp_path / "noted_conv.py"
    path.write_text(schedule_python(source, "conv", Trace(), notes))
    scheduled(path, "conv")
    conv = source.procs["conv"]
    header, text = c_files(generate_c(conv), mirror(conv), "conv", notes, notes)
    assert "// - on zen5 raise SystemExit(3)\n// - c #error c \n#ifdef __cplusplus" in header
    assert text.splitlines()[:3] == [
        "// on zen5 raise SystemExit(3)",
        "// c #error c ",
        '#include "conv.h"',
    ]

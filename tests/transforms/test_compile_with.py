"""Build options in a trace: what is proposed, what the C and the keys make of them."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.build import ALWAYS, DEFAULT_BUILD, GENERIC, PEEL, TYPE_GENERIC, Build
from schedsearch.core.errors import ReplayError, RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Compiler, GeneratedC, Target
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms import codegen
from schedsearch.transforms.codegen import CodeGenerator
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.expand import Expander
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import Replayer
from transforms.helpers import TARGET, kernels, source

TWO = replace(TARGET, other_compilers=(Compiler("clang", "19", ""),), features=("avx512f",))

POINTERS = """from __future__ import annotations
from exo import proc


@proc
def helper(n: size, w: [f32][n]):
    for i in seq(0, n):
        w[i] += 1.0


@proc
def pointers(n: size, A: f32[n, 8], w: [f32][n], s: f32, y: f32[n]):
    for i in seq(0, n):
        y[i] = A[i, 0] * s + w[i]
    helper(n, y[0:n])
"""


def rewrite(build: Build) -> Rewrite:
    return Rewrite("compile_with", 1, (), "procedure", tuple(sorted(asdict(build).items())))


def builds_of(ast: q.Proc, target: Target) -> list[Build]:
    (transform,) = select(["compile_with"])
    return [Build(**dict(r.args)) for r in transform.rewrites(ast, target)]


def proposed(name: str, target: Target) -> list[Build]:
    return builds_of(mirror(kernels()[name]), target)


def test_a_handful_is_proposed_and_never_what_is_there() -> None:
    found = proposed("matmul", TWO)
    assert found == [
        Build("gcc", "", True),
        Build("clang", "", True),
        Build("gcc", "-O2", True),
        Build("gcc", "-funroll-loops", True),
        Build("gcc", "-mprefer-vector-width=512", True),
        Build("gcc", "-mprefer-vector-width=256", True),
    ]
    for build in found:
        assert build not in proposed("matmul", replace(TWO, build=build))


def test_loops_begin_at_aligned_elements_only_where_arrays_do_not() -> None:
    """Of gcc on x86, if the arrays that are timed are aligned to less than a vector."""
    vectors = replace(TWO, features=("avx", "avx512f"), vector_bits=512)
    builds = {
        (align, kind): proposed(
            "matmul", replace(vectors, align=align, build=Build(kind, "", True))
        )
        for align in (16, 32, 64, 256)
        for kind in ("gcc", "clang")
    }
    peeled = {key for key, found in builds.items() if PEEL in [build.options for build in found]}
    assert peeled == {(16, "gcc"), (32, "gcc")}
    elsewhere = replace(vectors, features=("asimd",))
    assert PEEL not in [build.options for build in proposed("matmul", elsewhere)]


@pytest.mark.skipif(not shutil.which("gcc") or platform.machine() != "x86_64", reason="gcc on x86")
@pytest.mark.parametrize("options", ["", PEEL])
def test_gcc_begins_loops_at_aligned_elements_if_told_so(options: str, tmp_path: Path) -> None:
    source = "void f(float *restrict y, const float *restrict x, long n)"
    source += "{ for (long i = 0; i < n; i++) y[i] += 3 * x[i]; }"
    flags = ["-O3", "-mavx2", "-fdump-tree-vect-details", *options.split()]
    command = ["gcc", *flags, "-xc", "-", "-c", "-o", "f.o"]
    subprocess.run(command, cwd=tmp_path, input=source, text=True, check=True)
    (dump,) = tmp_path.glob("*.vect")
    assert ("access forced using peeling" in dump.read_text()) == (options == PEEL)


ROOTS = """from __future__ import annotations
from exo import proc
from exo.libs.externs import sqrt


@proc
def single(y: f32[8], x: f32[8]):
    for i in seq(0, 8):
        y[i] = y[i] / (x[i] + sqrt(x[i]))


@proc
def double(y: f64[8], x: f64[8]):
    for i in seq(0, 8):
        y[i] = y[i] / sqrt(x[i])
"""


def test_functions_are_computed_in_the_type_of_their_argument_if_results_may_differ(
    tmp_path: Path,
) -> None:
    (tmp_path / "roots.py").write_text(ROOTS)
    procs = load_source(tmp_path / "roots.py").procs
    contracts = {
        (name, fp): [build.options for build in builds_of(mirror(procs[name]), target)]
        for name in ("single", "double")
        for fp in FloatingPoint
        for target in [replace(TWO, fp=fp)]
    }
    generic = {key for key, options in contracts.items() if TYPE_GENERIC in options}
    assert generic == {("single", FloatingPoint.FAST)}
    single = procs["single"]
    given = rewrite(Build("gcc", TYPE_GENERIC, True))
    assert apply(single, mirror(single), given) is single
    for fp in (FloatingPoint.STRICT, FloatingPoint.REASSOCIATE):
        with pytest.raises(RewriteError, match="rules out"):
            apply(single, mirror(single), given, fp)


def test_functions_of_f16_have_no_generic_header(tmp_path: Path) -> None:
    halves = "@proc\ndef halves(x: f16[8], y: f32[8]):\n    for i in seq(0, 8):\n        "
    text = ROOTS + f"\n\n{halves}x[i] = sqrt(x[i])\n        y[i] = sqrt(y[i])\n"
    (tmp_path / "halves.py").write_text(text)
    ast = mirror(load_source(tmp_path / "halves.py").procs["halves"])
    assert TYPE_GENERIC not in [build.options for build in builds_of(ast, TWO)]


@pytest.mark.skipif(not shutil.which("gcc") or platform.machine() != "x86_64", reason="gcc on x86")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_f64_is_left_in_the_machine_code(compiler: str, tmp_path: Path) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    (tmp_path / "roots.py").write_text(ROOTS)
    code = generate_c(load_source(tmp_path / "roots.py").procs["single"])
    base = ("-O3", "-ffast-math", *ALWAYS)
    assembly = {
        options: subprocess.run(
            [compiler, *Build(compiler, options).flags(base), "-xc", "-S", "-", "-o", "-"],
            input=f"{code.header}\n{code.source}",
            text=True,
            check=True,
            capture_output=True,
        ).stdout
        for options in ("", TYPE_GENERIC)
    }
    doubles = {o: bool(re.search(r"\bv?sqrt[sp]d\b", text)) for o, text in assembly.items()}
    assert doubles == {"": True, TYPE_GENERIC: False}


def test_compiler_and_option_are_each_chosen_once() -> None:
    clang = replace(TWO, build=Build("clang", "", True))
    assert {b.compiler for b in proposed("matmul", clang)} == {"clang"}
    both = replace(TWO, build=Build("clang", "-O2", True))
    assert proposed("matmul", both) == []


def test_only_compilers_that_are_there_are_proposed() -> None:
    assert {b.compiler for b in proposed("matmul", TARGET)} == {"gcc"}
    assert {b.options for b in proposed("matmul", TARGET)} == {"", "-O2", "-funroll-loops"}


def test_the_procedure_stays_and_every_key_differs() -> None:
    procedure = kernels()["matmul"]
    builds = [DEFAULT_BUILD, *proposed("matmul", TWO)]
    traces = [Trace(), *(Trace((rewrite(b),)) for b in builds[1:])]
    states = [Replayer(procedure).state(trace) for trace in traces]
    assert [state.build for state in states] == builds
    assert all(state.procedure is procedure for state in states)
    assert len({ast_key(s.ast, s.build) for s in states}) == len(builds)
    codes = [generate_c(s.procedure, s.build) for s in states]
    assert [code.build for code in codes] == builds
    assert len({code.key for code in codes}) == len(builds)


def test_restrict_is_for_the_pointers_of_what_is_exported(tmp_path: Path) -> None:
    (file := tmp_path / "pointers.py").write_text(POINTERS)
    procedure = load_source(file).procs["pointers"]
    plain, code = generate_c(procedure), generate_c(procedure, Build(restrict=True))
    declared = (
        "void pointers( void *ctxt, int_fast32_t n, const float *__restrict__ A, "
        "struct exo_win_1f32c w, const float *__restrict__ s, float *__restrict__ y )"
    )
    assert f"{declared};" in code.header
    assert f"{declared} {{" in code.source
    assert code.source.count("__restrict__") == 3
    bare = code.source.replace(" *__restrict__ ", "* ")
    assert bare == plain.source


@pytest.mark.normal
def test_restrict_where_nothing_could_overlap_is_refused() -> None:
    one = load_source(Path(__file__).parent / "procs" / "before.py").procs["simplify"]
    (transform,) = select(["compile_with"])
    assert not any(r.arg("restrict") for r in transform.rewrites(mirror(one), TWO))
    with pytest.raises(RewriteError, match="could overlap"):
        apply(one, mirror(one), rewrite(Build("gcc", "", True)))


def test_options_that_nobody_proposes_do_not_replay() -> None:
    step = rewrite(Build("gcc", "-O2", True))
    bad = replace(step, args=(*step.args[:1], ("options", "-fplugin=evil.so"), *step.args[2:]))
    with pytest.raises(ReplayError, match=r"unknown compiler option '-fplugin=evil\.so'"):
        Replayer(kernels()["matmul"]).state(Trace((bad,)))


def test_the_text_is_generated_once_for_all_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(procedure: Any, build: Build = DEFAULT_BUILD) -> GeneratedC:
        calls.append(1)
        return generate_c(procedure, build)

    monkeypatch.setattr(codegen, "generate_c", counted)
    replayer = Replayer(kernels()["matmul"])
    expansion = Expander(replayer, TWO, select(["compile_with"]), {}).expand(Trace())
    generator = CodeGenerator(replayer)
    traces = [Trace((child.rewrite,)) for child in expansion.children]
    made = [generator.generate(trace) for trace in traces]
    assert len(calls) == 1
    for trace, code in zip(traces, made, strict=True):
        state = replayer.state(trace)
        assert code == generate_c(state.procedure, state.build)


def test_children_inherit_and_differ_from_those_of_the_parent() -> None:
    expander = Expander(Replayer(kernels()["matmul"]), TWO, select(["compile_with", "reorder"]), {})
    plain = expander.expand(Trace())
    clang = rewrite(Build("clang", "", True))
    built = expander.expand(Trace((clang,)))
    assert clang in [child.rewrite for child in plain.children]
    reorders = [c for c in built.children if c.rewrite.transform == "reorder"]
    assert reorders
    generator = CodeGenerator(expander.replayer)
    for child in reorders:
        code = generator.generate(built.trace.then(child.rewrite))
        assert code.build == Build("clang", "", True)
    keys = [c.keys.ast for e in (plain, built) for c in e.children if c.keys.ast]
    assert len(set(keys)) == len(keys)


def test_registers_are_tuned_for_any_cpu_too() -> None:
    """gcc's own tuning may read the vectors of a block from memory again and again."""
    procedure = source("before").procs["register_block"]
    ast, target = mirror(procedure), replace(TARGET, vector_bits=256)
    assert GENERIC not in [build.options for build in builds_of(ast, target)]
    rewrite = next(iter(select(["register_block"])[0].rewrites(ast, target)))
    blocked = mirror(apply(procedure, ast, rewrite))
    assert GENERIC in [build.options for build in builds_of(blocked, target)]
    clang = replace(target, build=Build("clang", "", True))
    assert GENERIC not in [build.options for build in builds_of(blocked, clang)]

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.build import Build
from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact, Failure, GeneratedC, Outcome
from schedsearch.evaluate.build import builder as builder_module
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import other_compilers
from schedsearch.evaluate.build.elf import code_identity
from schedsearch.evaluate.run.runner import was_killed

pytestmark = pytest.mark.normal

HEADER = "#include <math.h>\nvoid f(void *ctxt, float *x);\n"
PLAIN = (
    "static float h(float v) { return v * 3.0f; }\nvoid f(void *ctxt, float *x) { x[0] = h(x[1]); }"
)


def c(source: str, header: str = HEADER) -> GeneratedC:
    return GeneratedC("f", header, source, digest(header + source))


@pytest.fixture
def fresh(builder: Builder, tmp_path: Path) -> Builder:
    return replace(builder, cache_dir=tmp_path / "cache")


def built(builder: Builder, code: GeneratedC) -> Artifact:
    artifact = builder.build(code, 60)
    assert isinstance(artifact, Artifact), artifact
    return artifact


SAME = {
    "whitespace": PLAIN.replace("{ ", "{\n\n    "),
    "comments": f"/* why */ {PLAIN} // done",
    "local names": PLAIN.replace("float v", "float a_longer_name").replace(
        "return v", "return a_longer_name"
    ),
    "static function's name": PLAIN.replace("h(", "another_helper("),
    "line directive": f'#line 77 "elsewhere.c"\n{PLAIN}',
}


@pytest.mark.parametrize("source", SAME.values(), ids=SAME.keys())
def test_binary_key_ignores(source: str, builder: Builder) -> None:
    first, second = built(builder, c(PLAIN)), built(builder, c(source))
    assert first.binary_key == second.binary_key
    assert first.code_key != second.code_key


CALL = "void f(void *ctxt, float *x) { x[0] = sinf(x[1]); }"
DIFFERENT = {
    "constant": (PLAIN, PLAIN.replace("3.0f", "3.5f")),
    "operation": (PLAIN, PLAIN.replace("v *", "v +")),
    "library function": (CALL, CALL.replace("sinf", "cosf")),
    "table": (
        "static const float t[64] = {1, 2}; void f(void *c, float *x) { x[0] = t[(int)x[1]]; }",
        "static const float t[64] = {1, 3}; void f(void *c, float *x) { x[0] = t[(int)x[1]]; }",
    ),
    "static array's size": (
        "static float t[64]; void f(void *c, float *x) { t[(int)x[1]] += x[0]; x[0] = t[0]; }",
        "static float t[65]; void f(void *c, float *x) { t[(int)x[1]] += x[0]; x[0] = t[0]; }",
    ),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_binary_key_sees(one: str, other: str, builder: Builder) -> None:
    assert built(builder, c(one)).binary_key != built(builder, c(other)).binary_key


def test_only_elf_objects_have_an_identity() -> None:
    with pytest.raises(ValueError, match="ELF64"):
        code_identity(b"MZ not an object")


def test_cache_hit_does_not_compile(fresh: Builder) -> None:
    first = built(fresh, c(PLAIN))
    stamp = Path(first.path).stat().st_mtime_ns
    assert built(fresh, c(PLAIN)) == first
    assert Path(first.path).stat().st_mtime_ns == stamp


@pytest.mark.parametrize("damage", [b"", b"garbage", None], ids=["empty", "garbage", "truncated"])
def test_damaged_artifact_is_rebuilt(damage: bytes | None, fresh: Builder) -> None:
    artifact = built(fresh, c(PLAIN))
    path = Path(artifact.path)
    good = path.read_bytes()
    path.write_bytes(good[:-100] if damage is None else damage)
    assert built(fresh, c(PLAIN)) == artifact
    assert path.read_bytes() == good


@pytest.mark.parametrize("note", ["", "[]", "{}", '{"sha256": 1}', "nonsense"])
def test_damaged_note_is_rewritten(note: str, fresh: Builder) -> None:
    artifact = built(fresh, c(PLAIN))
    Path(artifact.path).with_suffix(".json").write_text(note)
    assert built(fresh, c(PLAIN)) == artifact
    assert artifact.binary_key in Path(artifact.path).with_suffix(".json").read_text()


def test_nothing_else_is_left_in_the_cache(fresh: Builder) -> None:
    artifact = Path(built(fresh, c(PLAIN)).path)
    fresh.build(c("syntax error"), 60)
    files = {path for path in fresh.cache_dir.rglob("*") if path.is_file()}
    assert files == {artifact, artifact.with_suffix(".json")}


def test_key_covers_flags_compiler_and_text(builder: Builder) -> None:
    other = replace(builder.compiler, kind="another")
    newer = replace(builder.compiler, version="99.0.0")
    variants = [
        builder,
        replace(builder, flags=("-O2",)),
        replace(builder, compiler=other),
        replace(builder, compiler=newer),
    ]
    assert len({b.key for b in variants}) == len(variants)
    moved = replace(builder.compiler, path="/elsewhere/gcc")
    assert replace(builder, compiler=moved, cache_dir=Path("x")).key == builder.key
    assert built(builder, c(PLAIN)).path != built(builder, c(f"{PLAIN}\n")).path


def test_compile_error_names_the_line(fresh: Builder) -> None:
    failure = fresh.build(c("void f(void *ctxt, float *x) {\n  y[0] = 1;\n}"), 60)
    assert isinstance(failure, Failure)
    assert failure.outcome is Outcome.COMPILE_ERROR
    assert "'y'" in failure.message
    assert "undeclared" in failure.message


def test_link_error_is_a_compile_error(fresh: Builder) -> None:
    bad = replace(fresh, flags=("-O3",))
    code = c("void g(void);\nvoid f(void *ctxt, float *x) { g(); }")
    failure = bad.build(code, 60)
    assert isinstance(failure, Failure)
    assert failure.outcome is Outcome.COMPILE_ERROR
    assert "undefined reference" in failure.message


def test_a_missing_library_is_named(fresh: Builder) -> None:
    failure = replace(fresh, flags=("-lmissing",)).build(c(PLAIN), 60)
    assert isinstance(failure, Failure)
    assert "-lmissing" in failure.message


def test_endless_compilation_is_cut_off(
    fresh: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And leaves no temporary files."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    source = "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\n"
    code = c(f"{source}void f(void *ctxt, float *x) {{ B(B(B(x[0] += 1;))) }}")
    start = time.monotonic()
    failure = fresh.build(code, 0.3)
    assert isinstance(failure, Failure)
    assert failure.outcome is Outcome.TIMEOUT
    assert time.monotonic() - start < 60
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("part", ["gcc", "cc1", "as", "collect2", "ld"])
def test_a_killed_compiler_says_nothing_of_the_kernel(
    part: str, fresh: Builder, tmp_path: Path
) -> None:
    """Neither if it is one of the programs that it starts."""
    (tmp_path / part).write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / part).chmod(0o755)
    path = str(tmp_path / "gcc") if part == "gcc" else fresh.compiler.path
    compiler = replace(fresh.compiler, path=path)
    failure = replace(fresh, compiler=compiler, flags=(f"-B{tmp_path}/",)).build(c(PLAIN), 60)
    assert isinstance(failure, Failure)
    assert was_killed(failure), failure


def test_a_killed_compiler_in_a_script_says_nothing_either(fresh: Builder, tmp_path: Path) -> None:
    script = tmp_path / "cached-gcc"
    script.write_text("#!/bin/sh\nsh -c 'kill -9 $$'\nexit $?\n")
    script.chmod(0o755)
    compiler = replace(fresh.compiler, path=str(script))
    failure = replace(fresh, compiler=compiler).build(c(PLAIN), 60)
    assert isinstance(failure, Failure)
    assert was_killed(failure), failure


def test_a_compiler_of_the_harness_that_is_killed_is_not_said_to_lack_headers(
    fresh: Builder, tmp_path: Path
) -> None:
    script = tmp_path / "cc"
    script.write_text("#!/bin/sh\nkill -9 $$\n")
    script.chmod(0o755)
    killed = replace(fresh, compiler=replace(fresh.compiler, path=str(script)))
    with pytest.raises(UserError, match=r"^the compiler was killed by somebody else .*run again$"):
        killed.executable({"main.c": "int main(void) { return 0; }"}, 60)


def test_an_enormous_object_file(fresh: Builder) -> None:
    """It is not written to the disk: gcc's assembler and clang's both end."""
    failure = fresh.build(c(f'__asm__(".data\\n.fill 0x200000000, 1, 1");\n{PLAIN}'), 5)
    assert isinstance(failure, Failure)
    assert failure.outcome in (Outcome.COMPILE_ERROR, Outcome.TIMEOUT)


def test_a_compiler_has_no_more_memory_than_it_may(
    fresh: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder_module, "_COMPILER_BYTES", 1 << 25)
    failure = fresh.build(c(PLAIN), 60)
    assert isinstance(failure, Failure)
    assert failure.outcome is Outcome.COMPILE_ERROR
    assert failure.message


def test_a_flood_of_errors_ends_soon(fresh: Builder) -> None:
    flood = "\n".join(f"int v{n} = undefined{n};" for n in range(10000))
    failure = fresh.build(c(flood), 60)
    assert isinstance(failure, Failure)
    assert "undefined0" in failure.message
    assert failure.message.count("\n") < 10


def test_build_options_reach_the_compiler(fresh: Builder) -> None:
    text = "void f(void *ctxt, float *x) { for (int i = 0; i < 64; i++) x[i] *= 2.0f; }"
    plain = c(text)
    small = replace(plain, key="other", build=Build(options="-O2"))
    assert built(fresh, plain).path != built(fresh, small).path
    if fresh.compiler.kind == "gcc":  # clang's levels are equal here
        assert built(fresh, plain).binary_key != built(fresh, small).binary_key


def test_restrict_changes_the_machine_code(fresh: Builder) -> None:
    signature = (
        "void f(void *ctxt, float *{q} x, const float *{q} y) {{ x[0] += y[0]; x[1] += y[0]; }}"
    )
    plain, restricted = (c(signature.format(q=q), "") for q in ("", "__restrict__"))
    assert built(fresh, plain).binary_key != built(fresh, restricted).binary_key


def test_a_missing_compiler_is_named(fresh: Builder) -> None:
    alone = replace(fresh, other_compilers=())
    missing = "clang" if alone.compiler.kind == "gcc" else "gcc"
    failure = alone.build(replace(c(PLAIN), build=Build(missing)), 60)
    assert isinstance(failure, Failure)
    assert failure.outcome is Outcome.COMPILE_ERROR
    assert f"to be built by {missing}, which is not there" in failure.message


def test_the_other_compiler_builds_what_asks_for_it(fresh: Builder) -> None:
    others = other_compilers(fresh.compiler)
    if not others:
        pytest.skip("only one C compiler on this machine")
    both = replace(fresh, other_compilers=others)
    asking = replace(c(PLAIN), build=Build(others[0].kind))
    alone = replace(fresh, compiler=others[0])
    assert built(both, asking).path == built(alone, asking).path
    assert built(both, asking).path != built(both, c(PLAIN)).path


def test_builder_is_picklable(builder: Builder) -> None:
    assert pickle.loads(pickle.dumps(builder)).key == builder.key


def test_harness_that_does_not_compile(fresh: Builder) -> None:
    with pytest.raises(UserError, match="cannot compile what runs kernels"):
        fresh.executable({"main.c": "int main(void) { return nothing; }"}, 60)


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-funsafe-math-optimizations"])
def test_loading_a_kernel_leaves_denormals_as_they_are(flag: str, fresh: Builder) -> None:
    """Linked with -ffast-math, or what implies it, gcc's objects turn them off in the process."""
    fast = replace(fresh, flags=(flag,))
    load = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); sys.exit(5e-324 * 1.0 == 0.0)"
    program = [sys.executable, "-c", load, built(fast, c(PLAIN)).path]
    assert subprocess.run(program, check=False).returncode == 0

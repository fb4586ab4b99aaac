"""What is exported can be linked in any way, and is then the code that was measured."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from exo.libs.memories import DRAM_STATIC
from exo.stdlib.scheduling import set_memory

from benchmarks.linking.builds import Exported, arrays, exported, main_c, scheduled
from schedsearch.core.build import Build
from schedsearch.core.lasting import NOT_REENTRANT
from schedsearch.core.records import Artifact, Compiler, Target
from schedsearch.core.trace import Rewrite
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import find_compiler, other_compilers
from schedsearch.evaluate.build.elf import code_identity
from schedsearch.search.setup.targets import read_target, resolve_target
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, label

pytestmark = pytest.mark.slow

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
EXTERNS = load_source(Path(__file__).parent / "kernels" / "externs.py").procs
SIZES = {"M": 37, "N": 48, "K": 21, "n": 40}

COMPILERS = [find_compiler(), *other_compilers(find_compiler())]


@pytest.fixture(scope="module", params=COMPILERS, ids=lambda compiler: compiler.kind)
def target(request: pytest.FixtureRequest) -> Target:
    compiler: Compiler = request.param
    return resolve_target(read_target(None), compiler.path)


@pytest.fixture(scope="module")
def builder(target: Target, tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(target.compiler, target.flags, tmp_path_factory.mktemp("cache"))


def measured(builder: Builder, found: Exported) -> Artifact:
    artifact = builder.build(found.kernel.code, 120)
    assert isinstance(artifact, Artifact), artifact
    return artifact


def check_builds(found: Exported, builder: Builder) -> None:
    """The object is that which is measured, links as shared and static library and as it is, and
    gives the same; so it does without optimisation and with its arguments checked."""
    main = main_c(found.kernel.proc, found.name, SIZES)
    artifact = measured(builder, found)
    wanted = found.outputs(main, artifact.path)
    assert code_identity(found.compiled().read_bytes()) == artifact.binary_key
    assert found.symbols() == {found.name}
    for linked in (found.shared(), found.static(), f"{found.name}.o"):
        assert found.outputs(main, linked) == wanted
    found.compiled(checked=True)
    assert found.symbols() == {found.name}
    found.shared()
    slow = found.outputs(main, found.static())
    proc = found.kernel.proc
    for one, other in zip(arrays(proc, slow, SIZES), arrays(proc, wanted, SIZES), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_link(path: Path, target: Target, builder: Builder, tmp_path: Path) -> None:
    (procedure,) = load_source(path).procs.values()
    check_builds(exported(procedure, target, tmp_path / "written"), builder)
    check_builds(exported(scheduled(procedure, target), target, tmp_path / "scheduled"), builder)


def test_external_functions_are_no_calls(target: Target, builder: Builder, tmp_path: Path) -> None:
    """And kernels that have the same ones link into one program."""
    ways = {"written": EXTERNS["activate"], "scheduled": scheduled(EXTERNS["activate"], target)}
    for way, procedure in ways.items():
        found = exported(procedure, target, tmp_path / way)
        check_builds(found, builder)
        found.compiled()
        assert "_relu" not in found.run(["nm", "activate.o"])  # nor a local copy that is called
        assert "_select" not in found.run(["nm", "activate.o"])
    other = exported(EXTERNS["also_activate"], target, tmp_path / "written")
    other.compiled()
    library = other.static()
    other.run(["ar", "rcs", library, "activate.o"])
    main = f'#include "activate.h"\n{main_c(other.kernel.proc, "also_activate", SIZES)}'
    other.program(main.replace("return 0;", "return activate == 0;"), library)


def test_a_global_helper_is_found(target: Target, builder: Builder, tmp_path: Path) -> None:
    """What Exo prints: this is what the checks above are for."""
    found = exported(EXTERNS["activate"], target, tmp_path)
    source = tmp_path / "activate.c"
    source.write_text(source.read_text().replace("static inline float", "float"))
    found.compiled()
    assert {"_relu_float", "_select_float"} <= found.symbols()
    binary = measured(builder, found).binary_key
    assert code_identity((tmp_path / "activate.o").read_bytes()) != binary


def test_the_link_line_leaves_denormals_alone(target: Target, tmp_path: Path) -> None:
    for flags in (target.flags, ("-Ofast",), ("-O2", "-funsafe-math-optimizations")):
        found = exported(EXTERNS["activate"], replace(target, flags=flags), tmp_path)
        assert set(flags) <= set(found.compiling)
        assert not {"-ffast-math", "-Ofast", "-funsafe-math-optimizations"} & set(found.linking)
        assert "link without -ffast-math" in (tmp_path / "activate.h").read_text()
    plain = exported(EXTERNS["activate"], replace(target, flags=("-O2",)), tmp_path)
    lines = (plain.folder / "activate.h").read_text().splitlines()
    assert not any("-ffast-math" in line for line in lines if "floating point:" not in line)


def test_build_options_are_in_the_lines(target: Target, tmp_path: Path) -> None:
    procedure = EXTERNS["activate"]
    found = exported(procedure, target, tmp_path, Build(options="-O2"))
    assert "-O2" in found.compiling
    assert "-O3" not in found.compiling


ALLOWED = "static float a[80], b[80];"
CALLS = {
    "allowed": ("activate(0, 40, a, b, b + 40);", None),
    "two inputs in one array": ("activate(0, 8, a, b, b);", None),
    "no elements": ("activate(0, 0, a, b, b + 40);", "n >= 1"),
    "an assert": ("activate(0, 12, a, b, b + 40);", "n % 8 == 0"),
    "in place": ("activate(0, 40, a, a, b);", "lie_apart(y,"),
    "overlap": ("activate(0, 40, a, a + 39, b);", "lie_apart(y,"),
    "side by side": ("activate(0, 40, a, a + 40, b);", None),
    "misaligned": ("activate(0, 8, (float *)((char *)a + 2), b, b);", "(uintptr_t)y %"),
    "a stride": ("strided(0, 4, (struct exo_win_1f32){a, {2}}, b);", "y.strides[0] == 1"),
    "the stride asked for": ("strided(0, 4, (struct exo_win_1f32){a, {1}}, b);", None),
}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """`activate` and `strided` in one library, arguments checked."""
    target = resolve_target(read_target(None), COMPILERS[0].path)
    folder = tmp_path_factory.mktemp("checked")
    for name in ("strided", "activate"):
        found = exported(EXTERNS[name], target, folder)
        found.compiled(checked=True)
    found.static()
    found.run(["ar", "rcs", "libactivate.a", "strided.o"])
    return found


@pytest.mark.parametrize("name", CALLS)
def test_arguments_are_checked(name: str, two: Exported) -> None:
    call, refused = CALLS[name]
    includes = '#include "activate.h"\n#include "strided.h"\n'
    main = f"{includes}{ALLOWED} int main(void) {{ {call} return 0; }}"
    program = two.program(main, "libactivate.a")
    done = subprocess.run([program], cwd=two.folder, capture_output=True, text=True, check=False)
    assert done.returncode == (-signal.SIGABRT if refused else 0)
    assert (refused or "") in done.stderr


THREADS = """
#include <math.h>
#include <pthread.h>
#include "sines.h"
static float x[64], y[64], other_x[64], other_y[64];
static int calls;
static void *other(void *unused) { sines(0, other_y, other_x); return unused; }
double sin(double v) {
  pthread_t thread;
  if (++calls == 64) {
    pthread_create(&thread, 0, other, 0);
    pthread_join(thread, 0);
  }
  return v;
}
int main(void) {
  for (int i = 0; i < 64; i++) x[i] = i, other_x[i] = 100 + i;
  sines(0, y, x);
  for (int i = 0; i < 64; i++)
    if (y[i] != x[63 - i] || other_y[i] != other_x[63 - i]) return 1;
  return 0;
}
"""
"""Another thread calls the kernel while the first is in its loop, at a `sin` of our own."""


@pytest.mark.parametrize("memory", ["DRAM", "DRAM_ALIGNED", "DRAM_STACK_ALIGNED", "DRAM_STATIC"])
def test_what_is_called_re_entrant_is(memory: str, target: Target, tmp_path: Path) -> None:
    procedure = EXTERNS["sines"]
    ast = mirror(procedure)
    if memory == "DRAM_STATIC":
        procedure = set_memory(procedure, "t", DRAM_STATIC)
    elif memory != "DRAM":
        at = (0,), label(ast.by_path[(0,)])
        procedure = apply(procedure, ast, Rewrite("place", 1, *at, (("memory", memory),)))
    found = exported(procedure, target, tmp_path)
    found.compiled(checked=True)
    wrong = subprocess.run([found.program(THREADS, "sines.o")], cwd=tmp_path, check=False)
    header = (tmp_path / "sines.h").read_text()
    assert (wrong.returncode == 1) == (memory == "DRAM_STATIC")
    assert (f"// - {NOT_REENTRANT}: it keeps t" in header) == (memory == "DRAM_STATIC")
    assert ("// - re-entrant: threads may" in header) == (memory != "DRAM_STATIC")

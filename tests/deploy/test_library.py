"""`schedsearch build`: what a C library computes, and which variants it has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import run
from cli.invoke import Answer

from schedsearch.core.errors import UserError
from schedsearch.core.isa import isa
from schedsearch.core.records import GeneratedC
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.deploy.library import packing
from schedsearch.deploy.library.building import Ordered, build
from schedsearch.deploy.library.levels import baseline
from schedsearch.deploy.library.packing import narrowed
from schedsearch.evaluate.build.compiler import find_compiler
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.locks.entry import Lock, LockEntry
from schedsearch.locks.kernel import LockedKernel, Where
from schedsearch.locks.place import Chosen, read_lock, write_lock

from .libraries import (
    AVX2,
    AVX512,
    CC,
    ONLY,
    SMALL,
    built,
    called,
    compile_,
    library,
    lock,
    manifest,
    only_matmul,
    silent,
    variants,
)
from .locked import copied, entry

__all__ = ["library", "lock", "run"]

pytestmark = pytest.mark.normal  # kernels are compiled and verified


def test_calls_are_right_and_leave_denormals_alone(library: Path) -> None:
    level, found, denormals, said = called(library)
    best = next(iter(variants(library, "matmul").values()))["isa"]
    assert (level, denormals, said) == (best, True, "")
    assert found["16 16 16"] == f"{best}_K16_M16_N16"
    assert "K16" not in found["16 16 17"]


def test_of_general_variants_the_nearest_runs(library: Path) -> None:
    """By the measure of `deploy.choose`: products of ratios."""
    _, found, _, _ = called(library)
    general = {
        name: each["schedule"]["measured"]["sizes"]
        for name, each in variants(library, "matmul").items()
        if not each["only_for"]
    }
    for sizes, name in found.items():
        own = dict(zip("MNK", map(int, sizes.split()), strict=True))
        if own == ONLY:
            continue
        level = name.partition("_")[0]
        far = {}
        for each, tuned in general.items():
            if each.partition("_")[0] == level:
                ratios = [max(own[s] / tuned[s], tuned[s] / own[s]) for s in own]
                far[each] = ratios[0] * ratios[1] * ratios[2]
        assert far[name] == min(far.values())
    assert len(set(found.values())) == 3


@pytest.mark.parametrize("forced", ["sse2", pytest.param("avx2", marks=AVX2)])
@pytest.mark.skipif(baseline().name != "sse2", reason="x86-64 only")
def test_an_instruction_set_can_be_forced(library: Path, forced: str) -> None:
    level, found, _, said = called(library, forced)
    assert (level, said) == (forced, "")
    assert {name.partition("_")[0] for name in found.values()} == {forced}


def test_an_unknown_instruction_set_is_said_once(library: Path) -> None:
    level, _, _, said = called(library, "sse9")
    assert said.count("\n") == 1
    assert said.startswith("lib_a: LIB_A_ISA=sse9 is none of ")
    assert said.endswith(f"; {level} is used\n")


THREADS = """
#include <pthread.h>
#include "lib_a.h"
enum { ROWS = 500, CALLS = 20000 };
static void *work(void *given) {
  static _Thread_local float x[ROWS * 64], y[ROWS * 64];
  long seed = (long)given, wrong = 0;
  for (int i = 0; i < ROWS * 64; i++) x[i] = i + seed;
  for (int call = 0; call < CALLS; call++) {
    lib_a_through_static(ROWS, y, x);
    for (int i = 0; i < ROWS * 64; i++) wrong += y[i] != x[i / 64 * 64 + 63 - i % 64];
  }
  return (void *)wrong;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, work, (void *)1000000);
  long wrong = (long)work((void *)0);
  void *also;
  pthread_join(other, &also);
  return wrong || also;
}
"""


def wrong_in_two_threads(library: Path, folder: Path) -> bool:
    folder.mkdir()
    (folder / "main.c").write_text(THREADS)
    so = str(library / "lib/liblib_a.so")
    options = ["-O2", f"-I{library / 'include'}", so, "-pthread", f"-Wl,-rpath,{library / 'lib'}"]
    subprocess.run([CC, "main.c", *options, "-o", "main"], cwd=folder, check=True)
    return subprocess.run([folder / "main"], check=False).returncode != 0


def test_static_buffers_from_two_threads(library: Path, tmp_path: Path) -> None:
    assert all(each["one_call_at_a_time"] for each in variants(library, "through_static").values())
    assert not wrong_in_two_threads(library, tmp_path / "program")


def test_a_missing_lock_is_noticed(library: Path, tmp_path: Path) -> None:
    """So the test above can fail: the same library without its mutexes."""
    broken = tmp_path / "out"
    shutil.copytree(library, broken)
    source = broken / "src/lib_a/lib_a.c"
    source.write_text(re.sub(r"pthread_mutex_(un)?lock\(.*?\);", "", source.read_text()))
    compile_(broken)
    assert wrong_in_two_threads(broken, tmp_path / "program")


FORK = """
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib_a.h"
enum { ROWS = 4, FORKS = 300 };
static volatile int done;
static void *work(void *given) {
  float x[ROWS * 64] = {0}, y[ROWS * 64];
  while (!done) lib_a_through_static(ROWS, y, x);
  return given;
}
int main(void) {
  float x[ROWS * 64] = {0}, y[ROWS * 64];
  pthread_t other;
  pthread_create(&other, 0, work, 0);
  int wrong = 0;
  for (int each = 0; each < FORKS && !wrong; each++) {
    pid_t child = fork();
    if (!child) {
      alarm(5);
      lib_a_through_static(ROWS, y, x);
      _exit(0);
    }
    waitpid(child, &wrong, 0);
  }
  done = 1;
  pthread_join(other, 0);
  return wrong != 0;
}
"""


def hangs_after_fork(library: Path, folder: Path) -> bool:
    folder.mkdir()
    (folder / "main.c").write_text(FORK)
    so = str(library / "lib/liblib_a.so")
    options = ["-O2", f"-I{library / 'include'}", so, "-pthread", f"-Wl,-rpath,{library / 'lib'}"]
    subprocess.run([CC, "main.c", *options, "-o", "main"], cwd=folder, check=True)
    return subprocess.run([folder / "main"], check=False).returncode != 0


def test_a_child_forked_during_a_call_can_call(library: Path, tmp_path: Path) -> None:
    assert not hangs_after_fork(library, tmp_path / "program")


def test_a_fork_that_does_not_wait_is_noticed(library: Path, tmp_path: Path) -> None:
    """So the test above can fail."""
    broken = tmp_path / "out"
    shutil.copytree(library, broken)
    source = broken / "src/lib_a/lib_a.c"
    text = re.sub(r"pthread_atfork\(.*?\);", "", source.read_text())
    assert text != source.read_text()
    source.write_text(text)
    compile_(broken)
    assert hangs_after_fork(broken, tmp_path / "program")


def test_names_that_others_have(tmp_path: Path) -> None:
    """Of sizes and arrays: macros of the library, words of C++. Of procedures: what only wheels
    have."""
    (tmp_path / "kernels.py").write_text(
        "from __future__ import annotations\n"
        "from exo import proc\n"
        "@proc\n"
        "def manifest(LIBRARY: size, FORCED_BY: size, new: f32[LIBRARY], this: f32[FORCED_BY]):\n"
        "    assert LIBRARY == FORCED_BY\n"
        "    for i in seq(0, LIBRARY):\n"
        "        new[i] = this[i]\n"
    )
    sizes = {"LIBRARY": 64, "FORCED_BY": 64}
    lock = tmp_path / "schedules.lock"
    own = entry(tmp_path / "kernels.py", "manifest", sizes, "vectorise")
    write_lock(lock, Lock().having([own]))
    built(lock, tmp_path / "out")
    program = '#include "lib_a.h"\nint main() { float x[1] = {2}, y[1]; '
    program += "lib_a_manifest(1, 1, y, x); return y[0] != 2; }\n"
    (tmp_path / "main.cc").write_text(program)
    so = str(tmp_path / "out/lib/liblib_a.so")
    options = [f"-I{tmp_path / 'out/include'}", so, f"-Wl,-rpath,{tmp_path / 'out/lib'}"]
    for language in ("c", "c++"):
        words = [CC, "-x", language, "main.cc", "-x", "none", *options, "-o", "main"]
        subprocess.run(words, cwd=tmp_path, check=True)
        subprocess.run([tmp_path / "main"], check=True)
    with pytest.raises(UserError, match="two functions would be called lib_a_manifest"):
        built(lock, tmp_path / "wheels", wheel=True)


def test_a_place_behind_a_link(tmp_path: Path) -> None:
    lock = only_matmul(tmp_path / "home")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    built(lock, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real/include/lib_a.h").exists()


def test_a_link_line_with_fast_math_is_noticed(library: Path, tmp_path: Path) -> None:
    """So the test of denormals can fail, with compilers as gcc before 13."""
    compiler = find_compiler()
    if compiler.kind != "gcc" or int(compiler.version.split(".")[0]) >= 13:
        pytest.skip("this compiler leaves denormals alone")
    shutil.copytree(library, tmp_path / "out")
    compile_(tmp_path / "out", "-ffast-math")
    assert called(tmp_path / "out")[2] is False


# -- what is packed ----------------------------------------------------------------------


def test_what_is_packed_is_said(library: Path) -> None:
    found = variants(library, "matmul")
    for name, each in found.items():
        assert name.startswith(each["isa"])
        assert not any("native" in flag for flag in each["flags"])
        assert each["verified"]["cases"] > 0
        assert each["schedule"]["measured"]["cpu"] == cpu_identity()[0]
    own = next(iter(found.values()))
    assert "-march=native" in own["schedule"]["measured"]["flags"]
    assert set(isa(own["isa"]).march) <= set(own["flags"])
    assert {each["isa"] for each in found.values()} >= {baseline().name}


@AVX512
def test_vectors_are_as_long_as_the_registers(library: Path) -> None:
    lanes = {
        each["isa"]: {step["args"].get("lanes") for step in each["schedule"]["trace"]}
        for each in variants(library, "matmul").values()
    }
    assert lanes == {"avx512": {16}, "avx2": {8}, "sse2": {4}}


def test_traces_are_narrowed_for_shorter_registers(lock: Path) -> None:
    trace = read_lock(lock).entries[0].trace
    (step,) = narrowed(trace, isa("avx512"), isa("sse2")).steps
    assert step.arg("lanes") == trace.steps[0].arg("lanes") // 4
    assert [name for name, _ in step.args] == [name for name, _ in trace.steps[0].args]
    assert narrowed(trace, isa("avx512"), isa("scalar")) == trace
    blocks = Rewrite("block_all", 1, (0,), "", (("bits", 512), ("registers", 32)))
    (step,) = narrowed(Trace((blocks,)), isa("avx512"), isa("avx2")).steps
    assert step.args == (("bits", 256), ("registers", 16))


def planted(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[[LockEntry], bool], own: bool = True
) -> None:
    """Replayed schedules compute something else."""

    def spoiled(code: GeneratedC) -> GeneratedC:
        source = re.sub(r"^(?!\s*for)(.*?) \+= ", r"\1 -= ", code.source, flags=re.MULTILINE)
        assert source != code.source
        return replace(code, source=source, key=code.key + "0")

    def load(entry: LockEntry, *where: Any) -> LockedKernel:
        found = loaded(entry, *where)
        return replace(found, code=spoiled(found.code)) if wrong(entry) else found

    def replay(*what: Any, **how: Any) -> Any:
        found = replayed(*what, **how)
        return found if own else replace(found, code=spoiled(found.code))

    loaded, replayed = packing.load_locked, packing.replay_isolated
    monkeypatch.setattr(packing, "load_locked", load)
    monkeypatch.setattr(packing, "replay_isolated", replay)


@AVX512
def test_a_wrong_schedule_is_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, lambda entry: True)
    lock = only_matmul(tmp_path / "home")
    found = built(lock, tmp_path / "out")
    (left,) = found.left_out
    assert left.what == read_lock(lock).entries[0].name
    assert left.why.startswith("incorrect")
    assert list(variants(tmp_path / "out", "matmul")) == ["avx2", "sse2"]
    assert manifest(tmp_path / "out")["left_out"] == {left.what: left.why}


def test_if_nothing_is_right_the_procedure_as_written_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(monkeypatch, lambda entry: True, own=False)
    found = built(only_matmul(tmp_path / "home"), tmp_path / "out")
    packed = variants(tmp_path / "out", "matmul")
    assert len(found.left_out) == len(packed)
    assert baseline().name in packed
    assert all(each["schedule"] is None for each in packed.values())


def test_a_library_without_a_schedule_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Answer]
) -> None:
    planted(monkeypatch, lambda entry: True, own=False)
    lock = only_matmul(tmp_path / "home")
    answer = run("build", "--name", "a", "--out", "o", "--lock", lock, "--file", lock.parent)
    assert answer.code == 1
    assert answer.err.endswith("error: no schedule is in it, only procedures as written\n")
    assert "written: o\n" in answer.out


@AVX2
def test_schedules_for_a_level_come_before_those_of_others(tmp_path: Path) -> None:
    """And levels above all schedules are left to these."""
    lock = only_matmul(tmp_path / "home", target="avx2")
    built(lock, tmp_path / "out")
    found = variants(tmp_path / "out", "matmul")
    assert list(found) == ["avx2", "sse2"]
    assert not any(flag.startswith("-mtune") for flag in found["avx2"]["flags"])
    assert called(tmp_path / "out")[0] == "avx2"


def test_of_entries_for_one_purpose_the_fastest_is_packed(tmp_path: Path) -> None:
    file = copied(tmp_path / "home")
    own = [
        entry(file, "matmul", SMALL, "register_block", call_ns=call_ns, with_args=args)
        for call_ns, args in ((2000.0, {"tile_rows": 6}), (1000.0, {"tile_rows": 8}))
    ]
    slow = replace(own[0], target=replace(own[0].target, threads=2))
    chosen = Chosen(tmp_path / "home/schedules.lock", (slow, own[1]))
    where = Where(named=(tmp_path,))
    found = build(chosen, where, Ordered("lib_a", "1", tmp_path / "out"), silent)
    assert [left.what for left in found.left_out] == [slow.name]
    assert found.procs[0].variants[0].entry == own[1]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_kernels_with_threads(tmp_path: Path) -> None:
    file = copied(tmp_path / "home")
    made = entry(file, "matmul", SMALL, "parallelize", threads=2)
    chosen = Chosen(tmp_path / "home/schedules.lock", (made,))
    build(chosen, Where(named=(file,)), Ordered("lib_a", "1", tmp_path / "out"), silent)
    assert all(
        "-fopenmp" in each["flags"] for each in variants(tmp_path / "out", "matmul").values()
    )
    assert "-fopenmp" in (tmp_path / "out/lib/pkgconfig/lib_a.pc").read_text()
    called(tmp_path / "out")


def test_the_same_lock_gives_the_same_bytes(lock: Path, library: Path, tmp_path: Path) -> None:
    built(lock, tmp_path / "again")
    files = [path.relative_to(library) for path in library.rglob("*") if path.is_file()]
    assert len(files) > 20
    for file in files:
        assert (tmp_path / "again" / file).read_bytes() == (library / file).read_bytes(), file


# -- misuse ------------------------------------------------------------------------------

MISUSE = {
    "a name that is none": (["--name", "1-x", "--out", "o"], "'1-x' is no name for C"),
    "a word of C": (["--name", "int", "--out", "o"], "int means something else"),
    "a header of C": (["--name", "math", "--out", "o"], "math.h is another header"),
    "a header of the library": (["--name", "isa", "--out", "o"], "isa.h is another header"),
    "no name for pip": (["--name", "k_", "--wheel", "--out", "o"], "pip takes no name"),
    "a word of Python": (["--name", "lambda", "--out", "o"], "lambda means something else"),
    "a module": (["--name", "numpy", "--out", "o", "--wheel"], "numpy is a module"),
    "a version": (["--name", "a", "--out", "o", "--release", "new"], "'new' is no version"),
    "a version that pip shortens": (
        ["--name", "a", "--out", "o", "--release", "01.0"],
        "'01.0' is no version",
    ),
    "the working directory": (["--name", "a", "--out", "."], "--out is where you are"),
    "no kernels": (
        ["--name", "a", "--out", "o", "--lock", "one.lock", "--file", "gone.py"],
        "gone.py",
    ),
    "no lock file": (["--name", "a", "--out", "o"], "no schedules.lock in"),
    "a lock file that is not there": (
        ["--name", "a", "--out", "o", "--lock", "no.lock"],
        "no.lock is not there",
    ),
    "a lock file that is none": (
        ["--name", "a", "--out", "o", "--lock", "kernels.py"],
        "kernels.py",
    ),
    "a file in the way": (["--name", "a", "--out", "file"], "file is no directory"),
    "a directory in the way": (["--name", "a", "--out", "full"], "full is not empty"),
    "no place": (["--name", "a", "--out", "file/o", "--lock", "one.lock"], "cannot write"),
    "an empty lock file": (["--name", "a", "--out", "o", "--lock", "empty.lock"], "has no entries"),
    "another's file": (["--name", "a", "--out", "o", "--lock", "one.lock"], "is not executed"),
    "no such procedure": (
        ["--name", "a", "--out", "o", "--lock", "one.lock", "--only", "gemm"],
        "--only 'gemm' matches none",
    ),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name: str, run: Callable[..., Answer], lock: Path, tmp_path: Path) -> None:
    words, said = MISUSE[name]
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    (tmp_path / "empty.lock").write_text("schema = 1\n")
    shutil.copy(lock, tmp_path / "one.lock")
    shutil.copy(lock.parent / "kernels.py", tmp_path)
    if name == "no place":
        words = [*words, "--file", "."]
    answer = run("build", *words)
    assert answer.code == 2
    assert said in " ".join(answer.err.split()), answer.err
    assert not (tmp_path / "o").exists()


def test_the_command(run: Callable[..., Answer], tmp_path: Path) -> None:
    (made,) = read_lock(only_matmul(tmp_path)).entries
    slow = replace(made, target=replace(made.target, threads=2))
    slow = replace(slow, speed=replace(made.speed, call_ns=1e6))
    write_lock(tmp_path / "schedules.lock", Lock().having([made, slow]))
    answer = run("build", "--name", "a", "--out", "deep/er/o", "--file", ".", "--only", "matm*")
    assert answer.code == 0, answer.err
    assert f"left out: {slow.name}: {made.name} is for the same\n" in answer.err
    assert answer.out.startswith("a_matmul: ")
    assert answer.out.endswith("written: deep/er/o\n")
    assert (tmp_path / "deep/er/o/lib/liba.so").exists()
    assert sorted(path.name for path in (tmp_path / "deep/er").iterdir()) == ["o"]
